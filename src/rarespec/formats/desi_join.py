"""The cameras of DESI joined into one spectrum: the inverse-variance mean where two of them overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.pixels import bad_pixels, native
from rarespec.spectrum import DefectError, Reason

SAME_WAVELENGTH = 0.01
"""Angstrom. Pixels of two cameras closer than this are the same pixel; the step is 0.8."""


@dataclass(frozen=True, slots=True)
class CameraRows:
    """Some rows of one camera. flux, ivar : (n, p) float; mask : (n, p) integer."""

    flux: NDArray[Any]
    ivar: NDArray[Any]
    mask: NDArray[Any]


def joined_wavelength(cameras: list[NDArray[np.float64]]) -> tuple[NDArray[np.float64], list[int]]:
    """The union of the cameras' pixels, bluest camera first, and where each camera starts in it."""
    joined, starts = cameras[0], [0]
    for wavelength in cameras[1:]:
        n_shared = int(np.searchsorted(wavelength, joined[-1] + SAME_WAVELENGTH))
        start = len(joined) - n_shared
        shared = joined[start:] if start >= 0 else joined[:0]
        if len(shared) != n_shared or not np.allclose(shared, wavelength[:n_shared], rtol=0, atol=SAME_WAVELENGTH):
            raise DefectError(Reason.LAYOUT, f"the cameras do not share their pixels near {wavelength[0]:.1f} Angstrom")
        joined = np.concatenate([joined, wavelength[n_shared:]])
        starts.append(start)
    return joined, starts


def join_cameras(
    cameras: list[CameraRows], starts: list[int], n_pixels: int
) -> tuple[NDArray[np.floating], NDArray[np.floating], NDArray[np.bool_]]:
    """flux, ivar and bad, each (n, n_pixels). Pixels seen by one camera only are copied as they stand."""
    n = len(cameras[0].flux)
    flux, ivar = np.zeros((n, n_pixels), np.float32), np.zeros((n, n_pixels), np.float32)
    bad = np.ones((n, n_pixels), bool)
    done = 0
    for camera, start in zip(cameras, starts, strict=True):
        new_flux, new_ivar = native(camera.flux), native(camera.ivar)
        new_bad = bad_pixels(new_flux, new_ivar, camera.mask != 0)
        n_shared = max(done - start, 0)
        both = slice(start, start + n_shared)
        if n_shared:
            _average(flux[:, both], ivar[:, both], bad[:, both], new_flux[:, :n_shared], new_ivar[:, :n_shared],
                     new_bad[:, :n_shared])  # fmt: skip
        alone = slice(start + n_shared, start + new_flux.shape[1])
        flux[:, alone], ivar[:, alone], bad[:, alone] = (
            values[:, n_shared:] for values in (new_flux, new_ivar, new_bad)
        )
        done = start + new_flux.shape[1]
    return flux, ivar, bad


def _average(
    flux: NDArray[Any],
    ivar: NDArray[Any],
    bad: NDArray[np.bool_],
    new_flux: NDArray[Any],
    new_ivar: NDArray[Any],
    new_bad: NDArray[np.bool_],
) -> None:
    """Fold the new camera into flux, ivar and bad, in place. Where both are bad, the first camera's pixel stays."""
    weight, new_weight = np.where(bad, 0.0, ivar), np.where(new_bad, 0.0, new_ivar)
    total = weight + new_weight
    usable = total > 0
    mean = np.where(bad, 0.0, flux) * weight + np.where(new_bad, 0.0, new_flux) * new_weight
    np.divide(mean, total, out=mean, where=usable)
    np.copyto(flux, mean, where=usable, casting="same_kind")
    np.copyto(ivar, total, where=usable, casting="same_kind")
    bad &= new_bad
