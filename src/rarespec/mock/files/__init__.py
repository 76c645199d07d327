"""Simulated spectra as files in the layouts that real surveys deliver.

Written with NumPy alone, so that thousands of files take seconds; CHECKSUM and DATASUM are in every HDU, and a file
appears under its name only when it is complete.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rarespec.mock.files import desi, lamost_dr1, lamost_dr8, lamost_dr9, sdss, sdss_v, spplate, spspec
from rarespec.mock.files.target import Layout, targets_of
from rarespec.spectrum import Spectra
from rarespec.storage.text import choose_from

LAYOUTS: dict[str, Layout] = {
    "sdss": sdss.LAYOUT,
    "sdss-v": sdss_v.LAYOUT,
    "lamost-dr1": lamost_dr1.LAYOUT,
    "lamost-dr8": lamost_dr8.LAYOUT,
    "lamost-dr9": lamost_dr9.LAYOUT,
    "desi": desi.LAYOUT,
    "sdss-spplate": spplate.LAYOUT,
    "sdss-spspec": spspec.LAYOUT,
}

__all__ = ["LAYOUTS", "Layout", "native_wavelength", "write_files"]


def native_wavelength(layout: str) -> NDArray[np.float64]:
    """Give the pixels on which spectra of a layout must be sampled.

    Parameters
    ----------
    layout : str
        One of `LAYOUTS`, such as "sdss".

    Returns
    -------
    (p,) float64 array
        Pixel centres, vacuum Angstrom.

    Examples
    --------
    >>> from rarespec.mock.files import native_wavelength
    >>> native_wavelength("lamost-dr8").ndim
    1
    """
    return _layout(layout).grid.wavelength


def write_files(spectra: Spectra, layout: str, directory: str | os.PathLike[str], first_index: int = 0) -> list[Path]:
    """Write spectra that are sampled on `native_wavelength(layout)` as survey files.

    Plate, mjd and fiberid of the catalogue are used where the layout has them. Catalogues beside the spectra (redrock,
    spZbest) are written but not returned.

    Parameters
    ----------
    spectra : Spectra
        The spectra.
    layout : str
        One of `LAYOUTS`, such as "sdss".
    directory : path or str
        Where to write, made if it does not exist.
    first_index : int
        How many spectra were written to this directory before: survey numbers and file names follow from it, so that
        several calls never write the same file.

    Returns
    -------
    list of Path
        The files of spectra, in the order of the rows.

    Raises
    ------
    ValueError
        If the layout does not exist, or the spectra have other pixels.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rarespec import MockSky
    >>> from rarespec.mock.files import native_wavelength, write_files
    >>> sky = MockSky(2, seed=1, wavelength=native_wavelength("sdss"))
    >>> with TemporaryDirectory() as folder:
    ...     print(len(write_files(sky.block(0), "sdss", folder)))
    2
    """
    chosen = _layout(layout)
    native = chosen.grid.wavelength
    if spectra.wavelength.shape != native.shape or not np.allclose(spectra.wavelength, native, rtol=1e-9, atol=0.0):
        raise ValueError(
            f"{layout} files have {len(native)} pixels: sample the spectra on native_wavelength({layout!r})"
        )
    if not len(spectra):
        return []
    Path(directory).mkdir(parents=True, exist_ok=True)
    return chosen.write(spectra, targets_of(spectra, first_index), Path(directory))


def _layout(name: str) -> Layout:
    if name not in LAYOUTS:
        raise ValueError(f"there is no file layout {name!r}; {choose_from(LAYOUTS, name)}")
    return LAYOUTS[name]
