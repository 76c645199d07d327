"""Multimodal Universe / HATS Parquet, with its padding, its inverted flag and its written-out bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rarespec import formats
from rarespec.formats.readers import reader_for
from rarespec.formats.source import Source
from rarespec.spectrum import Defect, Noted, Reason, Spectra

HEALPIX = 2**53 + 1


def spectrum_of(rows: list[dict[str, Any]]) -> pa.Array:
    fields = [(name, pa.list_(pa.float32())) for name in ("flux", "ivar", "lsf_sigma", "lambda")]
    return pa.array(rows, type=pa.struct([*fields, ("mask", pa.list_(pa.bool_()))]))


def row(n_good: int, n_padding: int = 0, seed: int = 0, masked: int | None = None) -> dict[str, Any]:
    flux = np.random.default_rng(seed).normal(5, 1, n_good).astype("f4").tolist()
    return {
        "flux": flux + [flux[-1]] * n_padding,
        "ivar": [2.0] * n_good + [0.0] * n_padding,
        "lsf_sigma": [1.0] * (n_good + n_padding),
        "lambda": np.linspace(3600, 9800, n_good).tolist() + [-1.0] * n_padding,
        "mask": [i == masked for i in range(n_good)] + [True] * n_padding,
    }


def write(path: Path, rows: list[dict[str, Any]], **columns: Any) -> Path:
    n = len(rows)
    table = {
        "spectrum": spectrum_of(rows),
        "ra": [10.0] * n,
        "dec": [-5.0] * n,
        "_healpix_29": [HEALPIX + i for i in range(n)],
    }
    pq.write_table(pa.table(table | columns), path, write_page_checksum=True)
    return path


def test_desi_rows_share_a_stack_and_its_flag_is_turned_round(tmp_path: Path) -> None:
    rows = [row(20, seed=i, masked=3) for i in range(3)]
    path = write(
        tmp_path / "a", rows, object_id=["39627", "39628", "39629"], Z=[0.1, 0.2, 0.3], ZWARN=[True, False, None]
    )
    (spectra,) = formats.read_here(path)
    assert isinstance(spectra, Spectra)
    assert spectra.flux.dtype == np.float32
    assert spectra.flux.tolist() == [r["flux"] for r in rows]
    assert np.array_equal(spectra.wavelength, np.array(rows[0]["lambda"], dtype="f4").astype("f8"))
    assert spectra.bad[:, 3].all() and spectra.bad.sum() == 3
    catalogue = spectra.catalogue
    assert catalogue["id"] == ["39627", "39628", "39629"]
    assert catalogue["zwarn"] == [False, True, None]
    assert catalogue["z"] == [0.1, 0.2, 0.3]
    assert catalogue["_healpix_29"] == [HEALPIX, HEALPIX + 1, HEALPIX + 2]
    assert (catalogue["ra"], catalogue["dec"]) == ([10.0] * 3, [-5.0] * 3)
    assert catalogue["survey"] == ["desi"] * 3
    assert not any(name.startswith("spectrum") for name in catalogue)


def test_sdss_padding_goes_first_and_ids_are_freed_of_their_b(tmp_path: Path) -> None:
    rows = [row(20, 5, seed=1), row(20, 5, seed=2), row(25, 0, seed=3, masked=4)]
    ids = ["b' 299489677444933632'", 'b"299489677444933633"', "299489677444933634"]
    path = write(tmp_path / "a", rows, object_id=ids, Z=[0.1] * 3, ZWARNING=[True, False, False])
    first, second = formats.read_here(path)
    assert isinstance(first, Spectra) and isinstance(second, Spectra)
    assert first.ids + second.ids == ["299489677444933632", "299489677444933633", "299489677444933634"]
    assert first.flux.shape == (2, 20) and second.flux.shape == (1, 25)
    assert first.flux.tolist() == [r["flux"][:20] for r in rows[:2]]
    assert not first.bad.any() and not second.bad.any()
    assert first.catalogue["zwarning"] == [True, False]
    assert first.catalogue["survey"] == ["sdss"] * 2


def test_the_mask_counts_when_there_is_no_inverse_variance(tmp_path: Path) -> None:
    rows = [{key: value for key, value in row(20, masked=4).items() if key != "ivar"}]
    kind = pa.struct(
        [("flux", pa.list_(pa.float32())), ("lambda", pa.list_(pa.float32())), ("mask", pa.list_(pa.bool_()))]
    )
    spectrum = pa.array([{k: r[k] for k in ("flux", "lambda", "mask")} for r in rows], type=kind)
    pq.write_table(pa.table({"spectrum": spectrum, "ZWARNING": [False]}), tmp_path / "star.parquet")
    (spectra,) = formats.read_here(tmp_path / "star.parquet")
    assert isinstance(spectra, Spectra)
    assert spectra.ivar is None and spectra.ids == ["star"]
    assert np.flatnonzero(spectra.bad[0]).tolist() == [4]


def test_unusable_rows_are_defects_of_their_own(tmp_path: Path) -> None:
    uneven = row(20) | {"flux": [1.0, 2.0]}
    unsorted = row(20) | {"lambda": [5000.0] * 20}
    rows = [row(20), uneven, unsorted, row(3, 20) | {"lambda": [-1.0] * 23}, None, row(20)]
    path = write(tmp_path / "a", rows, object_id=list("abcdef"))  # type: ignore[arg-type]
    found = list(formats.read_here(path))
    assert [s.ids for s in found if isinstance(s, Spectra)] == [["a"], ["f"]]
    assert [(d.id, d.reason) for d in found if isinstance(d, Defect)] == [(i, Reason.LAYOUT) for i in "bcde"]


def test_recognised_before_the_plain_parquet_reader_only_with_a_struct(tmp_path: Path) -> None:
    write(tmp_path / "a", [row(20)])
    pq.write_table(pa.table({"spectrum": [1.0]}), tmp_path / "b")
    with Source(tmp_path / "a") as mmu, Source(tmp_path / "b") as plain:
        assert reader_for(mmu).name == "mmu-parquet"
        assert reader_for(plain).name == "parquet"


def test_struct_without_wavelengths(tmp_path: Path) -> None:
    pq.write_table(pa.table({"spectrum": pa.array([{"flux": [1.0, 2.0]}])}), tmp_path / "a")
    (found,) = formats.read_here(tmp_path / "a")
    assert isinstance(found, Defect) and found.reason is Reason.MISSING_COLUMN and "lambda" in found.detail


def test_a_unit_that_was_guessed_for_every_arm_is_noted_once(tmp_path: Path) -> None:
    arms = {}
    for arm, start in (("b", 0.4), ("r", 0.5)):
        wavelength = (start + 0.0001 * np.arange(1000)).tolist()
        arms[f"spectra_{arm}"] = [{"wavelength": wavelength, "flux": [2.0] * 1000, "ivar": [1.0] * 1000}] * 2
    pq.write_table(pa.table({"object_id": [1, 2]} | arms), tmp_path / "arms.parquet")
    noted, found = formats.read_here(tmp_path / "arms.parquet")
    assert isinstance(noted, Noted) and noted.count == 2 and "read as micron" in noted.note
    assert isinstance(found, Spectra) and found.ids == ["1", "2"] and found.wavelength[0] == 4000.0
