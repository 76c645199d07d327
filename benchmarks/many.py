"""A search for many kinds at once against one search for each.

    python benchmarks/many.py [--n 100000] [--kinds 50] [--singles 5] [--survey mock.survey]

Ours: `rarespec.search_many(survey, kinds)` on a survey that keeps its features and graphs, reading them included.
Peer: `rarespec.search(survey, known)` for one kind after the other, each on a survey opened anew.

Kinds are the subclasses of the mock sky of which there are most, one of every class first, with 1 to 30 known examples
each. Before anything is timed, the first kinds are searched both ways, and their tables must be equal. Seconds of the
processors are printed beside those on the clock, since others may use the machine.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import rarespec
from rarespec.mock.simulate import SkyChoice, simulate_survey

N_RARE, MOST_KNOWN = 450, 30


def survey_at(path: Path, n: int) -> rarespec.Survey:
    """The one that is kept there, or a new one."""
    if path.exists():
        return rarespec.Survey.open(path)
    return simulate_survey(SkyChoice(n, (("carbon", N_RARE),), seed=1), path)


def choose_kinds(survey: rarespec.Survey, n_kinds: int) -> dict[str, list[str]]:
    """Kind -> ids of its known examples, 1 to MOST_KNOWN of them in turn."""
    rng, ids = np.random.default_rng(1), survey.ids.astype(str)
    classes, subclasses = (survey.catalogue[name].astype(str) for name in ("class", "subclass"))
    names = np.char.add(np.char.add(classes, "-"), subclasses)
    kinds, counts = np.unique(names, return_counts=True)
    enough = counts > 2 * MOST_KNOWN
    kinds, counts = kinds[enough], counts[enough]
    first = [int(np.argmax(np.where(np.char.startswith(kinds, f"{one}-"), counts, -1))) for one in np.unique(classes)]
    chosen = list(dict.fromkeys([*first, *np.argsort(-counts).tolist()]))[:n_kinds]
    n_known = np.linspace(1, MOST_KNOWN, len(chosen)).round().astype(int)
    rng.shuffle(n_known)
    return {
        name_of(kinds[i]): rng.choice(ids[names == kinds[i]], n, replace=False).tolist()
        for i, n in zip(chosen, n_known, strict=True)
    }


def name_of(kind: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in kind).strip("-")


def cost_of(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds on the clock, seconds of the processors, and the result."""
    clock, processors = time.perf_counter(), time.process_time()
    result = work()
    return time.perf_counter() - clock, time.process_time() - processors, result


def require_equal(kind: str, one: rarespec.Ranking, other: rarespec.Ranking) -> None:
    """Stop unless both tables hold the same, scores and chances up to rounding."""
    if one.table.colnames != other.table.colnames or len(one) != len(other):
        raise SystemExit(f"{kind}: the tables have other columns or lengths")
    for name in one.table.colnames:
        a, b = one.table[name], other.table[name]
        same = np.allclose(a, b, rtol=1e-9, equal_nan=True) if a.dtype.kind == "f" else bool((a == b).all())
        if not same:
            raise SystemExit(f"{kind}: the columns {name} differ")


def compare(path: Path, kinds: dict[str, list[str]], n_singles: int) -> None:
    def single(kind: str) -> rarespec.Ranking:
        return rarespec.search(rarespec.Survey.open(path), kinds[kind])

    some = list(kinds)[:: max(len(kinds) // n_singles, 1)][:n_singles]
    single(some[0])  # features and graphs are kept from now on
    singles = {kind: cost_of(lambda kind=kind: single(kind)) for kind in some[: n_singles // 2]}
    clock, processors, rankings = cost_of(lambda: rarespec.search_many(rarespec.Survey.open(path), kinds))
    singles |= {kind: cost_of(lambda kind=kind: single(kind)) for kind in some[n_singles // 2 :]}
    for kind, (_, _, ranking) in singles.items():
        require_equal(kind, rankings[kind], ranking)
    one_clock, one_processors = (float(np.mean([cost[i] for cost in singles.values()])) for i in (0, 1))
    n_ids = len({id for ranking in rankings.values() for id in ranking.table["id"]})
    print(f"  tables of {len(singles)} kinds are equal; {n_ids} different candidates in all")
    print(f"  one kind alone: {one_clock:.1f} s, {one_processors:.1f} s of processors (mean of {len(singles)})")
    print(f"  {len(rankings)} kinds at once: {clock:.1f} s, {processors:.1f} s of processors")
    print(f"  {len(rankings)} kinds in the time of {clock / one_clock:.1f} on the clock, ", end="")
    print(f"{processors / one_processors:.1f} by processors")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100_000, help="common spectra of the mock survey")
    parser.add_argument("--kinds", type=int, default=50, help="kinds to search for")
    parser.add_argument("--singles", type=int, default=5, help="kinds that are searched by themselves as well")
    parser.add_argument("--survey", type=Path, help="where the mock survey is kept, or is made")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        survey = survey_at(asked.survey or Path(folder) / "mock.survey", asked.n)
        kinds = choose_kinds(survey, asked.kinds)
        print(f"{len(survey)} spectra, {len(kinds)} kinds of 1 to {max(map(len, kinds.values()))} known examples")
        compare(survey.path, kinds, asked.singles)


if __name__ == "__main__":
    main()
