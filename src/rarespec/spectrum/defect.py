"""What is wrong with a file or a spectrum: a value that is kept and counted, never an exception that stops a batch."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rarespec.errors import RarespecError


class Reason(StrEnum):
    """Kinds of defect, in the words printed to the user.

    Examples
    --------
    >>> from rarespec.spectrum import Reason
    >>> print(Reason.TRUNCATED)
    truncated
    """

    EMPTY = "empty file"
    HTML_PAGE = "web page instead of data"
    TRUNCATED = "truncated"
    CHECKSUM = "checksum mismatch"
    CORRUPT = "corrupt"
    TOO_LARGE = "inflates beyond the limit"
    TOO_MUCH_MEMORY = "needs too much memory"
    TOO_SLOW = "takes too long to read"
    UNREADABLE = "unreadable"
    UNRECOGNISED = "unrecognised format"
    LAYOUT = "unexpected layout"
    MISSING_COLUMN = "missing column"
    NO_GOOD_PIXELS = "no good pixels"
    NO_OVERLAP = "no overlap with the grid"
    NO_REDSHIFT = "no redshift for the rest frame"
    DIRECTORY_LOOP = "directory loop"
    NO_FEATURES = "no features"
    READER_CRASHED = "reader crashed"


@dataclass(frozen=True, slots=True)
class Defect:
    """One file or spectrum that could not be stored, and why.

    Parameters
    ----------
    source : str
        Path of the file.
    reason : Reason
        Kind of defect; reports count defects by it.
    detail : str
        What a person needs to know to act on it.
    id : str, optional
        Id of the spectrum. Empty when the whole file is at fault.

    Examples
    --------
    >>> from rarespec.spectrum import Defect, Reason
    >>> defect = Defect("spec-0266-51602-0001.fits", Reason.EMPTY, "0 bytes; fetch it again")
    >>> print(defect.reason)
    empty file
    """

    source: str
    reason: Reason
    detail: str
    id: str = ""


class DefectError(RarespecError):
    """A file of no use: `rarespec.formats` turns this error into a `Defect`, so that it never stops a batch.

    Parameters
    ----------
    reason : Reason
        Kind of defect.
    detail : str
        What a person needs to know to act on it.

    Examples
    --------
    >>> from rarespec.spectrum import DefectError, Reason
    >>> error = DefectError(Reason.TRUNCATED, "100 bytes are missing at the end")
    >>> error.at("spec.fits").source
    'spec.fits'
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail

    def __reduce__(self) -> tuple[type[DefectError], tuple[Reason, str]]:
        return type(self), (self.reason, self.detail)

    def at(self, source: str) -> Defect:
        """Return the defect of a file.

        Parameters
        ----------
        source : str
            Path of the file.

        Returns
        -------
        Defect
            With this error's reason and detail.
        """
        return Defect(source, self.reason, self.detail)


# ---- Rows that a reader leaves out on purpose, such as sky fibres. Not a defect: nothing is wrong with them.


@dataclass(frozen=True, slots=True)
class Skipped:
    """Rows of a file without a target spectrum, such as sky fibres: counted and reported, never dropped in silence.

    Parameters
    ----------
    source : str
        Path of the file.
    reason : str
        Why the rows hold no target.
    count : int
        How many rows there are.

    Examples
    --------
    >>> from rarespec.spectrum import Skipped
    >>> Skipped("coadd.fits", "sky fibres", 80).count
    80
    """

    source: str
    reason: str
    count: int


# ---- What a reader decided about a file that does not say enough. Not a defect either: the spectra are stored.


@dataclass(frozen=True, slots=True)
class Noted:
    """Something that a reader decided by itself, such as the unit of wavelengths: counted and told, never in silence.

    Parameters
    ----------
    source : str
        Path of the file.
    note : str
        What was decided and why, in words that are the same for every file like it.
    count : int
        How many spectra it is about.

    Examples
    --------
    >>> from rarespec.spectrum import Noted
    >>> Noted("star.txt", "wavelengths without a unit, read as micron because of their size", 1).count
    1
    """

    source: str
    note: str
    count: int
