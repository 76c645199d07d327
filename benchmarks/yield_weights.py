"""Fit the numbers in `rarespec.searching.yields.list_models` that say what counts how much.

    python benchmarks/yield_weights.py lists.npz ... [--left-out CLASS ...] [--decay 0.003]

The files are lists whose members are known, kept by `yield_calibration.py --keep`. The numbers are those under which
the true counts at eleven depths are most likely, averaged over the ways by their weight; counts at neighbouring depths
are nearly the same, and count for a seventh each. Printed: the numbers, and the mean log likelihood of lists of
classes that were left out of the fit, against the numbers in use.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from rarespec.searching.yields import list_models
from rarespec.searching.yields.list_models import MISSED, SHARES, SHARPNESS, WEIGHTS, ListModels
from yield_calibration import Query, kept_lists

DEPTHS = np.array([5, 10, 20, 50, 100, 200, 500, 1000, 2000, 4000])
INDEPENDENT = 1 / 1.5
"""Weight of each depth."""

Case = tuple[NDArray[np.float32], NDArray[np.float32]]
"""(ways, terms), and (ways,) the log likelihood of the true counts."""


def cases_of(queries: list[Query]) -> Iterator[Case]:
    for query in queries:
        models = ListModels.of_length(len(query.scores))
        shape = models.members.shape
        terms = models.evidence(query.scores, query.hidden_places, query.n_known)
        in_order = [*(terms[name] for name in WEIGHTS), *tables(shape)]
        columns = [np.broadcast_to(term, shape).ravel() for term in in_order]
        places = np.append(DEPTHS[len(query.scores) > DEPTHS], len(query.scores))
        places = models.depths[np.searchsorted(models.depths, places)]
        counts = np.searchsorted(query.true_places, places, side="right")
        fit = INDEPENDENT * models.log_fit(places, counts)
        yield np.stack(columns, axis=1).astype(np.float32), fit.ravel().astype(np.float32)


def tables(shape: tuple[int, ...]) -> list[NDArray[np.float64]]:
    """One term for each value of p, a and f: 1 where the way has it."""
    found = []
    for axis, n in ((3, len(SHARES)), (1, len(SHARPNESS)), (2, len(MISSED))):
        for i in range(n):
            term = np.zeros([n if other == axis else 1 for other in range(4)])
            term.flat[i] = 1.0
            found.append(term)
    return found


def in_use() -> NDArray[np.float64]:
    values = (list_models.SHARE_WEIGHTS, list_models.SHARPNESS_WEIGHTS, list_models.MISSED_WEIGHTS)
    return np.concatenate([list(WEIGHTS.values()), *values])


def loss(weights: NDArray[np.float64], cases: list[Case], decay: float) -> tuple[float, NDArray[np.float64]]:
    """Minus the mean log likelihood, and its gradient."""
    total, gradient = 0.0, np.zeros(len(weights))
    for terms, fit in cases:
        log_weights = terms @ weights.astype(np.float32)
        best = fit.max()
        before = np.exp(log_weights - log_weights.max())
        after = before * np.exp(fit - best)
        total -= float(best + np.log(after.sum() / before.sum())) / len(cases)
        gradient -= (after / after.sum() - before / before.sum()) @ terms / len(cases)
    return total + decay * float(weights @ weights), gradient + 2 * decay * weights


def fitted(cases: list[Case], decay: float) -> NDArray[np.float64]:
    """Fit from the numbers in use."""
    return minimize(loss, in_use(), (cases, decay), "L-BFGS-B", jac=True, options={"maxiter": 60}).x


def print_weights(weights: NDArray[np.float64]) -> None:
    for name, value in zip(WEIGHTS, weights, strict=False):
        print(f'    "{name}": {value:.2f},')
    ends = np.cumsum([len(WEIGHTS), len(SHARES), len(SHARPNESS), len(MISSED)])
    for name, i, j in zip(("SHARE", "SHARPNESS", "MISSED"), ends[:-1], ends[1:], strict=True):
        print(f"{name}_WEIGHTS = np.array([{', '.join(f'{value:.2f}' for value in weights[i:j])}])")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path, nargs="+")
    parser.add_argument("--left-out", nargs="+", default=[], help="classes that are judged only")
    parser.add_argument("--decay", type=float, default=0.003)
    chosen = parser.parse_args()
    queries = [query for path in chosen.lists for query in kept_lists(path)]
    cases = list(cases_of(queries))
    is_out = [query.rare in chosen.left_out for query in queries]
    taken, left = ([case for case, out in zip(cases, is_out, strict=True) if out is side] for side in (False, True))
    weights = fitted(taken, chosen.decay)
    print_weights(weights)
    for name, some in (("fitted", taken), ("left out", left)):
        if some:
            ours, used = (-loss(one, some, 0.0)[0] for one in (weights, in_use()))
            print(f"{len(some)} lists {name}: log likelihood {ours:.3f}, with the numbers in use {used:.3f}")


if __name__ == "__main__":
    main()
