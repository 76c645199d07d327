"""The redrock-*.fits file beside a DESI coadd: class and redshift of each target."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rarespec.formats.own_columns import plain_list
from rarespec.formats.source import Source
from rarespec.spectrum import DefectError, Reason
from rarespec.spectrum.spectra import Catalogue

COLUMNS = {
    "z": "Z",
    "class": "SPECTYPE",
    "subclass": "SUBTYPE",
    "zwarn": "ZWARN",
    "zerr": "ZERR",
    "deltachi2": "DELTACHI2",
}
"""Our name -> redrock's."""

_OPTIONAL = {"SUBTYPE", "ZERR", "DELTACHI2"}


@dataclass(frozen=True, slots=True)
class Redshifts:
    """Rows of REDSHIFTS by TARGETID."""

    row_of: dict[int, int]
    columns: dict[str, list[Any]]

    def of(self, targets: list[int]) -> Catalogue:
        """The columns for these targets; None for those that redrock does not have."""
        rows = [self.row_of.get(target) for target in targets]
        return {name: [None if row is None else column[row] for row in rows] for name, column in self.columns.items()}


def redshifts_beside(coadd: Path) -> Redshifts | None:
    """From the file with `redrock-` for `coadd-` in its name, gzipped or not; None when there is none."""
    if not coadd.name.startswith("coadd-"):
        return None
    name = "redrock-" + coadd.name.removeprefix("coadd-")
    for candidate in (name, name.removesuffix(".gz"), name + ".gz"):
        path = coadd.with_name(candidate)
        if path.is_file():
            return _read(path)
    return None


def _read(path: Path) -> Redshifts:
    try:
        with Source(path) as source:
            hdu = next((hdu for hdu in source.hdus if hdu.name == "REDSHIFTS"), None)
            if hdu is None:
                raise DefectError(Reason.LAYOUT, "no table called REDSHIFTS")
            targetid = hdu.column_named("TARGETID")
            wanted = {ours: name for ours, name in COLUMNS.items() if name not in _OPTIONAL or hdu.has_column(name)}
            table = hdu.table()
            columns = {ours: plain_list(table[hdu.column_named(name)]) for ours, name in wanted.items()}
            return Redshifts({target: row for row, target in enumerate(table[targetid].tolist())}, columns)
    except DefectError as error:
        raise DefectError(error.reason, f"{path.name} next to it: {error.detail}; stored without classes") from None
