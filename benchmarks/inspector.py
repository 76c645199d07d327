"""How quick the inspector's page is: from a key press to the next spectrum on the screen, and to a new ranking.

    python benchmarks/inspector.py [--survey DIRECTORY] [--n 20000] [--rare CARBON] [--known 10] [--seed 1]
                                   [--labels 100] [--pause 0.5]

`rarespec inspect` serves the survey (a mock survey of n spectra when none is given), and headless Chromium, by
Playwright, opens the page and labels candidates by key presses, answered from the catalogue: y for the rare class, n
for all others. The ranking learns after every ten labels. With a pause before each key press, as of a person who looks,
and without any. Labels are kept in a temporary folder.

All times are taken in the page: from the time stamp of the key press to the frame after the drawing. The peer is the
same page that does not fetch ahead: each spectrum is asked for when its turn comes. Printed: median and worst of each,
and the ratio of the medians; and what the re-rankings take by themselves, also in time of processors, which a busy
machine does not lengthen. It ends with an error unless the log holds what was pressed, in that order.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from playwright.sync_api import Page, sync_playwright

from rarespec.labels.campaign import Campaign
from rarespec.labels.event import Label
from rarespec.labels.log import LabelLog
from rarespec.mock.simulate import SkyChoice, simulate_survey
from rarespec.survey import Survey

SIZE = {"width": 1920, "height": 1080}
MOST_MS = 120_000

WATCH = """() => {
  window.drawn = [], window.reranked = [];
  let pressed = 0, began = 0;
  const painted = (act) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => act(performance.now());
    port2.postMessage(0);
  });
  document.addEventListener("keydown", (event) => (pressed = event.timeStamp), true);
  new MutationObserver(() => {
    if (!document.getElementById("plot").dataset.shown || !pressed) return;
    const since = pressed;
    pressed = 0;
    painted((now) => window.drawn.push(now - since));
  }).observe(document.getElementById("plot"), { attributeFilter: ["data-shown"] });
  new MutationObserver(() => {
    if (document.getElementById("relearn").hasAttribute("aria-busy")) began = performance.now();
    else painted((now) => window.reranked.push(now - began));
  }).observe(document.getElementById("relearn"), { attributeFilter: ["aria-busy"] });
}"""

DO_NOT_FETCH_AHEAD = """async () => {
  const { Spectra } = await import("/static/prefetch.js");
  Spectra.prototype.fetchAhead = async () => {};
  Spectra.prototype.now = Spectra.prototype.before = () => undefined;
}"""


class Pressed(NamedTuple):
    """Milliseconds to each next spectrum and of each re-ranking, seconds for all labels, and what was pressed."""

    drawn: list[float]
    reranked: list[float]
    seconds: float
    labels: list[tuple[str, str]]
    is_paused: bool


@contextmanager
def inspector(survey: Survey, known: list[str], log: Path) -> Iterator[str]:
    """The address of `rarespec inspect` in a process of its own."""
    command = [sys.executable, "-m", "rarespec", "inspect", str(survey.path), "--no-browser", "--log", str(log)]
    given = [word for id in known for word in ("--known", id)]
    process = subprocess.Popen([*command, *given], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        yield next(line.split()[-1] for line in process.stdout if line.startswith("open "))
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def labelled(page: Page, classes: dict[str, str], rare: str, n: int, pause: float) -> Pressed:
    """n labels by key presses, each after the spectrum before it was drawn."""
    page.evaluate("() => { window.drawn.length = window.reranked.length = 0 }")
    labels, start = [], time.perf_counter()
    for done in range(n):
        id = page.text_content("#object-id") or ""
        key = "y" if classes[id] == rare else "n"
        time.sleep(pause)
        page.keyboard.press(key)
        page.wait_for_function("n => window.drawn.length > n", arg=done)
        labels.append((id, {"y": "yes", "n": "no"}[key]))
    seconds = time.perf_counter() - start
    page.wait_for_function("() => !document.querySelector('.saving, #relearn[aria-busy]')")
    page.wait_for_load_state("networkidle")
    return Pressed(page.evaluate("window.drawn"), page.evaluate("window.reranked"), seconds, labels, pause > 0)


def measured(address: str, classes: dict[str, str], chosen: argparse.Namespace) -> dict[str, Pressed]:
    """How it was labelled -> what was measured; the peer is the last."""
    with sync_playwright() as starter:
        browser = starter.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(viewport=SIZE)
        page.set_default_timeout(MOST_MS)
        page.goto(address)
        page.wait_for_selector("body[data-ready=true]")
        page.keyboard.press("Enter")
        page.wait_for_selector("#plot[data-shown]")
        page.wait_for_load_state("networkidle")
        page.evaluate(WATCH)
        looking = f"after {chosen.pause:g} s of looking"
        runs = {looking: labelled(page, classes, chosen.rare, chosen.labels, chosen.pause)}
        runs["without a pause"] = labelled(page, classes, chosen.rare, chosen.labels, 0.0)
        page.evaluate(DO_NOT_FETCH_AHEAD)
        runs[f"{looking}, not fetched ahead"] = labelled(page, classes, chosen.rare, chosen.labels, chosen.pause)
        browser.close()
    return runs


def rerankings_alone(survey: Survey, known: list[str], labels: list[tuple[str, str]]) -> list[tuple[float, float]]:
    """Of each re-ranking after ten of these labels, without page and server: milliseconds, and those of processors."""
    campaign, times = Campaign.start(survey, known), []
    for n in range(10, len(labels) + 1, 10):
        began = time.perf_counter(), time.process_time()
        campaign.relearn({id: Label(label) for id, label in labels[:n]})
        times.append((1000 * (time.perf_counter() - began[0]), 1000 * (time.process_time() - began[1])))
    return times


def report(runs: dict[str, Pressed]) -> None:
    for said, run in runs.items():
        print(f"{len(run.labels)} labels {said}: {run.seconds:.1f} s")
        print_times("key press to the next spectrum", run.drawn)
        if run.is_paused:  # else one follows the other, and none can be told from the next
            print_times("re-ranking, to the new list", run.reranked)
    ours, *_, peer = runs.values()
    ratio = np.median(peer.drawn) / np.median(ours.drawn)
    print(f"key press to spectrum, not fetched ahead / fetched ahead: {ratio:.1f}")


def print_times(name: str, ms: list[float]) -> None:
    print(f"  {name:35s} median {np.median(ms):5.0f} ms, worst {np.max(ms):5.0f} ms, {len(ms)} times")


def check_log(log: Path, runs: dict[str, Pressed]) -> None:
    pressed = [label for run in runs.values() for label in run.labels]
    with LabelLog(log, read_only=True) as opened:
        stored = [(event.spectrum, str(event.label)) for _, event in opened.events()]
    if stored != pressed:
        raise SystemExit(f"{log}: {len(stored)} labels that are not the {len(pressed)} that were given")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--survey", type=Path, help="a survey with classes in its catalogue")
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--rare", default="CARBON")
    parser.add_argument("--known", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--pause", type=float, default=0.5)
    chosen = parser.parse_args()
    with TemporaryDirectory() as folder:
        survey, log = opened(chosen, Path(folder)), Path(folder) / "labels.sqlite"
        classes = dict(zip(survey.ids.tolist(), survey.catalogue["class"].tolist(), strict=True))
        members = [id for id, kind in classes.items() if kind == chosen.rare]
        known = np.random.default_rng(chosen.seed).choice(members, chosen.known, replace=False).tolist()
        busy = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
        print(f"{len(survey)} spectra, {len(members)} {chosen.rare}, {len(known)} known; {busy}", flush=True)
        with inspector(survey, known, log) as address:
            runs = measured(address, classes, chosen)
        check_log(log, runs)
        alone = rerankings_alone(survey, known, next(iter(runs.values())).labels)
    report(runs)
    print_times("re-ranking without page and server", [wall for wall, _ in alone])
    print_times("the same, in time of processors", [cpu for _, cpu in alone])


def opened(chosen: argparse.Namespace, folder: Path) -> Survey:
    """The survey asked for, or a mock one with a few hundred of the rare class."""
    if chosen.survey is not None:
        return Survey.open(chosen.survey)
    sky = SkyChoice(chosen.n, ((chosen.rare.lower(), 300),), seed=chosen.seed)
    return simulate_survey(sky, folder / "mock.survey")


if __name__ == "__main__":
    main()
