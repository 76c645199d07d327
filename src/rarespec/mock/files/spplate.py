"""SDSS `spPlate-PLATE-MJD.fits`: all fibres of a plate as images, with `spZbest-PLATE-MJD.fits` beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rarespec.formats.fits.writing import Header, big_endian, hdu, image_hdu, primary_cards, row_dtype, table_hdu
from rarespec.mock.files.sdss import GRID, ZWARNING_SKY, plate_cards, plugmap_columns, zbest_columns
from rarespec.mock.files.sdss_pixels import dispersion, inverse_variance, masks, sky
from rarespec.mock.files.target import Layout, Target, publish
from rarespec.spectrum import Spectra

FIBRES_PER_PLATE = 640


def write(spectra: Spectra, targets: Sequence[Target], directory: Path) -> list[Path]:
    """Write one plate, spPlate and spZbest, per 640 rows; row i of a plate is fibre i + 1.

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
        The spPlate files; each spZbest file is beside its plate.
    """
    starts = range(0, len(targets), FIBRES_PER_PLATE)
    chunks = [np.arange(start, min(start + FIBRES_PER_PLATE, len(targets))) for start in starts]
    return [_write_plate(spectra.take(rows), [targets[int(i)] for i in rows], directory) for rows in chunks]


def plate_and_mjd(targets: Sequence[Target]) -> tuple[int, int]:
    """The catalogue's plate when these rows are its fibres 1, 2, ...; otherwise a number of their own."""
    first = targets[0]
    fits = all((t.plate, t.mjd, t.fiberid) == (first.plate, first.mjd, i + 1) for i, t in enumerate(targets))
    return (first.plate, first.mjd) if fits else (10000 + first.index, 52000)


def _write_plate(spectra: Spectra, targets: Sequence[Target], directory: Path) -> Path:
    plate, mjd = plate_and_mjd(targets)
    both = [masks(bad, spectra.wavelength, target) for bad, target in zip(spectra.bad, targets, strict=True)]
    shape = spectra.flux.shape
    content = b"".join(
        [
            _primary(spectra, plate, mjd),
            image_hdu(np.where(spectra.bad, 0.0, inverse_variance(spectra)).astype(np.float32), "IVAR"),
            image_hdu(np.stack([and_mask for and_mask, _ in both]), "ANDMASK"),
            image_hdu(np.stack([or_mask for _, or_mask in both]), "ORMASK"),
            image_hdu(np.broadcast_to(dispersion(shape[1]), shape), "WAVEDISP"),
            _plugmap(targets),
            image_hdu(np.broadcast_to(sky(spectra.wavelength), shape), "SKY"),
        ]
    )
    publish(directory / f"spZbest-{plate:04d}-{mjd}.fits", hdu(Header(primary_cards())) + _zbest(targets, plate, mjd))
    return publish(directory / f"spPlate-{plate:04d}-{mjd}.fits", content)


def _primary(spectra: Spectra, plate: int, mjd: int) -> bytes:
    flux = spectra.flux.astype(np.float32)
    header = Header(
        [
            *primary_cards(flux),
            *plate_cards(),
            ("CRVAL1", GRID.start, "Central wavelength (log10) of first pixel"),
            ("CD1_1", GRID.step, "Log10 dispersion per pixel"),
            ("CRPIX1", 1, "Starting pixel (1-indexed)"),
            ("CTYPE1", "LINEAR", ""),
        ]
    )
    return hdu(header.replace({"PLATEID": plate, "MJD": mjd, "MJDLIST": str(mjd)}), big_endian(flux))


def _plugmap(targets: Sequence[Target]) -> bytes:
    rows = np.zeros(len(targets), row_dtype(plugmap_columns()))
    rows["HOLETYPE"] = "OBJECT"
    rows["RA"], rows["DEC"] = [t.ra for t in targets], [t.dec for t in targets]
    rows["OBJTYPE"] = ["SKY" if t.is_sky else "NA" for t in targets]
    rows["FIBERID"] = np.arange(1, len(targets) + 1)
    rows["SPECTROGRAPHID"] = np.where(rows["FIBERID"] <= FIBRES_PER_PLATE // 2, 1, 2)
    return table_hdu(plugmap_columns(), rows, "PLUGMAP")


def _zbest(targets: Sequence[Target], plate: int, mjd: int) -> bytes:
    rows = np.zeros(len(targets), row_dtype(zbest_columns()))
    rows["PLATE"], rows["MJD"], rows["FIBERID"] = plate, mjd, np.arange(1, len(targets) + 1)
    rows["PLUG_RA"], rows["PLUG_DEC"] = [t.ra for t in targets], [t.dec for t in targets]
    rows["OBJTYPE"] = ["SKY" if t.is_sky else "NA" for t in targets]
    rows["CLASS"], rows["SUBCLASS"] = [t.spectral_class for t in targets], [t.subclass for t in targets]
    rows["Z"], rows["SN_MEDIAN"] = [t.z for t in targets], [t.snr for t in targets]
    rows["ZWARNING"] = [ZWARNING_SKY if t.is_sky else 0 for t in targets]
    return table_hdu(zbest_columns(), rows, "ZBEST")


LAYOUT = Layout(GRID, write, "SDSS spPlate-PLATE-MJD.fits with spZbest beside it")
