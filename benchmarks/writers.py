"""The files that rarespec writes by hand, against astropy, in seconds of CPU.

    python benchmarks/writers.py [--rows 100000] [--files 100]

Candidate tables of 14 columns as ECSV and VOTable against `Table.write`, both read back; SDSS files of the mock
sky against astropy writing the same header-data units with their checksums.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from astropy.io import fits
from astropy.table import Table

from rarespec.mock.files import native_wavelength, write_files
from rarespec.searching import write_table
from rarespec.spectrum import Spectra


def candidates(n: int) -> Table:
    rng = np.random.default_rng(0)
    columns = {"rank": np.arange(1, n + 1), "id": [f"{i:04d}-55000-{i % 640:04d}" for i in range(n)]}
    columns |= {
        name: rng.normal(size=n) for name in ("score", "chance", "ra", "dec", "z", "snr", "distance", "novelty")
    }
    columns |= {"class": ["STAR"] * n, "subclass": ["Carbon"] * n, "survey": ["SDSS"] * n, "faint": rng.random(n) < 0.1}
    return Table(columns)


def cpu_of(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def compare_tables(n: int, folder: Path) -> None:
    table = candidates(n)
    for suffix, form in ((".ecsv", "ascii.ecsv"), (".vot", "votable")):
        ours, theirs = folder / f"ours{suffix}", folder / f"theirs{suffix}"
        seconds = cpu_of(lambda ours=ours: write_table(table, ours, {"seed": 1}))
        peer = cpu_of(lambda theirs=theirs, form=form: table.write(theirs, format=form))
        for one, other in zip(Table.read(ours).itercols(), Table.read(theirs).itercols(), strict=True):
            assert np.array_equal(np.asarray(one), np.asarray(other)), one.name
        print(f"{suffix}, {n} rows: ours {seconds:.2f} s, Table.write {peer:.2f} s: ratio {peer / seconds:.1f}")


def stars(n: int) -> Spectra:
    wavelength, number = native_wavelength("sdss"), range(n)
    flux = np.random.default_rng(0).normal(10, 1, (n, len(wavelength))).astype("f4")
    catalogue = {"id": [f"1000-55000-{i:04d}" for i in number], "fiberid": list(number)}
    catalogue |= {"plate": [1000] * n, "mjd": [55000] * n, "class": ["CARBON"] * n, "subclass": ["C-N"] * n}
    catalogue |= {name: [1.0] * n for name in ("ra", "dec", "z", "snr")}
    return Spectra(wavelength, flux, np.ones_like(flux), np.zeros(flux.shape, bool), catalogue)


def compare_mock_files(n: int, folder: Path) -> None:
    spectra, paths = stars(n), []
    write_files(spectra.take(range(2)), "sdss", folder / "warm")
    seconds = cpu_of(lambda: paths.extend(write_files(spectra, "sdss", folder / "files")))
    peer = 0.0
    for path in paths:
        with fits.open(path, checksum=True, lazy_load_hdus=False) as hdus:
            units = [type(hdu)(data=hdu.data, header=hdu.header) for hdu in hdus]
            peer += cpu_of(lambda units=units: fits.HDUList(units).writeto(folder / "astropy.fits", checksum=True))
        with fits.open(folder / "astropy.fits") as written, fits.open(path) as ours:
            assert all(np.array_equal(a.data, b.data) for a, b in zip(written[1:], ours[1:], strict=True)), path
        (folder / "astropy.fits").unlink()
    each = f"ours {1e3 * seconds / n:.1f} ms, astropy {1e3 * peer / n:.1f} ms"
    print(f"an SDSS file of the mock sky: {each}: ratio {peer / seconds:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--files", type=int, default=100)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compare_tables(arguments.rows, Path(folder))
        compare_mock_files(arguments.files, Path(folder))


if __name__ == "__main__":
    main()
