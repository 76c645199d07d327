"""What a campaign was started with, as a file beside the labels: with both it goes on where it was left."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rarespec.features.recipe import Recipe
from rarespec.searching.material import Material
from rarespec.searching.recipes import name_of_recipe, recipe_named
from rarespec.searching.selection import Selection
from rarespec.survey import Survey
from rarespec.survey.location import local_neighbour
from rarespec.survey.manifest import WrongUseError
from rarespec.whole_file import write_whole

FORMAT, VERSION = "rarespec-campaign", 1


@dataclass(frozen=True)
class CampaignStart:
    """The parameters of `Campaign.start` in values that JSON knows, and how people look.

    known, non_members : ids of the survey; when examples are from elsewhere, the ids and files that were given
    recipe : its name and its parameters
    blind : whether nobody sees what others say before they have said something themselves
    """

    known: list[str]
    method: str
    top: int
    seed: int
    non_members: list[str] | None
    params: dict[str, Any]
    recipe: tuple[str, dict[str, Any]]
    selection: dict[str, Any]
    radius_arcsec: float
    blind: bool = False

    @property
    def arguments(self) -> dict[str, Any]:
        """As `Campaign.start` takes them."""
        plain = {name: value for name, value in asdict(self).items() if name != "blind"}
        return plain | {"recipe": recipe_named(*self.recipe), "selection": Selection(**self.selection)}

    def _check(self) -> None:
        """Whoever gave the file may have written anything; a ValueError names what is of another kind."""
        lists = {"known": self.known, "non_members": self.non_members or []}
        kinds = {"method": str, "top": int, "seed": int, "params": dict, "selection": dict, "blind": bool}
        wrong = [name for name, kind in kinds.items() if type(getattr(self, name)) is not kind]
        wrong += [name for name, words in lists.items() if not _all_texts(words)]
        if type(self.radius_arcsec) not in (int, float) or not math.isfinite(self.radius_arcsec):
            wrong.append("radius_arcsec")
        if not isinstance(self.recipe, list | tuple) or [type(part) for part in self.recipe] != [str, dict]:
            wrong.append("recipe")
        if wrong:
            raise ValueError(f"{', '.join(wrong)} of the wrong type")

    def write(self, path: Path) -> None:
        """Whole or not at all."""
        try:
            content = json.dumps({"format": FORMAT, "version": VERSION} | asdict(self), indent=1, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise WrongUseError(f"{path}: cannot save a campaign with these parameters: {error}") from None
        write_whole(path, content.encode())

    @classmethod
    def read(cls, path: Path) -> CampaignStart:
        if not path.is_file():
            raise WrongUseError(f"{path}: there is no campaign to continue; start one with --known")
        try:
            kept = json.loads(path.read_bytes())
            found = kept.pop("format"), kept.pop("version")
            start = cls(**kept)
            start._check()
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise WrongUseError(f"{path}: cannot read the campaign ({error}); start a new one") from None
        if found != (FORMAT, VERSION):
            raise WrongUseError(
                f"{path}: {found[0]} {found[1]}, but this version reads {FORMAT} {VERSION}; start a new one"
            )
        return start


def _all_texts(words: Any) -> bool:
    return isinstance(words, list) and all(isinstance(word, str) for word in words)


def start_beside(survey: Survey) -> Path:
    """`<survey directory>.campaign.json`, next to the survey's directory as its labels are."""
    return local_neighbour(survey.path, ".campaign.json")


def start_of(material: Material, given: Mapping[str, Any]) -> CampaignStart:
    """From the arguments of `Campaign.start` and the examples found; a WrongUseError if they cannot be kept."""
    known = _words(given["known"]) if material.n_from_elsewhere else list(material.ids)
    recipe = _named(given["recipe"])
    if known is None:
        raise WrongUseError("cannot save known spectra that are not in the survey; give their files instead")
    if recipe is None:
        raise WrongUseError("cannot save a campaign with a custom recipe; use a recipe that has a name")
    refused = material.features.survey.ids[material.rows[material.refused[: len(material.rows)]]].tolist()
    plain = {name: given[name] for name in ("method", "top", "seed", "radius_arcsec")}
    return CampaignStart(
        known=known,
        non_members=refused or None,
        params=given["params"] or {},
        recipe=recipe,
        selection=asdict(given["selection"]),
        **plain,
    )


def _named(recipe: Recipe | str) -> tuple[str, dict[str, Any]] | None:
    """Name and parameters; None for a recipe that was put together by hand."""
    if isinstance(recipe, str):
        return recipe, {}
    name = name_of_recipe(recipe)
    params = {key: value for key, value in recipe.get_params(deep=False).items() if key != "grid"}
    return None if name is None else (name, params)


def _words(given: Any) -> list[str] | None:
    """Ids and files as text, files with their whole path; None when something else was given."""
    words = list(_flat(given))
    if not all(isinstance(word, str | os.PathLike) for word in words):
        return None
    return [os.path.abspath(word) if os.path.exists(word) else os.fspath(word) for word in words]


def _flat(given: Any) -> Iterator[Any]:
    if isinstance(given, list | tuple | set):
        for item in given:
            yield from _flat(item)
    else:
        yield given
