"""How sharp an instrument sees lines, and spectra smoothed to what a less sharp one would have seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.spectrum.grid import WavelengthGrid, angstroms_in
from rarespec.spectrum.resample import MIN_COVERED
from rarespec.spectrum.spectra import Spectra

FWHM_OF_SIGMA = 2.3548200450309493
"""Full width at half maximum of a Gaussian, in standard deviations."""
REACH = 4.0
"""Standard deviations to which the kernel is followed."""
LOWEST, HIGHEST = 10.0, 1e6
"""Resolving powers that instruments have."""
SAME = 0.2
"""Widths that differ by less than this fraction are the same resolution: usual values are no better than that."""
COLUMNS = ("resolution", "spec_res", "specres", "spec_rp", "resolving_power")
"""Catalogue columns, in small letters, that hold a resolving power; FITS headers have cards of these names."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The width of an unresolved line: a constant resolving power, or a constant width.

    Parameters
    ----------
    power : float, optional
        R, the wavelength divided by the full width at half maximum.
    fwhm : float, optional
        Instead, the full width at half maximum in Angstrom.

    Raises
    ------
    ValueError
        Unless exactly one is given, and it is one that instruments have.

    Examples
    --------
    >>> from rarespec.spectrum import Resolution
    >>> print(Resolution(2000), Resolution(fwhm=1.8))
    R = 2000 FWHM 1.8 A
    """

    power: float | None = None
    fwhm: float | None = None

    def __post_init__(self) -> None:
        if (self.power is None) == (self.fwhm is None):
            raise ValueError("give a resolving power or a width")
        if self.power is not None and not LOWEST <= self.power <= HIGHEST:
            raise ValueError(f"a resolving power of {self.power:g} is not between {LOWEST:g} and {HIGHEST:g}")
        if self.fwhm is not None and not 0 < self.fwhm < np.inf:
            raise ValueError(f"a width of {self.fwhm:g} A is not positive")

    @classmethod
    def parse(cls, text: str | float) -> Resolution:
        """Read a resolution as the command line takes it.

        Parameters
        ----------
        text : str or float
            A resolving power, `2000`, or a width with its unit, `1.8A` or `2nm`.

        Returns
        -------
        Resolution
            The resolution.

        Raises
        ------
        ValueError
            If it is neither.

        Examples
        --------
        >>> from rarespec.spectrum import Resolution
        >>> Resolution.parse("1.8A").fwhm
        1.8
        """
        try:
            number, has_unit = angstroms_in(str(text).removeprefix("R = ").removeprefix("FWHM ").replace(" ", ""))
        except ValueError:
            raise ValueError(f"{text!r} is not a resolution; write R, such as 2000, or a width such as 1.8A") from None
        return cls(fwhm=number) if has_unit else cls(number)

    def __str__(self) -> str:
        return f"R = {self.power:g}" if self.power is not None else f"FWHM {self.fwhm:g} A"

    def fwhm_at(self, wavelength: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the full width at half maximum of an unresolved line.

        Parameters
        ----------
        wavelength : ndarray of float64
            Angstrom.

        Returns
        -------
        ndarray of float64
            Angstrom.
        """
        return wavelength / self.power if self.power is not None else np.full_like(wavelength, self.fwhm)

    def compare(self, other: Resolution, grid: WavelengthGrid) -> int:
        """Say whether this instrument sees lines sharper than another one, in the middle of a grid.

        Parameters
        ----------
        other : Resolution
            Of the other instrument.
        grid : WavelengthGrid
            Gives the wavelength.

        Returns
        -------
        int
            1 if this one is sharper, -1 if the other is, 0 if they differ by less than a fifth.
        """
        middle = grid.wavelength[[grid.n_pixels // 2]]
        ratio = float(other.fwhm_at(middle)[0] / self.fwhm_at(middle)[0])
        return 1 if ratio > 1 + SAME else -1 if ratio < 1 / (1 + SAME) else 0


RESOLUTION_OF = {
    "SDSS": Resolution(2000.0),
    "BOSS": Resolution(2000.0),
    "SDSS-V": Resolution(2000.0),
    "LAMOST": Resolution(1800.0),
    "DESI": Resolution(fwhm=1.8),
}
"""What the catalogue calls a survey -> its usual resolution. DESI goes from R 2000 at 3600 A to 5500 at 9800 A."""


def resolution_in(row: Mapping[str, Any]) -> Resolution | None:
    """Find the resolution of a spectrum in its catalogue row.

    Parameters
    ----------
    row : mapping
        Column -> value. One called resolution, spec_res, specres, spec_rp or resolving_power holds R; otherwise
        `survey` may be one whose usual resolution is known.

    Returns
    -------
    Resolution or None
        None if it is not known.

    Examples
    --------
    >>> from rarespec.spectrum.resolution import resolution_in
    >>> print(resolution_in({"id": "a", "survey": "LAMOST"}))
    R = 1800
    """
    for name in COLUMNS:
        value = row.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and LOWEST <= value <= HIGHEST:
            return Resolution(float(value))
    return RESOLUTION_OF.get(str(row.get("survey") or "").upper())


def smooth(spectra: Spectra, grid: WavelengthGrid, own: Resolution, wanted: Resolution) -> Spectra:
    """Smooth spectra to a lower resolution with a Gaussian whose variance is the difference of both.

    Bad pixels have no weight; a pixel of which less than half of the kernel is good is bad. Errors are propagated for
    independent pixels; the correlation that smoothing makes between neighbours is not recorded.

    Parameters
    ----------
    spectra : Spectra
        On the grid.
    grid : WavelengthGrid
        Their pixels.
    own : Resolution
        What they have.
    wanted : Resolution
        What they get; where it is not lower, they are kept.

    Returns
    -------
    Spectra
        The smoothed spectra.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.spectrum import Resolution, Spectra, WavelengthGrid
    >>> from rarespec.spectrum.resolution import smooth
    >>> grid = WavelengthGrid("linear", 5000.0, 1.0, 101)
    >>> flux = np.ones((1, 101), np.float32)
    >>> line = Spectra(grid.wavelength, flux, None, flux < 0, {"id": ["a"]})
    >>> line.flux[0, 50] = 0.0
    >>> print(smooth(line, grid, Resolution(10000), Resolution(1000)).flux[0, 50].round(2))
    0.81
    """
    kernel = _kernel(grid, own, wanted)
    good = (~spectra.bad).astype(np.float64)
    weight = (kernel @ good.T).T
    bad = weight < MIN_COVERED
    weight[bad] = 1.0
    flux = (kernel @ np.where(spectra.bad, 0.0, spectra.flux).T).T / weight
    ivar = None
    if spectra.ivar is not None:
        variance = np.divide(1.0, spectra.ivar, out=np.zeros(good.shape), where=~spectra.bad & (spectra.ivar > 0))
        variance = (kernel.power(2) @ variance.T).T / weight**2
        ivar = np.divide(1.0, variance, out=np.zeros(good.shape), where=~bad & (variance > 0)).astype(np.float32)
    return replace(spectra, flux=np.where(bad, 0.0, flux).astype(np.float32), ivar=ivar, bad=bad)


def _kernel(grid: WavelengthGrid, own: Resolution, wanted: Resolution) -> Any:
    """Rows of weights that add up to 1: the share of each pixel in the Gaussian around each pixel, (p, p) sparse."""
    from scipy.sparse import coo_array
    from scipy.special import ndtr

    wavelength, edges = grid.wavelength, grid.edges
    variance = wanted.fwhm_at(wavelength) ** 2 - own.fwhm_at(wavelength) ** 2
    # a share is a mean over its pixel, which widens by itself: by the variance of a pixel, width squared / 12
    sigma = np.sqrt(np.maximum(variance / FWHM_OF_SIGMA**2 - np.diff(edges) ** 2 / 12, 0.0))
    reach = int(np.ceil((REACH * sigma / np.diff(edges)).max())) + 1
    rows = np.repeat(np.arange(grid.n_pixels), 2 * reach + 1)
    columns = rows + np.tile(np.arange(-reach, reach + 1), grid.n_pixels)
    inside = (columns >= 0) & (columns < grid.n_pixels)
    rows, columns = rows[inside], columns[inside]
    width = np.maximum(sigma, 1e-9 * np.diff(edges))[rows]  # so narrow that a pixel keeps all of its light
    share = ndtr((edges[columns + 1] - wavelength[rows]) / width) - ndtr((edges[columns] - wavelength[rows]) / width)
    total = np.bincount(rows, share, grid.n_pixels)
    return coo_array((share / total[rows], (rows, columns)), shape=(grid.n_pixels,) * 2).tocsr()
