"""Run as a script: an ingest with small blocks that may be told to die at its n-th step on disk.

    python interrupted_ingest.py SURVEY JOBS CRASH_AT FILES...

CRASH_AT 0 means never. A step is any call that changes what a later process finds: creating, replacing, flushing.
"""

import itertools
import os
import pathlib
import sys

from rarespec.survey.ingest.reading import IngestOptions
from rarespec.survey.ingest.run import run_ingest
from rarespec.survey.store.writer import SurveyWriter

SMALL_BLOCK = 32


def crash_at(step: int) -> None:
    counter = itertools.count(1)

    def counted(function):
        def wrapper(*args, **kwargs):
            if next(counter) == step:
                os._exit(9)
            return function(*args, **kwargs)

        return wrapper

    os.replace = counted(os.replace)
    os.fsync = counted(os.fsync)
    pathlib.Path.unlink = counted(pathlib.Path.unlink)
    pathlib.Path.write_bytes = counted(pathlib.Path.write_bytes)


def main() -> None:
    survey, jobs, step, *files = sys.argv[1:]
    SurveyWriter.__init__.__defaults__ = (False, SMALL_BLOCK, None)
    if int(step):
        crash_at(int(step))
    print("ready", flush=True)
    run_ingest(files, survey, IngestOptions(), jobs=int(jobs))
    print("done", flush=True)


if __name__ == "__main__":
    main()
