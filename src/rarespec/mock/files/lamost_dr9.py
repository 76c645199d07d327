"""LAMOST DR9 and later `spec-LMJD-PLANID_spNN-FFF.fits.gz`: a COADD table with one row of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from rarespec.formats.fits.writing import Card, Header, big_endian, hdu
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

COLUMNS = ("FLUX", "IVAR", "WAVELENGTH", "ANDMASK", "ORMASK", "NORMALIZATION")
NOT_NORMALISED = -9999.0


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
    n_pixels = len(pixels["flux"])
    values = target_values(target) | signal_to_noise(target, "SNR")
    values |= {"NAXIS1": n_pixels, "OBSID": observation_id(target)}
    pixels["normalization"] = np.full(n_pixels, NOT_NORMALISED)
    vectors = np.stack([pixels[name.lower()].astype(np.float32) for name in COLUMNS])
    content = hdu(_primary_header().replace(values)) + hdu(_coadd_header(n_pixels), big_endian(vectors))
    return publish(file_path(directory, target, ".fits.gz"), content)


@cache
def _primary_header() -> Header:
    return Header(
        [
            ("SIMPLE", True, "Primary Header created by MWRFITS v1.11b"),
            ("BITPIX", 16, ""),
            ("NAXIS", 0, "Number of array dimensions"),
            # Left over from the image of earlier releases; real files have them too.
            ("NAXIS1", 0, ""),
            ("NAXIS2", 5, ""),
            ("EXTEND", True, ""),
            ("", "", ""),
            ("COMMENT", "--------FILE INFORMATION", ""),
            ("FILENAME", "", ""),
            ("OBSID", 0, "Unique number ID of this spectrum"),
            ("AUTHOR", "LAMOST Pipeline", "Who compiled the information"),
            ("DATA_V", "LAMOST DR9", "Data release version"),
            ("N_EXTEN", 2, "The amount of extension"),
            ("NORM", 0, "1 if there exists a normalized spectrum"),
            ("ORIGIN", "NAOC-LAMOST", "Organization responsible for creating this file"),
            ("DATE", "2023-09-12T06:12:41", "Time when this HDU is created (UTC)"),
            *observation_cards(),
            *result_cards(),
            ("ZFLAG", "PIPELINE", "Which method computes the redshift"),
            *signal_to_noise_cards("SNR"),
        ]
    )


@cache
def _coadd_header(n_pixels: int) -> Header:
    names: list[Card] = [(f"TTYPE{i}", name, "") for i, name in enumerate(COLUMNS, start=1)]
    forms: list[Card] = [(f"TFORM{i}", f"{n_pixels}E", "") for i in range(1, len(COLUMNS) + 1)]
    return Header(
        [
            ("XTENSION", "BINTABLE", "Binary table written by MWRFITS v1.11b"),
            ("BITPIX", 8, "Required value"),
            ("NAXIS", 2, "Required value"),
            ("NAXIS1", 4 * n_pixels * len(COLUMNS), "Number of bytes per row"),
            ("NAXIS2", 1, "Number of rows"),
            ("PCOUNT", 0, "Normally 0 (no varying arrays)"),
            ("GCOUNT", 1, "Required value"),
            ("TFIELDS", len(COLUMNS), "Number of columns in table"),
            ("EXTNAME", "COADD", "The extension name"),
            ("COMMENT", " *** Column names ***", ""),
            *names,
            ("COMMENT", " *** Column formats ***", ""),
            *forms,
        ]
    )


LAYOUT = Layout(GRID, write, "LAMOST DR9+ spec-*.fits.gz, one-row table")
