"""npz, npy, HDF5, Parquet and Zarr matrices: what is written comes back to the bit, in bounded stacks."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rarespec import formats
from rarespec.formats.reader import MAX_ROWS, ReadOptions
from rarespec.spectrum import Defect, Reason, Spectra
from rarespec.spectrum.grid import air_to_vacuum

pytestmark = pytest.mark.filterwarnings("ignore:The data type:FutureWarning")

BIG = 2**53 + 1
Arrays = dict[str, np.ndarray]


def arrays_of(n: int = 4, p: int = 30, seed: int = 1) -> Arrays:
    rng = np.random.default_rng(seed)
    flux = rng.normal(5, 1, (n, p)).astype("f4")
    ivar = rng.uniform(0.5, 2, (n, p)).astype("f4")
    mask = np.zeros((n, p), dtype="u1")
    if n > 1:
        flux[1, 3], ivar[1, 4], ivar[0, 5], mask[0, 6] = np.nan, 0, np.inf, 4
    return {
        "flux": flux,
        "wavelength": np.linspace(4000, 9000, p),
        "ivar": ivar,
        "mask": mask,
        "id": np.arange(BIG, BIG + n),
        "ra": rng.uniform(0, 360, n),
        "Z": np.where(np.arange(n) == 0, np.nan, rng.normal(0, 1, n)),
        "class": np.array([f"Ström {i} " for i in range(n)]),
        "Gaia_ID": np.arange(BIG, BIG + n)[::-1].copy(),
        "good": np.arange(n) % 2 == 0,
    }


def write_npz(path: Path, arrays: Arrays) -> None:
    np.savez(path, **arrays)


def write_npz_compressed(path: Path, arrays: Arrays) -> None:
    np.savez_compressed(path, **arrays)


def write_npy(path: Path, arrays: Arrays) -> None:
    n = len(arrays["flux"])
    columns = arrays | {"wavelength": np.broadcast_to(arrays["wavelength"], arrays["flux"].shape)}
    table = np.zeros(n, dtype=[(name, a.dtype, a.shape[1:]) for name, a in columns.items()])
    for name, column in columns.items():
        table[name] = column
    np.save(path, table)


def write_hdf5(path: Path, arrays: Arrays, group: str = "/", **options: Any) -> None:
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            place = file.require_group(group)
            if array.dtype.kind == "U":
                place.create_dataset(name, data=array.astype(object), dtype=h5py.string_dtype())
            else:
                place.create_dataset(name, data=array, **(options if array.ndim == 2 else {}))


def write_parquet(path: Path, arrays: Arrays, **options: Any) -> None:
    columns: dict[str, Any] = {}
    for name, array in arrays.items():
        if name != "wavelength" or array.ndim == 2:
            columns[name] = array if array.ndim == 1 else pa.array(list(array))
    table = pa.table(columns)
    if arrays["wavelength"].ndim == 1:
        table = table.replace_schema_metadata({"wavelength": json.dumps(arrays["wavelength"].tolist())})
    pq.write_table(table, path, **options)


def write_zarr(path: Path, arrays: Arrays, version: int = 3) -> None:
    group = zarr.open_group(path, mode="w", zarr_format=version)  # type: ignore[arg-type]
    for name, array in arrays.items():
        group.create_array(name, data=array, chunks=(-(-len(array) // 2), *array.shape[1:]))


def write_zarr_v2(path: Path, arrays: Arrays) -> None:
    write_zarr(path, arrays, version=2)


WRITERS: dict[str, Callable[[Path, Arrays], None]] = {
    "a.npz": write_npz,
    "b.npz": write_npz_compressed,
    "c.npy": write_npy,
    "d.h5": write_hdf5,
    "e.h5": lambda path, arrays: write_hdf5(path, arrays, "spectra", compression="gzip", fletcher32=True, chunks=True),
    "f.parquet": write_parquet,
    "g.zarr": write_zarr,
    "h.zarr": write_zarr_v2,
}


def only(path: Path, **options: Any) -> Spectra:
    (found,) = formats.read_here(path, options=ReadOptions(**options))
    assert isinstance(found, Spectra), found
    return found


def defect(path: Path) -> Defect:
    (found,) = formats.read_here(path)
    assert isinstance(found, Defect), found
    return found


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_written_comes_back_to_the_bit(tmp_path: Path, name: str) -> None:
    arrays = arrays_of()
    WRITERS[name](tmp_path / name, arrays)
    spectra = only(tmp_path / name)
    for field in ("flux", "ivar"):
        assert getattr(spectra, field).dtype == np.float32
        assert getattr(spectra, field).tobytes() == arrays[field].tobytes()
    assert np.array_equal(spectra.wavelength, arrays["wavelength"])
    expected_bad = {(1, 3), (1, 4), (0, 5), (0, 6)}
    assert set(zip(*map(np.ndarray.tolist, np.nonzero(spectra.bad)), strict=True)) == expected_bad
    catalogue = spectra.catalogue
    assert catalogue["id"] == [str(BIG + i) for i in range(4)]
    assert catalogue["gaia_id"] == [BIG + 3 - i for i in range(4)]
    assert catalogue["ra"] == arrays["ra"].tolist()
    assert catalogue["z"] == [None, *arrays["Z"][1:].tolist()]
    assert catalogue["class"] == [f"Ström {i}" for i in range(4)]
    assert catalogue["good"] == [True, False, True, False]
    assert catalogue["dec"] == [None] * 4
    assert catalogue["survey"] == ["unknown"] * 4
    assert catalogue["source"] == [str(tmp_path / name)] * 4
    assert not {"wavelength", "mask", "flux", "Z"} & set(catalogue)


@pytest.mark.parametrize("name", WRITERS)
def test_stacks_are_bounded_and_in_order(tmp_path: Path, name: str) -> None:
    arrays = arrays_of(MAX_ROWS + 3, 8)
    WRITERS[name](tmp_path / name, arrays)
    stacks = list(formats.read_here(tmp_path / name))
    assert [len(stack) for stack in stacks] == [MAX_ROWS, 3]  # type: ignore[arg-type]
    assert np.array_equal(np.concatenate([s.flux for s in stacks]), arrays["flux"], equal_nan=True)  # type: ignore[union-attr]
    assert [id for s in stacks for id in s.ids] == [str(i) for i in arrays["id"]]  # type: ignore[union-attr]


@pytest.mark.parametrize("name", WRITERS)
def test_without_ids_rows_are_numbered_after_the_file(tmp_path: Path, name: str) -> None:
    arrays = {key: value for key, value in arrays_of().items() if key in ("flux", "wavelength")}
    WRITERS[name](tmp_path / name, arrays)
    spectra = only(tmp_path / name)
    assert spectra.ids == [f"{name[0]}-{i:06d}" for i in range(4)]
    assert spectra.ivar is None
    assert np.array_equal(spectra.bad, ~np.isfinite(arrays["flux"]))


@pytest.mark.parametrize("name", WRITERS)
def test_decreasing_wavelengths_are_reversed_with_all_that_lies_on_them(tmp_path: Path, name: str) -> None:
    arrays = arrays_of()
    turned = {k: v[..., ::-1].copy() if k in ("flux", "ivar", "mask", "wavelength") else v for k, v in arrays.items()}
    WRITERS[name](tmp_path / name, arrays)
    WRITERS[name](tmp_path / f"turned_{name}", turned)
    one, other = only(tmp_path / name), only(tmp_path / f"turned_{name}")
    assert np.array_equal(one.wavelength, other.wavelength)
    assert one.flux.tobytes() == other.flux.tobytes()
    assert one.ivar is not None and other.ivar is not None and one.ivar.tobytes() == other.ivar.tobytes()
    assert np.array_equal(one.bad, other.bad)


@pytest.mark.parametrize("name", ["a.npz", "c.npy", "d.h5", "f.parquet", "g.zarr"])
def test_rows_with_their_own_wavelengths_are_stacked_while_they_agree(tmp_path: Path, name: str) -> None:
    arrays = arrays_of(5)
    shift = np.array([0, 0, 1, 1, 0])[:, np.newaxis]
    arrays["wavelength"] = arrays["wavelength"] + shift
    WRITERS[name](tmp_path / name, arrays)
    stacks = [s for s in formats.read_here(tmp_path / name) if isinstance(s, Spectra)]
    assert [len(s) for s in stacks] == [2, 2, 1]
    assert [s.wavelength[0] for s in stacks] == [4000, 4001, 4000]


@pytest.mark.parametrize("name", ["a.npz", "d.h5", "g.zarr"])
def test_one_spectrum_per_file_is_called_after_the_file(tmp_path: Path, name: str) -> None:
    arrays = {"flux": np.arange(1.0, 9), "loglam": np.linspace(3.6, 3.9, 8), "err": np.full(8, 2.0)}
    arrays |= {"z": np.array(0.5), "class": np.array("STAR")}
    if name == "g.zarr":
        arrays = {k: v for k, v in arrays.items() if v.ndim}
    if name == "d.h5":
        arrays.pop("class")
    WRITERS[name](tmp_path / name, arrays)
    spectra = only(tmp_path / name)
    assert spectra.ids == [name[0]]
    assert np.allclose(spectra.wavelength, 10 ** arrays["loglam"], rtol=1e-15)
    assert np.array_equal(spectra.ivar, np.full((1, 8), 0.25))
    assert spectra.catalogue["z"] == [0.5 if "z" in arrays else None]


@pytest.mark.parametrize(("unit", "factor"), [("nm", 10), ("Angstrom", 1), ("um", 1e4), ("micron", 1e4)])
def test_units_of_wavelength(tmp_path: Path, unit: str, factor: float) -> None:
    arrays = arrays_of()
    arrays["wavelength"] = arrays["wavelength"] / factor
    write_hdf5(tmp_path / "a.h5", arrays)
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file["wavelength"].attrs["units"] = unit
    write_zarr(tmp_path / "a.zarr", arrays)
    zarr.open_group(tmp_path / "a.zarr", mode="a")["wavelength"].attrs["unit"] = unit
    for name in ("a.h5", "a.zarr"):
        assert np.allclose(only(tmp_path / name).wavelength, np.linspace(4000, 9000, 30), rtol=1e-14)


def test_unknown_unit_is_a_defect(tmp_path: Path) -> None:
    write_hdf5(tmp_path / "a.h5", arrays_of())
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file["wavelength"].attrs["units"] = "kg"
    assert (defect(tmp_path / "a.h5").reason, "kg" in defect(tmp_path / "a.h5").detail) == (Reason.LAYOUT, True)


def test_air_is_converted_when_asked(tmp_path: Path) -> None:
    write_npz(tmp_path / "a.npz", arrays_of())
    assert np.array_equal(only(tmp_path / "a.npz", air=True).wavelength, air_to_vacuum(np.linspace(4000, 9000, 30)))


@pytest.mark.parametrize("beside", ["m.wavelength.npy", "wavelength.npy", "loglam.npy"])
def test_plain_matrix_finds_its_wavelengths_beside_it(tmp_path: Path, beside: str) -> None:
    arrays = arrays_of()
    np.save(tmp_path / "m.npy", arrays["flux"])
    wavelength = arrays["wavelength"]
    np.save(tmp_path / beside, np.log10(wavelength) if "loglam" in beside else wavelength)
    spectra = only(tmp_path / "m.npy")
    assert spectra.flux.tobytes() == arrays["flux"].tobytes()
    assert np.allclose(spectra.wavelength, wavelength, rtol=1e-14)


def test_column_major_and_big_endian_arrays(tmp_path: Path) -> None:
    arrays = arrays_of()
    arrays["flux"] = np.asfortranarray(arrays["flux"])
    arrays["ivar"] = arrays["ivar"].astype(">f4")
    write_npz(tmp_path / "a.npz", arrays)
    spectra = only(tmp_path / "a.npz")
    assert np.array_equal(spectra.flux, arrays["flux"], equal_nan=True)
    assert spectra.ivar is not None and spectra.ivar.dtype.isnative
    assert np.array_equal(spectra.ivar, arrays["ivar"])


def test_gzipped_npz(tmp_path: Path) -> None:
    arrays = arrays_of()
    write_npz(tmp_path / "a.npz", {k: arrays[k] for k in ("flux", "wavelength")})
    (tmp_path / "b.npz.gz").write_bytes(gzip.compress((tmp_path / "a.npz").read_bytes()))
    spectra = only(tmp_path / "b.npz.gz")
    assert spectra.flux.tobytes() == arrays["flux"].tobytes()
    assert spectra.ids[0] == "b-000000"


def test_names_already_taken_are_kept_under_another(tmp_path: Path) -> None:
    arrays = arrays_of(2) | {"source": np.array(["PyHammer", "SDSS"]), "z": np.array([1.0, 2.0])}
    write_npz(tmp_path / "a.npz", arrays)
    catalogue = only(tmp_path / "a.npz").catalogue
    assert catalogue["file_source"] == ["PyHammer", "SDSS"]
    assert catalogue["source"] == [str(tmp_path / "a.npz")] * 2
    assert (catalogue["z"], catalogue["file_z"]) == ([None, arrays["Z"][1]], [1.0, 2.0])


def test_ids_of_any_kind_become_text(tmp_path: Path) -> None:
    for ids in (np.array([12.0, np.nan]), np.array([b"12  ", b""]), np.array(["12", " "])):
        write_npz(tmp_path / "a.npz", arrays_of(2) | {"id": ids})
        assert only(tmp_path / "a.npz").ids == ["12", "a-000001"]


def test_coordinates_as_text_are_not_lost(tmp_path: Path) -> None:
    write_npz(tmp_path / "a.npz", arrays_of(2) | {"ra": np.array(["01:00:00", "02:00:00"])})
    catalogue = only(tmp_path / "a.npz").catalogue
    assert (catalogue["ra"], catalogue["file_ra"]) == ([15.0, 30.0], ["01:00:00", "02:00:00"])


def test_parquet_with_lists_of_different_lengths_and_nulls(tmp_path: Path) -> None:
    wavelength = [[4000.0, 4001, 4002], [4000.0, 4001, 4002], [4000.0, 4001], None, [4000.0, 4001]]
    flux = [[1.0, 2, None], [3.0, 4, 5], [6.0, 7], [8.0, 9], [1.0, 2, 3]]
    table = pa.table({"id": ["a", "b", "c", "d", "e"], "wavelength": wavelength, "flux": flux})
    pq.write_table(table, tmp_path / "a.parquet")
    stack, short, null, uneven = formats.read_here(tmp_path / "a.parquet")
    assert isinstance(stack, Spectra) and stack.ids == ["a", "b"]
    assert stack.bad.tolist() == [[False, False, True], [False] * 3]
    assert isinstance(short, Spectra) and short.ids == ["c"]
    assert isinstance(null, Defect) and (null.id, null.reason) == ("d", Reason.LAYOUT)
    assert isinstance(uneven, Defect) and (uneven.id, uneven.reason) == ("e", Reason.LAYOUT)


def test_parquet_fixed_size_lists_and_nullable_integers(tmp_path: Path) -> None:
    flux = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(6, dtype="f4")), 3)
    table = pa.table({"flux": flux, "gaia": pa.array([BIG, None]), "mask": pa.array([[0, 1, 0], [0, 0, 0]])})
    table = table.replace_schema_metadata({"loglam": "[3.6, 3.7, 3.8]"})
    pq.write_table(table, tmp_path / "a.parquet")
    spectra = only(tmp_path / "a.parquet")
    assert spectra.flux.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert spectra.catalogue["gaia"] == [BIG, None]
    assert spectra.bad.tolist() == [[False, True, False], [False] * 3]


def test_parquet_with_a_pixel_per_row(tmp_path: Path) -> None:
    pq.write_table(pa.table({"wave": [4000.0, 4001, 4002], "flux": [1.0, 2, 3]}), tmp_path / "a.parquet")
    spectra = only(tmp_path / "a.parquet")
    assert (spectra.ids, spectra.flux.tolist()) == (["a"], [[1, 2, 3]])


@pytest.mark.parametrize("compressed", [False, True])
def test_a_large_npz_streams_through_little_memory(tmp_path: Path, compressed: bool) -> None:
    flux = np.random.default_rng(0).normal(size=(12_000, 1000)).astype("f4")
    (np.savez_compressed if compressed else np.savez)(tmp_path / "a.npz", flux=flux, wavelength=np.arange(3000, 4000.0))
    total = float(flux.sum(dtype="f8"))
    n_bytes = flux.nbytes
    del flux
    tracemalloc.start()
    try:
        read_total = sum(
            float(s.flux.sum(dtype="f8")) for s in formats.read_here(tmp_path / "a.npz") if isinstance(s, Spectra)
        )
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.isclose(read_total, total, rtol=1e-9)
    assert peak < n_bytes / 3


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_npz_comes_back(tmp_path: Path, data: st.DataObject) -> None:
    n, p = data.draw(st.integers(1, 5)), data.draw(st.integers(2, 6))
    dtype = data.draw(st.sampled_from(["<f4", "<f8", ">f4"]))
    width = 64 if dtype == "<f8" else 32
    flux = data.draw(hnp.arrays(dtype, (n, p), elements=st.floats(width=width)))
    ids = data.draw(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=n, max_size=n))
    notes = data.draw(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=n, max_size=n))
    path = tmp_path / "a.npz"
    np.savez(path, flux=flux, wavelength=np.arange(4000.0, p + 4000), id=np.array(ids), note=np.array(notes))
    spectra = only(path)
    assert np.array_equal(spectra.flux, flux, equal_nan=True)
    assert np.array_equal(spectra.bad, ~np.isfinite(flux))
    assert spectra.ids == [str(i) for i in ids]
    assert spectra.catalogue["note"] == [note.strip() for note in notes]


def test_real_observations_as_npz(real_data: Path) -> None:
    stacks = [s for s in formats.read_here(real_data / "observed.npz") if isinstance(s, Spectra)]
    with np.load(real_data / "observed.npz") as stored:
        assert np.array_equal(np.concatenate([s.flux for s in stacks]), stored["flux"], equal_nan=True)
        assert np.array_equal(np.concatenate([s.ivar for s in stacks]), stored["ivar"], equal_nan=True)
        assert np.array_equal(stacks[0].wavelength, 10.0 ** stored["loglam"])


def test_inverse_variance_that_is_not_per_pixel_is_named(real_data: Path) -> None:
    found = defect(real_data / "templates.npz")
    assert found.reason is Reason.LAYOUT
    assert "ivar has shape (825, 1)" in found.detail


def test_text_that_cannot_be_stored_is_written_out_or_refused(tmp_path: Path) -> None:
    """Half a character, and a number that is no character: what damage makes of NumPy's text."""
    for code, expected in ((0xD800, "\\ud800b"), (0x7FFFFFFF, None)):
        ids = np.array([code, ord("b"), ord("c"), 0], "<u4").view("<U2")
        np.savez(tmp_path / "a.npz", flux=np.ones((2, 3)), wavelength=[4000.0, 4001, 4002], id=ids)
        (found,) = formats.read_here(tmp_path / "a.npz")
        if expected:
            assert isinstance(found, Spectra) and found.ids == [expected, "c"]
        else:
            assert isinstance(found, Defect) and found.reason is Reason.CORRUPT


def test_names_of_columns_can_always_be_stored(tmp_path: Path) -> None:
    table = np.zeros(2, [("flux", "f8", 3), ("wavelength", "f8", 3), ("abcdef", "i4")])
    table["wavelength"] = [4000, 4001, 4002]
    np.save(tmp_path / "a.npy", table)
    content = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(content.replace(b"abcdef", b"\\ud800"))
    (found,) = formats.read_here(tmp_path / "a.npy")
    assert isinstance(found, Spectra) and "\\ud800" in found.catalogue
