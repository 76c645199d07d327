"""A HATS catalogue on disk or under a URL: recognised by its files, opened by LSDB."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from rarespec.survey.location import is_remote, location
from rarespec.survey.manifest import WrongUseError

if TYPE_CHECKING:
    from lsdb.catalog import Catalog

MARKS = ("hats.properties", "collection.properties", "properties")
SPECTRUM = "spectrum"


def is_hats(place: str | os.PathLike[str]) -> bool:
    """Whether there is a HATS catalogue, or a collection of them, in this directory."""
    root = location(place)
    return any((root / name).is_file() for name in MARKS)


def require_lsdb() -> Any:
    try:
        import lsdb
    except ImportError as error:
        raise WrongUseError(f"HATS catalogues need LSDB: pip install 'rarespec[hats]' ({error})") from None
    return lsdb


def opened(catalogue: Catalog | str | os.PathLike[str]) -> Catalog:
    """The catalogue with all its columns; one of LSDB, which may have been filtered, as it is."""
    lsdb = require_lsdb()
    if isinstance(catalogue, lsdb.catalog.Catalog):
        return _with_spectra(cast(Any, catalogue))
    root = location(cast(str, catalogue))
    if not is_hats(root):
        raise WrongUseError(f"{root}: not a HATS catalogue (no {MARKS[0]})")
    return _with_spectra(lsdb.open_catalog(str(root), columns="all", storage_options=_options(root)))


def _with_spectra(found: Catalog) -> Catalog:
    if SPECTRUM not in found.columns:
        there = ", ".join(list(found.columns)[:12])
        raise WrongUseError(f"{found.name}: no column {SPECTRUM!r}, as the Multimodal Universe has; there is {there}")
    return found


def _options(root: Any) -> dict[str, Any] | None:
    return dict(root.storage_options) if is_remote(root) else None
