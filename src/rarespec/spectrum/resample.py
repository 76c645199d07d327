"""Spectra onto a wavelength grid: pixels are copied when they lie on it, rebinned otherwise.

Rebinning conserves flux density: an output pixel is the mean of the input pixels it covers, weighted by the width of
the overlap, so the integral of flux over wavelength is kept. Bad input pixels carry no weight; an output pixel of which
less than half is covered by good input is bad. Errors are propagated for independent input pixels; the correlation
between neighbouring output pixels is not recorded.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rarespec.spectrum.defect import DefectError, Reason
from rarespec.spectrum.grid import WavelengthGrid
from rarespec.spectrum.spectra import Spectra

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MIN_COVERED = 0.5
"""Fraction of an output pixel that good input must cover."""


def resample(spectra: Spectra, grid: WavelengthGrid) -> Spectra:
    """Put spectra onto a wavelength grid: copy their pixels if they lie on it, rebin them otherwise.

    Rebinning keeps the integral of flux over wavelength.

    Parameters
    ----------
    spectra : Spectra
        Spectra on any wavelengths.
    grid : WavelengthGrid
        The grid to put them on.

    Returns
    -------
    Spectra
        The spectra on the grid, float32. A pixel without data is bad and has flux 0 and ivar 0.

    Raises
    ------
    DefectError
        If the spectra and the grid have no wavelength in common.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.spectrum import Spectra, WavelengthGrid, resample
    >>> flux = np.array([[1.0, 3.0, 5.0, 7.0]])
    >>> wavelength = np.array([4000.0, 4001.0, 4002.0, 4003.0])
    >>> spectra = Spectra(wavelength, flux, None, np.zeros(flux.shape, bool), {"id": ["a"]})
    >>> resample(spectra, WavelengthGrid("linear", 4000.5, 2.0, 2)).flux
    array([[2., 6.]], dtype=float32)
    """
    offset = grid.offset_of(spectra.wavelength)
    placed = _rebin(spectra, grid) if offset is None else _copy_pixels(spectra, grid, offset)
    return _with_clean_bad_pixels(placed)


def to_rest_frame(spectra: Spectra, z: float) -> Spectra:
    """Shift spectra to the rest frame: wavelength / (1 + z), flux density * (1 + z), so that lines keep their energy.

    Parameters
    ----------
    spectra : Spectra
        Spectra in the observed frame.
    z : float
        Their redshift.

    Returns
    -------
    Spectra
        The spectra at rest. Their ivar, if there is one, is divided by (1 + z) squared.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.spectrum import Spectra, to_rest_frame
    >>> flux = np.ones((1, 2))
    >>> spectra = Spectra(np.array([6000.0, 6002.0]), flux, None, np.zeros(flux.shape, bool), {"id": ["a"]})
    >>> to_rest_frame(spectra, 0.5).wavelength
    array([4000.        , 4001.33333333])
    """
    stretch = 1.0 + z
    return replace(
        spectra,
        wavelength=spectra.wavelength / stretch,
        flux=spectra.flux * stretch,
        ivar=None if spectra.ivar is None else spectra.ivar / stretch**2,
    )


def _copy_pixels(spectra: Spectra, grid: WavelengthGrid, offset: int) -> Spectra:
    n, p = spectra.flux.shape
    start, stop = max(offset, 0), min(offset + p, grid.n_pixels)
    if start >= stop:
        raise _no_overlap(spectra, grid)
    inside = slice(start - offset, stop - offset)
    flux = np.zeros((n, grid.n_pixels), np.float32)
    bad = np.ones((n, grid.n_pixels), bool)
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and so a bad pixel
        flux[:, start:stop] = spectra.flux[:, inside]
    bad[:, start:stop] = spectra.bad[:, inside]
    ivar = None
    if spectra.ivar is not None:
        ivar = np.zeros((n, grid.n_pixels), np.float32)
        ivar[:, start:stop] = spectra.ivar[:, inside]
    return Spectra(grid.wavelength, flux, ivar, bad, spectra.catalogue)


def _rebin(spectra: Spectra, grid: WavelengthGrid) -> Spectra:
    overlap = _overlaps(spectra.wavelength.tobytes(), grid)
    if overlap.nnz == 0:
        raise _no_overlap(spectra, grid)
    good = (~spectra.bad).astype(np.float64)
    covered = (overlap @ good.T).T  # (n, grid pixels), Angstrom covered by good input
    bad = covered < MIN_COVERED * np.diff(grid.edges)
    width = np.where(bad, 1.0, covered)
    flux = (overlap @ np.where(spectra.bad, 0.0, spectra.flux).T).T / width
    ivar = None
    if spectra.ivar is not None:
        variance = np.divide(1.0, spectra.ivar, out=np.zeros(good.shape), where=~spectra.bad)
        variance = (overlap.power(2) @ variance.T).T
        ivar = np.divide(width**2, variance, out=np.zeros(bad.shape), where=~bad & (variance > 0)).astype(np.float32)
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and so a bad pixel
        flux = flux.astype(np.float32)
    return Spectra(grid.wavelength, flux, ivar, bad, spectra.catalogue)


@lru_cache(maxsize=8)
def _overlaps(wavelength_bytes: bytes, grid: WavelengthGrid) -> csr_array:
    """Angstrom that each grid pixel shares with each input pixel: sparse (grid pixels, input pixels)."""
    from scipy.sparse import coo_array

    edges_in = _edges(np.frombuffer(wavelength_bytes, np.float64))
    edges_out = grid.edges
    # Every interval between neighbouring edges of either set lies in one input and one output pixel.
    cuts = np.union1d(edges_in, edges_out)
    cuts = cuts[(cuts >= max(edges_in[0], edges_out[0])) & (cuts <= min(edges_in[-1], edges_out[-1]))]
    middle = (cuts[1:] + cuts[:-1]) / 2
    row = np.searchsorted(edges_out, middle) - 1
    column = np.searchsorted(edges_in, middle) - 1
    return coo_array((np.diff(cuts), (row, column)), shape=(grid.n_pixels, len(edges_in) - 1)).tocsr()


def _edges(centres: NDArray[np.float64]) -> NDArray[np.float64]:
    inner = (centres[1:] + centres[:-1]) / 2
    return np.concatenate([[2 * centres[0] - inner[0]], inner, [2 * centres[-1] - inner[-1]]])


def _with_clean_bad_pixels(spectra: Spectra) -> Spectra:
    """Whatever is not finite, or has no weight, is bad; bad pixels keep their flux only when it is a number."""
    flux, ivar, bad = spectra.flux, spectra.ivar, spectra.bad
    finite = np.isfinite(flux)
    if ivar is not None:
        finite &= np.isfinite(ivar)
        bad |= ~(ivar > 0)
        ivar[~np.isfinite(ivar) | (ivar < 0)] = 0
    bad |= ~finite
    flux[~np.isfinite(flux)] = 0
    return spectra


def _no_overlap(spectra: Spectra, grid: WavelengthGrid) -> DefectError:
    has, wants = spectra.wavelength, grid.wavelength
    return DefectError(
        Reason.NO_OVERLAP,
        f"covers {has[0]:.1f}-{has[-1]:.1f} A, but the survey's grid covers {wants[0]:.1f}-{wants[-1]:.1f} A",
    )
