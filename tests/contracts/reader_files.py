"""One small file for every reader, with and without its flux: the material of the readers' contract."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zarr
from astropy.io import fits
from astropy.table import Table
from numpy.typing import NDArray

from rarespec.mock.files import native_wavelength, write_files
from rarespec.spectrum import Spectra

N = 3
GENERIC_WAVELENGTH = 10 ** (3.6 + 5e-4 * np.arange(700))
"""Enough pixels that a FITS file cut to 60 % loses data and not only padding."""


def spectra_on(wavelength: NDArray[np.float64]) -> Spectra:
    """Three made-up spectra with all the common columns and a few bad pixels."""
    rng = np.random.default_rng(11)
    flux = (10 + np.sin(wavelength / 300) + rng.normal(0, 0.1, (N, len(wavelength)))).astype("f4")
    bad = rng.random(flux.shape) < 0.02
    ivar = np.where(bad, 0, 4).astype("f4")
    catalogue: dict[str, list[Any]] = {
        "id": [f"1000-55000-{i + 1:04d}" for i in range(N)],
        "plate": [1000] * N,
        "mjd": [55000] * N,
        "fiberid": [1, 2, 3],
        "ra": [10.5, 20.25, 30.125],
        "dec": [-1.5, 2.25, 3.125],
        "z": [0.0, 1e-3, 0.5],
        "class": ["STAR", "STAR", "GALAXY"],
        "subclass": ["M4", "F5", ""],
        "snr": [10.0, 20.0, 30.0],
    }
    return Spectra(wavelength, flux, ivar, bad, catalogue)


@dataclass(frozen=True, slots=True)
class ReaderFile:
    """A file for one reader: `write` puts it into a folder, `spoil` takes the flux out of it in place."""

    reader: str
    wavelength: NDArray[np.float64]
    write: Callable[[Path, Spectra], Path]
    spoil: Callable[[Path], None]

    @property
    def spectra(self) -> Spectra:
        return spectra_on(self.wavelength)


# --- layouts of surveys


def survey_file(reader: str, layout: str, spoil: Callable[[Path], None]) -> ReaderFile:
    def write(folder: Path, spectra: Spectra) -> Path:
        return write_files(spectra, layout, folder)[0]

    return ReaderFile(reader, native_wavelength(layout), write, spoil)


def rename_column(hdu: int) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        with fits.open(path) as file:
            for column in file[hdu].columns:
                if column.name.upper() == "FLUX":
                    column.name = "counts"
            file.writeto(path, overwrite=True, checksum=True, output_verify="ignore")  # LAMOST has stray NAXIS1

    return spoil


def drop_hdus_named(ending: str) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        with fits.open(path) as file:
            kept = [hdu for hdu in file if not hdu.name.endswith(ending)]
            fits.HDUList(kept).writeto(path, overwrite=True, checksum=True)

    return spoil


def drop_primary_image(path: Path) -> None:
    with fits.open(path) as file:
        file[0].data = None
        file.writeto(path, overwrite=True, checksum=True)


# --- general FITS


def write_fits_table(folder: Path, spectra: Spectra) -> Path:
    table = Table({"wavelength": spectra.wavelength, "flux": spectra.flux[0], "ivar": spectra.ivar[0]})  # type: ignore[index]
    path = folder / "table.fits"
    fits.BinTableHDU(table).writeto(path, checksum=True)
    return path


def write_fits_wcs1d(folder: Path, spectra: Spectra) -> Path:
    hdu = fits.PrimaryHDU(spectra.flux[0])
    hdu.header.update({"CRVAL1": 3.6, "CD1_1": 5e-4, "CRPIX1": 1.0, "DC-FLAG": 1, "CTYPE1": "WAVE-LOG"})
    path = folder / "image.fits"
    hdu.writeto(path, checksum=True)
    return path


# --- arrays


def arrays_of(spectra: Spectra, flux: str = "flux") -> dict[str, Any]:
    assert spectra.ivar is not None
    catalogue = {name: np.array(values) for name, values in spectra.catalogue.items()}
    arrays = {flux: spectra.flux, "wavelength": spectra.wavelength, "ivar": spectra.ivar}
    return arrays | {"mask": spectra.bad.astype("u1")} | catalogue


def write_npz(path: Path, arrays: dict[str, Any]) -> None:
    with open(path, "wb") as file:
        np.savez(file, **arrays)


def write_npz_compressed(path: Path, arrays: dict[str, Any]) -> None:
    with open(path, "wb") as file:
        np.savez_compressed(file, **arrays)


def write_npy(path: Path, arrays: dict[str, Any]) -> None:
    arrays = arrays | {"wavelength": np.tile(arrays["wavelength"], (N, 1))}
    table = np.zeros(N, dtype=[(name, array.dtype, array.shape[1:]) for name, array in arrays.items()])
    for name, array in arrays.items():
        table[name] = array
    with open(path, "wb") as file:
        np.save(file, table)


def write_hdf5(path: Path, arrays: dict[str, Any]) -> None:
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array.astype("S") if array.dtype.kind == "U" else array


def write_zarr(path: Path, arrays: dict[str, Any]) -> None:
    group = zarr.open_group(path, mode="w", zarr_format=3)
    for name, array in arrays.items():
        group.create_array(name, data=array.astype("T") if array.dtype.kind == "U" else array)


def write_zarr_v2(path: Path, arrays: dict[str, Any]) -> None:
    group = zarr.open_group(path, mode="w", zarr_format=2)
    for name, array in arrays.items():
        group.create_array(name, data=array)


def write_parquet(path: Path, arrays: dict[str, Any]) -> None:
    arrays = dict(arrays)
    wavelength = json.dumps(arrays.pop("wavelength").tolist())
    table = pa.table({name: pa.array(list(array)) for name, array in arrays.items()})
    pq.write_table(table.replace_schema_metadata({"wavelength": wavelength}), path)


def write_mmu(path: Path, arrays: dict[str, Any]) -> None:
    wavelength = [*arrays["wavelength"].astype("f4").tolist(), -1.0, -1.0]
    rows = []
    for i in range(N):
        row = {name: array[i].tolist() for name, array in arrays.items() if array.ndim == 2}
        rows.append({name: [*values, values[-1], values[-1]] for name, values in row.items()} | {"lambda": wavelength})
    columns = {name: array.tolist() for name, array in arrays.items() if array.shape == (N,) and name != "id"}
    table = {"spectrum": pa.array(rows), "object_id": arrays["id"].tolist()} | columns
    pq.write_table(pa.table(table), path)


def write_arms(path: Path, arrays: dict[str, Any]) -> None:
    """Two arms, the second of which starts where the first ends."""
    columns = {name: array.tolist() for name, array in arrays.items() if array.shape == (N,) and name != "id"}
    table: dict[str, Any] = {"TARGETID": arrays["id"].tolist()} | columns
    for arm, pixels in (("b", slice(0, 400)), ("r", slice(400, None))):
        wavelength = arrays["wavelength"][pixels].tolist()
        rows = [
            {name: array[i, pixels].tolist() for name, array in arrays.items() if array.ndim == 2} for i in range(N)
        ]
        table[f"spectra_{arm}"] = pa.array([row | {"wavelength": wavelength} for row in rows])
    pq.write_table(pa.table(table), path)


def write_csv(path: Path, arrays: dict[str, Any]) -> None:
    _one_spectrum(arrays).write(path, format="ascii.csv")


def write_ecsv(path: Path, arrays: dict[str, Any]) -> None:
    rows = Table({name: array for name, array in arrays.items() if len(array) == N})
    rows["wavelength"] = np.tile(arrays["wavelength"], (N, 1))
    rows.write(path, format="ascii.ecsv")


def write_votable(path: Path, arrays: dict[str, Any]) -> None:
    _one_spectrum(arrays).write(path, format="votable")


def _one_spectrum(arrays: dict[str, Any]) -> Table:
    on_pixels = {name: array[0] for name, array in arrays.items() if array.ndim == 2}
    return Table({"wavelength": arrays["wavelength"]} | on_pixels)


def array_file(reader: str, name: str, write_arrays: Callable[[Path, dict[str, Any]], None]) -> ReaderFile:
    def write(folder: Path, spectra: Spectra) -> Path:
        write_arrays(folder / name, arrays_of(spectra))
        return folder / name

    def spoil(path: Path) -> None:
        if path.is_file():
            path.unlink()
        write_arrays(path, arrays_of(spectra_on(GENERIC_WAVELENGTH), flux="counts"))

    return ReaderFile(reader, GENERIC_WAVELENGTH, write, spoil)


READER_FILES: dict[str, ReaderFile] = {
    "sdss": survey_file("sdss-spec", "sdss", rename_column(1)),
    "sdss-v": survey_file("sdss-v", "sdss-v", rename_column(1)),
    "spplate": survey_file("sdss-spplate", "sdss-spplate", drop_primary_image),
    "spspec": survey_file("sdss-spspec", "sdss-spspec", drop_primary_image),
    "lamost-dr1": survey_file("lamost-image", "lamost-dr1", drop_primary_image),
    "lamost-dr8": survey_file("lamost-image", "lamost-dr8", drop_primary_image),
    "lamost-dr9": survey_file("lamost-table", "lamost-dr9", rename_column(1)),
    "desi": survey_file("desi-coadd", "desi", drop_hdus_named("_FLUX")),
    "fits-table": ReaderFile("fits-table", GENERIC_WAVELENGTH, write_fits_table, rename_column(1)),
    "fits-wcs1d": ReaderFile("fits-wcs1d", GENERIC_WAVELENGTH, write_fits_wcs1d, drop_primary_image),
    "arms": array_file("nested-parquet", "rows.parquet", write_arms),
    "mmu": array_file("mmu-parquet", "rows.parquet", write_mmu),
    "csv": array_file("text-table", "star.csv", write_csv),
    "ecsv": array_file("text-table", "rows.ecsv", write_ecsv),
    "votable": array_file("text-table", "star.vot", write_votable),
    "npz": array_file("numpy", "rows.npz", write_npz),
    "npz-compressed": array_file("numpy", "rows.npz", write_npz_compressed),
    "npy": array_file("numpy", "rows.npy", write_npy),
    "hdf5": array_file("hdf5", "rows.h5", write_hdf5),
    "parquet": array_file("parquet", "rows.parquet", write_parquet),
    "zarr": array_file("zarr", "rows.zarr", write_zarr),
    "zarr-v2": array_file("zarr", "rows.zarr", write_zarr_v2),
}
"""Name of the kind of file -> how to make one."""
