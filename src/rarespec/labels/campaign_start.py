"""What a campaign was started with, as a file beside the labels: with both it goes on where it was left."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from rarespec.errors import UsageError
from rarespec.features.recipe import Recipe
from rarespec.labels.kinds import path_beside, start_of_log
from rarespec.searching.request import SearchRequest, name_of_recipe, recipe_named
from rarespec.searching.search import PreparedSearch
from rarespec.searching.selection import Selection
from rarespec.storage.whole_file import write_whole
from rarespec.survey import Survey

FORMAT, VERSION = "rarespec-campaign", 1
NOT_KEPT = ("engine", "device", "model", "lessons")
"""Where a campaign is computed may be another place when it goes on; it has no model, and labels are in their log."""
KEPT = tuple(one.name for one in fields(SearchRequest) if one.name not in NOT_KEPT)


@dataclass(frozen=True)
class CampaignStart:
    """What a campaign was started with, and how people look.

    Parameters
    ----------
    request : SearchRequest
        Its examples are ids of the survey; when examples come from elsewhere, the ids and files that were given.
    blind : bool
        Whether nobody sees the labels of others before giving one.
    """

    request: SearchRequest
    blind: bool = False

    @classmethod
    def of(cls, search: PreparedSearch, blind: bool = False) -> CampaignStart:
        """Take what a search was started with, and the examples it found; raise a UsageError if they cannot be kept."""
        request, rows = search.request, search.rows
        known = _words(request.known) if rows.n_from_elsewhere else list(rows.known_ids)
        if known is None:
            raise UsageError("cannot save known spectra that are not in the survey; give their files instead")
        return cls(replace(request, known=known, non_members=rows.refused_ids or None), blind)

    def write(self, path: Path) -> None:
        """Write the file whole or not at all."""
        try:
            content = {"format": FORMAT, "version": VERSION} | _to_json(self.request) | {"blind": self.blind}
            text = json.dumps(content, indent=1, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise UsageError(f"{path}: cannot save a campaign with these parameters: {error}") from None
        write_whole(path, text.encode())

    @classmethod
    def read(cls, path: Path) -> CampaignStart:
        """Read a start from this file; raise a UsageError that names the file if it holds none that can go on."""
        if not path.is_file():
            raise UsageError(f"{path}: there is no campaign to continue; start one with --known")
        try:
            kept = json.loads(path.read_bytes())
            found, blind = (kept.pop("format"), kept.pop("version")), kept.pop("blind", False)
            kept.setdefault("known_resolution", None)  # campaigns of earlier versions do not say it
            if found == (FORMAT, VERSION):
                _check_kinds(kept, blind)
                return cls(_request(kept), blind)
        except (UsageError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise UsageError(f"{path}: cannot read the campaign ({error}); start a new one") from None
        raise UsageError(f"{path}: {found[0]} {found[1]}, but this version reads {FORMAT} {VERSION}; start a new one")


def start_beside(survey: Survey, kind: str | None = None) -> Path:
    """Name the file: `<survey directory>.campaign.json`, next to the survey's directory as its labels are."""
    return start_of_log(path_beside(survey.path, kind))


def _to_json(request: SearchRequest) -> dict[str, Any]:
    """In values that JSON knows; the recipe as its name and its parameters."""
    plain = {name: getattr(request, name) for name in KEPT}
    whole = {"top": int(request.top), "seed": int(request.seed)}
    return plain | whole | {"recipe": _name_recipe(request.recipe), "selection": asdict(request.selection)}


def _name_recipe(recipe: Recipe | str) -> tuple[str, dict[str, Any]]:
    if isinstance(recipe, str):
        return recipe, {}
    name = name_of_recipe(recipe)
    if name is None:
        raise UsageError("cannot save a campaign with a custom recipe; use a recipe that has a name")
    return name, {key: value for key, value in recipe.get_params(deep=False).items() if key != "grid"}


def _check_kinds(kept: dict[str, Any], blind: Any) -> None:
    """Whoever gave the file may have written anything; a ValueError names what is of another kind."""
    kinds = {"method": str, "top": int, "seed": int, "params": dict, "selection": dict}
    wrong = sorted({*kept} ^ {*KEPT})
    wrong += [name for name, kind in kinds.items() if name in kept and type(kept[name]) is not kind]
    wrong += [name for name in ("known", "non_members") if not _all_texts(kept.get(name) or [])]
    radius, recipe = kept.get("radius_arcsec"), kept.get("recipe")
    if not isinstance(radius, int | float) or isinstance(radius, bool) or not math.isfinite(radius):
        wrong.append("radius_arcsec")
    if not isinstance(recipe, list) or [type(part) for part in recipe] != [str, dict]:
        wrong.append("recipe")
    if type(blind) is not bool:
        wrong.append("blind")
    if wrong:
        raise ValueError(f"{', '.join(dict.fromkeys(wrong))} of the wrong type")


def _request(kept: dict[str, Any]) -> SearchRequest:
    made = {"recipe": recipe_named(*kept["recipe"]), "selection": Selection(**kept["selection"])}
    return SearchRequest(**(kept | made))


def _all_texts(words: Any) -> bool:
    return isinstance(words, list) and all(isinstance(word, str) for word in words)


def _words(given: Any) -> list[str] | None:
    """Ids and files as text, files with their whole path; None when something else was given."""
    words = list(_unpack_lists(given))
    if not all(isinstance(word, str | os.PathLike) for word in words):
        return None
    return [os.path.abspath(word) if os.path.exists(word) else os.fspath(word) for word in words]


def _unpack_lists(given: Any) -> Iterator[Any]:
    """Not what can be gone through once only: the search has done so, and nothing would be kept of it."""
    if isinstance(given, list | tuple | set):
        for item in given:
            yield from _unpack_lists(item)
    else:
        yield given
