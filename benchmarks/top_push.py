"""BaggingTopPush against the published solver, scikit-learn's OneClassSVM and pulearn's bagging: seconds and growth.

    python benchmarks/top_push.py [--n 100000] [--rounds 5] [--without-pulearn] [--without-growth]

Features are those of the paper, (n + 450, 50) float32, from a mock survey; 10 known carbon stars, 50 bags of 200, lam
100, relative duality gap <= 1e-4. Rounds are interleaved and the best one counts. The published scheme gets the same
bags and runs until its own gap is as small; both answers are compared. Needs pulearn (the extra `benchmark`).
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.svm import SVC, OneClassSVM

from mock_features import mock_features
from rarespec.evaluation import roc_auc_of_scores
from rarespec.rankers.toppush.bagging_top_push import BaggingTopPush
from rarespec.rankers.toppush.nesterov import solve_published
from rarespec.rankers.toppush.problem import LOSSES, Objective, stack_solutions
from timing import best_of, timed

T, K, LAM, GAP, KNOWN = 50, 200, 100.0, 1e-4, 10


def ours(n_bags: int = T, bag_size: int = K, keep_bags: bool = False) -> BaggingTopPush:
    return BaggingTopPush(n_bags, bag_size, LAM, tol=GAP, keep_bags=keep_bags, random_state=0)


def published(X: np.ndarray, y: np.ndarray, bags: np.ndarray, until_gap: bool = True) -> list:
    positives, objective = X[y == 1].astype(float), Objective(LOSSES["truncated-quadratic"], LAM)
    return [solve_published(positives, X[rows].astype(float), objective, GAP, 10**6, until_gap) for rows in bags]


def against_published(X: np.ndarray, y: np.ndarray, rounds: int) -> None:
    bags = ours(keep_bags=True).fit(X, y).bag_rows_
    best, results = best_of({"ours": lambda: ours().fit(X, y), "published": lambda: published(X, y, bags)}, rounds)
    own, theirs = results["ours"], stack_solutions(results["published"])
    weights = [own.coef_, theirs.weights.mean(axis=0)]
    cosine = weights[0] @ weights[1] / np.linalg.norm(weights[0]) / np.linalg.norm(weights[1])
    first = [set(np.argsort(-(X @ w))[:1000]) for w in weights]
    print(f"fit until the relative gap is {GAP:g}: {best['ours']:.4f} s; published Nesterov scheme", end=" ")
    ratio = best["published"] / best["ours"]
    print(f"{best['published']:.3f} s, {theirs.n_iter.mean():.0f} iterations a bag: {ratio:.0f} times")
    print(f"  worst gaps {own.relative_gap_:.1e} and {theirs.relative_gap.max():.1e}, cosine of the weights", end=" ")
    print(f"{cosine:.6f}, {len(first[0] & first[1])} of the first 1000 rows shared")
    assert cosine > 0.999, "the two solvers disagree"
    early = stack_solutions(published(X, y, bags, until_gap=False)).relative_gap
    print(
        f"  the published stopping rule ends at gaps of {100 * early.min():.1f} to {100 * early.max():.1f} %,", end=" "
    )
    print(f"{100 * np.median(early):.1f} % in the median")


def against_one_class_svm(X: np.ndarray, y: np.ndarray, rounds: int) -> None:
    known = X[y == 1]
    best, _ = best_of(
        {
            "ours": lambda: ours().fit(X, y).rank(X),
            "OneClassSVM": lambda: OneClassSVM().fit(known).decision_function(X),
        },
        rounds,
    )
    ratio = best["ours"] / best["OneClassSVM"]
    peer = f"OneClassSVM fit + score {best['OneClassSVM']:.3f} s"
    print(f"fit + score + sort {best['ours']:.3f} s; {peer}: {ratio:.2f} times")


def against_pulearn(X: np.ndarray, y: np.ndarray, rare: np.ndarray) -> None:
    from pulearn import BaggingPuClassifier

    peer = BaggingPuClassifier(SVC(kernel="linear"), n_estimators=T, max_samples=K, random_state=0)
    peer_time = timed(lambda: peer.fit(X, y))[0]
    own_time = timed(lambda: ours().fit(X, y))[0]
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
        return min(timed(lambda: ours(n_bags, bag_size).fit(X[:, :d], y))[0] for _ in range(rounds))

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
