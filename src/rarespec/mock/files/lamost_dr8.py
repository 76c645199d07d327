"""LAMOST DR2-DR8 `spec-LMJD-PLANID_spNN-FFF.fits.gz`: image rows flux, ivar, wavelength, andmask, ormask."""

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
    observation_id,
    pixel_rows,
    result_cards,
    signal_to_noise,
    signal_to_noise_cards,
    target_values,
)
from rarespec.mock.files.target import Layout, Target, publish
from rarespec.spectrum import Spectra

ROWS = ("flux", "ivar", "wavelength", "andmask", "ormask")


def write(spectra: Spectra, targets: Sequence[Target], directory: Path) -> list[Path]:
    """Write one gzipped file per spectrum.

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
    image = np.stack([pixels[name].astype(np.float32) for name in ROWS])
    values = target_values(target) | signal_to_noise(target, "SNR")
    values |= {"NAXIS1": image.shape[1], "OBSID": observation_id(target)}
    return publish(file_path(directory, target, ".fits.gz"), hdu(_header().replace(values), big_endian(image)))


@cache
def _header() -> Header:
    return Header(
        [
            *primary_cards(np.zeros((len(ROWS), GRID.n_pixels), np.float32)),
            ("", "", ""),
            ("COMMENT", "--------FILE INFORMATION", ""),
            ("FILENAME", "", ""),
            ("OBSID", 0, "Unique number ID of this spectrum"),
            ("AUTHOR", "LAMOST Pipeline", "Who compiled the information"),
            ("DATA_V", "LAMOST DR8", "Data release version"),
            ("EXTEN0", "Flux, Inverse, Wavelength, Andmask, Ormask", ""),
            ("N_EXTEN", 1, "The extension number"),
            ("EXTNAME", "Flux", "The extension name"),
            ("ORIGIN", "NAOC-LAMOST", "Organization responsible for creating this file"),
            ("DATE", "2021-03-05T05:17:28", "Time when this HDU is created (UTC)"),
            *observation_cards(),
            *result_cards(),
            ("ZFLAG", "LASP", "Which method computes the redshift"),
            *signal_to_noise_cards("SNR"),
        ]
    )


LAYOUT = Layout(GRID, write, "LAMOST DR2-DR8 spec-*.fits.gz, image with wavelength")
