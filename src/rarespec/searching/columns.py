"""The columns of a ranking: unit, UCD (IVOA, what kind of quantity it is) and description of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from astropy.table import Table


@dataclass(frozen=True)
class Meaning:
    ucd: str
    description: str
    unit: str = ""


COLUMNS = {
    "rank": Meaning("stat.rank", "Rank in the list; 1 is the best"),
    "id": Meaning("meta.id;meta.main", "Identifier of the spectrum in its survey"),
    "ra": Meaning("pos.eq.ra;meta.main", "Right ascension in the survey's catalogue", "deg"),
    "dec": Meaning("pos.eq.dec;meta.main", "Declination in the survey's catalogue", "deg"),
    "class": Meaning("src.class", "Class given by the survey"),
    "subclass": Meaning("src.class", "Subclass given by the survey"),
    "z": Meaning("src.redshift", "Redshift given by the survey"),
    "snr": Meaning("stat.snr", "Signal-to-noise ratio of the spectrum"),
    "score": Meaning("stat.value", "Score of the ranker; only the order matters"),
    "chance": Meaning("stat.probability", "Chance that this candidate is a true object"),
    "nearest_known": Meaning("meta.id.assoc", "Identifier of the most similar known example"),
    "flags": Meaning("meta.code.qual", "Signs of a likely artefact, separated by commas"),
}


def describe_columns(table: Table) -> Table:
    """Give every column of a ranking, in a copy, its unit, UCD and description; what a column has already stays.

    The UCD of a column is its ``meta["ucd"]``, where astropy keeps it as well. Other columns are as before.
    """
    from astropy.table import Table

    copy = Table(table)
    for name in copy.colnames:
        if name in COLUMNS:
            _describe(copy, name, COLUMNS[name])
    return copy


def _describe(table: Table, name: str, meaning: Meaning) -> None:
    info = table[name].info
    if info.unit is None and meaning.unit:
        info.unit = meaning.unit
    info.description = info.description or meaning.description
    info.meta = {"ucd": meaning.ucd} | dict(info.meta or {})
