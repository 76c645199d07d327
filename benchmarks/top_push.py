"""BaggingTopPush against the published solver, scikit-learn's OneClassSVM and pulearn's bagging: seconds and growth.

    python benchmarks/top_push.py [--n 100000] [--rounds 5] [--without-pulearn] [--without-growth]

Features are those of the paper, (n + 450, 50) float32, from a mock survey; 10 known carbon stars, 50 bags of 200, lam 100,
relative duality gap <= 1e-4. Rounds are interleaved and the best one counts. The published scheme gets the same bags and
runs until its own gap is as small; both answers are compared. Needs pulearn (the extra `benchmark`) for the last peer.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from mock_features import mock_features
from sklearn.svm import SVC, OneClassSVM

from rarespec.evaluation import roc_auc_of_scores
from rarespec.rankers._push_loss import LOSSES
from rarespec.rankers._push_nesterov import solve_published
from rarespec.rankers._push_problem import Objective
from rarespec.rankers.bagging_top_push import BaggingTopPush

T, K, LAM, GAP, KNOWN = 50, 200, 100.0, 1e-4, 10


def seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def best_of(functions: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Best seconds of each, rounds interleaved."""
    best = dict.fromkeys(functions, np.inf)
    for _ in range(rounds):
        for name, function in functions.items():
            best[name] = min(best[name], seconds(function))
    return best


def ours(n_bags: int = T, bag_size: int = K, keep_bags: bool = False) -> BaggingTopPush:
    return BaggingTopPush(n_bags, bag_size, LAM, tol=GAP, keep_bags=keep_bags, random_state=0)


def published(X: np.ndarray, y: np.ndarray, bags: np.ndarray) -> list:
    positives, objective = X[y == 1].astype(float), Objective(LOSSES["truncated-quadratic"], LAM)
    return [solve_published(positives, X[rows].astype(float), objective, GAP, 10**6, until_gap=True) for rows in bags]


def against_published(X: np.ndarray, y: np.ndarray, rounds: int) -> None:
    fitted = ours(keep_bags=True).fit(X, y)
    reference = published(X, y, fitted.bag_rows_)
    weights = np.concatenate([solution.weights for solution in reference])
    worst = max(np.max(solution.relative_gap) for solution in reference)
    cosine = (
        np.sum(weights.mean(axis=0) * fitted.coef_)
        / np.linalg.norm(weights.mean(axis=0))
        / np.linalg.norm(fitted.coef_)
    )
    ranks = [set(np.argsort(-(X @ w))[:1000]) for w in (fitted.coef_, weights.mean(axis=0))]
    best = best_of({"ours": lambda: ours().fit(X, y), "published": lambda: published(X, y, fitted.bag_rows_)}, rounds)
    print(
        f"fit to a relative gap of {GAP:g}: interior point {best['ours']:.4f} s (worst gap {fitted.relative_gap_:.1e}),"
    )
    print(f"  published Nesterov scheme {best['published']:.3f} s (worst gap {worst:.1e}, ", end="")
    print(
        f"{np.mean([s.n_iter[0] for s in reference]):.0f} iterations a bag): {best['published'] / best['ours']:.0f} times"
    )
    print(f"  cosine of the two weight vectors {cosine:.6f}, {len(ranks[0] & ranks[1])} of the first 1000 rows shared")
    assert cosine > 0.999, "the two solvers disagree"


def against_one_class_svm(X: np.ndarray, y: np.ndarray, rounds: int) -> None:
    known = X[y == 1]
    best = best_of(
        {
            "ours": lambda: ours().fit(X, y).rank(X),
            "OneClassSVM": lambda: OneClassSVM().fit(known).decision_function(X),
        },
        rounds,
    )
    ratio = best["ours"] / best["OneClassSVM"]
    print(
        f"fit + score + sort {best['ours']:.3f} s; OneClassSVM fit + score {best['OneClassSVM']:.3f} s: {ratio:.2f} times"
    )


def against_pulearn(X: np.ndarray, y: np.ndarray, rare: np.ndarray) -> None:
    from pulearn import BaggingPuClassifier

    peer = BaggingPuClassifier(SVC(kernel="linear", probability=False), n_estimators=T, max_samples=K, random_state=0)
    peer_time = seconds(lambda: peer.fit(X, y))
    own_time = seconds(lambda: ours().fit(X, y))
    unlabelled = y == 0
    scores = ours().fit(X, y).decision_function(X)
    print(
        f"pulearn BaggingPuClassifier, same T and K, fit {peer_time:.1f} s: {peer_time / own_time:.0f} times;", end=" "
    )
    auc = roc_auc_of_scores(scores[unlabelled], rare[unlabelled])
    print(f"AUC {auc:.4f}, theirs {roc_auc_of_scores(peer.predict_proba(X)[unlabelled, 1], rare[unlabelled]):.4f}")


def growth(X: np.ndarray, rare: np.ndarray, rounds: int) -> None:
    """Fit time against each size, the others at the paper's values."""
    rows = np.flatnonzero(rare)

    def fit(known: int = KNOWN, bag_size: int = K, n_bags: int = T, d: int = 50) -> float:
        y = np.isin(np.arange(len(X)), rows[:known])
        return min(seconds(lambda: ours(n_bags, bag_size).fit(X[:, :d], y)) for _ in range(rounds))

    for name, values in {
        "known": (1, 3, 10, 30, 100, 300),
        "bag_size": (20, 50, 100, 200, 500, 1000, 2000),
        "n_bags": (10, 50, 100, 200),
        "d": (5, 10, 20, 50),
    }.items():
        print(f"  {name:9s}" + "  ".join(f"{value}: {1e3 * fit(**{name: value}):.0f} ms" for value in values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--without-pulearn", action="store_true")
    parser.add_argument("--without-growth", action="store_true")
    arguments = parser.parse_args()
    X, rare = mock_features(arguments.n, 450, seed=1)
    y = np.zeros(len(X), dtype=int)
    y[np.random.default_rng(0).choice(np.flatnonzero(rare), KNOWN, replace=False)] = 1
    print(f"{len(X)} rows of {X.shape[1]} features, {KNOWN} known, {T} bags of {K}, lam {LAM:g}")
    against_published(X, y, min(arguments.rounds, 2))
    against_one_class_svm(X, y, arguments.rounds)
    if not arguments.without_pulearn:
        against_pulearn(X, y, rare)
    if not arguments.without_growth:
        growth(X, rare, arguments.rounds)


if __name__ == "__main__":
    main()
