"""What a reader of survey files is, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rarespec.formats.source import Container, Source
from rarespec.spectrum import Defect, DefectError, Noted, Reason, Skipped, Spectra

SDSS_BAD_BITS = 0xFFFF0000
"""and_mask bits that make an SDSS pixel bad: 16 and up. The lower ones flag the whole fibre, also of good stars."""

WAVELENGTH_UNITS = ("A", "nm", "um")
"""Units that a person may give to files that name none."""

Found = Spectra | Defect | Skipped | Noted
"""What comes out of a file: spectra, something wrong, rows that hold no target, or what the reader had to decide."""


def noted(source: Source, note: str, count: int = 1) -> Iterator[Noted]:
    """Yield the note for the account, if there is one."""
    if note:
        yield Noted(source.name, note, count)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Choices that change what is read; the survey records them.

    Parameters
    ----------
    air : bool
        Whether wavelengths are in air although the header does not say so.
    sdss_bad_bits : int
        Bits of SDSS's and_mask that make a pixel bad.
    wavelength_unit : str, optional
        Unit of wavelengths where a file names none: A, nm or um. By default their size decides.

    Raises
    ------
    ValueError
        If the unit is another one.

    Examples
    --------
    >>> from rarespec.formats import ReadOptions
    >>> ReadOptions(air=True).air
    True
    """

    air: bool = False
    sdss_bad_bits: int = SDSS_BAD_BITS
    wavelength_unit: str | None = None

    def __post_init__(self) -> None:
        if self.wavelength_unit is not None and self.wavelength_unit not in WAVELENGTH_UNITS:
            raise ValueError(f"wavelengths in {self.wavelength_unit!r}: the unit must be A, nm or um")


@dataclass(frozen=True, slots=True)
class Reader:
    """One kind of survey file, and how to read it.

    Parameters
    ----------
    name : str
        Its name for `--format`.
    container : Container
        The kind of file it is written in.
    recognises : callable
        `recognises(source)` looks at the structure of an open source. It never raises for a file of another kind.
    read : callable
        `read(source, options)` yields stacks of at most `MAX_ROWS` spectra, defects of single rows, and counts of rows
        left out on purpose. It raises `DefectError` if the file as a whole is of no use.
    summary : str
        What these files are, for people.
    on_request : str, optional
        What a person asks for by naming this reader. Such a file is never read unless the reader is named.

    Examples
    --------
    >>> from rarespec.formats import reader_by_name
    >>> print(reader_by_name("sdss-spec").container)
    FITS
    """

    name: str
    container: Container
    recognises: Callable[[Source], bool]
    read: Callable[[Source, ReadOptions], Iterator[Found]]
    summary: str
    on_request: str = ""


MAX_ROWS = 512
"""Rows in one stack: keeps memory bounded while a file of a million spectra streams through."""


# ---- What libraries raise on damaged files, as defects.


@contextmanager
def faults_of(library: str) -> Iterator[None]:
    """Turn whatever a library raises on a damaged file into a defect; each library has its own exceptions."""
    try:
        yield
    except (DefectError, MemoryError):
        raise
    except Exception as error:
        detail = (str(error).splitlines() or ["no message"])[0]
        raise DefectError(_reason(detail.lower()), f"{library}: {detail}; fetch it again") from None


def _reason(detail: str) -> Reason:
    if any(word in detail for word in ("checksum", "crc", "fletcher")):
        return Reason.CHECKSUM
    if any(word in detail for word in ("truncated", "unexpected end", "eof", "too short")):
        return Reason.TRUNCATED
    return Reason.CORRUPT
