"""Whether the intervals of the yield curve hold: the true number among the first k against what was said before.

    python benchmarks/yield_calibration.py [--survey mock | --survey PATH/make_survey.py] [--rare CARBON WD ...]
                                           [--n 30000] [--n-rare 0 30 150 600] [--seed 1] [--draws 5]
                                           [--known 3 5 10 30] [--methods lda cosine ...] [--folds 5]
                                           [--looks 20 50 100 200]

Features are those of the paper. From each survey, members of the rare class are dropped until `n-rare` are left, some
of them are known, and the others hidden in the list; 0 stands for a survey in which the known are the only ones. The
peer is the count bound: where hidden known examples land gives the recall R(k), the class cannot have more than
k / R(k) members at any depth k, the least of these at depths with R(k) of a half or more is taken for their number N,
and N R(k) are expected among the first k; its interval is that of a Bayesian bootstrap of the places.

Printed for each class, number of known examples and depth, and for all: the share of queries whose 90 % interval holds
the true number, the median width of the interval and the median of expected - true, both relative to the number of
members in the list; for lists without any the width and `expected` themselves.

With `--looks` campaigns are judged instead, with Auto alone: an inspector who knows the truth looks at the best
candidate, Auto learns after every ten looks, and after so many looks the number that is expected to remain is compared
with the number that does. The peer is the curve from before the first look, less what was found since.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from looks import RankedLooks
from rankings import features_of_survey
from rarespec.evaluation import hide_known
from rarespec.evaluation.experiment.methods import method
from rarespec.labels.event import Label
from rarespec.labels.simulated_inspector import simulate_looks
from rarespec.rankers.ranker import Fit, Preparation
from rarespec.searching.yields.after_looks import yield_after_looks
from rarespec.searching.yields.yield_curve import YieldCurve, places_among, yield_curve

DEPTHS = ("20", "100", "N", "500", "1000", "stop")
METHODS = ["auto", "lda", "cosine", "bagging_top_push", "label_propagation"]
N_BOOTSTRAP = 1000
LEARN_EVERY = 10
"""Looks after which a campaign learns."""

Draw = tuple[Preparation, NDArray, NDArray[np.bool_], NDArray[np.intp]]
"""A ranker, prepared where it can be; (n, d) features; (n,) bool members; rows that are known."""


@dataclass(frozen=True)
class Query:
    """One list, with what is true of it."""

    scores: NDArray[np.float64]
    """(n,) falling."""
    true_places: NDArray[np.int64]
    """(N,) of the members in the list."""
    hidden_places: NDArray[np.int64]
    """(n_known,), or fewer."""
    n_known: int


@dataclass(frozen=True)
class Judged:
    """What was said of one depth of one list, and what is true."""

    rare: str
    method: str
    n_known: int
    n_members: int
    depth: str
    true: int
    ours: tuple[float, float, float]
    """expected, low, high."""
    peer: tuple[float, float, float]


def judged_fit(fit: Fit, rare: NDArray[np.bool_], known: NDArray[np.intp]) -> Query:
    """Of a ranker that hides known examples itself."""
    listed = ~np.isin(np.arange(len(fit.X)), known)
    order = np.lexsort((rare[listed], -fit.scores[listed]))
    falling = np.sort(fit.edge_scores[listed])[::-1]
    places = places_among(fit.scores[listed], fit.hidden_scores)
    return Query(falling, np.flatnonzero(rare[listed][order]) + 1, places, len(known))


def asked(preparation: Preparation, X: NDArray, rare: NDArray[np.bool_], known: NDArray[np.intp], folds: int) -> Query:
    y = np.zeros(len(X), np.int8)
    y[known] = 1
    fit = preparation.fit(y == 1)
    if fit.hidden_scores is not None:
        return judged_fit(fit, rare, known)
    hidings = list(hide_known(y, folds))
    labels = np.column_stack([y, *(hiding.y for hiding in hidings)]).astype(float)
    scores, *of_folds = preparation.scores_for(labels).T
    listed = y == 0
    order = np.lexsort((rare[listed], -scores[listed]))
    pairs = zip(hidings, of_folds, strict=True)
    places = [places_among(fold[listed], fold[hiding.hidden]) for hiding, fold in pairs]
    return Query(scores[listed][order], np.flatnonzero(rare[listed][order]) + 1, np.concatenate(places), len(known))


def peer_curves(hidden_places: NDArray[np.int64], n: int, seed: int) -> tuple[NDArray, NDArray[np.int64]]:
    """Members expected from each hidden place on, (bootstrap, m), and the places, (m,) rising: the count bound."""
    places = np.sort(np.minimum(hidden_places, n))
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(places)), N_BOOTSTRAP)
    recall = np.cumsum(weights, axis=1)
    deep = np.where(recall >= 0.5, places / recall, np.inf)  # the bound from a place or two is wild
    members = deep.min(axis=1, keepdims=True)
    return members * recall, places


def peer_said(curves: NDArray, places: NDArray[np.int64], k: int) -> tuple[float, float, float]:
    reached = np.searchsorted(places, k, side="right")
    counts = np.minimum(curves[:, reached - 1], k) if reached else np.zeros(len(curves))
    low, high = np.quantile(counts, [0.05, 0.95])
    return float(counts.mean()), float(np.floor(low)), float(np.ceil(high))


def depth_of(name: str, curve: YieldCurve, n_members: int, n: int) -> int:
    place = {"N": n_members, "stop": curve.stopping_rank or 0}.get(name)
    return min(max(int(name) if place is None else place, 1), n)


def judged(query: Query, rare: str, name: str, seed: int) -> Iterator[Judged]:
    """One for each depth; none if the curve cannot tell."""
    n, n_known, n_members = len(query.scores), query.n_known, len(query.true_places)
    curve = yield_curve(query.scores, query.hidden_places, n_known)
    peer = peer_curves(query.hidden_places, n, seed)
    for depth in DEPTHS if curve.can_tell else ():
        k = depth_of(depth, curve, n_members, n)
        true = int((query.true_places <= k).sum())
        ours = (curve.expected[k - 1], curve.low[k - 1], curve.high[k - 1])
        yield Judged(rare, name, n_known, n_members, depth, true, ours, peer_said(*peer, k))


def figures(cases: list[Judged], whose: str) -> str:
    said = np.array([getattr(case, whose) for case in cases])
    true, members = np.array([(case.true, max(case.n_members, 1)) for case in cases]).T
    holds = np.mean((said[:, 1] <= true) & (true <= said[:, 2]))
    width, bias = (said[:, 2] - said[:, 1]) / members, (said[:, 0] - true) / members
    return f"{holds:5.2f} {np.median(width):6.2f} {np.median(bias):+6.2f}"


def print_rows(title: str, cases: list[Judged], *keys: str) -> None:
    """One line for each combination of the values of `keys`, in the order in which they come."""
    groups: dict[tuple, list[Judged]] = {}
    for case in cases:
        groups.setdefault(tuple(getattr(case, key) for key in keys), []).append(case)
    print(f"\n{title}\n{'':38s}  cases   holds  width   bias | peer holds  width   bias")
    for key, group in groups.items():
        name = "  ".join(f"{value!s:>10s}" for value in key)
        print(f"{name:38s}{len(group):7d}   {figures(group, 'ours')} |      {figures(group, 'peer')}")


class WatchedLooks(RankedLooks):
    """A campaign of Auto that notes what is said to remain after some of the looks.

    said : number of looks -> curve of what is left, members found; 0 for before the first look
    """

    def __init__(self, prepared: Preparation, X: NDArray, known: NDArray[np.intp], watched: list[int]) -> None:
        super().__init__(prepared, X, known)
        self.watched = watched
        self.said = {0: (self._curve({}), 0)}

    def relearn(self, labels: Mapping[str, Label]) -> None:
        super().relearn(labels)
        if len(labels) in self.watched:
            self.said[len(labels)] = self._curve(labels), self.n_found

    def _curve(self, labels: Mapping[str, Label]) -> YieldCurve:
        listed = np.ones(len(self.X), bool)
        listed[[*self.start, *map(int, labels)]] = False
        falling = np.sort(self.fit.edge_scores[listed])[::-1]
        return yield_after_looks(falling, self.hidden, len(self.start), self.n_looked, self.n_found)


def judged_looks(draw: Draw, rare: str, looks: list[int]) -> Iterator[Judged]:
    """One for each number of looks; none if the curve cannot tell."""
    prepared, X, is_rare, known = draw
    campaign = WatchedLooks(prepared, X, known, looks)
    members = np.setdiff1d(np.flatnonzero(is_rare), known)
    simulate_looks(campaign, frozenset(map(str, members.tolist())), max(looks) + LEARN_EVERY, LEARN_EVERY)
    first, _ = campaign.said[0]
    for n in looks if first.can_tell else ():
        curve, n_found = campaign.said[n]
        ours = (curve.n_total, curve.n_total_low, curve.n_total_high)
        peer = np.maximum(np.array([first.n_total, first.n_total_low, first.n_total_high]) - n_found, 0).tolist()
        left = len(members) - n_found
        yield Judged(rare, "auto", len(known), len(members), f"{n} looks", left, ours, tuple(peer))


def draws_of(chosen: argparse.Namespace, X: NDArray, rare: NDArray[np.bool_], n_rare: int, name: str) -> Iterator[Draw]:
    """Of one survey and method, with `n_rare` members; the same for every method."""
    rng = np.random.default_rng([chosen.seed, n_rare])
    members, common = rng.permutation(np.flatnonzero(rare)), np.flatnonzero(~rare)
    left = np.append(members[:n_rare], common)
    ranker = prepared(name, chosen.seed, X[left])
    for n_known in (m for m in chosen.known if m <= (n_rare or m)):
        for _ in range(chosen.draws):
            if n_rare == 0:  # another survey for each draw: the known ones alone
                left = np.append(rng.permutation(members)[:n_known], common)
                ranker = prepared(name, chosen.seed, X[left])
            known = rng.permutation(n_rare or n_known)[:n_known]
            yield ranker, X[left], rare[left], known


def prepared(name: str, seed: int, X: NDArray) -> Preparation:
    return method(name).ranker(seed).prepare(X)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--survey", default="mock")
    parser.add_argument("--rare", nargs="+", default=["CARBON"])
    parser.add_argument("--n", type=int, default=30_000)
    parser.add_argument("--n-rare", type=int, nargs="+", default=[0, 30, 150, 600])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--known", type=int, nargs="+", default=[3, 5, 10, 30])
    parser.add_argument(
        "--methods", nargs="+", default=["auto", "lda", "cosine", "bagging_top_push", "label_propagation"]
    )
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--looks", type=int, nargs="+", help="judge what remains after so many looks, by Auto")
    chosen = parser.parse_args()
    if chosen.looks:
        chosen.methods = ["auto"]
    if any(n < 1 or n % LEARN_EVERY for n in chosen.looks or ()):
        parser.error(f"--looks: a campaign learns after every {LEARN_EVERY} looks; give multiples of that")
    warnings.filterwarnings("ignore", message=".*cut off.*")
    cases: list[Judged] = []
    n_asked = n_silent = 0
    for rare in chosen.rare:
        most = max([*chosen.n_rare, *chosen.known])
        X, is_rare = features_of_survey(chosen.survey, rare, chosen.n, most, chosen.seed)
        print(f"{chosen.survey}: {len(X)} spectra, {is_rare.sum()} {rare}, seed {chosen.seed}", flush=True)
        for n_rare in chosen.n_rare:
            for name in chosen.methods:
                for draw in draws_of(chosen, X, is_rare, n_rare, name):
                    said = list(judged_draw(chosen, draw, rare, name))
                    cases += said
                    n_asked, n_silent = n_asked + 1, n_silent + (not said)
    kind = "campaigns" if chosen.looks else "queries"
    print(f"{n_asked} {kind}; in {n_silent} of them the curve says that it cannot tell: not counted below")
    report(cases)


def judged_draw(chosen: argparse.Namespace, draw: Draw, rare: str, name: str) -> Iterator[Judged]:
    if chosen.looks:
        return judged_looks(draw, rare, chosen.looks)
    return judged(asked(*draw, chosen.folds), rare, name, chosen.seed)


def report(cases: list[Judged]) -> None:
    some, none = [c for c in cases if c.n_members], [c for c in cases if not c.n_members]
    print_rows("class, known, depth", some, "rare", "n_known", "depth")
    print_rows("class, method", some, "rare", "method")
    print_rows("depth", some, "depth")
    print_rows("known", some, "n_known")
    print_rows("lists with members", some)
    print_rows("lists without any, class, known", none, "rare", "n_known")
    print_rows("lists without any", none)


if __name__ == "__main__":
    main()
