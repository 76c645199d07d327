"""Wavelength vectors as they stand in files, brought to what a stack of spectra needs: vacuum Angstrom, increasing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.columns import ANY_WAVELENGTH, LOG_WAVELENGTH, find, missing
from rarespec.formats.fits.header import Header
from rarespec.formats.pixels import numbers
from rarespec.formats.reader import ReadOptions, faults_of
from rarespec.spectrum import DefectError, Reason
from rarespec.spectrum.grid import air_to_vacuum

# ---- The unit of wavelengths: what the file says, else what the numbers call for, said aloud.


ANGSTROMS = {
    "a": 1.0, "å": 1.0, "aa": 1.0, "ang": 1.0, "angs": 1.0, "angstrom": 1.0, "angstroem": 1.0, "0.1nm": 1.0,
    "nm": 10.0, "nanometer": 10.0, "nanometre": 10.0,
    "um": 1e4, "µm": 1e4, "μm": 1e4, "mu": 1e4, "mum": 1e4, "micron": 1e4, "micrometer": 1e4, "micrometre": 1e4,
    "mm": 1e7, "cm": 1e8, "m": 1e10, "meter": 1e10, "metre": 1e10,
}  # fmt: skip
"""Angstrom per unit, by the unit's name in lower case without spaces and without the s of a plural."""

UNIT_KEYWORDS = ("CUNIT1", "XUNITS", "XUNIT", "WAVEUNIT", "WUNIT")
"""Cards that say the unit of the wavelengths of an image, the best first."""

PLAUSIBLE = ((1e-8, 1e-4, "m"), (0.05, 50.0, "um"), (280.0, 3000.0, "nm"))
"""Smallest and largest number, and the unit that such numbers are in if the file names none; all others: Angstrom."""

FAR_ULTRAVIOLET = (1100.0, 1430.0, 2150.0, 250.0)
"""Smallest and largest first number, largest last one, and smallest span: far ultraviolet in Angstrom, as of COS, STIS
and IUE. The same numbers in nm are the bands J and H, but these come in micron or Angstrom, or together with K."""
MAY_BE_ULTRAVIOLET = 900.0
"""Numbers above it that are read as nm could be Angstrom too."""
AS_ULTRAVIOLET = (
    "wavelengths without a unit, read as far ultraviolet in Angstrom because of their range; "
    "if they are infrared in nm, use --wavelength-unit nm"
)
AS_INFRARED = (
    "wavelengths without a unit, read as nm because of their size; "
    "if they are ultraviolet in Angstrom, use --wavelength-unit A"
)

LONGEST = 1e10
"""Angstrom: a metre. What is longer is no wavelength, or in another unit."""

IN_WORDS = {"m": "metres", "um": "micron", "nm": "nm"}

LOGARITHMS = ((3.3, 4.3, 2e-5, 5e-4, "log10"), (8.0, 10.0, 5e-5, 6e-4, "ln"))
"""Smallest and largest number, smallest and largest step of logarithms of Angstrom. In micron such numbers are rare."""
SHORTEST_LOGARITHMS = 0.04
"""Less than this, a tenth of the wavelength, may be an order of an infrared spectrograph, in micron."""
OF_LOGARITHMS = re.compile(r"[\[( ]*(log|dex|ln)")
"""How a unit begins that is one of logarithms: log10(nm), dex(AA), [log nm]."""


def angstroms_per(unit: str) -> float:
    """Convert the name of a unit to Angstrom. `log10(nm)` and `dex(nm)` count as nm."""
    text = unit.lower().replace(" ", "").replace("ångström", "angstrom").rstrip(".")
    for wrapper in ("log10", "log", "dex", "ln", "(", ")", "[", "]"):
        text = text.replace(wrapper, "")
    if text not in ANGSTROMS:
        text = text.removesuffix("s")
    if text not in ANGSTROMS:
        detail = f"wavelengths in {unit[:40]!r}, which is no known unit; give it with --wavelength-unit A, nm or um"
        raise DefectError(Reason.LAYOUT, detail)
    return ANGSTROMS[text]


def unit_in_header(header: Header) -> str:
    """Find the unit of the first axis of an image: CUNIT1, XUNITS and the like, or `units=` of IRAF; else nothing."""
    for keyword in UNIT_KEYWORDS:
        if unit := header.string(keyword):
            return unit
    named = re.search(r"units=([A-Za-z0-9.]+)", header.string("WAT1_001"))
    return named[1] if named else ""


def in_angstrom(
    values: Any, unit: str | None = None, log: bool = False, spare_unit: str | None = None
) -> tuple[NDArray[np.float64], str]:
    """Bring wavelengths to Angstrom, by the unit that the file names, else the user, else the size of the numbers.

    Parameters
    ----------
    values : array
        Wavelengths as the file has them.
    unit : str, optional
        What the file says about their unit; nothing or blank if it says nothing.
    log : bool, optional
        Whether they are log10.
    spare_unit : str, optional
        What the user says about it, for files that say nothing.

    Returns
    -------
    wavelength : float64 array
        Angstrom, in the order of the file.
    note : str
        A sentence for the account if the file does not name the unit; empty where the size of the numbers calls for
        Angstrom, as most files have them.

    Raises
    ------
    DefectError
        If the unit is none of wavelength.
    """
    given = numbers(values, "wavelength").astype(np.float64)
    unit = (unit or "").strip()
    if unit and spare_unit and not is_unit(unit):
        told = f"wavelengths in {unit[:40]!r}, which is no known unit, read as {spare_unit} as the ingest was told"
        return _unlogged(given, log, "") * angstroms_per(spare_unit), told
    if unit:
        return _by_unit(_unlogged(given, log, unit), unit), ""
    if spare_unit:
        told = f"wavelengths without a unit, read as {spare_unit} as the ingest was told"
        return _unlogged(given, log, spare_unit) * angstroms_per(spare_unit), told
    if not log and (base := likely_logarithms(given)):
        told = f"wavelengths without a unit, read as {base} of Angstrom because of their size and steps"
        return _unlogged(given, True, f"{base}(A)"), f"{told}; if they are in micron, use --wavelength-unit um"
    return _by_size(_unlogged(given, log, ""))


def _unlogged(values: NDArray[np.float64], log: bool, unit: str) -> NDArray[np.float64]:
    """Take powers of logarithms: those of 10, unless the unit says that they are natural."""
    told = OF_LOGARITHMS.match(unit.lower())
    with np.errstate(over="ignore"):
        if told and told[1] == "ln":
            return np.exp(values)
        return 10.0**values if log or told else values


def likely_logarithms(values: NDArray[np.float64]) -> str:
    """Name the base of numbers that look like logarithms of Angstrom: log10, ln, or nothing.

    Parameters
    ----------
    values : (p,) array
        Wavelengths whose unit nobody names.

    Returns
    -------
    str
        "log10", "ln" or "".
    """
    if len(values) < 2 or not np.isfinite(values).all():
        return ""
    steps, first, last = np.abs(np.diff(values)), values.min(), values.max()
    for smallest, largest, finest, coarsest, base in LOGARITHMS:
        in_range = smallest <= first and last <= largest and last - first >= SHORTEST_LOGARITHMS
        if in_range and finest <= np.median(steps) and steps.max() <= coarsest:
            return base
    return ""


def is_unit(text: str) -> bool:
    """Say whether this is the name of a unit of wavelength, frequency, wavenumber or energy."""
    try:
        _by_unit(np.ones(1), text)
    except DefectError:
        return False
    return bool(text.strip())


def _by_unit(values: NDArray[np.float64], unit: str) -> NDArray[np.float64]:
    """Angstrom out of values in a unit of wavelength; or of frequency, wavenumber or energy, which astropy knows."""
    try:
        return values * angstroms_per(unit)
    except DefectError:
        from astropy import units as u

        try:
            with np.errstate(all="ignore"):
                return np.asarray(u.Quantity(values, unit).to_value(u.AA, u.spectral()), dtype=np.float64)
        except (u.UnitsError, TypeError, ValueError):
            pass
        raise


def _by_size(wavelength: NDArray[np.float64]) -> tuple[NDArray[np.float64], str]:
    """Angstrom out of numbers whose unit nobody names, and what to say about it."""
    usable = wavelength[np.isfinite(wavelength) & (wavelength > 0)]
    if not len(usable):
        return wavelength, ""
    smallest, largest = float(usable.min()), float(usable.max())
    if _is_far_ultraviolet(smallest, largest):
        return wavelength, AS_ULTRAVIOLET
    chosen = next((unit for low, high, unit in PLAUSIBLE if low <= smallest and largest <= high), None)
    if chosen is None:
        return wavelength, ""
    note = f"wavelengths without a unit, read as {IN_WORDS[chosen]} because of their size"
    if chosen == "nm" and smallest >= MAY_BE_ULTRAVIOLET:
        note = AS_INFRARED
    return wavelength * ANGSTROMS[chosen], note


def _is_far_ultraviolet(smallest: float, largest: float) -> bool:
    first, latest_first, last, span = FAR_ULTRAVIOLET
    return first <= smallest <= latest_first and largest <= last and largest - smallest >= span


def is_air(header: Header, options: ReadOptions) -> bool:
    """Say whether this header, or the user, says that wavelengths are in air."""
    return (
        options.air
        or header.get("VACUUM") is False
        or header.string("VACUUM").upper() in ("F", "FALSE", "NO", "0")
        or header.string("CTYPE1").upper().startswith("AWAV")
        or "AIR" in (header.string("AIRORVAC").upper(), header.string("WAVETYPE").upper())
    )


def is_air_unless_said(header: Header, options: ReadOptions) -> bool:
    """Say whether wavelengths are in air, for an instrument whose files are in air unless their header says vacuum.

    In the FITS standard CTYPE1 = WAVE is a wavelength in vacuum.
    """
    says_vacuum = header.get("VACUUM") in (True, 1) or header.string("CTYPE1").upper().startswith("WAVE")
    return is_air(header, options) or not says_vacuum


@lru_cache(maxsize=16)
def log_linear(start: float, step: float, n_pixels: int) -> NDArray[np.float64]:
    """Compute 10 ** (start + step * i); the result is cached, since the files of a survey share it.

    Parameters
    ----------
    start : float
        log10 of the first wavelength in Angstrom.
    step : float
        Step in log10 wavelength.
    n_pixels : int
        How many wavelengths.

    Returns
    -------
    (n_pixels,) float64 array
        Angstrom, read-only.
    """
    exponent = np.asarray(start + step * np.arange(n_pixels), dtype=np.float64)
    with np.errstate(over="ignore"):
        wavelength = np.power(10.0, exponent)
    wavelength.flags.writeable = False
    return wavelength


def coefficients(header: Header) -> tuple[float, float]:
    """Read COEFF0 and COEFF1 of SDSS and LAMOST: log10 wavelength of the first pixel, and step."""
    start, step = header.number("COEFF0"), header.number("COEFF1")
    if start is None or step is None:
        missing = "COEFF0" if start is None else "COEFF1"
        raise DefectError(Reason.LAYOUT, f"{header.label} has no {missing}, so its wavelengths are unknown")
    return start, step


def vacuum(wavelength: NDArray[Any], air: bool, label: str) -> NDArray[np.float64]:
    """Bring wavelengths to vacuum, and check that they increase from pixel to pixel.

    Parameters
    ----------
    wavelength : (p,) array
        Angstrom.
    air : bool
        Whether they are in air.
    label : str
        What a message calls the place they come from.

    Returns
    -------
    (p,) float64 array
        Vacuum Angstrom.

    Raises
    ------
    DefectError
        If they are not positive, or do not increase.
    """
    result = np.asarray(wavelength, dtype=np.float64)
    # Comparisons with NaN are False, so a NaN anywhere is refused too.
    increases = len(result) >= 2 and result[0] > 0 and bool((result[1:] > result[:-1]).all())
    if not (increases and np.isfinite(result[-1])):
        raise DefectError(Reason.CORRUPT, f"the wavelengths of {label} do not increase from pixel to pixel")
    return air_to_vacuum(result) if air else result


# ---- Wavelengths as generic files give them: in any unit, plain or log10, from blue to red or from red to blue.


@dataclass(frozen=True, slots=True)
class Axis:
    """Wavelengths, (p,) float64 vacuum Angstrom increasing; `reverse` when the file lists them the other way.

    `note` is a sentence for the account if the file does not name the unit.
    """

    wavelength: NDArray[np.float64]
    reverse: bool
    note: str = ""

    @property
    def in_order(self) -> NDArray[np.float64]:
        """The wavelengths in the order of the file."""
        return self.wavelength[::-1] if self.reverse else self.wavelength

    @classmethod
    def of(
        cls,
        values: Any,
        log: bool = False,
        unit: str | None = None,
        air: bool = False,
        spare_unit: str | None = None,
    ) -> Axis:
        """Turn wavelengths as a file has them into an axis.

        Parameters
        ----------
        values : array
            (p,).
        log : bool, optional
            Whether they are log10.
        unit : str, optional
            Their unit, if the file names it.
        air : bool, optional
            Whether they are in air.
        spare_unit : str, optional
            Their unit if the file does not name it. By default the one that their size calls for.

        Returns
        -------
        Axis
            In vacuum Angstrom.
        """
        wavelength, note = in_angstrom(values, unit, log, spare_unit)
        _check_wavelength(wavelength)
        reverse = bool(wavelength[0] > wavelength[-1])
        if reverse:
            wavelength = np.ascontiguousarray(wavelength[::-1])
        if air:
            wavelength = air_to_vacuum(wavelength)
        return cls(wavelength, reverse, note)

    @classmethod
    def in_metadata(cls, metadata: Mapping[str, Any], options: ReadOptions, columns: Iterable[str]) -> Axis:
        """Read wavelengths from metadata: a vector, or its text, called `wavelength` or `loglam`.

        Parameters
        ----------
        metadata : mapping
            Key -> value; `wavelength_unit` is the unit.
        options : ReadOptions
            How the user wants wavelengths read.
        columns : iterable of str
            Columns of the file, for the message if there are no wavelengths.

        Returns
        -------
        Axis
            In vacuum Angstrom.

        Raises
        ------
        DefectError
            If there are no wavelengths, or they make no sense.
        """
        name = find(metadata, ANY_WAVELENGTH)
        if name is None:
            looked_for = (*ANY_WAVELENGTH, "the same in the metadata")
            raise missing("wavelength", looked_for, [*columns, *(f"metadata {key}" for key in metadata)])
        values = metadata[name]
        with faults_of(f"metadata {name}"):
            if isinstance(values, str):
                values = re.split(r"[\s,;]+", values.strip("[]() \t\r\n"))
            vector = np.array(values, dtype=np.float64)
        log, unit = name.lower() in LOG_WAVELENGTH, metadata.get("wavelength_unit")
        return cls.of(vector, log, unit, options.air, options.wavelength_unit)


def _check_wavelength(wavelength: NDArray[np.float64]) -> None:
    if wavelength.ndim != 1 or len(wavelength) < 2:
        raise DefectError(Reason.LAYOUT, f"wavelength has shape {wavelength.shape}; it must be a vector of at least 2")
    if not np.isfinite(wavelength).all() or wavelength.min() <= 0:
        raise DefectError(Reason.LAYOUT, "wavelengths that are not finite and positive")
    if wavelength.max() > LONGEST:
        between = f"wavelengths from {wavelength.min():.4g} to {wavelength.max():.4g} A"
        raise DefectError(Reason.LAYOUT, f"{between}; give their unit in the file, or with --wavelength-unit")
    steps = np.diff(wavelength)
    if not ((steps > 0).all() or (steps < 0).all()):
        first = int(np.argmax(np.sign(steps) != np.sign(steps[0])))
        raise DefectError(Reason.LAYOUT, f"wavelengths do not increase steadily (pixels {first} and {first + 1})")
