"""How time and memory of a whole search grow with the survey: a table, a plot, and what larger surveys would take.

    python benchmarks/growth.py [--n 10000 100000 1000000] [--surveys FOLDER] [--plot growth.png]

Mock surveys with carbon stars (450, and 45 among 10 000), of which 10 are known; with `--surveys` they are kept for the
next run. A child process searches a survey without anything kept, then another one searches it again, and a third makes
a report; start of Python and imports are included. Seconds, GB at the peak, and how many of the other rare spectra are
among as many first candidates. No features are written into the surveys themselves.

For larger surveys, every figure is put on the straight line through the last two sizes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rarespec.mock.simulate import SkyChoice, simulate_survey
from rarespec.survey import Survey
from search import bare

N_KNOWN, TOP, N_SHOWN = 10, 1000, 100
STAGES = ("first search", "second search", "report")
LARGER = (10**7, 10**8)


class Cost(NamedTuple):
    seconds: float
    gigabytes: float


def searched(survey: str, table: str, known: list[str]) -> None:
    import rarespec

    rarespec.search(survey, known, top=TOP).write(table)


def reported(survey: str, table: str, known: list[str]) -> None:
    import rarespec
    from rarespec.plots.search_report import write_report

    write_report(rarespec.search(survey, known, top=TOP), Path(table).with_suffix(".report"), N_SHOWN)


def cost_of(stage: str, survey: Path, table: Path, known: list[str]) -> Cost:
    """Of a process of its own."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, __file__, "--stage", stage, str(survey), str(table), *known])
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{stage} of {survey} failed")
    return Cost(time.perf_counter() - start, used.ru_maxrss * 1024 / 1e9)


def survey_of(n: int, folder: Path) -> Survey:
    """The one that is kept there, or a new one."""
    path = folder / f"{n}.survey"
    if path.exists():
        return Survey.open(path)
    return simulate_survey(SkyChoice(n, (("carbon", min(450, n * 45 // 10_000)),), seed=n), path)


def costs_of(survey: Survey, folder: Path) -> dict[str, Cost]:
    rare = np.sort(survey.ids[survey.catalogue["class"] == "CARBON"].astype(str))
    known = np.random.default_rng(1).choice(rare, N_KNOWN, replace=False).tolist()
    copy, table = bare(survey.path, folder / f"{len(survey)}.survey"), folder / f"{len(survey)}.ecsv"
    costs = {stage: cost_of(stage, copy, table, known) for stage in STAGES}
    said = "   ".join(f"{cost.seconds:8.1f} s {cost.gigabytes:5.2f} GB" for cost in costs.values())
    print(f"{len(survey):9d}   {said}   {n_found(table, set(rare) - set(known))} of {len(rare) - N_KNOWN}", flush=True)
    return costs


def n_found(table: Path, others: set[str]) -> int:
    from astropy.table import Table

    return len(others & set(map(str, Table.read(table)["id"][: len(others)])))


def print_larger(found: dict[int, dict[str, Cost]]) -> None:
    """On the line through the last two sizes."""
    (n, fewer), (m, more) = list(found.items())[-2:]
    for stage in STAGES:
        slopes = [(after - before) / (m - n) for before, after in zip(fewer[stage], more[stage], strict=True)]
        starts = [after - slope * m for after, slope in zip(more[stage], slopes, strict=True)]
        said = (
            f"{starts[0]:.1f} s + {1e6 * slopes[0]:.1f} s and {starts[1]:.2f} GB + {1e6 * slopes[1]:.2f} GB a million"
        )
        expected = [
            f"{size:.0e}: {(starts[0] + slopes[0] * size) / 60:.0f} min, {starts[1] + slopes[1] * size:.1f} GB"
            for size in LARGER
        ]
        print(f"{stage}: {said}; {'; '.join(expected)}")


def draw(found: dict[int, dict[str, Cost]], path: Path) -> None:
    from rarespec.plots.canvas import BLUE, RED, empty_figure, save

    figure = empty_figure(7.0, 3.0)
    panels = figure.subplots(1, 2)
    colours = dict(zip(STAGES, (BLUE, RED, "black"), strict=True))
    for panel, name in zip(panels, Cost._fields, strict=True):
        for stage in STAGES:
            values = [getattr(costs[stage], name) for costs in found.values()]
            panel.plot(list(found), values, "o-", color=colours[stage], label=stage, markersize=4)
        panel.set(xlabel="spectra", ylabel=name, xscale="log")
    panels[0].set_yscale("log")
    panels[1].set_ylim(0, None)
    panels[0].legend(frameon=False)
    save(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--surveys", type=Path, help="where the mock surveys are kept, or are made")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--stage", nargs="+", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.stage:
        stage, survey, table, *known = asked.stage
        (reported if stage == "report" else searched)(survey, table, known)
        return
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'spectra':>9s}   " + "   ".join(f"{stage:>19s}" for stage in STAGES) + "   rare found")
        kept = asked.surveys or Path(folder) / "made"
        kept.mkdir(parents=True, exist_ok=True)
        found = {n: costs_of(survey_of(n, kept), Path(folder)) for n in asked.n}
    if len(found) > 1:
        print_larger(found)
    if asked.plot:
        draw(found, asked.plot)


if __name__ == "__main__":
    main()
