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
from astropy.io.votable.tree import Param, VOTableFile
from astropy.table import Table
from numpy.typing import NDArray

from formats import survey_layouts
from formats.small_fits import as_bytes
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
    """A file for one reader: `write` puts it into a folder, `spoil` takes the flux out of it in place.

    A reader `on_request` must be named; without a name the file is read by `otherwise`, or not at all.
    """

    reader: str
    wavelength: NDArray[np.float64]
    write: Callable[[Path, Spectra], Path]
    spoil: Callable[[Path], None]
    on_request: bool = False
    otherwise: str = ""

    @property
    def format(self) -> str | None:
        """What `--format` must say."""
        return self.reader if self.on_request else None

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


# --- layouts of other surveys and instruments


def layout_file(
    reader: str,
    layout: Callable[[Spectra], fits.HDUList],
    wavelength: NDArray[np.float64],
    spoil: Callable[[Path], None],
    **more: Any,
) -> ReaderFile:
    def write(folder: Path, spectra: Spectra) -> Path:
        path = folder / "file.fits"
        path.write_bytes(as_bytes(layout(spectra), checksum=True))
        return path

    return ReaderFile(reader, wavelength, write, spoil, **more)


def rename_in_all(path: Path) -> None:
    with fits.open(path) as file:
        for hdu in file[1:]:
            hdu.columns.change_name("FLUX", "counts")
        file.writeto(path, overwrite=True, checksum=True)


def drop_spectra(path: Path) -> None:
    with fits.open(path) as file:
        fits.HDUList(file[:5]).writeto(path, overwrite=True, checksum=True)


def gaia_file(reader: str, name: str, write_rows: Callable[[Path, Spectra, str], None]) -> ReaderFile:
    def write(folder: Path, spectra: Spectra, flux: str = "flux") -> Path:
        write_rows(folder / name, spectra, flux)
        return folder / name

    def spoil(path: Path) -> None:
        write_rows(path, spectra_on(survey_layouts.GAIA_WAVELENGTH), "counts")

    return ReaderFile(reader, survey_layouts.GAIA_WAVELENGTH, write, spoil)


def write_gaia_fits(path: Path, spectra: Spectra, flux: str) -> None:
    path.write_bytes(as_bytes(survey_layouts.gaia_fits(spectra, flux), checksum=True))


def write_gaia_parquet(path: Path, spectra: Spectra, flux: str) -> None:
    columns = survey_layouts.gaia_columns(spectra, flux)
    table = pa.table({name: pa.array(list(values)) for name, values in columns.items()})
    sampling = survey_layouts.gaia_sampling(spectra)
    pq.write_table(table.replace_schema_metadata({"sampling": sampling} if sampling else None), path)


def write_gaia_csv(path: Path, spectra: Spectra, flux: str) -> None:
    path.write_text(survey_layouts.gaia_csv(spectra, flux))


def write_gaia_votable(path: Path, spectra: Spectra, flux: str) -> None:
    votable = VOTableFile.from_table(Table(survey_layouts.gaia_columns(spectra, flux)))
    nanometres = spectra.wavelength / 10
    parameter = Param(votable, name="sampling", datatype="double", arraysize=str(len(nanometres)), value=nanometres)
    votable.get_first_table().params.append(parameter)
    votable.to_xml(str(path))


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


# --- layouts of other instruments, after their published data models


def errors_of(spectra: Spectra) -> NDArray[Any]:
    assert spectra.ivar is not None
    return np.where(spectra.ivar > 0, 0.5, np.nan)


def write_jwst(folder: Path, spectra: Spectra) -> Path:
    """In Jy, of flux that is 1e-17 erg/s/cm2/A."""
    jansky = 1e-17 * spectra.wavelength**2 / 2.99792458e-5
    extensions = []
    for flux, error in zip(spectra.flux, errors_of(spectra), strict=True):
        columns = [
            fits.Column("WAVELENGTH", "D", "um", array=spectra.wavelength / 1e4),
            fits.Column("FLUX", "D", "Jy", array=flux * jansky),
            fits.Column("FLUX_ERROR", "D", "Jy", array=error * jansky),
            fits.Column("DQ", "J", array=np.where(np.isnan(error), 1, 4)),
        ]
        extensions.append(fits.BinTableHDU.from_columns(columns, name="EXTRACT1D"))
    path = folder / "jwst.fits"
    fits.HDUList([fits.PrimaryHDU(), *extensions]).writeto(path, checksum=True)
    return path


def spoil_jwst(path: Path) -> None:
    """Without its unit too, by which specutils would know it."""
    with fits.open(path) as file:
        file[1].columns["FLUX"].unit = None
        file[1].columns["FLUX"].name = "counts"
        fits.HDUList(file[:2]).writeto(path, overwrite=True, checksum=True)


def write_hst(folder: Path, spectra: Spectra) -> Path:
    """Two segments that share 20 pixels, the redder one first, as COS has them."""
    n = len(spectra.wavelength)
    parts = [slice(n // 2 - 10, n), slice(0, n // 2 + 10)]
    length = max(len(range(n)[part]) for part in parts)

    def padded(values: NDArray[Any]) -> NDArray[Any]:
        return np.stack([np.pad(values[part], (0, length - len(range(n)[part]))) for part in parts])

    error = np.nan_to_num(errors_of(spectra)[0])
    columns = [
        fits.Column("SEGMENT", "4A", array=["FUVA", "FUVB"]),
        fits.Column("WAVELENGTH", f"{length}D", "Angstroms", array=padded(spectra.wavelength)),
        fits.Column("FLUX", f"{length}E", "erg /s /cm**2 /angstrom", array=padded(spectra.flux[0])),
        fits.Column("ERROR", f"{length}E", "erg /s /cm**2 /angstrom", array=padded(error)),
        fits.Column("DQ", f"{length}I", array=padded(np.where(error > 0, 1024, 16))),
    ]
    table = fits.BinTableHDU.from_columns(columns, name="SCI")
    table.header["SDQFLAGS"] = 8376
    path = folder / "hst.fits"
    fits.HDUList([fits.PrimaryHDU(), table]).writeto(path, checksum=True)
    return path


def write_eso(folder: Path, spectra: Spectra) -> Path:
    n, error = len(spectra.wavelength), errors_of(spectra)[0]
    columns = [
        fits.Column("WAVE", f"{n}D", "nm", array=spectra.wavelength[np.newaxis] / 10),
        fits.Column("FLUX", f"{n}E", "erg.cm**(-2).s**(-1).angstrom**(-1)", array=spectra.flux[:1]),
        fits.Column("ERR", f"{n}E", array=error[np.newaxis]),
        fits.Column("QUAL", f"{n}J", array=np.isnan(error)[np.newaxis].astype("i4")),
    ]
    table = fits.BinTableHDU.from_columns(columns, name="SPECTRUM")
    table.header["VOCLASS"] = "SPECTRUM V2.0"
    primary = fits.PrimaryHDU()
    primary.header.update({"PRODCATG": "SCIENCE.SPECTRUM", "INSTRUME": "XSHOOTER", "RA": 12.5, "DEC": -30.25})
    path = folder / "eso.fits"
    fits.HDUList([primary, table]).writeto(path, checksum=True)
    return path


def add_multispec_cards(header: fits.Header, apertures: list[str]) -> None:
    """One description for each aperture, in pieces of 68 characters, as IRAF writes them."""
    text = "wtype=multispec " + " ".join(f'spec{i} = "{one}"' for i, one in enumerate(apertures, 1))
    header.update({"CTYPE1": "MULTISPE", "CTYPE2": "MULTISPE", "WAT0_001": "system=multispec"})
    header["WAT1_001"] = "wtype=multispec label=Wavelength units=angstroms"
    for i, start in enumerate(range(0, len(text), 68), 1):
        header[f"WAT2_{i:03d}"] = text[start : start + 68]


def write_multispec(folder: Path, spectra: Spectra) -> Path:
    """Three apertures, log-linear; flux, sky and sigma."""
    hdu = fits.PrimaryHDU(np.stack([spectra.flux, spectra.flux * 0, errors_of(spectra)]).astype("f4"))
    n = len(spectra.wavelength)
    add_multispec_cards(hdu.header, [f"{i + 1} {i + 1} 1 3.6 0.0005 {n} 0. 1.0 9.0" for i in range(N)])
    path = folder / "multispec.fits"
    hdu.writeto(path, checksum=True)
    return path


def write_rows(folder: Path, spectra: Spectra) -> Path:
    """Wavelength in micron, which no card says, flux, error: the layout of SpeX."""
    image = np.stack([spectra.wavelength / 1e4, spectra.flux[0], errors_of(spectra)[0]])
    hdu = fits.PrimaryHDU(image)
    hdu.header.update({"OBJECT": "a dwarf", "RA": "12:30:00.0", "DEC": "-01:30:00"})
    path = folder / "rows.fits"
    hdu.writeto(path, checksum=True)
    return path


def write_headerless(path: Path, arrays: dict[str, Any]) -> None:
    """Wavelength in micron, flux, error; nothing but numbers below a remark. `counts` alone when there is no flux."""
    columns = [arrays.get("counts", arrays["ivar"])[0]]
    if "flux" in arrays:
        columns = [arrays["wavelength"] / 1e4, arrays["flux"][0], np.where(arrays["ivar"][0] > 0, 0.5, np.nan)]
    np.savetxt(path, np.stack(columns, axis=1), header="made for a test", fmt="%.9g")


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
    "lamost-medium": layout_file(
        "lamost-medium", survey_layouts.lamost_medium, survey_layouts.MEDIUM_WAVELENGTH, rename_in_all
    ),
    "lamost-exposures": layout_file(
        "lamost-exposures",
        survey_layouts.lamost_medium,
        survey_layouts.MEDIUM_WAVELENGTH,
        rename_in_all,
        on_request=True,
        otherwise="lamost-medium",
    ),
    "6df": layout_file("6df", survey_layouts.sixdf, survey_layouts.IN_AIR["6df"], drop_spectra),
    "galah": layout_file("galah", survey_layouts.galah, survey_layouts.IN_AIR["galah"], drop_primary_image),
    "weave": layout_file("weave-l1", survey_layouts.weave, survey_layouts.IN_AIR["weave"], drop_hdus_named("_DATA")),
    "4most": layout_file("4most-l1", survey_layouts.four_most, survey_layouts.FOUR_MOST_WAVELENGTH, rename_column(1)),
    "manga": layout_file(
        "manga-cube", survey_layouts.manga, survey_layouts.MANGA_WAVELENGTH, drop_hdus_named("FLUX"), on_request=True
    ),
    "muse": layout_file(
        "muse-cube", survey_layouts.muse, survey_layouts.IN_AIR["muse"], drop_hdus_named("DATA"), on_request=True
    ),
    "gaia-fits": gaia_file("gaia-fits", "rows.fits", write_gaia_fits),
    "gaia-parquet": gaia_file("gaia-parquet", "rows.parquet", write_gaia_parquet),
    "gaia-csv": gaia_file("gaia-text", "rows.csv", write_gaia_csv),
    "gaia-votable": gaia_file("gaia-text", "rows.xml", write_gaia_votable),
    "fits-table": ReaderFile("fits-table", GENERIC_WAVELENGTH, write_fits_table, rename_column(1)),
    "fits-wcs1d": ReaderFile("fits-wcs1d", GENERIC_WAVELENGTH, write_fits_wcs1d, drop_primary_image),
    "jwst": ReaderFile("jwst-x1d", GENERIC_WAVELENGTH, write_jwst, spoil_jwst),
    "hst": ReaderFile("hst-x1d", GENERIC_WAVELENGTH, write_hst, rename_column(1)),
    "eso": ReaderFile("eso-sdp", GENERIC_WAVELENGTH, write_eso, rename_column(1)),
    "multispec": ReaderFile("iraf-multispec", GENERIC_WAVELENGTH, write_multispec, drop_primary_image),
    "rows": ReaderFile("fits-rows", GENERIC_WAVELENGTH, write_rows, drop_primary_image),
    "headerless": array_file("text-table", "star.txt", write_headerless),
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
