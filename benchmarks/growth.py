"""How time and memory of a whole search grow with the survey: a table and a plot.

    python benchmarks/growth.py [--n 10000 100000 1000000] [--surveys FOLDER] [--work FOLDER] [--plot growth.png]

Mock surveys with carbon stars (450, and 45 among 10 000), of which 10 are known; above 10^5 the common spectra come
several times, each time with fresh noise (`rarespec.mock.replicate`). With `--surveys` they are kept for the
next run, and surveys that are there already, named N.survey, are used whatever their grid. A child process searches a
survey without anything kept, another one searches it again, a third makes a report, a fourth opens a campaign, as the
inspector's page does, and ranks again after ten labels, and a fifth appends the spectra of the survey of 10^5 (or of
10^4, to this one) under other ids and searches again. Start of Python and imports are included. Nothing is written into
the surveys themselves, but into `--work`, by default a temporary folder; their files are linked there, or copied to
another disk when the survey is to grow.

For each stage: seconds; seconds of processors, which a busy machine lengthens less; and at the peak, in GB, all memory
that is resident (`ru_maxrss`), and what of it is the process's own (RssAnon of /proc/PID/status, looked at 20 times a
second; where there is no such file, 0). The rest are pages of files, which the system drops when memory is needed.
Last, how many of the other rare spectra are among as many first candidates.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rarespec.mock.replicate import replicate
from rarespec.mock.simulate import SkyChoice, simulate_survey
from rarespec.spectrum import Spectra
from rarespec.survey import Survey
from search import bare

N_KNOWN, TOP, N_SHOWN = 10, 1000, 100
N_LABELS = 10
STAGES = ("first search", "later search", "report", "inspect", "append")
LOOKS_A_SECOND = 20
MORE = "more"
"""Survey whose spectra are appended, beside the one that is searched."""
LARGEST_SIMULATED = 100_000
"""Larger surveys are made of this one: to simulate ten million spectra would take hours."""


class Cost(NamedTuple):
    seconds: float
    processor_seconds: float
    gigabytes: float
    own_gigabytes: float


def searched(survey: str, table: str, known: list[str]) -> None:
    import rarespec

    rarespec.search(survey, known, top=TOP).write(table)


def reported(survey: str, table: str, known: list[str]) -> None:
    import rarespec
    from rarespec.plots.search_report import write_report

    write_report(rarespec.search(survey, known, top=TOP), Path(table).with_suffix(".report"), N_SHOWN)


def inspected(survey: str, table: str, known: list[str]) -> None:
    """Open a campaign, and let it learn ten labels; what the second step takes alone is printed."""
    from rarespec.labels import Campaign, Label

    campaign = Campaign.start(survey, known, top=TOP)
    labels = dict.fromkeys(campaign.list_ids()[:N_LABELS], Label.YES)
    start, used = time.perf_counter(), time.process_time()
    campaign.relearn(labels)
    took = f"{time.perf_counter() - start:.1f} s, {time.process_time() - used:.1f} s of processors"
    print(f"{'':9s}   ranked again after {N_LABELS} labels in {took}", flush=True)


def appended(survey: str, table: str, known: list[str]) -> None:
    """Append spectra and search again; what the first step takes alone is printed."""
    from rarespec.survey import Survey

    more, searched_one = Survey.open(Path(table).with_name(MORE)), Survey.open(survey)
    start, used = time.perf_counter(), time.process_time()
    searched_one.append(renamed(more.at(rows)) for rows in np.array_split(np.arange(len(more)), more.n_blocks))
    took = f"{time.perf_counter() - start:.1f} s, {time.process_time() - used:.1f} s of processors"
    print(f"{'':9s}   appended {len(more)} spectra in {took}", flush=True)
    searched(survey, table, known)


def renamed(spectra: Spectra) -> Spectra:
    ids = [f"{id}-appended" for id in spectra.catalogue["id"]]
    return replace(spectra, catalogue={**spectra.catalogue, "id": ids})


RUNS = {
    "first search": searched,
    "later search": searched,
    "report": reported,
    "inspect": inspected,
    "append": appended,
}


def cost_of(stage: str, survey: Path, table: Path, known: list[str]) -> Cost:
    """Of a process of its own."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, __file__, "--stage", stage, str(survey), str(table), *known])
    done, own = 0, 0.0
    while not done:
        own = max(own, own_memory_of(process.pid))
        time.sleep(1 / LOOKS_A_SECOND)
        done, status, used = os.wait4(process.pid, os.WNOHANG)
    if status:
        raise SystemExit(f"{stage} of {survey} failed")
    seconds = time.perf_counter() - start
    return Cost(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e9, own)


def own_memory_of(pid: int) -> float:
    """In GB, without pages of files; 0 where the system does not say."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) * 1024 / 1e9 for line in lines if line.startswith("RssAnon:"))


def survey_of(n: int, folder: Path) -> Survey:
    """The one that is kept there, or a new one."""
    path = folder / f"{n}.survey"
    if path.exists():
        return Survey.open(path)
    if n > LARGEST_SIMULATED:  # each common spectrum several times, with fresh noise
        return replicate(survey_of(LARGEST_SIMULATED, folder), path, n, "CARBON")
    return simulate_survey(SkyChoice(n, (("carbon", min(450, n * 45 // 10_000)),), seed=n), path)


def costs_of(survey: Survey, more: Survey, folder: Path) -> dict[str, Cost]:
    rare = np.sort(survey.ids[survey.catalogue["class"] == "CARBON"].astype(str))
    known = np.random.default_rng(1).choice(rare, N_KNOWN, replace=False).tolist()
    copy, table = bare(survey.path, folder / f"{len(survey)}.survey"), folder / f"{len(survey)}.ecsv"
    (folder / MORE).unlink(missing_ok=True)
    (folder / MORE).symlink_to(more.path.resolve())
    costs = {stage: cost_of(stage, copy, table, known) for stage in STAGES[:-1]}
    found = f"{n_found(table, set(rare) - set(known))} of {len(rare) - N_KNOWN}"
    own_files(copy)
    costs["append"] = cost_of("append", copy, table, known)
    print(f"{len(survey):9d}   {'   '.join(map(in_words, costs.values()))}   {found}", flush=True)
    return costs


def own_files(survey: Path) -> None:
    """Have a survey of links write into folders of its own; files are replaced there, never changed."""
    for link in [path for path in survey.iterdir() if path.is_symlink()]:
        place = link.resolve()
        link.unlink()
        copy_of_file = os.link if place.stat().st_dev == survey.stat().st_dev else shutil.copy
        if place.is_dir():
            shutil.copytree(place, link, copy_function=copy_of_file)
        else:
            shutil.copy(place, link)


def in_words(cost: Cost) -> str:
    return (
        f"{cost.seconds:6.1f} s {cost.processor_seconds:6.1f} s {cost.gigabytes:5.2f} GB {cost.own_gigabytes:5.2f} GB"
    )


def n_found(table: Path, others: set[str]) -> int:
    from astropy.table import Table

    return len(others & set(map(str, Table.read(table)["id"][: len(others)])))


def draw(found: dict[int, dict[str, Cost]], path: Path) -> None:
    from rarespec.plots.canvas import BLUE, RED, empty_figure, save

    figure = empty_figure(7.0, 3.0)
    panels = figure.subplots(1, 2)
    colours = dict(zip(STAGES, (BLUE, RED, "black", "grey", "orange"), strict=True))
    for panel, name in zip(panels, ("seconds", "gigabytes"), strict=True):
        for stage in STAGES:
            values = [getattr(costs[stage], name) for costs in found.values()]
            panel.plot(list(found), values, "o-", color=colours[stage], label=stage, markersize=4)
        panel.set(xlabel="spectra", ylabel=name, xscale="log")
    panels[0].set_yscale("log")
    panels[1].set_ylim(0, None)
    panels[1].legend(frameon=False, loc="upper left")  # where no line is
    save(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--surveys", type=Path, help="where the mock surveys are kept, or are made")
    parser.add_argument("--work", type=Path, help="where features are kept meanwhile")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--stage", nargs="+", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.stage:
        stage, survey, table, *known = asked.stage
        RUNS[stage](survey, table, known)
        return
    with tempfile.TemporaryDirectory(dir=asked.work) as folder:
        print(f"{'spectra':>9s}   " + "   ".join(f"{stage:>35s}" for stage in STAGES) + "   rare found")
        kept = asked.surveys or Path(folder) / "made"
        kept.mkdir(parents=True, exist_ok=True)
        found = {
            n: costs_of(survey_of(n, kept), survey_of(min(n, LARGEST_SIMULATED), kept), Path(folder)) for n in asked.n
        }
    if asked.plot:
        draw(found, asked.plot)


if __name__ == "__main__":
    main()
