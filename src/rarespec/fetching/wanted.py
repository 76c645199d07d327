"""A file that is to be fetched, for one or several objects that were asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace

SPECTRUM_BYTES = 64 << 20
"""Of a file with one spectrum and its exposures: several times what the longest has."""
MANY_SPECTRA_BYTES = 8 << 30


@dataclass(frozen=True, slots=True)
class Wanted:
    """One file of an archive.

    asked     : ids for which it is fetched, as the user wrote them
    name      : its place in the folder of fetched files
    addresses : where it may be; the next is asked when the archive says that it is not there
    most_bytes : a longer file is not taken
    checksums : name of the list of checksums in the directory of the file; a pattern (*.sha1sum) is looked for in the
        listing of the directory; none when empty
    """

    asked: tuple[str, ...]
    name: str
    addresses: tuple[str, ...]
    checksums: str = ""
    most_bytes: int = SPECTRUM_BYTES


def once(files: list[Wanted]) -> list[Wanted]:
    """Every file once, for all objects that need it, in the order of first need."""
    by_name: dict[str, Wanted] = {}
    for wanted in files:
        there = by_name.get(wanted.name)
        asked = () if there is None else there.asked
        by_name[wanted.name] = replace(there or wanted, asked=tuple(dict.fromkeys((*asked, *wanted.asked))))
    return list(by_name.values())
