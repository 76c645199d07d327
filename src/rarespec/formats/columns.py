"""Columns of files: which role each plays, the survey's own, and the catalogue made of them."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.fits.header import Header
from rarespec.formats.positions import IN_HOURS, degrees_of
from rarespec.spectrum import DefectError, Reason
from rarespec.spectrum.spectra import COMMON_COLUMNS, Catalogue

# ---- The survey's own columns: scalars of a table's rows or of a header, as plain Python values in lower case.


_STRUCTURE = re.compile(
    r"SIMPLE|XTENSION|BITPIX|NAXIS\d*|EXTEND|PCOUNT|GCOUNT|TFIELDS|EXTNAME|EXTVER|BSCALE|BZERO|BLANK|CHECKSUM|DATASUM"
    r"|T(TYPE|FORM|UNIT|SCAL|ZERO|NULL|DIM|DISP)\d+|WAT\d_\d+|LONGSTRN|ENCODING|COMMENT|HISTORY"
)
"""Cards that say how a file is built and nothing about the object."""


def plain(value: Any) -> Any:
    """Bring a value of a table to Python's own type: text without blanks around it, None for NaN."""
    if isinstance(value, bytes):
        return value.split(b"\0", 1)[0].decode("latin-1").strip()
    if isinstance(value, str):
        return value.strip()
    return None if value != value else value


@lru_cache(maxsize=256)
def _scalar_names(dtype: np.dtype[Any]) -> tuple[tuple[int, str, str], ...]:
    """(position, name, name in lower case) of the columns with one plain value per row; the first of a name counts."""
    found: dict[str, tuple[int, str, str]] = {}
    for position, name in enumerate(dtype.names or ()):
        if dtype[name].shape == () and dtype[name].kind in "biufSU":
            found.setdefault(name.lower(), (position, name, name.lower()))
    return tuple(found.values())


def own_row(table: NDArray[Any], row: int = 0) -> dict[str, Any]:
    """Take the scalars of one row of a structured array. Integers never pass through floats."""
    values = table[row].tolist()
    return {lower: plain(values[position]) for position, _, lower in _scalar_names(table.dtype)}


def scalar_columns(table: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Take the columns of a structured array with one plain value per row, as stored, by name in lower case."""
    return {lower: table[name] for _, name, lower in _scalar_names(table.dtype)}


def own_columns(table: NDArray[Any]) -> Catalogue:
    """Take the scalar columns of a structured array as Python values."""
    return {name: plain_list(column) for name, column in scalar_columns(table).items()}


def plain_list(column: NDArray[Any]) -> list[Any]:
    """Bring the values of a column to Python's own types."""
    if column.dtype.kind in "biu":
        return column.tolist()
    return [plain(value) for value in column.tolist()]


def own_cards(header: Header) -> dict[str, Any]:
    """Take the cards of a header that say something about the object; of cards with one name, the first counts."""
    own: dict[str, Any] = {}
    for key, value in header.cards():
        name = _name_of_card(key)
        if name and name not in own:
            own[name] = value
    return own


@lru_cache(maxsize=4096)
def _name_of_card(keyword: str) -> str:
    """In lower case; nothing for cards about the file itself."""
    return "" if _STRUCTURE.fullmatch(keyword) else keyword.lower()


def catalogue_of(common: dict[str, Any], own: dict[str, Any], taken: Collection[str] = ()) -> dict[str, Any]:
    """Put the common columns first, all of them, then the survey's own.

    Parameters
    ----------
    common : dict
        Common column -> its value, or a list with one value per spectrum. Those that are absent become None.
    own : dict
        The survey's columns under their names in lower case, in the same shape.
    taken : collection of str
        Names in `own` whose values became the common column of the same name; they are not repeated.

    Returns
    -------
    dict
        The columns of the catalogue.
    """
    return with_own({name: common.get(name) for name in COMMON_COLUMNS}, own, taken)


def with_own(common: dict[str, Any], own: dict[str, Any], taken: Collection[str]) -> dict[str, Any]:
    """Add the survey's own columns to these common ones.

    A column of the survey that happens to carry a common name but holds something else is kept as `file_NAME`.

    Parameters
    ----------
    common : dict
        Common column -> its value, or a list with one value per spectrum.
    own : dict
        The survey's columns under their names in lower case, in the same shape.
    taken : collection of str
        Names in `own` whose values became the common column of the same name; they are not repeated.

    Returns
    -------
    dict
        The common columns first.
    """
    # `common` twice: the first keeps its columns in front, the last keeps its values.
    result = {**common, **own, **common}
    for name in common:
        if name in own and name not in taken:
            result[f"file_{name}"] = own[name]
    return result


def one_row(row: dict[str, Any]) -> Catalogue:
    """Make a catalogue with a single spectrum."""
    return {name: [value] for name, value in row.items()}


# ---- Which column of a file is flux, wavelength, inverse variance, error or mask; case does not matter.


FLUX_DENSITY = ("flux", "flam", "f_lambda", "flux_density", "flux_reduced")
"""Names that tables of objects without spectra hardly use."""
FLUX = (*FLUX_DENSITY, "flux_cal", "fluxes", "fl", "spec", "intensity")
FREQUENCY = ("frequency", "freq")
WAVENUMBER = ("wavenumber", "wave_number")
WAVELENGTH = ("wavelength", "lambda", "wave", "lam", "wavelengths", "wl", "wvl", "wavel", *FREQUENCY, *WAVENUMBER)
LOG_WAVELENGTH = (
    *("loglam", "log_wavelength", "log_lambda", "loglambda", "log_wave", "logwave", "log_lam", "log_wl"),
    *("log10_wavelength", "logwavelength"),
)
IVAR = ("ivar", "inverse_variance", "invvar")
ERROR = (
    *("err", "error", "sigma", "flux_err", "flux_error", "fluxerr", "e_flux", "uncertainty", "err_flux", "flux_sigma"),
    *("err_reduced", "sig", "std", "stddev", "noise", "unc", "flux_unc", "errors"),
)
VARIANCE = ("variance", "var", "flux_var", "flux_variance", "var_flux")
MASK = ("mask", "bad", "badpix")

ANY_WAVELENGTH = (*WAVELENGTH, *LOG_WAVELENGTH)

Column = NDArray[Any] | list[Any]
"""One value per row: a 1-D or 2-D array, or a list, whose elements may be vectors of different lengths."""


def find(names: Iterable[str], wanted: tuple[str, ...]) -> str | None:
    """Find the first of the wanted columns that is there, under the file's own name for it."""
    by_lower: dict[str, str] = {}
    for name in names:
        by_lower.setdefault(name.lower(), name)
    return next((by_lower[name] for name in wanted if name in by_lower), None)


def missing(what: str, looked_for: Iterable[str], names: Iterable[str]) -> DefectError:
    """Make the error that says which column was looked for and which there are; the caller raises it.

    Parameters
    ----------
    what : str
        What is missing, in words.
    looked_for : iterable of str
        Names that would have been understood.
    names : iterable of str
        Names in the file; the first 12 are shown.

    Returns
    -------
    DefectError
        Of the reason "missing column".
    """
    there = ", ".join(name[:40] for name in sorted(names)[:12]) or "nothing"
    return DefectError(Reason.MISSING_COLUMN, f"no {what}: looked for {', '.join(looked_for)}; found {there}")


@dataclass(frozen=True, slots=True)
class Roles:
    """The file's own names of the columns that make a spectrum; None for what it does not have."""

    flux: str
    wavelength: str | None = None
    log: bool = False
    ivar: str | None = None
    error: str | None = None
    mask: str | None = None
    variance: str | None = None
    good: str | None = None
    """1 where a pixel is good."""
    snr: str | None = None
    """Of each pixel."""
    relative_error: str | None = None
    percent_error: str | None = None
    """Relative, in percent."""
    flag: str | None = None
    """Not 0 where something is wrong with a pixel, or only noteworthy."""
    natural: bool = False
    """Logarithms of wavelengths are natural ones."""
    air: bool = False
    """The name of the column says that its wavelengths are in air."""
    named_unit: str = ""
    """Unit in the name of the column of wavelengths."""

    @classmethod
    def among(cls, names: Iterable[str], named: Mapping[str, str] | None = None) -> Roles:
        names, named = list(names), named or {}
        for role, name in named.items():
            if name not in names:
                raise missing(role, [name], names)
        flux = named.get("flux") or find(names, FLUX)
        if flux is None:
            raise missing("flux", FLUX, names)
        wavelength = named.get("wavelength") or find(names, WAVELENGTH)
        log = wavelength is None
        ivar = named.get("ivar") or (None if "error" in named else find(names, IVAR))
        error = None if ivar else named.get("error") or find(names, ERROR)
        return cls(
            flux,
            find(names, LOG_WAVELENGTH) if log else wavelength,
            log,
            ivar,
            error,
            named.get("mask") or find(names, MASK),
            None if ivar or error else find(names, VARIANCE),
        )

    @property
    def on_pixels(self) -> list[str]:
        """Columns with the shape of the flux."""
        return list(self.by_role.values())

    @property
    def by_role(self) -> dict[str, str]:
        """The same, by the names that `stack_of` has for them."""
        names = {
            "flux": self.flux,
            "ivar": self.ivar,
            "error": self.error,
            "mask": self.mask,
            "variance": self.variance,
            "good": self.good,
            "snr": self.snr,
            "relative_error": self.relative_error,
            "percent_error": self.percent_error,
            "flag": self.flag,
        }
        return {role: name for role, name in names.items() if name}

    @property
    def has_error(self) -> bool:
        """Whether the file tells how good its flux is."""
        return any((self.ivar, self.error, self.variance, self.relative_error, self.percent_error, self.snr))

    @property
    def usual_unit(self) -> str:
        """Unit if the file names none: the one in the column's name, Hz or 1/cm; nothing for other wavelengths."""
        if self.named_unit:
            return self.named_unit
        name = (self.wavelength or "").rpartition(".")[2].lower()
        return "Hz" if name in FREQUENCY else "1/cm" if name in WAVENUMBER else ""

    @property
    def used(self) -> list[str]:
        """Columns that make a spectrum, all of them."""
        return self.on_pixels + ([self.wavelength] if self.wavelength else [])


# ---- The catalogue of a generic file: common columns under their usual names, and the file's own, as Python
# values.
#
# Columns used under a common name are not repeated under their own; one whose name is already taken becomes
# `file_NAME`. Rows without an id are called `<stem>-<row>` (row from 0, six digits or more), a single spectrum
# `<stem>`.


# What belongs to the fibre comes before what a crossmatch may have added: the spectrum is of the fibre's target.
IDS = (
    *("id", "object_id", "targetid", "specobjid", "spec_id", "obsid", "objectid", "objid", "source_id", "name"),
    *("spectrum_id", "specid", "designation"),
)
NUMBERS = {
    "ra": ("target_ra", "plug_ra", "ra", "ra_deg", "raj2000", "ra_icrs", "ra_j2000", "targ_ra", "ra_targ"),
    "dec": (
        *("target_dec", "plug_dec", "dec", "dec_deg", "dej2000", "decj2000", "de_icrs", "dec_icrs", "dec_j2000"),
        *("targ_dec", "dec_targ"),
    ),
    "z": ("z", "redshift", "z_best", "z_spec"),
    "snr": ("snr", "sn", "s_n", "snr_median", "sn_median_all"),
}
TEXTS = {"class": ("class", "spectype", "cls"), "subclass": ("subclass", "subtype"), "survey": ("survey",)}

EXACT_IN_FLOAT = 2**53
"""Whole numbers from here on are rounded by float64: an id stored that way is not the object's id."""


def generic_catalogue(
    columns: Mapping[str, Column], source_name: str, spare_ids: list[str], units: Mapping[str, str] | None = None
) -> Catalogue:
    """Make the catalogue of a generic file: the common columns first, then the file's own in lower case.

    Parameters
    ----------
    columns : mapping
        Columns of the file, one value per spectrum, without those that make the spectrum.
    source_name : str
        What the column `source` says of every spectrum.
    spare_ids : list of str
        An id for each spectrum, used where the file gives none. Their number is the number of spectra.
    units : mapping, optional
        Column -> its unit; positions in hours or radians become degrees.

    Returns
    -------
    dict
        Column -> list of Python values.

    Raises
    ------
    DefectError
        If ids are stored as floats too large to be exact, or text is not valid Unicode.
    """
    left = {name: python_values(column) for name, column in columns.items()}
    n = len(spare_ids)
    catalogue: Catalogue = {"id": ids_of(_take_first(left, IDS) or [None] * n, spare_ids)}
    for common, names in NUMBERS.items():
        positions = _positions(left, names, common, units or {}) if common in ("ra", "dec") else None
        catalogue[common] = positions or _floats(left, names) or [None] * n
    for common, names in TEXTS.items():
        values = _take_first(left, names) or [None] * n
        catalogue[common] = [None if value is None else str(value) for value in values]
    catalogue["survey"] = [value or "unknown" for value in catalogue["survey"]]
    catalogue["source"] = [source_name] * n
    used: Counter[str] = Counter()
    for name, values in left.items():
        catalogue[_free_name(_whole_characters(name.lower()), catalogue, used)] = values
    return catalogue


def _take_first(left: dict[str, list[Any]], names: tuple[str, ...]) -> list[Any] | None:
    name = find(left, names)
    return None if name is None else left.pop(name)


def _floats(left: dict[str, list[Any]], names: tuple[str, ...]) -> list[Any] | None:
    # A column of another kind (coordinates as text, say) is not lost: it stays among the file's own.
    name = find(left, names)
    if name is None or not all(value is None or isinstance(value, int | float) for value in left[name]):
        return None
    return [None if value is None else float(value) for value in left.pop(name)]


def _positions(
    left: dict[str, list[Any]], names: tuple[str, ...], common: str, units: Mapping[str, str]
) -> list[Any] | None:
    """Degrees out of sexagesimal text or of numbers in another unit, which stay among the file's own columns.

    None for plain numbers without a unit, which are degrees.
    """
    name = find(left, names) or (find(left, IN_HOURS) if common == "ra" else None)
    if name is None:
        return None
    unit = "hourangle" if name.lower() in IN_HOURS else units.get(name)
    is_text = any(isinstance(value, str) for value in left[name])
    if not (unit or is_text) or not all(value is None or _may_be_angle(value) for value in left[name]):
        return None
    try:
        degrees = degrees_of(left[name], unit, in_hours=common == "ra").tolist()
    except DefectError:  # a unit that is no angle is none of ours
        return None
    if degrees == left[name]:
        return left.pop(name)
    return [None if value != value else value for value in degrees]


def _may_be_angle(value: Any) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and bool(_ANGLE.fullmatch(value)))


_ANGLE = re.compile(r"[+-]?\d{1,3}[:hd ]\s?\d{1,2}([m']|[:m' ]\s?\d{1,2}(\.\d{0,12})?[s\"]?)?", re.ASCII)
"""12:34:56.7, 12 34 56.7 or 12h34m56.7s: text from a stranger's file goes to the parser only if it is like this."""


def _free_name(name: str, taken: Mapping[str, Any], used: Counter[str]) -> str:
    """NAME, else `file_NAME`, else `file_NAME_2` and so on; `used` keeps how far each name got."""
    free = name
    while free in taken:
        used[name] += 1
        free = f"file_{name}" if used[name] == 1 else f"file_{name}_{used[name]}"
    return free


def python_values(column: Any) -> list[Any]:
    """Turn a column into Python values: whole numbers stay exact, text is stripped, NaN and masked become None."""
    if isinstance(column, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(column)
        values = python_values(np.asarray(column.data))
        return [None if hide else value for value, hide in zip(values, hidden, strict=True)]
    if isinstance(column, np.ndarray) and column.dtype.kind in "Mm":
        column = [None if np.isnat(value) else str(value) for value in column]
    if isinstance(column, np.ndarray):
        column = _list_values(column)
    return [_python_value(value) for value in column]


def _list_values(column: np.ndarray[Any, Any]) -> list[Any]:
    if column.dtype.kind == "U" and column.dtype.itemsize:
        # NumPy makes broken text, which crashes Python later, of numbers that are no characters.
        codes = np.ascontiguousarray(column).view(np.dtype("u4").newbyteorder(column.dtype.byteorder))
        if codes.max(initial=0) > sys.maxunicode:
            raise DefectError(Reason.CORRUPT, "text that is not valid Unicode; fetch it again")
    return column.tolist()


def _python_value(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="backslashreplace")
    if isinstance(value, str):
        return _whole_characters(value).strip().rstrip("\0")
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, date | datetime):
        return value.isoformat()
    return value if value is None or isinstance(value, bool | int) else str(value)


def _whole_characters(text: str) -> str:
    """Text as it can be stored: halves of a character, which damage leaves behind, are written out as such."""
    return text if text.isascii() else text.encode("utf-8", errors="backslashreplace").decode()


def ids_of(values: list[Any], otherwise: list[str]) -> list[str]:
    """Write ids as text, never through a float that would round them; where there is none, take the other."""
    return [_id(value) or spare for value, spare in zip(values, otherwise, strict=True)]


def _id(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        if abs(value) >= EXACT_IN_FLOAT:
            raise DefectError(Reason.LAYOUT, f"ids stored as floating point have lost digits ({value:.0f})")
        value = int(value)
    return str(value)


def stem_of(path: Path) -> str:
    """Strip the endings for format and compression from a file's name."""
    return path.with_suffix("").stem if path.suffix == ".gz" else path.stem


def number_ids(stem: str, first: int, n: int, single: bool = False) -> list[str]:
    """Make ids for spectra whose file gives none: `stem-000012`, counted from 0.

    Parameters
    ----------
    stem : str
        The file's name without its endings.
    first : int
        Number of the first row.
    n : int
        How many ids.
    single : bool
        Whether the file holds one spectrum only; it is then called by the stem.

    Returns
    -------
    list of str
        The ids.
    """
    return [stem] if single else [f"{stem}-{row:06d}" for row in range(first, first + n)]
