"""What every reader must do, shown on one small file of each kind."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contracts.reader_files import READER_FILES, N, ReaderFile
from rarespec import formats
from rarespec.formats.reader import MAX_ROWS
from rarespec.formats.readers import READERS, reader_for
from rarespec.formats.source import Source
from rarespec.spectrum import Defect, DefectError, Reason, Spectra
from rarespec.spectrum.spectra import COMMON_COLUMNS

pytestmark = [
    pytest.mark.filterwarnings("ignore::astropy.utils.exceptions.AstropyWarning"),
    pytest.mark.filterwarnings("ignore:The data type:FutureWarning"),
]

NUMBERS, TEXTS = ("ra", "dec", "z", "snr"), ("class", "subclass", "survey", "source")


@pytest.fixture(params=READER_FILES)
def kind(request: pytest.FixtureRequest) -> ReaderFile:
    return READER_FILES[request.param]


@pytest.fixture
def path(kind: ReaderFile, tmp_path: Path) -> Path:
    return kind.write(tmp_path, kind.spectra)


def found_in(path: Path, format: str | None = None) -> list[Any]:
    return list(formats.read_here(path, format))


def stacks_in(path: Path, kind: ReaderFile) -> list[Spectra]:
    found = found_in(path, kind.format)
    assert not any(isinstance(item, Defect) for item in found), found
    return [item for item in found if isinstance(item, Spectra)]


def pixels_of(stack: Spectra, kind: ReaderFile) -> slice:
    """Where the stack lies on the pixels that were written: some surveys cut the ends of some files."""
    first = int(np.argmin(np.abs(kind.wavelength - stack.wavelength[0])))
    assert len(stack.wavelength) > 0.9 * len(kind.wavelength)
    return slice(first, first + len(stack.wavelength))


def largest_file(path: Path) -> Path:
    """The file itself, or in a directory the largest one: that is where the flux is."""
    return path if path.is_file() else max((p for p in path.rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)


def test_every_reader_has_a_file() -> None:
    assert {kind.reader for kind in READER_FILES.values()} == set(READERS)


def test_ids_are_text_and_unique(kind: ReaderFile, path: Path) -> None:
    ids = [id for stack in stacks_in(path, kind) for id in stack.ids]
    assert len(ids) in (1, N)
    assert all(type(id) is str and id.strip() for id in ids)
    assert len(set(ids)) == len(ids)


def test_wavelengths_are_vacuum_angstrom_and_increase(kind: ReaderFile, path: Path) -> None:
    for stack in stacks_in(path, kind):
        assert stack.wavelength.dtype == np.float64
        assert (np.diff(stack.wavelength) > 0).all()
        assert np.allclose(stack.wavelength, kind.wavelength[pixels_of(stack, kind)], rtol=1e-6)


def test_pixels_have_one_shape_and_known_types(kind: ReaderFile, path: Path) -> None:
    for stack in stacks_in(path, kind):
        assert 1 <= len(stack) <= MAX_ROWS
        assert stack.flux.shape == stack.bad.shape == (len(stack), len(stack.wavelength))
        assert stack.flux.dtype in (np.float32, np.float64) and stack.flux.dtype.isnative
        assert stack.bad.dtype == bool
        if stack.ivar is not None:
            assert stack.ivar.shape == stack.flux.shape
            assert stack.bad[~(stack.ivar > 0)].all()
        assert stack.bad[~np.isfinite(stack.flux)].all()


def test_flux_is_what_was_written(kind: ReaderFile, path: Path) -> None:
    written, row = kind.spectra, 0
    for stack in stacks_in(path, kind):
        rows, pixels = slice(row, row + len(stack)), pixels_of(stack, kind)
        good = ~(stack.bad | written.bad[rows, pixels])
        assert good.mean() > 0.9
        assert np.allclose(stack.flux[good], written.flux[rows, pixels][good], rtol=1e-5)
        row += len(stack)


def test_common_columns_are_there_with_one_value_per_spectrum(kind: ReaderFile, path: Path) -> None:
    for stack in stacks_in(path, kind):
        assert set(COMMON_COLUMNS) <= set(stack.catalogue)
        assert all(len(values) == len(stack) for values in stack.catalogue.values())
        assert all(name == name.lower() for name in stack.catalogue)
        for name in NUMBERS:
            assert all(value is None or type(value) is float for value in stack.catalogue[name]), name
        for name in TEXTS:
            assert all(value is None or type(value) is str for value in stack.catalogue[name]), name
        assert all(stack.catalogue["survey"])
        assert stack.catalogue["source"] == [str(path)] * len(stack)


def test_catalogue_values_are_plain_and_never_nan(kind: ReaderFile, path: Path) -> None:
    for values in (values for stack in stacks_in(path, kind) for values in stack.catalogue.values()):
        assert all(value is None or type(value) in (str, int, float, bool) for value in values)
        assert not any(isinstance(value, float) and math.isnan(value) for value in values)


def test_reading_twice_gives_the_same(kind: ReaderFile, path: Path) -> None:
    for one, other in zip(stacks_in(path, kind), stacks_in(path, kind), strict=True):
        assert one.wavelength.tobytes() == other.wavelength.tobytes()
        assert one.flux.tobytes() == other.flux.tobytes()
        assert one.bad.tobytes() == other.bad.tobytes()
        assert one.catalogue == other.catalogue


def test_recognised_by_structure_under_a_neutral_name(kind: ReaderFile, path: Path, tmp_path: Path) -> None:
    neutral = tmp_path / "unnamed"
    (shutil.copytree if path.is_dir() else shutil.copy)(path, neutral)
    with Source(neutral) as source:
        if kind.on_request and not kind.otherwise:
            with pytest.raises(DefectError, match=f"--format {kind.reader}"):
                reader_for(source)
        else:
            assert reader_for(source).name == (kind.otherwise or kind.reader)
    assert stacks_in(neutral, kind)[0].flux.tobytes() == stacks_in(path, kind)[0].flux.tobytes()


@pytest.mark.parametrize("fraction", [0.6, 0.01])
def test_truncated_files_give_a_defect(kind: ReaderFile, path: Path, fraction: float) -> None:
    victim = largest_file(path)
    content = victim.read_bytes()
    victim.write_bytes(content[: int(len(content) * fraction)])
    assert any(isinstance(item, Defect) for item in found_in(path, kind.format))


def test_without_flux_there_is_a_defect_that_says_so(kind: ReaderFile, path: Path) -> None:
    kind.spoil(path)
    (forced,) = [item for item in found_in(path, kind.reader) if isinstance(item, Defect)]
    assert forced.reason in (Reason.MISSING_COLUMN, Reason.LAYOUT), forced
    assert forced.detail
    found = found_in(path)
    assert found and all(isinstance(item, Defect) for item in found)


def test_flipped_bits_never_raise(kind: ReaderFile, path: Path) -> None:
    victim = largest_file(path)
    content = victim.read_bytes()
    rng = np.random.default_rng(3)
    for _ in range(15):
        damaged = bytearray(content)
        damaged[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
        victim.write_bytes(damaged)
        found = found_in(path, kind.format)
        assert found
        assert not any(isinstance(item, Defect) and item.reason is Reason.READER_CRASHED for item in found), found
