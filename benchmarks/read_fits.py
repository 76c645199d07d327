"""Files read per second, one process, against a loop with astropy.io.fits that reads the same columns.

    python benchmarks/read_fits.py [--files DIR] [--rounds N]

Ours includes the guards against damage (sizes, checksums, gzip trailers), recognition of the format, the mask, all
catalogue columns and, for DESI, joining the cameras and the redrock file; astropy's loop only reads the arrays, class,
redshift and position. Both must give identical numbers, or the benchmark stops. The best of N rounds counts.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from astropy.io import fits

from rarespec.formats import Source, read_here
from rarespec.mock.simulate import SkyChoice, simulate_files
from rarespec.spectrum import Spectra

DEFAULT_FILES = Path(__file__).resolve().parents[2] / "shared" / "data" / "files"
TARGETS = {"SDSS lite": 10.0, "LAMOST gz": 2.0, "DESI coadd": 3.0}

Record = dict[str, Any]


def astropy_sdss(path: Path) -> Record:
    with fits.open(path) as hdus:
        pixels, row = hdus[1].data, hdus[2].data
        return {
            "flux": np.array(pixels["flux"])[None],
            "ivar": np.array(pixels["ivar"])[None],
            "wavelength": 10.0 ** np.array(pixels["loglam"], dtype=np.float64),
            "mask": np.array(pixels["and_mask"]),
            "class": [row["CLASS"][0].strip()],
            "z": [float(row["Z"][0])],
            "ra": [float(row["PLUG_RA"][0])],
            "dec": [float(row["PLUG_DEC"][0])],
        }


def astropy_lamost(path: Path) -> Record:
    with fits.open(path) as hdus:
        header = hdus[0].header
        if len(hdus) == 1:
            flux, ivar, mask = (np.array(hdus[0].data[row]) for row in (0, 1, 3))
        else:
            flux, ivar, mask = (np.array(hdus[1].data[name][0]) for name in ("FLUX", "IVAR", "ANDMASK"))
        return {
            "flux": flux[None],
            "ivar": ivar[None],
            "wavelength": 10.0 ** (header["COEFF0"] + header["COEFF1"] * np.arange(len(flux))),
            "mask": mask,
            "class": [header["CLASS"].strip()],
            "z": [header["Z"]],
            "ra": [header["RA"]],
            "dec": [header["DEC"]],
        }


def astropy_desi(path: Path) -> Record:
    with fits.open(path) as hdus:
        fibermap = hdus["FIBERMAP"].data
        keep = (fibermap["OBJTYPE"] == "TGT") & (fibermap["COADD_FIBERSTATUS"] == 0)
        record: Record = {
            "id": [str(target) for target in fibermap["TARGETID"][keep]],
            "ra": fibermap["TARGET_RA"][keep].tolist(),
            "dec": fibermap["TARGET_DEC"][keep].tolist(),
        }
        for camera in "BRZ":
            record[f"{camera}_WAVELENGTH"] = np.array(hdus[f"{camera}_WAVELENGTH"].data)
            for kind in ("FLUX", "IVAR", "MASK"):
                record[f"{camera}_{kind}"] = np.array(hdus[f"{camera}_{kind}"].data)[keep]
    redrock = path.with_name(path.name.replace("coadd-", "redrock-"))
    if redrock.exists():
        with fits.open(redrock) as hdus:
            redshifts = hdus["REDSHIFTS"].data
            rows = {str(target): row for row, target in enumerate(redshifts["TARGETID"])}
            record["class"] = [redshifts["SPECTYPE"][rows[target]].strip() for target in record["id"]]
            record["z"] = [float(redshifts["Z"][rows[target]]) for target in record["id"]]
    return record


def ours(path: Path) -> Spectra:
    stacks = [found for found in read_here(path) if isinstance(found, Spectra)]
    if len(stacks) != 1:
        raise SystemExit(f"{path}: {list(read_here(path))}")
    return stacks[0]


def check_same(stack: Spectra, record: Record) -> None:
    for name in {"class", "z", "ra", "dec", "id"} & set(record):
        assert stack.catalogue[name] == record[name], (stack.catalogue["source"], name)
    if "flux" in record:
        assert stack.ivar is not None
        for name, values in (("flux", stack.flux), ("ivar", stack.ivar), ("wavelength", stack.wavelength)):
            np.testing.assert_array_equal(values, record[name])
    else:
        check_same_cameras(stack, record)


def check_same_cameras(stack: Spectra, record: Record) -> None:
    """Every pixel that only one camera saw, bit by bit; and the weighted mean where two did."""
    assert stack.ivar is not None
    pixels = {camera: np.round(record[f"{camera}_WAVELENGTH"] * 10).astype(int) for camera in "BRZ"}
    joined = np.round(stack.wavelength * 10).astype(int)
    weight, weighted = np.zeros(stack.flux.shape), np.zeros(stack.flux.shape)
    seen = np.zeros(len(joined), int)
    for camera, at in pixels.items():
        columns = np.searchsorted(joined, at)
        ivar = np.where(record[f"{camera}_MASK"] == 0, record[f"{camera}_IVAR"], 0.0).clip(0)
        weight[:, columns] += ivar
        weighted[:, columns] += ivar * record[f"{camera}_FLUX"]
        seen[columns] += 1
    for camera, at in pixels.items():
        columns = np.searchsorted(joined, at)
        alone = seen[columns] == 1
        np.testing.assert_array_equal(stack.flux[:, columns[alone]], record[f"{camera}_FLUX"][:, alone])
        np.testing.assert_array_equal(stack.ivar[:, columns[alone]], record[f"{camera}_IVAR"][:, alone])
    both = (seen == 2) & (weight > 0).all(axis=0)
    np.testing.assert_allclose(stack.flux[:, both], (weighted / np.where(weight, weight, 1))[:, both], rtol=1e-6)


def lite_copies(files: list[Path], into: Path) -> list[Path]:
    """The first four HDUs of each SDSS file, byte by byte: what the archive calls lite."""
    copies = []
    for path in files:
        with Source(path) as source:
            content = source.read(0, min(source.hdus[3].end, source.length))
        copies.append(into / path.name)
        copies[-1].write_bytes(content)
    return copies


def mock_files(into: Path) -> Path:
    """A few simulated files of each survey, in directories named as those of the real ones."""
    for layout, folder, n in (("sdss", "sdss", 12), ("lamost-dr8", "lamost", 30), ("desi", "desi", 15)):
        simulate_files(SkyChoice(n, seed=1, layout=layout), into / folder, jobs=1)
    return into


def files_per_second(functions: list[Callable[[Path], Any]], files: list[Path], rounds: int) -> list[float]:
    """The best round of each; they take turns, so that what else runs on the machine hits them alike."""
    best = [float("inf")] * len(functions)
    for _ in range(rounds):
        for i, function in enumerate(functions):
            start = time.perf_counter()
            for path in files:
                function(path)
            best[i] = min(best[i], time.perf_counter() - start)
    return [len(files) / seconds for seconds in best]


def compare(name: str, files: list[Path], peer: Callable[[Path], Record], rounds: int) -> None:
    if not files:
        print(f"{name:10}  no files")
        return
    for path in files:
        check_same(ours(path), peer(path))
    theirs, mine = files_per_second([peer, ours], files, rounds)
    verdict = "reached" if mine / theirs >= TARGETS[name] else "MISSED"
    print(
        f"{name:10}  {len(files):3} files  rarespec {mine:7.0f}/s  astropy {theirs:6.0f}/s  "
        f"ratio {mine / theirs:5.1f}  (target {TARGETS[name]:.0f}: {verdict})  identical"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=Path, default=DEFAULT_FILES, help="directory with sdss/, lamost/ and desi/")
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    directory, rounds = arguments.files, arguments.rounds
    warnings.simplefilter("ignore")  # units that astropy cannot parse
    with tempfile.TemporaryDirectory() as scratch:
        if not directory.is_dir():
            print(f"{directory} is not here: mock files are read instead")
            directory = mock_files(Path(scratch) / "mock")
        lite = lite_copies(sorted((directory / "sdss").glob("spec-*.fits")), Path(scratch))
        compare("SDSS lite", lite, astropy_sdss, rounds)
        compare("LAMOST gz", sorted((directory / "lamost").glob("*.fits.gz")), astropy_lamost, rounds)
        compare("DESI coadd", sorted((directory / "desi").glob("coadd-*.fits")), astropy_desi, rounds)


if __name__ == "__main__":
    main()
