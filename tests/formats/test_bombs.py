"""Small files that would unfold to gigabytes: refused with a reason and in little memory, by a process under limits."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numcodecs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from astropy.io import fits

from formats.watched_reader import WatchedReader
from rarespec import formats
from rarespec.spectrum import Noted, Reason, Spectra

MIB = 1 << 20
UNFOLDED = 3 << 30
"""Bytes that the bombs unfold to: more than the reading process may take."""

WAVELENGTH = np.linspace(4000.0, 5000.0, 8)
FLUX = np.ones((3, 8))


@pytest.fixture(scope="module")
def reader() -> Iterator[WatchedReader]:
    with WatchedReader(seconds=60) as reader:
        yield reader


@pytest.fixture(scope="module")
def catalogue_reader() -> Iterator[WatchedReader]:
    with WatchedReader(seconds=60, what="catalogue") as reader:
        yield reader


# --- streams of zeros, without the work of packing them


def deflated(wbits: int = 15) -> bytes:
    """Zeros in blocks that do not depend on each other, so one is repeated; the checksum at the end is wrong."""
    packer = zlib.compressobj(9, wbits=wbits)
    head = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + block * (UNFOLDED // MIB) + packer.flush()


def gzipped_members() -> bytes:
    return gzip.compress(bytes(16 * MIB), 9) * (UNFOLDED // (16 * MIB))


def bz2_streams() -> bytes:
    return bz2.compress(bytes(16 * MIB)) * (UNFOLDED // (16 * MIB))


def zstd_frame(declared: int | None) -> bytes:
    """A frame of blocks that each repeat one zero 128 KiB times (RFC 8878: last, kind RLE, length)."""
    head = b"\x28\xb5\x2f\xfd" + (b"\x00\x58" if declared is None else b"\xe0" + declared.to_bytes(8, "little"))
    length = 128 << 10
    block, last = ((length << 3 | 1 << 1 | flag).to_bytes(3, "little") + b"\0" for flag in (0, 1))
    return head + block * (UNFOLDED // length - 1) + last


# --- bombs


def npz(method: int) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        with zipfile.ZipFile(folder / "a.npz", "w", method) as archive:
            for name, array in (("flux", FLUX), ("wavelength", WAVELENGTH)):
                content = io.BytesIO()
                np.save(content, array)
                archive.writestr(f"{name}.npy", content.getvalue())
        return folder / "a.npz"

    return write


def fits_tiles(folder: Path) -> Path:
    """A compressed image whose only tile is a bomb."""
    image = fits.CompImageHDU(np.ones((1, 4096), "i4"), compression_type="GZIP_1", name="FLUX")
    image.header.update({"CRVAL1": 4000.0, "CDELT1": 1.0, "CTYPE1": "WAVE"})
    content = io.BytesIO()
    fits.HDUList([fits.PrimaryHDU(), image]).writeto(content)
    with fits.open(io.BytesIO(content.getvalue()), disable_image_compression=True) as hdus:
        header, bomb = hdus[1].header.copy(), gzipped_members()
    header["PCOUNT"], header["NAXIS1"], header["NAXIS2"] = len(bomb), 8, 1
    header["TFIELDS"], header["TFORM1"] = 1, f"1PB({len(bomb)})"
    for key in ("TTYPE2", "TFORM2", "TTYPE3", "TFORM3", "TTYPE4", "TFORM4", "CHECKSUM", "DATASUM"):
        header.remove(key, ignore_missing=True)
    data = np.array([len(bomb), 0], ">i4").tobytes() + bomb
    primary = fits.PrimaryHDU().header.tostring().encode()
    padding = bytes(-len(data) % 2880)
    (folder / "a.fits").write_bytes(primary + header.tostring().encode() + data + padding)
    return folder / "a.fits"


def fits_heap(folder: Path) -> Path:
    """Arrays of variable length whose counts add up to nothing when they overflow."""
    vectors = np.empty(4, object)
    vectors[:] = [np.ones(3)] * 4
    columns = [fits.Column(name, "QD()", array=vectors) for name in ("wavelength", "flux")]
    content = io.BytesIO()
    fits.HDUList([fits.PrimaryHDU(), fits.BinTableHDU.from_columns(columns)]).writeto(content)
    raw = bytearray(content.getvalue())
    at = raw.index(np.array([3], ">i8").tobytes() + bytes(8), 5760)
    for row in range(4):
        raw[at + 32 * row : at + 32 * row + 8] = np.array([1 << 62], ">i8").tobytes()
    (folder / "a.fits").write_bytes(raw)
    return folder / "a.fits"


def text(name: str, content: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_text(content)
        return folder / name

    return write


def ecsv(meta: list[str], subtype: str = "float64[2]") -> str:
    columns = ["{name: wavelength, datatype: float64}", f"{{name: flux, datatype: string, subtype: '{subtype}'}}"]
    head = ["%ECSV 1.0", "---", "datatype:", *(f"- {column}" for column in columns), *meta, "schema: astropy-2.0"]
    return "".join(f"# {line}\n" for line in head) + 'wavelength flux\n4000 ""\n4001 ""\n'


ALIASES = ["meta:", "  a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9]"]
ALIASES += [f"  a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
ALIASES += ["  wavelength: *a11"]
MERGES = ["meta:", "  a0: &a0 {x: 1, y: 2}"]
MERGES += [f"  a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}" for i in range(1, 12)]


def votable(fields: str, table: str = "<TABLE>", data: str = "<TABLEDATA><TR><TD/><TD/></TR></TABLEDATA>") -> str:
    inside = f"{table}{fields}<DATA>{data}</DATA></TABLE>"
    return f"<?xml version='1.0'?><VOTABLE version='1.4'><RESOURCE>{inside}</RESOURCE></VOTABLE>"


def fields(attributes: str) -> str:
    return "".join(f"<FIELD name='{name}' datatype='double' {attributes}/>" for name in ("wavelength", "flux"))


BINARY = f"<BINARY2><STREAM encoding='base64'>{base64.b64encode(bytes(20)).decode()}</STREAM></BINARY2>"
LONG_TEXT = "<FIELD name='id' datatype='char' arraysize='1000000000*'/>"


def csv_gz(folder: Path) -> Path:
    (folder / "a.csv.gz").write_bytes(gzip.compress(b"wavelength,flux\n" + b"1," * (25 * MIB) + b"\n", 1))
    return folder / "a.csv.gz"


def hdf5(chunk_rows: int, packed: bytes, **how: Any) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        with h5py.File(folder / "a.h5", "w") as file:
            file["wavelength"] = WAVELENGTH
            flux = file.create_dataset("flux", (chunk_rows, 8), "f8", chunks=(chunk_rows, 8), **how)
            flux.id.write_direct_chunk((0, 0), packed)
        return folder / "a.h5"

    return write


def zarr_chunk(codec: str, packed: Callable[[], bytes], shape: tuple[int, int] = (3, 8)) -> Callable[[Path], Path]:
    """A v2 array whose only chunk holds these bytes."""

    def write(folder: Path) -> Path:
        group = zarr.open_group(folder / "a.zarr", mode="w", zarr_format=2)
        group.create_array("flux", data=FLUX, chunks=FLUX.shape, compressors=numcodecs.get_codec({"id": codec}))
        group.create_array("wavelength", data=WAVELENGTH)
        path = folder / "a.zarr" / "flux" / ".zarray"
        metadata = json.loads(path.read_text()) | {"shape": shape, "chunks": shape}
        path.write_text(json.dumps(metadata))
        (path.parent / "0.0").write_bytes(packed())
        return folder / "a.zarr"

    return write


def blosc_header() -> bytes:
    packed = bytearray(numcodecs.Blosc().encode(FLUX))
    packed[4:8] = (UNFOLDED - 1 & 0x7FFFFFFF).to_bytes(4, "little")
    return bytes(packed)


def zarr_twice(folder: Path) -> Path:
    """gzip in gzip: each step unfolds a thousandfold."""
    path = zarr_chunk("gzip", lambda: gzip.compress(gzip.compress(bytes(192))))(folder)
    metadata = json.loads((path / "flux" / ".zarray").read_text()) | {"filters": [{"id": "gzip"}]}
    (path / "flux" / ".zarray").write_text(json.dumps(metadata))
    return path


BOMBS: dict[str, tuple[Callable[[Path], Path], set[Reason]]] = {
    "npz packed by bz2": (npz(zipfile.ZIP_BZIP2), {Reason.LAYOUT}),
    "npz packed by LZMA": (npz(zipfile.ZIP_LZMA), {Reason.LAYOUT}),
    "FITS, a gzipped tile": (fits_tiles, {Reason.TOO_LARGE}),
    "FITS, counts that overflow": (fits_heap, {Reason.TOO_LARGE}),
    "ECSV, aliases": (text("a.ecsv", ecsv(ALIASES)), {Reason.TOO_LARGE}),
    "ECSV, merges": (text("a.ecsv", ecsv(MERGES)), {Reason.TOO_LARGE}),
    "ECSV, a shape": (text("a.ecsv", ecsv([], "float64[100000,100000]")), {Reason.TOO_LARGE}),
    "VOTable, arraysize": (text("a.vot", votable(fields("arraysize='1000000000'"))), {Reason.TOO_LARGE}),
    "VOTable, two dimensions": (text("a.vot", votable(fields("arraysize='100000x100000'"))), {Reason.TOO_LARGE}),
    "VOTable, nrows": (text("a.vot", votable(fields(""), "<TABLE nrows='1000000000'>")), {Reason.TOO_LARGE}),
    "VOTable, text": (text("a.vot", votable(fields("") + LONG_TEXT)), {Reason.TOO_LARGE}),
    "VOTable, binary": (text("a.vot", votable(fields("arraysize='10000000'"), data=BINARY)), {Reason.TOO_LARGE}),
    "CSV, one line": (csv_gz, {Reason.TOO_LARGE}),
    "HDF5, a chunk that unfolds": (hdf5(3, deflated(), compression="gzip"), {Reason.TOO_LARGE}),
    "HDF5, a chunk declared": (hdf5(1 << 25, zlib.compress(b""), compression="gzip"), {Reason.TOO_LARGE}),
    "Zarr, gzip": (zarr_chunk("gzip", gzipped_members), {Reason.TOO_LARGE}),
    "Zarr, zlib": (zarr_chunk("zlib", deflated), {Reason.TOO_LARGE}),
    "Zarr, bz2": (zarr_chunk("bz2", bz2_streams), {Reason.TOO_LARGE}),
    "Zarr, zstd that declares its size": (zarr_chunk("zstd", lambda: zstd_frame(UNFOLDED)), {Reason.TOO_LARGE}),
    "Zarr, zstd that does not": (zarr_chunk("zstd", lambda: zstd_frame(None)), {Reason.TOO_LARGE}),
    "Zarr, blosc": (zarr_chunk("blosc", blosc_header), {Reason.TOO_LARGE}),
    "Zarr, lz4": (zarr_chunk("lz4", lambda: b"\xff\xff\xff\x7f" + bytes(99)), {Reason.TOO_LARGE}),
    "Zarr, a chunk declared": (zarr_chunk("zlib", lambda: zlib.compress(b""), (1 << 31, 8)), {Reason.TOO_LARGE}),
    "Zarr, packed twice": (zarr_twice, {Reason.LAYOUT}),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_before_it_unfolds(tmp_path: Path, reader: WatchedReader, bomb: str) -> None:
    write, reasons = BOMBS[bomb]
    path = write(tmp_path)
    outcome = reader.read(path)
    assert not outcome.died and not outcome.wrong and outcome.stored == 0, outcome
    assert set(outcome.reasons) == reasons, outcome


@pytest.mark.parametrize("bomb", [name for name in BOMBS if name.startswith(("ECSV", "VOTable"))])
def test_a_bomb_is_refused_as_a_catalogue_too(tmp_path: Path, catalogue_reader: WatchedReader, bomb: str) -> None:
    outcome = catalogue_reader.read(BOMBS[bomb][0](tmp_path))
    assert not outcome.died and not outcome.wrong
    assert outcome.reasons == (Reason.TOO_LARGE,), outcome


# --- and what is no bomb


def test_files_that_compress_well_are_read(tmp_path: Path) -> None:
    """Spectra without noise, all alike: a thousandfold in every format that unfolds chunk by chunk."""
    flux, wavelength = np.ones((2000, 2000), "f4"), np.linspace(4000.0, 9000.0, 2000)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("flux", data=flux, chunks=(1000, 2000), compression="gzip", shuffle=True)
        file["wavelength"] = wavelength
    for name, codec in (("zstd", numcodecs.Zstd()), ("gzip", numcodecs.GZip()), ("blosc", numcodecs.Blosc())):
        group = zarr.open_group(tmp_path / f"{name}.zarr", mode="w", zarr_format=2)
        group.create_array("flux", data=flux, chunks=(1000, 2000), compressors=codec)
        group.create_array("wavelength", data=wavelength)
    table = pa.table({"flux": pa.FixedSizeListArray.from_arrays(flux.ravel(), 2000)})
    metadata = {"wavelength": json.dumps(wavelength.tolist())}
    pq.write_table(table.replace_schema_metadata(metadata), tmp_path / "a.parquet", compression="zstd")
    for path in sorted(tmp_path.iterdir()):
        found = list(formats.read_here(path))
        assert all(isinstance(item, Spectra) for item in found), (path, found)
        assert sum(len(item) for item in found if isinstance(item, Spectra)) == 2000


def test_lzma_chunks_of_zarr_are_read(tmp_path: Path) -> None:
    path = zarr_chunk("lzma", lambda: lzma.compress(FLUX.tobytes()))(tmp_path)
    (found,) = formats.read_here(path)
    assert isinstance(found, Spectra) and np.array_equal(found.flux, FLUX)


def test_ecsv_with_aliases_and_shapes_of_its_own_size_is_read(tmp_path: Path) -> None:
    meta = ["meta:", "  a: &a [1, 2]", "  b: *a", "  c: {<<: {x: 1}}"]
    content = (
        ecsv(meta, "float64[3]").replace('""', "[1,2,3]").replace("4000 ", "[1,2,3] ").replace("4001 ", "[1,2,3] ")
    )
    content = content.replace("datatype: float64}", "datatype: string, subtype: 'float64[3]'}")
    (tmp_path / "a.ecsv").write_text(content)
    noted, found = formats.read_here(tmp_path / "a.ecsv")
    assert isinstance(noted, Noted) and noted.count == 2 and "micron" in noted.note, noted
    assert isinstance(found, Spectra) and found.flux.shape == (2, 3), found


def test_the_same_long_text_for_every_row_is_not_handed_on(tmp_path: Path) -> None:
    """A reader within its limits would still fill the memory of the process that stores its spectra."""
    n, pixels = 40, 50
    wavelength = np.linspace(4000.0, 9000.0, pixels)
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * (n - 1) + [1], pa.int32()), pa.array(["x" * MIB, "short"]))
    columns = {
        "id": [f"s{i}" for i in range(n)],
        "flux": pa.FixedSizeListArray.from_arrays(np.ones(n * pixels), pixels),
        "wavelength": pa.FixedSizeListArray.from_arrays(np.tile(wavelength, n), pixels),
        "comment": texts,
    }
    pq.write_table(pa.table(columns), tmp_path / "m.parquet", compression="zstd")
    *defects, kept = formats.read(tmp_path / "m.parquet")
    assert [(one.reason, one.id) for one in defects] == [(Reason.TOO_LARGE, f"s{i}") for i in range(n - 1)]
    assert isinstance(kept, Spectra) and kept.ids == [f"s{n - 1}"]
