"""Could known examples have been in the ranked lists of the paper's Table 1? What that does to AUC, method by method.

    python benchmarks/printed_auc.py OUT/results.parquet

The AUC of LP and LRGA falls with NP in the paper, from 3 known on, that of EMR from 15; all three rise here. One
explanation: the NP known examples, or as many other objects, stayed in the list that was judged. Where they stand in it
decides what is printed:

    left out        AUC of the hidden alone, a, which is what we report
    as wrong ones   known examples at the top count as common objects: a N / (N + NP), for N common objects
    right, on top   they count as rare and stand first: (r a + NP) / (r + NP), for r hidden ones
    right, chance   they count as rare and stand anywhere: (r a + NP / 2) / (r + NP)
    right, last     they count as rare and stand last: r a / (r + NP)

Printed: the paper's value, the a that each explanation needs to give it (more than 1 is impossible), and, from the
trials of an experiment, what our own a would have been printed as. A fall that an explanation brings about is in both.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import pyarrow.parquet as pq

from rarespec.evaluation.experiment.methods import PAPER_METHODS, method
from rarespec.evaluation.experiment.metric_table import PUBLISHED_AUC
from rarespec.evaluation.experiment.setting import N_KNOWN

N_RARE, N_COMMON = 450, 100_000
"""In the paper."""

Printed = Callable[[float, int], float]
"""AUC of the hidden, number of known -> what is printed."""


def at(level: float) -> Printed:
    """Known examples count as rare and stand before this share of the common objects."""
    return lambda a, n: ((N_RARE - n) * a + n * level) / N_RARE


EXPLANATIONS: dict[str, Printed] = {
    "left out": lambda a, n: a,
    "as wrong ones": lambda a, n: a * N_COMMON / (N_COMMON + n),
    "right, on top": at(1.0),
    "right, chance": at(0.5),
    "right, last": at(0.0),
}


def needed(printed: Printed, value: float, n_known: int) -> float:
    """The AUC of the hidden that is printed as this value; all explanations are straight lines in it."""
    zero, one = printed(0.0, n_known), printed(1.0, n_known)
    return (value - zero) / (one - zero)


def measured(path: str) -> dict[tuple[str, int], float]:
    """(method, number of known) -> mean AUC over the trials of an experiment."""
    table = pq.read_table(path, columns=["method", "n_known", "auc"]).to_pydict()
    values: dict[tuple[str, int], list[float]] = {}
    for name, n_known, auc in zip(table["method"], table["n_known"], table["auc"], strict=True):
        values.setdefault((name, n_known), []).append(auc)
    return {cell: float(np.mean(aucs)) for cell, aucs in values.items()}


def line(title: str, values: list[float | None]) -> str:
    cells = ["     -" if value is None else f"{value:6.3f}{'!' if value > 1.0005 else ' '}" for value in values]
    return f"  {title:38s}" + " ".join(f"{cell:7s}" for cell in cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", help="results.parquet of an experiment")
    ours = measured(parser.parse_args().results)
    print(f"  {'NP':38s}" + " ".join(f"{n:6d} " for n in N_KNOWN) + "   (! is more than 1: impossible)")
    for name in PAPER_METHODS:
        print(method(name).label)
        print(line("printed in the paper", [PUBLISHED_AUC[name, n].mean for n in N_KNOWN]))
        for title, printed in EXPLANATIONS.items():
            print(line(f"needed, {title}", [needed(printed, PUBLISHED_AUC[name, n].mean, n) for n in N_KNOWN]))
        for title, printed in EXPLANATIONS.items():
            found = [ours.get((name, n)) for n in N_KNOWN]
            as_printed = [None if a is None else printed(a, n) for a, n in zip(found, N_KNOWN, strict=True)]
            print(line(f"ours, {title}", as_printed))


if __name__ == "__main__":
    main()
