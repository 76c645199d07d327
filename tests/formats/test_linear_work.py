"""Files made to take long: many names, members, cards, chunks. Work that grew with the square would not end in time."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from astropy.io import fits

from conftest import every
from formats.watched_reader import WatchedReader
from rarespec.spectrum import Reason

MANY = 100_000
WAVELENGTH = np.linspace(4000.0, 5000.0, 8)


@pytest.fixture(scope="module")
def reader() -> Iterator[WatchedReader]:
    with WatchedReader(memory=2 << 30, seconds=60) as reader:
        yield reader


@pytest.fixture(scope="module")
def catalogue_reader() -> Iterator[WatchedReader]:
    with WatchedReader(memory=2 << 30, seconds=60, what="catalogue") as reader:
        yield reader


def gzip_of_nothing(folder: Path) -> Path:
    (folder / "a.gz").write_bytes(gzip.compress(b"") * 400_000)
    return folder / "a.gz"


def csv(head: Callable[[], Iterator[str]], cell: str = "1") -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        names = list(head())
        (folder / "a.csv").write_text(f"{','.join(names)}\n" + f"{','.join([cell] * len(names))}\n" * 2)
        return folder / "a.csv"

    return write


def repeated() -> Iterator[str]:
    yield from (f"c{i}" for i in range(60_000))
    yield from ("z", "z")


def columns() -> Iterator[str]:
    yield from ("id", *(f"c{i}" for i in range(MANY)), "4000", "4001", "4002")


def pixels() -> Iterator[str]:
    yield from ("id", *(f"{4000 + i / 100:.2f}" for i in range(MANY)))


def of_one_name() -> Iterator[str]:
    """The same name in upper and lower case, 2^14 times."""
    yield from ("4000", "4001", *map("".join, itertools.product(*zip("abcdefghijklmn", "ABCDEFGHIJKLMN", strict=True))))


def fits_cards(folder: Path) -> Path:
    hdu = fits.PrimaryHDU(np.ones(8))
    header = hdu.header.tostring(endcard=False, padding=False)
    cards = {"CRVAL1": 4000.0, "CDELT1": 1.0} | {f"K{i}": i for i in range(60_000)}
    header += "".join(f"{key:8}= {value!r:>20}".ljust(80) for key, value in cards.items()) + "END".ljust(80)
    raw = header.encode()
    data = hdu.data.astype(">f8").tobytes()
    (folder / "a.fits").write_bytes(raw.ljust(-(-len(raw) // 2880) * 2880) + data.ljust(2880, b"\0"))
    return folder / "a.fits"


def fits_hdus(folder: Path) -> Path:
    primary, image = fits.PrimaryHDU().header.tostring(), fits.ImageHDU().header.tostring()
    (folder / "a.fits").write_bytes((primary + image * 20_000).encode())
    return folder / "a.fits"


def zarr_shape(shape: tuple[int, int], chunks: tuple[int, int]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        group = zarr.open_group(folder / "a.zarr", mode="w", zarr_format=2)
        group.create_array("flux", shape=shape, chunks=chunks, dtype="f4", compressors=None)
        group.create_array("wavelength", shape=shape[1:], chunks=chunks[1:], dtype="f4", compressors=None)
        return folder / "a.zarr"

    return write


def zarr_files(folder: Path) -> Path:
    """Thousands of chunks, all there."""
    group = zarr.open_group(folder / "a.zarr", mode="w", zarr_format=2)
    group.create_array("wavelength", data=WAVELENGTH)
    array = folder / "a.zarr" / "flux"
    array.mkdir()
    metadata = {"zarr_format": 2, "shape": [30_000, 8], "chunks": [1, 8], "dtype": "<f4", "fill_value": 0, "order": "C"}
    (array / ".zarray").write_text(json.dumps(metadata | {"compressor": None, "filters": None}))
    chunk = np.ones(8, "<f4").tobytes()
    for i in range(30_000):
        (array / f"{i}.0").write_bytes(chunk)
    return folder / "a.zarr"


def zarr_members(folder: Path) -> Path:
    group = zarr.open_group(folder / "a.zarr", mode="w", zarr_format=2)
    group.create_array("x", data=WAVELENGTH)
    metadata = (folder / "a.zarr" / "x" / ".zarray").read_text()
    for i in range(5000):
        (folder / "a.zarr" / f"x{i}").mkdir()
        (folder / "a.zarr" / f"x{i}" / ".zarray").write_text(metadata)
    return folder / "a.zarr"


def parquet_groups(folder: Path) -> Path:
    table = pa.table({"flux": [[1.0, 2.0]] * 20_000})
    table = table.replace_schema_metadata({"wavelength": "[4000, 4001]"})
    pq.write_table(table, folder / "a.parquet", row_group_size=1, write_statistics=False, compression="none")
    return folder / "a.parquet"


def parquet_columns(folder: Path) -> Path:
    table = pa.table({"flux": [[1.0, 2.0]]} | {f"c{i}": [i] for i in range(20_000)})
    table = table.replace_schema_metadata({"wavelength": "[4000, 4001]"})
    pq.write_table(table, folder / "a.parquet", write_statistics=False, compression="none")
    return folder / "a.parquet"


def hdf5_members(folder: Path) -> Path:
    """A thousand groups that all hold each other."""
    with h5py.File(folder / "a.h5", "w", libver="latest") as file:
        group = file.create_group("0")
        for i in range(20_000):
            group[f"d{i}"] = h5py.SoftLink("/nowhere")
        for i in range(1, 2000):
            file[str(i)] = group
    return folder / "a.h5"


def zip_members(folder: Path) -> Path:
    content = io.BytesIO()
    np.save(content, WAVELENGTH)
    with zipfile.ZipFile(folder / "a.npz", "w") as archive:
        for i in range(20_000):
            archive.writestr(f"{i}.npy", content.getvalue())
    return folder / "a.npz"


def votable_depth(folder: Path) -> Path:
    inside = "<RESOURCE>" * 100_000 + "</RESOURCE>" * 100_000
    (folder / "a.vot").write_text(f"<?xml version='1.0'?><VOTABLE version='1.4'>{inside}</VOTABLE>")
    return folder / "a.vot"


def votable_fields(folder: Path) -> Path:
    fields = "".join(f"<FIELD name='c{i % 10}' datatype='double'/>" for i in range(20_000))
    rows = f"<TR>{'<TD>1</TD>' * 20_000}</TR>"
    table = f"<TABLE>{fields}<DATA><TABLEDATA>{rows}</TABLEDATA></DATA></TABLE>"
    (folder / "a.vot").write_text(f"<?xml version='1.0'?><VOTABLE version='1.4'><RESOURCE>{table}</RESOURCE></VOTABLE>")
    return folder / "a.vot"


def gaia_cells(folder: Path) -> Path:
    """Cells of brackets within brackets, and of many numbers."""
    cells = ("[" * 100_000, "(" + "1," * 50_000 + ")", "(" + "x," * 50_000 + ")")
    rows = "".join(f'{i},"{cell}","{cell}"\n' for i, cell in enumerate(cells))
    (folder / "a.csv").write_text("source_id,flux,flux_error\n" + rows)
    return folder / "a.csv"


def gaia_sampling(folder: Path) -> Path:
    """A header that states a sampling of 60 000 numbers."""
    columns = [fits.Column("source_id", "K", array=[1]), fits.Column("flux", "2E", array=[[1, 2]])]
    hdu = fits.BinTableHDU.from_columns([*columns, fits.Column("flux_error", "2E", array=[[1, 2]])])
    hdu.header["SAMPLING"] = str(tuple(range(400, 60_000)))
    fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(folder / "a.fits")
    return folder / "a.fits"


SLOW: dict[str, Callable[[Path], Path]] = {
    "gzip of nothing, 400 000 times": gzip_of_nothing,
    "CSV, a name twice": csv(repeated),
    "CSV, 100 000 columns": csv(columns),
    "CSV, 100 000 pixels": csv(pixels),
    "CSV, one name in every case": csv(of_one_name),
    "FITS, 60 000 cards": fits_cards,
    "FITS, 20 000 HDUs": fits_hdus,
    "Zarr, 2^31 rows declared": zarr_shape((1 << 31, 8), (1, 8)),
    "Zarr, 2^31 pixels declared": zarr_shape((3, 1 << 31), (1, 1)),
    "Parquet, 20 000 row groups": parquet_groups,
    "Parquet, 20 000 columns": parquet_columns,
    "HDF5, groups of groups": hdf5_members,
    "zip of 20 000 members": zip_members,
    "VOTable, 100 000 deep": votable_depth,
    "VOTable, 20 000 fields": votable_fields,
    "Gaia, long cells": gaia_cells,
    "Gaia, a long sampling": gaia_sampling,
}


@pytest.mark.parametrize("slow", every(2, SLOW))
def test_work_is_linear(tmp_path: Path, reader: WatchedReader, slow: str) -> None:
    outcome = reader.read(SLOW[slow](tmp_path))
    assert not outcome.died and not outcome.wrong, outcome


@pytest.mark.exhaustive
def test_thousands_of_chunks_are_read(tmp_path: Path, reader: WatchedReader) -> None:
    assert reader.read(zarr_files(tmp_path)).stored == 30_000


@pytest.mark.exhaustive
def test_thousands_of_arrays_are_refused(tmp_path: Path, reader: WatchedReader) -> None:
    assert reader.read(zarr_members(tmp_path)).reasons == (Reason.LAYOUT,)


@pytest.mark.parametrize("slow", every(2, ["CSV, a name twice", "VOTable, 20 000 fields"]))
def test_work_is_linear_for_a_catalogue(tmp_path: Path, catalogue_reader: WatchedReader, slow: str) -> None:
    outcome = catalogue_reader.read(SLOW[slow](tmp_path))
    assert not outcome.died and not outcome.wrong, outcome
