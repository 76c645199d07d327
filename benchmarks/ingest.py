"""Files per second of a whole ingest (read, verified, resampled, stored, flushed) against a plain astropy loop.

    python benchmarks/ingest.py [--n 1000] [--layout sdss]

One process each. The astropy loop reads the same columns, and class, redshift and position, and keeps them in memory:
it neither checks for damage nor writes anything, so the ratio is a lower bound.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from astropy.io import fits

from rarespec.mock.simulate import SkyChoice, simulate_files
from rarespec.spectrum import PAPER_GRID
from rarespec.survey.ingest.reading import IngestOptions
from rarespec.survey.ingest.run import run_ingest


def astropy_sdss(path: Path) -> tuple[str, np.ndarray, tuple]:
    with fits.open(path) as hdus:
        coadd, row = hdus[1].data, hdus[2].data[0]
        start = round((float(coadd["loglam"][0]) - PAPER_GRID.start) / PAPER_GRID.step)
        flux = np.array(coadd["flux"])[-start : -start + PAPER_GRID.n_pixels]
        _ = np.array(coadd["ivar"]), np.array(coadd["and_mask"])
        id = f"{row['PLATE']:04d}-{row['MJD']:05d}-{row['FIBERID']:04d}"
        return id, flux, (row["CLASS"], row["SUBCLASS"], row["Z"], row["PLUG_RA"], row["PLUG_DEC"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=1000)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        paths = simulate_files(SkyChoice(arguments.n, seed=1, layout="sdss"), Path(folder) / "files")
        options = IngestOptions(PAPER_GRID)
        run_ingest(paths[:10], Path(folder) / "warm.survey", options, jobs=1)
        start = time.perf_counter()
        survey, _ = run_ingest(paths, Path(folder) / "a.survey", options, jobs=1)
        ours = time.perf_counter() - start
        start = time.perf_counter()
        theirs_read = [astropy_sdss(path) for path in paths]
        theirs = time.perf_counter() - start
        check_same(survey, theirs_read)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"SDSS lite, {len(paths)} files, one process: rarespec ingest {len(paths) / ours:.0f} files/s,")
    rates = f"{len(paths) / theirs:.0f} files/s: ratio {theirs / ours:.1f}"
    print(f"  astropy.io.fits loop {rates}; peak memory {peak:.0f} MB")


def check_same(survey, theirs) -> None:
    for id, flux, (name, subclass, z, ra, dec) in theirs:
        ours = survey[id]
        assert np.array_equal(ours.flux, flux), id
        row = ours.catalogue
        assert (row["class"], row["subclass"]) == (name.strip(), subclass.strip()), id
        assert np.isclose(row["z"], z) and np.isclose(row["ra"], ra) and np.isclose(row["dec"], dec), id


if __name__ == "__main__":
    main()
