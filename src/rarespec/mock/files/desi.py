"""DESI `coadd-PETAL-TILE-thruNIGHT.fits`: many targets, three cameras, and `redrock-*.fits` beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.fits.writing import Card, Header, hdu, image_hdu, primary_cards, table_hdu
from rarespec.mock.files.desi_tables import (
    BROKEN_FIBRE,
    NIGHT,
    Fibre,
    exp_fibermap,
    exp_fibermap_columns,
    fibermap,
    fibermap_columns,
    redshift_columns,
    redshifts,
    scores_hdu,
    target_id,
    tsnr2_hdu,
)
from rarespec.mock.files.sdss_pixels import inverse_variance
from rarespec.mock.files.target import Layout, Target, publish
from rarespec.spectrum import Spectra, WavelengthGrid

GRID = WavelengthGrid("linear", 3600.0, 0.8, 7781)
CAMERAS = {"B": slice(0, 2751), "R": slice(2700, 5026), "Z": slice(4900, 7781)}
"""Pixels of the joined grid that each camera covers; neighbours overlap."""
TARGETS_PER_FILE = 100
MASKED = 1
N_DIAGONALS = 11
UINT32_ZERO = 1 << 31
"""MASK is unsigned: stored as signed integers, with this BZERO."""


def write(spectra: Spectra, targets: Sequence[Target], directory: Path) -> list[Path]:
    """Write one coadd and one redrock file per 100 targets; a sky fibre comes first, a broken one in the middle.

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
        The coadd files; each redrock file is beside its coadd.
    """
    starts = range(0, len(targets), TARGETS_PER_FILE)
    chunks = [np.arange(start, min(start + TARGETS_PER_FILE, len(targets))) for start in starts]
    return [_write_petal(spectra.take(rows), [targets[int(i)] for i in rows], directory) for rows in chunks]


def _write_petal(spectra: Spectra, targets: Sequence[Target], directory: Path) -> Path:
    petal, tile = targets[0].index // TARGETS_PER_FILE % 10, 1000 + targets[0].index
    fibres, source = _fibres(targets, tile)
    per_target = fibermap(fibres, petal, tile)
    tables = table_hdu(fibermap_columns(), per_target, "FIBERMAP")
    exposures = table_hdu(exp_fibermap_columns(), exp_fibermap(per_target), "EXP_FIBERMAP")
    primary = _primary(petal, tile)
    ending = f"{petal}-{tile}-thru{NIGHT}.fits"

    found = redshifts(fibres)
    redshift_table = table_hdu(redshift_columns(), found, "REDSHIFTS")
    redrock = [primary, redshift_table, tables, exposures, tsnr2_hdu(found["TARGETID"])]
    publish(directory / f"redrock-{ending}", b"".join(redrock))
    coadd = [primary, tables, exposures, *_camera_hdus(spectra, source), scores_hdu(fibres)]
    return publish(directory / f"coadd-{ending}", b"".join(coadd))


def _fibres(targets: Sequence[Target], tile: int) -> tuple[list[Fibre], NDArray[np.intp]]:
    """The rows of a file, and for each the row of the stack it shows (-1: none)."""
    fibres = [Fibre(target_id(t), t, "SKY" if t.is_sky else "TGT", 0) for t in targets]
    source = list(range(len(targets)))
    middle = len(targets) // 2
    fibres.insert(middle, Fibre(-(tile * 10 + 1), None, "", BROKEN_FIBRE))
    source.insert(middle, -1)
    fibres.insert(0, Fibre(target_id(targets[0]) | 1 << 21, None, "SKY", 0))
    source.insert(0, -1)
    return fibres, np.array(source)


def _camera_hdus(spectra: Spectra, source: NDArray[np.intp]) -> Iterator[bytes]:
    """WAVELENGTH, FLUX, IVAR, MASK and RESOLUTION of the three cameras.

    Where two cameras overlap both hold the flux and each half of the inverse variance, so that their weighted mean
    is the spectrum that went in, to the last bit.
    """
    shared = np.where(_overlap(), 0.5, 1.0)
    weighted = np.where(spectra.bad, 0.0, inverse_variance(spectra) * shared)
    wavelength = np.round(GRID.wavelength, 1)
    for camera, pixels in CAMERAS.items():
        flux, ivar = _rows(spectra.flux[:, pixels], source, 0.0), _rows(weighted[:, pixels], source, 0.0)
        mask = _rows(np.where(spectra.bad[:, pixels], MASKED, 0), source, MASKED)
        yield image_hdu(wavelength[pixels], f"{camera}_WAVELENGTH", [("BUNIT", "Angstrom", "")])
        yield image_hdu(flux.astype(np.float32), f"{camera}_FLUX", [("BUNIT", "10**-17 erg/(s cm2 Angstrom)", "")])
        yield image_hdu(ivar.astype(np.float32), f"{camera}_IVAR", [("BUNIT", "10**+34 (s2 cm4 Angstrom2) / erg2", "")])
        yield _mask_hdu(mask, camera)
        yield image_hdu(_resolution(*flux.shape), f"{camera}_RESOLUTION")


def _overlap() -> NDArray[np.bool_]:
    """(7781,), True where two cameras see the same wavelength."""
    seen = np.zeros(GRID.n_pixels, dtype=int)
    for pixels in CAMERAS.values():
        seen[pixels] += 1
    return seen > 1


def _rows(values: NDArray[np.generic], source: NDArray[np.intp], missing: float) -> NDArray[np.generic]:
    """Rows of the stack in the order of the file; fibres without a target get `missing` everywhere."""
    rows = values[np.maximum(source, 0)]
    rows[source < 0] = missing
    return rows


def _mask_hdu(mask: NDArray[np.generic], camera: str) -> bytes:
    stored = (mask.astype(np.int64) - UINT32_ZERO).astype(np.int32)
    scale: list[Card] = [("BSCALE", 1, ""), ("BZERO", UINT32_ZERO, "")]
    return image_hdu(stored, f"{camera}_MASK", scale)


def _resolution(n_rows: int, n_pixels: int) -> NDArray[np.float32]:
    """(rows, 11, pixels): the same Gaussian line spread everywhere."""
    kernel = np.exp(-0.5 * (np.arange(N_DIAGONALS) - N_DIAGONALS // 2) ** 2)
    kernel = (kernel / kernel.sum()).astype(np.float32)
    return np.broadcast_to(kernel[:, None], (n_rows, N_DIAGONALS, n_pixels))


def _primary(petal: int, tile: int) -> bytes:
    return hdu(
        Header(
            [
                *primary_cards(),
                ("SPGRP", "cumulative", ""),
                ("SPGRPVAL", NIGHT, ""),
                ("NIGHT", NIGHT, ""),
                ("TILEID", tile, ""),
                ("SPECTRO", petal, ""),
                ("PETAL", petal, ""),
                ("SURVEY", "main", ""),
                ("PROGRAM", "dark", ""),
                ("LONGSTRN", "OGIP 1.0", ""),
            ]
        )
    )


LAYOUT = Layout(GRID, write, "DESI coadd-PETAL-TILE-thruNIGHT.fits with redrock beside it")
