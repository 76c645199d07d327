"""DESI coadd-*.fits: images per camera, one row per target; the resolution matrices are never read.

Rows that are not targets (sky, stuck fibres) or whose fibre was bad are counted as `Skipped`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.catalogue import is_catalogue
from rarespec.formats.desi_join import CameraRows, join_cameras, joined_wavelength
from rarespec.formats.desi_redrock import Redshifts, redshifts_beside
from rarespec.formats.fits import Hdu
from rarespec.formats.own_columns import catalogue_of, own_columns
from rarespec.formats.reader import MAX_ROWS, Found, Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.formats.wavelength import is_air, vacuum
from rarespec.spectrum import DefectError, Reason, Spectra
from rarespec.spectrum.skipped import Skipped
from rarespec.spectrum.spectra import Catalogue

_ALL_CAMERAS = {"B", "R", "Z"}
_KINDS = ("WAVELENGTH", "FLUX", "IVAR", "MASK")
"""Images that each camera must have."""


def recognises(source: Source) -> bool:
    """By the fibre map, also when the images behind it were cut off."""
    fibermap = next((hdu for hdu in source.hdus if hdu.name == "FIBERMAP"), None)
    has_flux = any(hdu.name.endswith("_FLUX") for hdu in source.hdus)
    return fibermap is not None and (has_flux or (fibermap.has_column("TARGETID") and not is_catalogue(source)))


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    by_name = {hdu.name: hdu for hdu in reversed(source.hdus)}
    fibermap = by_name["FIBERMAP"]
    cameras = _cameras(by_name, fibermap.n_rows)
    wavelength, starts = joined_wavelength([camera["WAVELENGTH"].image().astype(np.float64) for camera in cameras])
    wavelength = vacuum(wavelength, is_air(source.hdus[0].header, options), cameras[0]["WAVELENGTH"].label)
    targets, skipped = _targets(source, fibermap)
    yield from skipped
    redshifts = None
    try:
        redshifts = redshifts_beside(source.path)
    except DefectError as error:  # the spectra are still good; their classes are not known
        yield error.at(source.name)
    for start in range(0, fibermap.n_rows, MAX_ROWS):
        rows = np.flatnonzero(targets[start : start + MAX_ROWS])
        if len(rows):
            stop = start + MAX_ROWS
            flux, ivar, bad = join_cameras([_rows(c, start, stop, rows) for c in cameras], starts, len(wavelength))
            catalogue = _catalogue(source, fibermap.table(start, stop)[rows], redshifts)
            yield Spectra(wavelength, flux, ivar, bad, catalogue)


def _cameras(by_name: dict[str, Hdu], n_rows: int) -> list[dict[str, Hdu]]:
    """The HDUs of each camera, bluest first. A camera may be absent altogether, but not in part."""
    letters = {letter for letter, _, kind in (name.rpartition("_") for name in by_name) if letter and kind in _KINDS}
    # SCORES comes last in a file: without it, a camera that is not there may have been cut off.
    if not letters or (letters < _ALL_CAMERAS and "SCORES" not in by_name):
        raise DefectError(Reason.TRUNCATED, f"only the cameras {sorted(letters)} are present; fetch it again")
    cameras = [_camera(by_name, letter, n_rows) for letter in sorted(letters)]
    return sorted(cameras, key=lambda camera: float(camera["WAVELENGTH"].image(0, 1)[0]))


def _camera(by_name: dict[str, Hdu], letter: str, n_rows: int) -> dict[str, Hdu]:
    hdus = {}
    for kind in _KINDS:
        hdu = by_name.get(f"{letter}_{kind}")
        if hdu is None or not hdu.is_image:
            raise DefectError(Reason.MISSING_COLUMN, f"the image {letter}_{kind} is missing; fetch it again")
        hdus[kind] = hdu
    n_pixels = hdus["WAVELENGTH"].image_shape[-1]
    for kind, hdu in hdus.items():
        expected = (n_pixels,) if kind == "WAVELENGTH" else (n_rows, n_pixels)
        if hdu.image_shape != expected:
            raise DefectError(Reason.LAYOUT, f"{hdu.label} has the shape {hdu.image_shape} instead of {expected}")
    return hdus


def _rows(camera: dict[str, Hdu], start: int, stop: int, rows: NDArray[np.intp]) -> CameraRows:
    whole = len(rows) == min(stop, camera["FLUX"].n_rows) - start
    flux, ivar, mask = (camera[kind].image(start, stop) for kind in ("FLUX", "IVAR", "MASK"))
    return CameraRows(flux, ivar, mask) if whole else CameraRows(flux[rows], ivar[rows], mask[rows])


def _targets(source: Source, fibermap: Hdu) -> tuple[NDArray[np.bool_], list[Skipped]]:
    """Which rows are targets on a good fibre, (n,) bool, and how many are not."""
    objtype, status = fibermap.column_named("OBJTYPE"), fibermap.column_named("COADD_FIBERSTATUS")
    is_target, is_good = np.zeros(fibermap.n_rows, bool), np.zeros(fibermap.n_rows, bool)
    for start in range(0, fibermap.n_rows, MAX_ROWS):
        part = fibermap.table(start, start + MAX_ROWS)
        is_target[start : start + MAX_ROWS] = np.char.strip(part[objtype]) == b"TGT"
        is_good[start : start + MAX_ROWS] = part[status] == 0
    counts = {
        "not a target (OBJTYPE is not TGT)": int((~is_target).sum()),
        "bad fibre (COADD_FIBERSTATUS is not 0)": int((is_target & ~is_good).sum()),
    }
    return is_target & is_good, [Skipped(source.name, why, count) for why, count in counts.items() if count]


def _catalogue(source: Source, fibermap: NDArray[Any], redshifts: Redshifts | None) -> Catalogue:
    own = own_columns(fibermap)
    n = len(fibermap)
    if "targetid" not in own:
        raise DefectError(Reason.MISSING_COLUMN, "FIBERMAP has no column TARGETID, so the spectra have no ids")
    nothing = [None] * n
    common = {
        "id": [str(target) for target in own["targetid"]],
        "ra": own.get("target_ra", nothing),
        "dec": own.get("target_dec", nothing),
        **dict.fromkeys(("z", "class", "subclass", "snr"), nothing),
        **(redshifts.of(own["targetid"]) if redshifts else {}),
        "survey": ["DESI"] * n,
        "source": [source.name] * n,
    }
    more = {name: column for name, column in common.items() if name in ("zwarn", "zerr", "deltachi2")}
    return catalogue_of(common, {**own, **more})


READER = Reader("desi-coadd", Container.FITS, recognises, read, "DESI coadd-*.fits, with the redrock file beside it")
