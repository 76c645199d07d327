"""LAMOST DR1 `spec-LMJD-PLANID_spNN-FFF.fits`: image rows flux, ivar, sub-continuum, andmask, ormask."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from rarespec.formats.fits.writing import Header, big_endian, hdu, primary_cards
from rarespec.mock.files.lamost_header import (
    GRID,
    file_path,
    observation_cards,
    pixel_rows,
    result_cards,
    signal_to_noise,
    signal_to_noise_cards,
    target_values,
)
from rarespec.mock.files.sdss_pixels import smooth_flux
from rarespec.mock.files.target import Layout, Target, publish
from rarespec.spectrum import Spectra


def write(spectra: Spectra, targets: Sequence[Target], directory: Path) -> list[Path]:
    """Write one file per spectrum.

    Parameters
    ----------
    spectra : Spectra
        Spectra on `GRID`, with inverse variances.
    targets : sequence of Target
        One for each row.
    directory : Path
        An existing directory.

    Returns
    -------
    list of Path
        The files, in the order of the rows.
    """
    return [_write_one(spectra, row, target, directory) for row, target in enumerate(targets)]


def _write_one(spectra: Spectra, row: int, target: Target, directory: Path) -> Path:
    pixels = pixel_rows(spectra, row, target)
    continuum = smooth_flux(pixels["flux"], pixels["andmask"] > 0)
    over_continuum = np.divide(pixels["flux"], continuum, out=np.ones_like(continuum), where=continuum > 0)
    # The third row is not the wavelength: it hovers around 1.
    rows = [pixels["flux"], pixels["ivar"], over_continuum, pixels["andmask"], pixels["ormask"]]
    image = np.stack([values.astype(np.float32) for values in rows])
    values = target_values(target) | signal_to_noise(target, "SN_") | {"NAXIS1": image.shape[1]}
    return publish(file_path(directory, target, ".fits"), hdu(_header().replace(values), big_endian(image)))


@cache
def _header() -> Header:
    return Header(
        [
            *primary_cards(np.zeros((5, GRID.n_pixels), np.float32)),
            ("COMMENT", "--------FILE INFORMATION", ""),
            ("FILENAME", "", ""),
            ("AUTHOR", "LAMOST Pipeline", "Who compiled the information"),
            ("N_EXTEN", 1, "The extension number"),
            ("EXTEN0", "Flux Inverse Subcontinuum Andmask Ormask", ""),
            ("ORIGIN", "NAOC-LAMOST", "Organization responsible for creating this file"),
            ("DATE", "2013-11-13T01:42:00", "Time when this HDU is created (UTC)"),
            *observation_cards(),
            *result_cards(),
            *signal_to_noise_cards("SN_"),
        ]
    )


LAYOUT = Layout(GRID, write, "LAMOST DR1 spec-*.fits, image with sub-continuum")
