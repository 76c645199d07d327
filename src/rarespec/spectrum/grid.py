"""The wavelength grid that all spectra of a survey share, and wavelengths in air."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

ON_GRID_TOLERANCE = 0.02
"""Largest distance, in pixels, at which an input pixel lies on the grid. float32 log10 wavelengths are off by 0.003."""
MOST_PIXELS = 20_000
"""Pixels of a grid that is made after spectra; finer ones are binned. A block of 2048 such rows is 160 MB."""
ROUNDED = 0.005
"""Pixels by which a grid that is made after spectra may be off, so that its numbers are short."""
FINE_STEPS = 0.1
"""Of unevenly sampled wavelengths, this share has steps smaller than the grid that is made after them."""
LONGEST = 1e10
"""Angstrom, a metre: no spectrum reaches further, but a log grid whose start is no logarithm does."""
ANGSTROMS = {"a": 1.0, "angstrom": 1.0, "nm": 10.0, "um": 1e4, "micron": 1e4}
"""Angstrom per unit, as it may stand behind a number of a grid."""


@dataclass(frozen=True)
class WavelengthGrid:
    """Pixel centres in vacuum Angstrom, evenly spaced in log10(wavelength) or in wavelength.

    Parameters
    ----------
    spacing : {"log", "linear"}
        Whether pixels are even in log10(wavelength) or in wavelength.
    start : float
        First pixel centre: log10(Angstrom) for a log grid, Angstrom for a linear one.
    step : float
        Distance between pixel centres, in the unit of `start`.
    n_pixels : int
        Number of pixels, at least 2.

    Raises
    ------
    ValueError
        If the spacing is unknown, the step is not positive, there are fewer than 2 pixels, or the last one lies
        beyond a metre.

    Examples
    --------
    >>> from rarespec.spectrum import WavelengthGrid
    >>> grid = WavelengthGrid("linear", 4000.0, 2.0, 3)
    >>> grid.wavelength
    array([4000., 4002., 4004.])
    >>> grid.edges
    array([3999., 4001., 4003., 4005.])
    """

    spacing: Literal["log", "linear"]
    start: float
    step: float
    n_pixels: int

    def __post_init__(self) -> None:
        if self.spacing not in ("log", "linear"):
            raise ValueError(f"the spacing of a wavelength grid must be 'log' or 'linear', not {self.spacing!r}")
        if not (self.step > 0 and self.n_pixels >= 2 and np.isfinite(self.start)):
            raise ValueError(f"a wavelength grid needs a positive step and at least 2 pixels: {self}")
        if self.spacing == "linear" and self.start <= 0:
            raise ValueError(f"a linear grid must start at a positive wavelength, not {self.start}")
        self._check_ends()

    def _check_ends(self) -> None:
        is_log = self.spacing == "log"
        if self.start + self.step * (self.n_pixels - 1) > (np.log10(LONGEST) if is_log else LONGEST):
            how = "; a log grid starts at log10 of Angstrom (3.6), or at a wavelength with a unit (4000A)"
            raise ValueError(f"a grid that reaches beyond a metre: {self}{how if is_log else ''}")

    @classmethod
    def parse(cls, text: str) -> WavelengthGrid:
        """Read a grid from text, as the command line takes it.

        Parameters
        ----------
        text : str
            A name (`paper`, `sdss`, `boss`, `lamost`, `desi`), `log:START:STEP:PIXELS` (log10 of Angstrom) or
            `linear:START:STEP:PIXELS` (Angstrom). Wavelengths may have a unit, A, nm or um:
            `linear:0.8um:0.001um:1601`, `log:360nm:1e-4:4600`.

        Returns
        -------
        WavelengthGrid
            The grid.

        Raises
        ------
        ValueError
            If the text is no grid.

        Examples
        --------
        >>> from rarespec.spectrum import WavelengthGrid
        >>> WavelengthGrid.parse("desi").n_pixels
        7781
        >>> print(WavelengthGrid.parse("linear:0.8um:1nm:1601"))
        linear:8000:10:1601
        """
        if text.lower() in NAMED_GRIDS:
            return NAMED_GRIDS[text.lower()]
        try:
            if text.count(":") != 3:
                raise ValueError("neither a name nor SPACING:START:STEP:PIXELS")
            spacing, start, step, n_pixels = text.split(":")
            return cls(spacing, *_numbers_of(spacing, start, step), int(n_pixels))  # type: ignore[arg-type]
        except ValueError as error:
            raise ValueError(
                f"{text!r} is not a wavelength grid ({error}); write {', '.join(NAMED_GRIDS)}, "
                "log:3.5930:1e-4:3601, linear:3600:0.8:7781, linear:0.8um:0.001um:1601 or like:FILE"
            ) from None

    @classmethod
    def like(cls, wavelength: NDArray[Any]) -> WavelengthGrid:
        """Make the grid that follows these wavelengths: from the first to the last, log or linear, with their step.

        Parameters
        ----------
        wavelength : ndarray
            Pixel centres, (p,) vacuum Angstrom, increasing. If they are uneven, the grid is even and about as fine as
            their finest part.

        Returns
        -------
        WavelengthGrid
            The grid, with at most 20 000 pixels; beyond that its pixels are a whole number of times as wide.

        Raises
        ------
        ValueError
            If there are fewer than two wavelengths, or they do not increase.

        Examples
        --------
        >>> import numpy as np
        >>> from rarespec.spectrum import WavelengthGrid
        >>> print(WavelengthGrid.like(np.linspace(8000.0, 24000.0, 1601)))
        linear:8000:10:1601
        """
        given = np.asarray(wavelength, dtype=np.float64)
        if given.ndim != 1 or len(given) < 2 or not (given[0] > 0 and (np.diff(given) > 0).all()):
            raise ValueError("a grid is made after at least two positive wavelengths that increase")
        log = np.log10(given)
        is_log = _unevenness(log) <= _unevenness(given)
        position = log if is_log else given
        return _even_grid("log" if is_log else "linear", position, _step_of(position))

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> WavelengthGrid:
        """Read a grid from the dictionary that `to_json` writes.

        Parameters
        ----------
        value : dict
            spacing, start, step and n_pixels.

        Returns
        -------
        WavelengthGrid
            The grid.

        Examples
        --------
        >>> from rarespec.spectrum import PAPER_GRID, WavelengthGrid
        >>> WavelengthGrid.from_json(PAPER_GRID.to_json()) == PAPER_GRID
        True
        """
        return cls(value["spacing"], float(value["start"]), float(value["step"]), int(value["n_pixels"]))

    def to_json(self) -> dict[str, Any]:
        """Return the grid as a dictionary of plain values: spacing, start, step and n_pixels."""
        return {"spacing": self.spacing, "start": self.start, "step": self.step, "n_pixels": self.n_pixels}

    def __str__(self) -> str:
        return f"{self.spacing}:{self.start:.10g}:{self.step:.10g}:{self.n_pixels}"

    @property
    def name(self) -> str | None:
        """What `parse` calls this grid: paper, sdss, boss, lamost or desi; None for any other."""
        return next((name for name, grid in NAMED_GRIDS.items() if grid == self), None)

    def part(self, first: float, last: float) -> WavelengthGrid:
        """Return the grid with the same pixels that reaches from one wavelength to another.

        Parameters
        ----------
        first, last : float
            Vacuum Angstrom; the nearest pixels are the ends. They may lie beyond the ends of this grid.

        Returns
        -------
        WavelengthGrid
            The grid.

        Examples
        --------
        >>> from rarespec.spectrum import WavelengthGrid
        >>> print(WavelengthGrid("linear", 4000.0, 2.0, 100).part(3996.0, 4010.0))
        linear:3996:2:8
        """
        start, stop = np.round(self.pixel_of(np.array([first, last]))).astype(int).tolist()
        n_pixels = max(stop - start + 1, 2)
        position = self.start + self.step * np.array([start, start + n_pixels - 1])
        return _even_grid(self.spacing, position, self.step)

    @cached_property
    def wavelength(self) -> NDArray[np.float64]:
        """Pixel centres, (n_pixels,) vacuum Angstrom."""
        return self._wavelength_at(np.arange(self.n_pixels))

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        """Pixel boundaries, (n_pixels + 1,) vacuum Angstrom."""
        return self._wavelength_at(np.arange(self.n_pixels + 1) - 0.5)

    def _wavelength_at(self, pixel: NDArray[Any]) -> NDArray[np.float64]:
        position = self.start + self.step * pixel
        return 10.0**position if self.spacing == "log" else position

    def pixel_of(self, wavelength: NDArray[Any]) -> NDArray[np.float64]:
        """Return where these wavelengths fall on the grid.

        Parameters
        ----------
        wavelength : ndarray
            Vacuum wavelengths in Angstrom.

        Returns
        -------
        ndarray of float64
            Positions in pixels, with fractions; 0 is the centre of the first pixel.

        Examples
        --------
        >>> from rarespec.spectrum import WavelengthGrid
        >>> WavelengthGrid("linear", 4000.0, 2.0, 3).pixel_of([4000.0, 4003.0])
        array([0. , 1.5])
        """
        position = np.log10(wavelength) if self.spacing == "log" else np.asarray(wavelength, dtype=np.float64)
        return (position - self.start) / self.step

    def offset_of(self, wavelength: NDArray[Any]) -> int | None:
        """Return where a spectrum begins on the grid, if its pixels are pixels of the grid.

        Parameters
        ----------
        wavelength : ndarray
            Pixel centres of the spectrum, (p,) vacuum Angstrom.

        Returns
        -------
        int or None
            The grid pixel of the first wavelength. None if any pixel lies off the grid by more than 0.02 pixels.
        """
        pixel = self.pixel_of(wavelength)
        offset = round(float(pixel[0]))
        on_grid = np.abs(pixel - (offset + np.arange(len(pixel)))).max() <= ON_GRID_TOLERANCE
        return offset if on_grid else None


def _numbers_of(spacing: str, start: str, step: str) -> tuple[float, float]:
    """Start and step of a grid. A start with a unit is a wavelength, also on a log grid."""
    first, is_wavelength = angstroms_in(start)
    width, has_unit = angstroms_in(step)
    if spacing == "log":
        if has_unit:
            raise ValueError("the step of a log grid has no unit")
        if is_wavelength and not first > 0:
            raise ValueError("wavelengths are positive")
        return (float(np.log10(first)) if is_wavelength else first), width
    if is_wavelength != has_unit:
        raise ValueError("give both start and step a unit, or neither")
    return first, width


def angstroms_in(text: str) -> tuple[float, bool]:
    """Read a number, in Angstrom if a unit stands behind it, and say whether one does."""
    number = text.strip().lower().replace("å", "a").replace("µ", "u").replace("μ", "u")
    for unit in sorted(ANGSTROMS, key=len, reverse=True):
        if number.endswith(unit):
            return round(float(number.removesuffix(unit)) * ANGSTROMS[unit], 9), True
    return float(number), False


def _unevenness(position: NDArray[np.float64]) -> float:
    """How much steps differ from the usual one; a few odd ones, as between the orders of a spectrum, do not matter."""
    steps = np.diff(position)
    usual = np.median(steps)
    return float(np.median(np.abs(steps - usual)) / usual)


def _step_of(position: NDArray[np.float64]) -> float:
    mean = (position[-1] - position[0]) / (len(position) - 1)
    if np.abs(position - (position[0] + mean * np.arange(len(position)))).max() < mean:
        return float(mean)
    return float(np.quantile(np.diff(position), FINE_STEPS))


def _even_grid(spacing: Literal["log", "linear"], position: NDArray[np.float64], step: float) -> WavelengthGrid:
    """Make the grid from the first position to the last, with numbers as short as its pixels allow."""
    n_pixels = round(float(position[-1] - position[0]) / step) + 1
    wider = -(-n_pixels // MOST_PIXELS)
    start = float(position[0]) + (wider - 1) / 2 * step
    step, n_pixels = step * wider, max(n_pixels // wider, 2)
    return WavelengthGrid(
        spacing, _shorten(start, ROUNDED * step), _shorten(step, ROUNDED * step / n_pixels), int(n_pixels)
    )


def _shorten(value: float, tolerance: float) -> float:
    """The number with the fewest digits that is as near as this."""
    rounded = (float(f"{value:.{digits}g}") for digits in range(1, 17))
    return next((short for short in rounded if abs(short - value) <= tolerance), value)


PAPER_GRID = WavelengthGrid("log", 3.5930, 1e-4, 3601)
"""The grid of Du et al. (2016): 3917.4 to 8974.3 Angstrom, 1e-4 in log10, SDSS's own pixels."""

NAMED_GRIDS = {
    "paper": PAPER_GRID,
    "sdss": WavelengthGrid("log", 3.5790, 1e-4, 3861),
    "boss": WavelengthGrid("log", 3.5520, 1e-4, 4651),
    "lamost": WavelengthGrid("log", 3.5680, 1e-4, 3911),
    "desi": WavelengthGrid("linear", 3600.0, 0.8, 7781),
}
"""Name for `--grid` -> the survey's own pixels, from the bluest to the reddest that its files have."""


# ---- Wavelengths measured in air, turned into vacuum wavelengths.


SHORTEST_AIR_WAVELENGTH = 2000.0
"""Angstrom. Below it the air absorbs, and by convention wavelengths are given in vacuum."""

_ITERATIONS = 4
"""The refractive index is a function of the vacuum wavelength; each round gains three digits and more."""


def refractive_index(vacuum_wavelength: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of dry air at 15 degrees Celsius and 101325 Pa with 450 ppm CO2, after Ciddor (1996, Applied Optics 35, 1566)."""
    wavenumber_squared = (1e4 / vacuum_wavelength) ** 2  # per square micrometre
    return 1.0 + 0.05792105 / (238.0185 - wavenumber_squared) + 0.00167917 / (57.362 - wavenumber_squared)


def air_to_vacuum(wavelength: NDArray[Any]) -> NDArray[np.float64]:
    """Vacuum wavelengths, float64 Angstrom, of these air wavelengths in Angstrom; those below 2000 A are kept."""
    air = np.asarray(wavelength, dtype=np.float64)
    visible = np.maximum(air, SHORTEST_AIR_WAVELENGTH)
    vacuum = visible
    for _ in range(_ITERATIONS):
        vacuum = visible * refractive_index(vacuum)
    return np.where(air >= SHORTEST_AIR_WAVELENGTH, vacuum, air)
