"""A HATS catalogue on disk or under a URL: recognised by its files, opened by LSDB."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, cast

from rarespec.survey.location import is_remote, location
from rarespec.survey.manifest import WrongUseError

if TYPE_CHECKING:
    from lsdb.catalog import Catalog

MARKS = ("hats.properties", "collection.properties", "properties")
NAMING = ("hats_primary_table_url", "all_margins", "default_margin", "all_indexes", "default_index", "all_extensions")
"""Properties of a collection that name catalogues."""
SPECTRUM = "spectrum"


def is_hats(place: str | os.PathLike[str]) -> bool:
    """Whether there is a HATS catalogue, or a collection of them, in this directory."""
    root = location(place)
    return any((root / name).is_file() for name in MARKS)


def is_catalogue(place: Any) -> bool:
    """Whether this is a catalogue of LSDB, or the directory or URL of a HATS catalogue."""
    if isinstance(place, str | os.PathLike):
        return is_hats(place)
    return type(place).__module__.split(".")[0] == "lsdb"


def require_lsdb() -> Any:
    try:
        import lsdb
    except ImportError as error:
        raise WrongUseError(f"HATS catalogues need LSDB: pip install 'rarespec[hats]' ({error})") from None
    return lsdb


def open_catalogue(catalogue: Catalog | str | os.PathLike[str]) -> Catalog:
    """The catalogue with all its columns; one of LSDB, which may have been filtered, as it is."""
    lsdb = require_lsdb()
    if isinstance(catalogue, lsdb.catalog.Catalog):
        return _with_spectra(cast(Any, catalogue))
    root = location(cast(str, catalogue))
    if not is_hats(root):
        raise WrongUseError(f"{root}: not a HATS catalogue (no {MARKS[0]})")
    _check_within(root)
    try:
        found = lsdb.open_catalog(str(root), columns="all", storage_options=_options(root))
    except OSError:
        raise
    except Exception as error:  # its files are read by several libraries, each with faults of its own
        raise WrongUseError(
            f"{root}: cannot be opened as a HATS catalogue ({type(error).__name__}: {str(error)[:300]}); copy it again"
        ) from error
    return _with_spectra(found)


def _check_within(root: Any) -> None:
    """A collection names the catalogues it consists of. Those of others, or of the web, are not opened unasked."""
    collection = root / "collection.properties"
    if not collection.is_file():
        return
    text = collection.read_text(errors="replace").replace("\\\n", "")  # a value may go on in the next line
    for line in text.splitlines():
        key, *words = re.split(r"[=:\s]+", line.strip())
        if key in NAMING and any(re.search(r"[/\\]|\.\.", word) for word in words):
            raise WrongUseError(
                f"{collection}: {key} names {' '.join(words)[:200]!r}, but the collection has no such catalogue"
            )


def _with_spectra(found: Catalog) -> Catalog:
    if SPECTRUM not in found.columns:
        there = ", ".join(list(found.columns)[:12])
        raise WrongUseError(f"{found.name}: no column {SPECTRUM!r}, as the Multimodal Universe has; there is {there}")
    return found


def _options(root: Any) -> dict[str, Any] | None:
    return dict(root.storage_options) if is_remote(root) else None
