"""How often the interval of a paired difference covers the true mean difference, and how often a bootstrap's does.

    python benchmarks/paired_coverage.py [--repeats 2000] [--resamples 999] [--seed 1]

Values are drawn in two ways. "skewed": between 0 and 1 as average precisions are, beta(8, 1.5) for the one method and
beta(5, 2) for the other. "rare failures": the other method does as well as the first to 2 %, but in one draw of ten it
is left with a tenth of that. The peer is the bootstrap interval of SciPy (BCa). Both intervals are of 95 %.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rarespec.evaluation import paired_difference

NUMBERS_OF_DRAWS = (5, 10, 20, 50)
MEAN, OTHER_MEAN = 8 / 9.5, 5 / 7
FAILING, LEFT_OF_A_FAILURE = 0.1, 0.1

Values = NDArray[np.float64]
"""(repeats, draws)"""


def main() -> None:
    options = parsed()
    truths = {skewed: MEAN - OTHER_MEAN, rare_failures: MEAN * FAILING * (1 - LEFT_OF_A_FAILURE)}
    print("values         draws  t interval  bootstrap")
    for draw, truth in truths.items():
        for n in NUMBERS_OF_DRAWS:
            rng = np.random.default_rng([options.seed, n])
            a, b = draw(rng, (options.repeats, n))
            t, bootstrap = covered_by_t(a, b, truth), covered_by_bootstrap(a - b, truth, options.resamples, rng)
            print(f"{draw.__name__.replace('_', ' '):14} {n:5d} {t:11.1%} {bootstrap:10.1%}", flush=True)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {"--repeats": 2000, "--resamples": 999, "--seed": 1}.items():
        parser.add_argument(name, type=int, default=default)
    return parser.parse_args()


def skewed(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Values, Values]:
    return rng.beta(8, 1.5, shape), rng.beta(5, 2, shape)


def rare_failures(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Values, Values]:
    a = rng.beta(8, 1.5, shape)
    return a, a * np.where(rng.random(shape) < FAILING, LEFT_OF_A_FAILURE, rng.normal(1, 0.02, shape))


def covered_by_t(a: Values, b: Values, truth: float) -> float:
    found = [paired_difference(one, other) for one, other in zip(a, b, strict=True)]
    return float(np.mean([difference.low <= truth <= difference.high for difference in found]))


def covered_by_bootstrap(differences: Values, truth: float, resamples: int, rng: np.random.Generator) -> float:
    found = (stats.bootstrap((one,), np.mean, n_resamples=resamples, rng=rng) for one in differences)
    intervals = [result.confidence_interval for result in found]
    return float(np.mean([interval.low <= truth <= interval.high for interval in intervals]))


if __name__ == "__main__":
    main()
