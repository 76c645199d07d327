"""DESI coadd-*.fits: images per camera, one row per target; the resolution matrices are never read.

Rows that are not targets (sky, stuck fibres) or whose fibre was bad are counted as `Skipped`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.catalogue import is_catalogue
from rarespec.formats.columns import catalogue_of, own_columns, plain_list
from rarespec.formats.fits.blocks import Hdu
from rarespec.formats.pixels import bad_pixels, native
from rarespec.formats.reader import MAX_ROWS, Found, Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.formats.stacks import MOST_PIXELS
from rarespec.formats.wavelength import is_air, vacuum
from rarespec.spectrum import DefectError, Reason, Spectra
from rarespec.spectrum.defect import Skipped
from rarespec.spectrum.spectra import Catalogue

# ---- The cameras of DESI joined into one spectrum: the inverse-variance mean where two of them overlap.


SAME_WAVELENGTH = 0.01
"""Angstrom. Pixels of two cameras closer than this are the same pixel; the step is 0.8."""


@dataclass(frozen=True, slots=True)
class CameraRows:
    """Some rows of one camera. flux, ivar : (n, p) float; mask : (n, p) integer."""

    flux: NDArray[Any]
    ivar: NDArray[Any]
    mask: NDArray[Any]


def join_wavelengths(cameras: list[NDArray[np.float64]]) -> tuple[NDArray[np.float64], list[int]]:
    """Join the cameras' pixels, bluest camera first, and find where each camera starts among them.

    A gap, where a camera is missing, is filled with pixels that no camera has: otherwise those at its edges would be
    taken to reach to its middle.
    """
    joined, starts = cameras[0], [0]
    for wavelength in cameras[1:]:
        joined = np.concatenate([joined, _pixels_between(joined, wavelength)])
        n_shared = int(np.searchsorted(wavelength, joined[-1] + SAME_WAVELENGTH))
        start = len(joined) - n_shared
        shared = joined[start:] if start >= 0 else joined[:0]
        if len(shared) != n_shared or not np.allclose(shared, wavelength[:n_shared], rtol=0, atol=SAME_WAVELENGTH):
            raise DefectError(Reason.LAYOUT, f"the cameras do not share their pixels near {wavelength[0]:.1f} Angstrom")
        joined = np.concatenate([joined, wavelength[n_shared:]])
        starts.append(start)
    return joined, starts


def _pixels_between(blue: NDArray[np.float64], red: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pixels in the gap between two cameras, as wide as those before it; none where the cameras meet or overlap."""
    width = (red[0] - blue[-1]) / (blue[-1] - blue[-2])
    if width > MOST_PIXELS:
        raise DefectError(Reason.LAYOUT, f"nothing between {blue[-1]:.1f} and {red[0]:.1f} Angstrom")
    return np.linspace(blue[-1], red[0], max(round(float(width)), 1) + 1)[1:-1]


def join_cameras(
    cameras: list[CameraRows], starts: list[int], n_pixels: int
) -> tuple[NDArray[np.floating], NDArray[np.floating], NDArray[np.bool_]]:
    """Join the cameras of some targets: the inverse-variance mean where two overlap, a plain copy elsewhere.

    Parameters
    ----------
    cameras : list of CameraRows
        The same n rows of each camera, bluest camera first.
    starts : list of int
        Pixel of the joined spectrum at which each camera starts, from `join_wavelengths`.
    n_pixels : int
        Pixels of the joined spectrum.

    Returns
    -------
    flux : (n, n_pixels) float32 array
        The flux.
    ivar : (n, n_pixels) float32 array
        Its inverse variance; where two good pixels overlap, the sum of both.
    bad : (n, n_pixels) bool array
        True where no camera has a good pixel.
    """
    n = len(cameras[0].flux)
    flux, ivar = np.zeros((n, n_pixels), np.float32), np.zeros((n, n_pixels), np.float32)
    bad = np.ones((n, n_pixels), bool)
    done = 0
    for camera, start in zip(cameras, starts, strict=True):
        with np.errstate(over="ignore"):  # what float32 cannot hold, or holds as 0, is bad
            new_flux, new_ivar = (native(values).astype(np.float32) for values in (camera.flux, camera.ivar))
        new_bad = bad_pixels(new_flux, new_ivar, camera.mask != 0)
        # Cameras come bluest first, so only the first pixels of a camera can overlap what is joined already.
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


# ---- The redrock-*.fits file beside a DESI coadd: class and redshift of each target.


COLUMNS = {
    "z": "Z",
    "class": "SPECTYPE",
    "subclass": "SUBTYPE",
    "zwarn": "ZWARN",
    "zerr": "ZERR",
    "deltachi2": "DELTACHI2",
}
"""Our name -> redrock's."""

_OPTIONAL = {"SUBTYPE", "ZERR", "DELTACHI2"}


@dataclass(frozen=True, slots=True)
class Redshifts:
    """Rows of REDSHIFTS by TARGETID."""

    row_of: dict[int, int]
    columns: dict[str, list[Any]]

    def of(self, targets: list[int]) -> Catalogue:
        """Take the columns for these targets; None for targets that redrock does not have."""
        rows = [self.row_of.get(target) for target in targets]
        return {name: [None if row is None else column[row] for row in rows] for name, column in self.columns.items()}


def redshifts_beside(coadd: Path) -> Redshifts | None:
    """Read the file with `redrock-` for `coadd-` in its name, gzipped or not; None when there is none."""
    if not coadd.name.startswith("coadd-"):
        return None
    name = "redrock-" + coadd.name.removeprefix("coadd-")
    for candidate in (name, name.removesuffix(".gz"), name + ".gz"):
        path = coadd.with_name(candidate)
        if path.is_file():
            return _read(path)
    return None


def _read(path: Path) -> Redshifts:
    try:
        with Source(path) as source:
            hdu = next((hdu for hdu in source.hdus if hdu.name == "REDSHIFTS"), None)
            if hdu is None:
                raise DefectError(Reason.LAYOUT, "no table called REDSHIFTS")
            targetid = hdu.column_named("TARGETID")
            wanted = {ours: name for ours, name in COLUMNS.items() if name not in _OPTIONAL or hdu.has_column(name)}
            table = hdu.table()
            columns = {ours: plain_list(table[hdu.column_named(name)]) for ours, name in wanted.items()}
            return Redshifts({target: row for row, target in enumerate(table[targetid].tolist())}, columns)
    except DefectError as error:
        raise DefectError(error.reason, f"{path.name} next to it: {error.detail}; stored without classes") from None


_ALL_CAMERAS = {"B", "R", "Z"}
_KINDS = ("WAVELENGTH", "FLUX", "IVAR", "MASK")
"""Images that each camera must have."""
NOT_A_TARGET = "not a target (OBJTYPE is not TGT)"
BAD_FIBRE = "bad fibre (COADD_FIBERSTATUS is not 0)"


def recognises(source: Source) -> bool:
    """Recognise the file by its fibre map, also if the images behind it were cut off."""
    fibermap = next((hdu for hdu in source.hdus if hdu.name == "FIBERMAP"), None)
    has_flux = any(hdu.name.endswith("_FLUX") for hdu in source.hdus)
    return fibermap is not None and (has_flux or (fibermap.has_column("TARGETID") and not is_catalogue(source)))


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    by_name = {hdu.name: hdu for hdu in reversed(source.hdus)}
    fibermap = by_name["FIBERMAP"]
    cameras = _cameras(by_name, fibermap.n_rows)
    wavelength, starts = join_wavelengths([camera["WAVELENGTH"].image().astype(np.float64) for camera in cameras])
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
    counts = {NOT_A_TARGET: int((~is_target).sum()), BAD_FIBRE: int((is_target & ~is_good).sum())}
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
