"""Damaged and misshapen matrices: always a defect with a reason, never an exception, never wrong flux in silence."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numcodecs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr

from conftest import every
from rarespec import formats
from rarespec.spectrum import Defect, Reason, Spectra

N, P = 40, 50
BROKEN = {Reason.CORRUPT, Reason.TRUNCATED, Reason.CHECKSUM}
RNG = np.random.default_rng(5)
FLUX = RNG.normal(5, 1, (N, P)).astype("f4")
WAVELENGTH = np.linspace(4000, 9000, P)


def npz(path: Path) -> None:
    np.savez(path, flux=FLUX, wavelength=WAVELENGTH)


def npz_compressed(path: Path) -> None:
    np.savez_compressed(path, flux=FLUX, wavelength=WAVELENGTH)


def parquet(path: Path) -> None:
    table = pa.table({"flux": pa.array(list(FLUX))})
    table = table.replace_schema_metadata({"wavelength": json.dumps(WAVELENGTH.tolist())})
    pq.write_table(table, path, write_page_checksum=True, compression="none", use_dictionary=False)


def hdf5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("flux", data=FLUX, chunks=(10, P), fletcher32=True)
        file.create_dataset("wavelength", data=WAVELENGTH, chunks=(P,), fletcher32=True)


def zarr_group(path: Path) -> None:
    group = zarr.open_group(path, mode="w")
    checked = {"compressors": [zarr.codecs.Crc32cCodec()]}
    group.create_array("flux", data=FLUX, chunks=(10, P), **checked)
    group.create_array("wavelength", data=WAVELENGTH, **checked)


FILES: dict[str, Callable[[Path], None]] = {
    "stored": npz,
    "compressed": npz_compressed,
    "parquet": parquet,
    "hdf5": hdf5,
}


def written(tmp_path: Path, kind: str) -> Path:
    path = tmp_path / ("a.npz" if kind in ("stored", "compressed") else "a.file")
    FILES[kind](path)
    return path


def defect(path: Path) -> Defect:
    found = list(formats.read_here(path))
    assert isinstance(found[-1], Defect), found
    return found[-1]


def read_right_or_defective(path: Path) -> bool:
    """Whether a defect was reported; if none was, the flux must be what was written."""
    found = list(formats.read_here(path))
    if any(isinstance(item, Defect) for item in found):
        return True
    stacks = [item for item in found if isinstance(item, Spectra)]
    assert np.array_equal(np.concatenate([s.flux for s in stacks]), FLUX)
    assert np.array_equal(stacks[0].wavelength, WAVELENGTH)
    return False


@pytest.mark.parametrize("kind", FILES)
def test_whole_files_are_read(tmp_path: Path, kind: str) -> None:
    assert not read_right_or_defective(written(tmp_path, kind))


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("fraction", [0.05, 0.3, 0.6, 0.9, 0.999])
def test_truncated(tmp_path: Path, kind: str, fraction: float) -> None:
    path = written(tmp_path, kind)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * fraction)])
    assert defect(path).reason in BROKEN


@pytest.mark.parametrize("kind", FILES)
def test_flipped_bits_in_the_data_are_found(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind)
    content = path.read_bytes()
    start = content.find(FLUX[0].tobytes()[:40])
    start = start if start > 0 else len(content) // 3  # compressed
    for offset in RNG.integers(0, 1000, 15):
        damaged = bytearray(content)
        damaged[start + offset] ^= 1 << int(RNG.integers(8))
        path.write_bytes(damaged)
        assert defect(path).reason in BROKEN, offset


@pytest.mark.parametrize("kind", ["stored", "compressed"])
def test_a_flipped_bit_anywhere_is_found_or_harmless(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind)
    content = path.read_bytes()
    for _ in range(100):
        damaged = bytearray(content)
        damaged[int(RNG.integers(len(content)))] ^= 1 << int(RNG.integers(8))
        path.write_bytes(damaged)
        read_right_or_defective(path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["stored", "compressed"])
def test_every_byte_flipped_is_found_or_harmless(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind)
    content = path.read_bytes()
    for i in range(len(content)):
        damaged = bytearray(content)
        damaged[i] ^= 1 << int(RNG.integers(8))
        path.write_bytes(damaged)
        read_right_or_defective(path)


@pytest.mark.parametrize("kind", ["parquet", "hdf5"])
def test_a_flipped_bit_outside_the_checksums_never_raises(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind)
    content = path.read_bytes()
    for _ in range(100):
        damaged = bytearray(content)
        damaged[int(RNG.integers(len(content)))] ^= 1 << int(RNG.integers(8))
        path.write_bytes(damaged)
        found = list(formats.read_here(path))
        assert found and all(isinstance(item, Spectra | Defect) for item in found)
        assert not any(isinstance(item, Defect) and item.reason is Reason.READER_CRASHED for item in found)


def test_a_crc_is_verified_before_the_first_row_is_given_away(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    flux = np.arange(3000.0).reshape(1500, 2)
    np.savez(path, flux=flux, wavelength=[4000.0, 4001])
    content = bytearray(path.read_bytes())
    content[content.rfind(struct.pack("<d", 2999.0)) + 3] ^= 16
    path.write_bytes(content)
    (found,) = formats.read_here(path)
    assert isinstance(found, Defect) and found.reason is Reason.CHECKSUM


def test_zarr_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    zarr_group(path)
    assert not read_right_or_defective(path)
    chunk = path / "flux" / "c" / "2" / "0"
    content = chunk.read_bytes()
    chunk.write_bytes(content[: len(content) * 6 // 10])
    assert defect(path).reason in BROKEN
    chunk.write_bytes(content[:20] + bytes([content[20] ^ 1]) + content[21:])
    assert defect(path).reason in BROKEN
    chunk.unlink()
    assert defect(path).reason is Reason.TRUNCATED
    chunk.write_bytes(content)
    (path / "flux" / "zarr.json").write_text("{")
    assert defect(path).reason is Reason.CORRUPT


@pytest.mark.parametrize("version", [2, 3])
def test_zarr_chunks_without_a_checksum_must_still_have_their_size(tmp_path: Path, version: int) -> None:
    path = tmp_path / "a.zarr"
    group = zarr.open_group(path, mode="w", zarr_format=version)  # type: ignore[arg-type]
    for name, array in (("flux", FLUX), ("wavelength", WAVELENGTH)):
        group.create_array(name, data=array, chunks=array.shape, compressors=None)
    chunk = path / "flux" / ("c/0/0" if version == 3 else "0.0")
    chunk.write_bytes(chunk.read_bytes()[: FLUX.nbytes * 6 // 10])
    assert defect(path).reason in BROKEN


def test_zarr_that_would_have_to_be_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    zarr_group(path)
    array = path / "id"
    array.mkdir()
    codec = {"id": "pickle", "protocol": 5}
    metadata = {"zarr_format": 2, "shape": [N], "chunks": [N], "dtype": "|O", "fill_value": None, "order": "C"}
    (array / ".zarray").write_text(json.dumps(metadata | {"compressor": None, "filters": [codec]}))
    (array / "0").write_bytes(numcodecs.Pickle().encode(np.array(["x"] * N, dtype=object)))
    (path / "zarr.json").unlink()
    (path / ".zgroup").write_text('{"zarr_format": 2}')
    found = defect(path)
    assert found.reason is Reason.LAYOUT and "id" in found.detail and "never unpickles" in found.detail


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", flux=FLUX, wavelength=WAVELENGTH, notes=np.array([{}] * N, dtype=object))
    found = defect(tmp_path / "a.npz")
    assert found.reason is Reason.LAYOUT and "notes" in found.detail
    np.save(tmp_path / "b.npy", np.array([{}], dtype=object))
    assert defect(tmp_path / "b.npy").reason is Reason.LAYOUT


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"wavelength": WAVELENGTH[:-1]}, Reason.LAYOUT),
        ({"wavelength": WAVELENGTH[RNG.permutation(P)]}, Reason.LAYOUT),
        ({"wavelength": np.where(np.arange(P) == 7, np.nan, WAVELENGTH)}, Reason.LAYOUT),
        ({"wavelength": WAVELENGTH - 5000}, Reason.LAYOUT),
        ({"loglam": np.arange(P) * 100.0}, Reason.LAYOUT),
        ({"wavelength": np.array(["x"] * P)}, Reason.LAYOUT),
        ({"wavelength": WAVELENGTH, "ivar": FLUX[:, :-1]}, Reason.LAYOUT),
        ({"wavelength": WAVELENGTH, "mask": FLUX[:-1]}, Reason.LAYOUT),
        ({"wavelength": WAVELENGTH, "flux": FLUX.astype("c8")}, Reason.LAYOUT),
        ({"wavelength": WAVELENGTH, "flux": FLUX[np.newaxis]}, Reason.LAYOUT),
        ({"wavelength": WAVELENGTH, "flux": FLUX[:0]}, Reason.EMPTY),
        ({"wavelength": WAVELENGTH, "id": np.full(N, 2.0**60)}, Reason.LAYOUT),
        ({"something": WAVELENGTH}, Reason.MISSING_COLUMN),
    ],
)
def test_wrong_shapes_and_values(tmp_path: Path, arrays: dict[str, np.ndarray], reason: Reason) -> None:
    arrays = {"flux": FLUX} | arrays
    np.savez(tmp_path / "a.npz", **arrays)
    with h5py.File(tmp_path / "b.h5", "w") as file:
        for name, array in arrays.items():
            file[name] = array.astype("S") if array.dtype.kind == "U" else array
    for name in ("a.npz", "b.h5"):
        found = list(formats.read_here(tmp_path / name))
        assert all(isinstance(item, Defect) and item.reason is reason for item in found), found
        assert found


def test_missing_flux_names_what_was_looked_for_and_what_is_there(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", spectra=FLUX, wavelength=WAVELENGTH)
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["table/spectra"] = FLUX
    pq.write_table(pa.table({"spectra": [1.0]}), tmp_path / "c.parquet")
    zarr.open_group(tmp_path / "d.zarr", mode="w").create_array("spectra", data=FLUX)
    for name in ("a.npz", "b.h5", "c.parquet", "d.zarr"):
        found = defect(tmp_path / name)
        assert found.reason is Reason.MISSING_COLUMN
        assert "flux" in found.detail and "spectra" in found.detail


def test_a_zip_that_is_not_npz(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("readme.txt", "hello")
    found = defect(tmp_path / "a.zip")
    assert found.reason is Reason.UNRECOGNISED and "unpack it" in found.detail


def test_a_zip_bomb_is_not_inflated(tmp_path: Path) -> None:
    with (
        zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("flux.npy", "w") as member,
    ):
        for _ in range(100):
            member.write(bytes(1 << 20))
    assert defect(tmp_path / "a.npz").reason is Reason.TOO_LARGE


def test_a_header_that_promises_more_than_the_file_holds(tmp_path: Path) -> None:
    np.save(tmp_path / "wavelength.npy", WAVELENGTH)
    np.save(tmp_path / "a.npy", FLUX)
    content = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(content.replace(b"(40, 50)", b"(99, 50)"))
    assert defect(tmp_path / "a.npy").reason is Reason.TRUNCATED
    (tmp_path / "a.npy").write_bytes(content.replace(b"'descr'", b"'descx'"))
    assert defect(tmp_path / "a.npy").reason is Reason.CORRUPT


def test_hdf5_that_was_never_filled_or_lies_elsewhere(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["wavelength"] = WAVELENGTH
        file.create_dataset("flux", shape=(N, P), dtype="f4", chunks=(10, P))[:10] = FLUX[:10]
    assert defect(tmp_path / "a.h5").reason is Reason.TRUNCATED
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["wavelength"] = WAVELENGTH
        file["flux"] = h5py.ExternalLink("a.h5", "flux")
    assert defect(tmp_path / "b.h5").reason is Reason.MISSING_COLUMN


def test_flux_in_several_groups(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["one/flux"], file["two/flux"] = FLUX, FLUX
    found = defect(tmp_path / "a.h5")
    assert found.reason is Reason.LAYOUT and "one, two" in found.detail


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("fraction", [0.1, 0.6, 0.99])
@pytest.mark.parametrize("first", every(3, range(3)))
def test_blosc_chunks_cut_short_are_always_noticed(tmp_path, zarr_format, fraction, first):
    """Blosc itself reads on into whatever lies in memory, and now and then finds something that it takes for data."""
    from zarr.codecs import BloscCodec

    codec = BloscCodec(cname="lz4") if zarr_format == 3 else numcodecs.Blosc(cname="lz4")
    for trial in range(first, 24, 3):
        path = tmp_path / f"{trial}.zarr"
        group = zarr.open_group(path, mode="w", zarr_format=zarr_format)
        flux = np.random.default_rng(trial).normal(10, 0.1, (3, 700)).astype("f4")
        group.create_array("flux", data=flux, compressors=codec)
        group.create_array("wavelength", data=4000 + np.arange(700.0), compressors=codec)
        chunk = max(
            (file for file in (path / "flux").rglob("*") if file.is_file()), key=lambda file: file.stat().st_size
        )
        content = chunk.read_bytes()
        chunk.write_bytes(content[: int(len(content) * fraction)])
        (defect,) = formats.read_here(path)
        assert defect.reason == Reason.TRUNCATED
