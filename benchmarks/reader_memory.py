"""Peak memory of reading as the number of spectra grows: of one file that holds many, or of files of one each.

    python benchmarks/reader_memory.py [--n 4000 40000] [--files 2000 20000]

Each file is read in a process of its own, which drops every stack after it has seen it, as an ingest does once it is
stored. Files of one spectrum go through an ingest, workers included in the figure of their process. The ratio is to the
smallest; a reader that held all spectra would grow by what the files grow. Linux only.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from astropy.io import fits

GAIA_PIXELS = 343
ARM_PIXELS = 500
BATCH = 2000

CHILD = """
import re, sys
from rarespec.formats import read_here
from rarespec.spectrum import Spectra
seen = 0
for item in read_here(sys.argv[1]):
    assert isinstance(item, Spectra), item
    seen += len(item)
# Not ru_maxrss, which begins with the memory of the process that started this one.
print(seen, int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024)
"""

INGEST = """
import re, resource, sys
from rarespec.survey.ingest.reading import IngestOptions
from rarespec.survey.ingest.run import run_ingest
survey, _ = run_ingest([sys.argv[1]], sys.argv[2], IngestOptions())
main = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
print(len(survey), main, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""


def gaia_csv(path: Path, n: int) -> None:
    flux = "(" + ", ".join(f"{1e-16 + 1e-19 * i:.4e}" for i in range(GAIA_PIXELS)) + ")"
    with path.open("w") as file:
        file.write("source_id,flux,flux_error\n")
        for i in range(n):
            file.write(f'{4 * 10**18 + i},"{flux}","{flux}"\n')


def gaia_fits(path: Path, n: int) -> None:
    flux = np.full((n, GAIA_PIXELS), 1e-16, "f4")
    form = f"{GAIA_PIXELS}E"
    ids = fits.Column("source_id", "K", array=np.arange(n))
    columns = [ids, fits.Column("flux", form, array=flux), fits.Column("flux_error", form, array=flux)]
    fits.BinTableHDU.from_columns(columns).writeto(path)


def gaia_parquet(path: Path, n: int) -> None:
    _write_parquet(path, n, lambda rows: {name: _lists(rows, GAIA_PIXELS, 1e-16) for name in ("flux", "flux_error")})


def nested_parquet(path: Path, n: int) -> None:
    def columns(rows: int) -> dict[str, pa.Array]:
        found = {}
        for arm, first in (("b", 3600.0), ("r", 4000.0), ("z", 4400.0)):
            wave = np.tile(first + 0.8 * np.arange(ARM_PIXELS), rows)
            ones = np.ones(rows * ARM_PIXELS)
            offsets = pa.array(np.arange(0, rows * ARM_PIXELS + 1, ARM_PIXELS, dtype=np.int32))
            fields = {"wavelength": wave, "flux": ones, "ivar": ones}
            lists = {name: pa.ListArray.from_arrays(offsets, pa.array(values)) for name, values in fields.items()}
            found[f"spectra_{arm}"] = pa.StructArray.from_arrays(list(lists.values()), list(lists))
        return found

    _write_parquet(path, n, columns)


def fits_images(path: Path, n: int) -> None:
    flux = np.ones((n, ARM_PIXELS), "f4")
    wavelength = fits.ImageHDU(3600.0 + np.arange(ARM_PIXELS), name="WAVELENGTH")
    fits.HDUList([fits.PrimaryHDU(), fits.ImageHDU(flux, name="FLUX"), wavelength]).writeto(path)


def text_file(path: Path, i: int) -> None:
    """Three columns without a header."""
    np.savetxt(path, np.transpose(_spectrum(i)), fmt="%.4f")


def three_rows(path: Path, i: int) -> None:
    """As Spextool writes them, in micron."""
    wavelength, flux, error = _spectrum(i)
    fits.PrimaryHDU(np.array([wavelength / 1e4, flux, error])).writeto(path)


def _spectrum(i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    flux = 2 + np.sin(i + np.arange(ARM_PIXELS) / 9)
    return 9000.0 + 30.0 * np.arange(ARM_PIXELS), flux, np.full(ARM_PIXELS, 0.1)


def _lists(rows: int, n_pixels: int, value: float) -> pa.Array:
    offsets = pa.array(np.arange(0, rows * n_pixels + 1, n_pixels, dtype=np.int32))
    return pa.ListArray.from_arrays(offsets, pa.array(np.full(rows * n_pixels, value)))


def _write_parquet(path: Path, n: int, columns: Callable[[int], dict[str, pa.Array]]) -> None:
    batches = []
    for first in range(0, n, BATCH):
        ids = pa.array(np.arange(first, min(first + BATCH, n)))
        batches.append(pa.table({"source_id": ids, **columns(len(ids))}))
    with pq.ParquetWriter(path, batches[0].schema, compression="none", use_dictionary=False) as writer:
        for batch in batches:
            writer.write_table(batch)


LAYOUTS = {
    "gaia-text": gaia_csv,
    "gaia-fits": gaia_fits,
    "gaia-parquet": gaia_parquet,
    "nested-parquet": nested_parquet,
    "fits-wcs1d": fits_images,
}


FILES = {"text-table": text_file, "fits-rows": three_rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="*", default=[4000, 40_000], help="spectra in one file")
    parser.add_argument("--files", type=int, nargs="*", default=[2000, 20_000], help="files of one spectrum")
    sizes = parser.parse_args()
    for name, write in LAYOUTS.items():
        _measure_one_file(name, write, sizes.n)
    for name, write_one in FILES.items():
        _measure_files(name, write_one, sizes.files)


def _measure_one_file(name: str, write: Callable[[Path, int], None], sizes: list[int]) -> None:
    first = None
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "file"
            write(path, n)
            megabytes = path.stat().st_size / 1e6
            seen, peak = _run(CHILD, str(path))
        assert seen == n, f"{name}: {seen:.0f} of {n} spectra"
        first = first or peak
        print(f"{name}, {n} spectra, {megabytes:.0f} MB: peak {peak:.0f} MB ({peak / first:.2f})")


def _measure_files(name: str, write: Callable[[Path, int], None], sizes: list[int]) -> None:
    first = first_worker = None
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "files").mkdir()
            for i in range(n):
                write(Path(folder) / "files" / f"{i:06d}", i)
            seen, peak, worker = _run(INGEST, f"{folder}/files", f"{folder}/a.survey")
        assert seen == n, f"{name}: {seen:.0f} of {n} spectra"
        first, first_worker = first or peak, first_worker or worker
        of_worker = f"a worker {worker:.0f} MB ({worker / first_worker:.2f})"
        print(f"{name}, {n} files: peak {peak:.0f} MB ({peak / first:.2f}), {of_worker}")


def _run(program: str, *arguments: str) -> list[float]:
    """What a process of its own prints."""
    command = [sys.executable, "-c", program, *arguments]
    return [float(word) for word in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()]


if __name__ == "__main__":
    main()
