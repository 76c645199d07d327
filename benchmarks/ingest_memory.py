"""Peak memory of an ingest as the number of files grows.

    python benchmarks/ingest_memory.py [--n 2000 20000]

Each ingest runs in a process of its own, workers included in the figure of their process.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from rarespec.mock.simulate import SkyChoice, simulate_files

CHILD = """
import resource, sys
from rarespec.survey.ingest.reading import IngestOptions
from rarespec.survey.ingest.run import run_ingest
run_ingest([sys.argv[1]], sys.argv[2], IngestOptions())
for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
    print(resource.getrusage(whose).ru_maxrss / 1024)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+", default=[2000, 20_000])
    first = None
    for n in parser.parse_args().n:
        with tempfile.TemporaryDirectory() as folder:
            simulate_files(SkyChoice(n, seed=1, layout="sdss"), Path(folder) / "files")
            command = [sys.executable, "-c", CHILD, f"{folder}/files", f"{folder}/a.survey"]
            main_peak, worker_peak = map(
                float, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
            )
        first = first or main_peak
        print(
            f"{n} files: peak {main_peak:.0f} MB ({main_peak / first:.2f} of the first), a worker {worker_peak:.0f} MB"
        )


if __name__ == "__main__":
    main()
