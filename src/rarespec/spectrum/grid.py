"""The wavelength grid that all spectra of a survey share, and wavelengths in air."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

ON_GRID_TOLERANCE = 0.02
"""Largest distance, in pixels, at which an input pixel lies on the grid. float32 log10 wavelengths are off by 0.003."""


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
        If the spacing is unknown, the step is not positive, or there are fewer than 2 pixels.

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

    @classmethod
    def parse(cls, text: str) -> WavelengthGrid:
        """Read a grid from text, as the command line takes it.

        Parameters
        ----------
        text : str
            `paper`, `log:START:STEP:PIXELS` (log10 Angstrom) or `linear:START:STEP:PIXELS` (Angstrom).

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
        >>> WavelengthGrid.parse("linear:3600:0.8:7781").n_pixels
        7781
        """
        if text == "paper":
            return PAPER_GRID
        try:
            spacing, start, step, n_pixels = text.split(":")
            return cls(spacing, float(start), float(step), int(n_pixels))  # type: ignore[arg-type]
        except ValueError as error:
            raise ValueError(
                f"{text!r} is not a wavelength grid ({error}); "
                "write paper, log:3.5930:1e-4:3601 or linear:3600:0.8:7781"
            ) from None

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


PAPER_GRID = WavelengthGrid("log", 3.5930, 1e-4, 3601)
"""The grid of Du et al. (2016): 3917.4 to 8974.3 Angstrom, 1e-4 in log10, SDSS's own pixels."""


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
