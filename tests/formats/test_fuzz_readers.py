"""Every reader against thousands of damaged files: spectra that keep their rules, or a defect; nothing else.

100 inputs for each reader by default, 50 000 behind the marker `exhaustive`. A process of its own reads them, with
ten seconds and one GiB for each file. What a library does to that process (a crash, a hang, a demand for more memory)
is counted and printed, not forbidden: `ingest` reads files in such processes too, where it costs the one file. The
counts are printed with `-s`, and are in docs/survey.md. `damaged_file(reader, number)` makes the file again.
"""

from __future__ import annotations

import gzip
import re
import tempfile
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from contracts.reader_files import READER_FILES, arrays_of, spectra_on, write_zarr, write_zarr_v2
from formats import small_fits
from formats.mutations import mutated
from formats.test_fits_fuzz import unusual
from formats.watched_reader import Outcome, WatchedReader
from rarespec.formats.reader import Found, ReadOptions
from rarespec.formats.readers import PLAIN_LAYOUTS, READERS, read_here, read_plain
from rarespec.spectrum import Spectra

pytestmark = pytest.mark.filterwarnings("ignore")

PIXELS = 40
CATALOGUES = "catalogue"
N_DAMAGED = 100
"""Files for each reader; the exhaustive run has fifty thousand others."""
SUBJECTS = (*READERS, CATALOGUES)
ON_REQUEST = {kind.reader for kind in READER_FILES.values() if kind.on_request}
"""Readers that must be named: damaged files reach them no other way."""
BEYOND_MEMORY = ("MemoryError", "Unable to allocate", "malloc of size", "realloc of size", "does not fit into memory")

Files = dict[str, bytes]
"""Path below the input -> content; one of no name for an input that is a file itself."""


@cache
def seeds(subject: str) -> list[Files]:
    """Small whole files for this reader: plain ones, and gzipped ones where that is read."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(_written(subject, Path(folder)))
    packed = [{"": gzip.compress(files[""], 9, mtime=0)} for files in found if "" in files and subject != "zarr"]
    return found + packed[:1]


def _written(subject: str, folder: Path) -> Iterator[Files]:
    if subject == CATALOGUES:
        yield {"": small_fits.as_bytes(small_fits.redrock())}
        yield {"": b"plate,mjd,fiberid,z,class\n1000,55000,1,0.1,STAR\n1000,55000,2,0.2,GALAXY\n"}
        for kind in ("ecsv", "parquet", "mmu"):
            yield _content(READER_FILES[kind].write(folder, spectra_on(READER_FILES[kind].wavelength[:PIXELS])))
        fields = "".join(f"<FIELD name='{name}' datatype='long'/>" for name in ("plate", "mjd", "fiberid"))
        rows = "<TR><TD>1</TD><TD>2</TD><TD>3</TD></TR>" * 3
        table = f"<TABLE>{fields}<DATA><TABLEDATA>{rows}</TABLEDATA></DATA></TABLE>"
        yield {"": f"<?xml version='1.0'?><VOTABLE version='1.4'><RESOURCE>{table}</RESOURCE></VOTABLE>".encode()}
        return
    if subject in small_fits.ALL:
        yield {"": _unsigned(small_fits.as_bytes(small_fits.ALL[subject]()))}
    if subject == "fits-table":
        yield {"": small_fits.as_bytes(unusual())}
    if subject == "zarr":
        yield from _small_groups(folder)
        return
    # Layouts of surveys have a number of pixels of their own; small ones came above.
    generic = {name: kind for name, kind in READER_FILES.items() if len(kind.wavelength) < 1000}
    for name, kind in generic.items():
        if kind.reader == subject:
            (folder / name).mkdir()
            yield _content(kind.write(folder / name, spectra_on(kind.wavelength[:PIXELS])))


def _small_groups(folder: Path) -> Iterator[Files]:
    """Of few arrays: opening each of them takes milliseconds."""
    arrays = arrays_of(spectra_on(READER_FILES["zarr"].wavelength[:PIXELS]))
    arrays = {name: arrays[name] for name in ("flux", "wavelength", "id")}
    write_zarr(folder / "v3", arrays)
    write_zarr_v2(folder / "v2", arrays)
    yield from (_content(folder / name) for name in ("v3", "v2"))


def _content(path: Path) -> Files:
    paths = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    return {"" if file == path else file.relative_to(path).as_posix(): _unsigned(file.read_bytes()) for file in paths}


def _unsigned(content: bytes) -> bytes:
    """FITS without its checksums, which would notice all damage before a reader sees it, nor the time of writing."""
    if not content.startswith(b"SIMPLE"):
        return content
    content = re.sub(rb"updated [\d:T-]{19}", b"updated 2000-01-01T00:00:00", content)
    content = re.sub(rb"CHECKSUM= '.{16}'", b"CHECKSUM= '0000000000000000'", content)  # of the header with its time
    return content.replace(b"CHECKSUM=", b"XHECKSUM=").replace(b"DATASUM =", b"XATASUM =")


def damaged_file(subject: str, number: int) -> tuple[Files, str]:
    """The whole files of this input, and which of them is replaced under that name: (files, name of the victim)."""
    rng = np.random.default_rng([zlib.crc32(subject.encode()), number])
    files = dict(seeds(subject)[number % len(seeds(subject))])
    others = seeds(SUBJECTS[int(rng.integers(len(SUBJECTS)))])
    other = others[int(rng.integers(len(others)))]
    victim = sorted(files)[int(rng.integers(len(files)))]
    files[victim] = mutated(files[victim], other[sorted(other)[0]], rng)
    return files, victim


def fuzz(subject: str, numbers: range, reader: WatchedReader) -> Counter[str]:
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(dir=_quick_folder()) as folder:
        paths = [Path(folder, f"{subject}-{i}") for i in range(len(seeds(subject)))]
        for path, files in zip(paths, seeds(subject), strict=True):
            for name, content in files.items():
                _write(path / name if name else path, content)
            whole = reader.read(path)
            assert whole.stored and not whole.reasons, whole
        for number in numbers:
            files, victim = damaged_file(subject, number)
            path = paths[number % len(paths)]
            _write(path / victim if victim else path, files[victim])
            _count(reader.read(path), f"{subject}, number {number}", counts)
            _write(path / victim if victim else path, seeds(subject)[number % len(paths)][victim])
    print(f"\n{subject}: " + ", ".join(f"{counts[name]} {name}" for name in COUNTED))
    return counts


COUNTED = ("inputs", "stored", "defective", "set aside", "out of memory", "deaths", "time-outs")


def _count(outcome: Outcome, label: str, counts: Counter[str]) -> None:
    assert not outcome.wrong, f"{label}: {outcome.wrong}"
    counts["inputs"] += 1
    if any(sign in detail for detail in outcome.details for sign in BEYOND_MEMORY):
        print(f"{label}: {outcome.details}")
        counts["out of memory"] += 1
    elif outcome.died:
        print(f"{label}: {outcome.died}")
        counts["time-outs" if outcome.died == "timed out" else "deaths"] += 1
    else:
        counts["stored" if outcome.stored else "defective" if outcome.reasons else "set aside"] += 1


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _quick_folder() -> str | None:
    """In memory where the system has such a folder: tens of thousands of files are written."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


@pytest.fixture(scope="module")
def reader() -> Iterator[WatchedReader]:
    with WatchedReader() as reader:
        yield reader


@pytest.fixture(scope="module")
def catalogue_reader() -> Iterator[WatchedReader]:
    with WatchedReader(what="catalogue") as reader:
        yield reader


def fuzz_named(subject: str, numbers: range, reader: WatchedReader) -> Counter[str]:
    """As `fuzz`, by a process that names the reader where it must be named."""
    if subject not in ON_REQUEST:
        return fuzz(subject, numbers, reader)
    with WatchedReader(format=subject) as naming:
        return fuzz(subject, numbers, naming)


@pytest.mark.parametrize("subject", READERS)
def test_damaged_files(subject: str, reader: WatchedReader) -> None:
    counts = fuzz_named(subject, range(N_DAMAGED), reader)
    assert counts["inputs"] == N_DAMAGED and not counts["out of memory"]


def test_damaged_catalogues(catalogue_reader: WatchedReader) -> None:
    counts = fuzz(CATALOGUES, range(N_DAMAGED), catalogue_reader)
    assert counts["inputs"] == N_DAMAGED and not counts["out of memory"]


def read_both_ways(subject: str, numbers: range) -> int:
    """Count the damaged files that one process alone reads; each gives what the reader in its own process gives."""
    n_plain = 0
    with tempfile.TemporaryDirectory(dir=_quick_folder()) as folder:
        path = Path(folder, "a.fits")
        for number in numbers:
            path.write_bytes(damaged_file(subject, number)[0][""])
            plain = read_plain(str(path), None, ReadOptions())
            if plain is not None:
                n_plain += 1
                assert _bytes_of(plain) == _bytes_of(read_here(path)), f"{subject}, number {number}"
    return n_plain


def _bytes_of(found: Iterable[Found]) -> list[object]:
    """To compare: NaN is equal to itself."""
    return [
        (*(array.tobytes() for array in (item.wavelength, item.flux, item.ivar, item.bad)), repr(item.catalogue))
        if isinstance(item, Spectra)
        else item
        for item in found
    ]


@pytest.mark.parametrize("subject", PLAIN_LAYOUTS)
def test_what_is_read_without_a_process_of_its_own_is_the_same(subject: str) -> None:
    assert 0 < read_both_ways(subject, range(50)) < 50


@pytest.mark.exhaustive
@pytest.mark.parametrize("subject", PLAIN_LAYOUTS)
def test_fifty_thousand_files_without_a_process_of_their_own(subject: str) -> None:
    assert 0 < read_both_ways(subject, range(2000, 52_000)) < 50_000


@pytest.mark.exhaustive
@pytest.mark.parametrize("subject", READERS)
def test_fifty_thousand_damaged_files(subject: str, reader: WatchedReader) -> None:
    assert fuzz_named(subject, range(2000, 52_000), reader)["inputs"] == 50_000


@pytest.mark.exhaustive
def test_fifty_thousand_damaged_catalogues(catalogue_reader: WatchedReader) -> None:
    assert fuzz(CATALOGUES, range(2000, 52_000), catalogue_reader)["inputs"] == 50_000
