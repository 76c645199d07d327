"""Whether the intervals of the yield curve hold, how wide they are, and whether the chances are true.

    python benchmarks/yield_calibration.py [--survey PATH.survey ... | mock | PATH/make_survey.py] [--rare CARBON ...]
                                           [--recipes paper sky] [--n 15000] [--n-rare 0 20 150 2000] [--seed 1]
                                           [--known 1 2 3 5 10 30] [--draws 2] [--methods auto lda ...] [--folds 10]
                                           [--keep lists.npz] [--plot reliability.png]
    python benchmarks/yield_calibration.py --lists lists.npz [--plot reliability.png]
    python benchmarks/yield_calibration.py --looks 20 50 100 [--survey ...]

Any survey of rarespec whose catalogue has classes will do; `--rare` takes classes and subclasses. From each survey,
members of the rare class are dropped until `n-rare` are left, some of them are known, and the others hidden in the
list; 0 stands for a survey in which the known are the only ones. `--keep` writes the ranked lists to a file, and
`--lists` judges kept ones: with PYTHONPATH at another version of rarespec, that version is judged on the same lists.

The peer is the count bound: where hidden known examples land gives the recall R(k), the class cannot have more than
k / R(k) members at any depth k, the least of these at depths with R(k) of a half or more is taken for their number N,
and N R(k) are expected among the first k; its interval is that of a Bayesian bootstrap of the places.

Printed for each class, number of members, number of known examples and depth: the share of queries whose 90 % interval
holds the true number; the mean of ln((high + 1) / (low + 1)), the width; the median of ln((expected + 1) / (true + 1)),
the bias. Then the reliability of the chances: of candidates with such a chance, how many are true.

With `--looks` campaigns are judged instead, with Auto alone: an inspector who knows the truth looks at the best
candidate, Auto learns after every ten looks, and after so many looks the number that is expected to remain is compared
with the number that does. The peer is the curve from before the first look, less what was found since.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from looks import RankedLooks
from rankings import features_of_survey
from rarespec.evaluation import hide_known
from rarespec.evaluation.experiment.methods import method
from rarespec.evaluation.experiment.setting import rare_class
from rarespec.labels.event import Label
from rarespec.labels.simulated_inspector import simulate_looks
from rarespec.plots.canvas import GREY, LABEL_SIZE, SMALL_SIZE, empty_figure, save
from rarespec.rankers.ranker import Fit, Preparation
from rarespec.searching.request import recipe_named
from rarespec.searching.yields.after_looks import yield_after_looks
from rarespec.searching.yields.yield_curve import YieldCurve, places_among, yield_curve
from rarespec.survey import Survey
from rarespec.survey.features.computing import features_of

DEPTHS = ("20", "100", "N", "1000", "stop", "all")
CHANCES = np.array([0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 1.0])
"""Bins of the reliability table."""
JUDGED = 300
"""Chances are judged down to this place, or three times the number of members."""
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
    rare: str = ""
    method: str = ""
    recipe: str = ""


def keep_lists(queries: list[Query], path: Path) -> None:
    np.savez_compressed(path, **{f"{i} {name}": v for i, q in enumerate(queries) for name, v in asdict(q).items()})


def kept_lists(path: Path) -> Iterator[Query]:
    arrays = np.load(path)
    for i in range(1 + max(int(name.split()[0]) for name in arrays)):
        scores, true, hidden = (arrays[f"{i} {name}"] for name in ("scores", "true_places", "hidden_places"))
        words = [str(arrays[f"{i} {name}"]) for name in ("rare", "method", "recipe")]
        yield Query(scores.astype(float), true.astype(int), hidden.astype(int), int(arrays[f"{i} n_known"]), *words)


@dataclass(frozen=True)
class Judged:
    """What was said of one depth of one list, and what is true."""

    rare: str
    method: str
    recipe: str
    n_known: int
    n_members: int
    depth: str
    true: int
    ours: tuple[float, float, float]
    """expected, low, high."""
    peer: tuple[float, float, float] | None
    """None where nothing could be hidden."""

    @property
    def in_survey(self) -> int:
        """Members in the survey, known or not."""
        return self.n_members + self.n_known


def asked(draw: Draw, folds: int, **about: str) -> Query:
    """Rank with the known rows, and hide each of them, or part of them, in turn."""
    preparation, X, rare, known = draw
    y = np.zeros(len(X), np.int8)
    y[known] = 1
    fit, listed = preparation.fit(y == 1), y == 0
    order = np.lexsort((rare[listed], -fit.scores[listed]))
    falling = np.sort(fit.edge_scores[listed])[::-1]
    hidden = hidden_places(fit, y, folds)
    return Query(falling, np.flatnonzero(rare[listed][order]) + 1, hidden, len(known), **about)


def hidden_places(fit: Fit, y: NDArray[np.int8], folds: int) -> NDArray[np.int64]:
    listed = y == 0
    if y.sum() < 2:
        return np.empty(0, np.int64)
    if fit.hidden_scores is not None:
        return places_among(fit.scores[listed], fit.hidden_scores)
    assert fit.preparation is not None
    hidings = list(hide_known(y, folds))
    of_folds = fit.preparation.scores_for(np.column_stack([hiding.y for hiding in hidings])).T
    pairs = zip(hidings, of_folds, strict=True)
    return np.concatenate([places_among(fold[listed], fold[hiding.hidden]) for hiding, fold in pairs])


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
    place = {"N": n_members, "stop": curve.stopping_rank or 0, "all": n}.get(name)
    return min(max(int(name) if place is None else place, 1), n)


def judged(query: Query, curve: YieldCurve, seed: int) -> Iterator[Judged]:
    """One for each depth; none if the curve cannot tell."""
    n, n_members, hidden = len(query.scores), len(query.true_places), query.hidden_places
    peer = peer_curves(hidden, n, seed) if len(hidden) else None
    for depth in DEPTHS if curve.can_tell else ():
        k = depth_of(depth, curve, n_members, n)
        true = int((query.true_places <= k).sum())
        ours = (curve.expected[k - 1], curve.low[k - 1], curve.high[k - 1])
        about = (query.rare, query.method, query.recipe, query.n_known, n_members)
        yield Judged(*about, depth, true, ours, peer_said(*peer, k) if peer else None)


def figures(cases: list[Judged], whose: str) -> str:
    cases = [case for case in cases if getattr(case, whose) is not None]
    if not cases:
        return "    -     -      -"
    expected, low, high = np.array([getattr(case, whose) for case in cases]).T
    true = np.array([case.true for case in cases])
    holds = np.mean((low <= true) & (true <= high))
    width, bias = np.log((high + 1) / (low + 1)).mean(), np.median(np.log((expected + 1) / (true + 1)))
    return f"{holds:5.2f} {width:6.2f} {bias:+6.2f}"


def print_rows(title: str, cases: list[Judged], *keys: str) -> None:
    """One line for each combination of the values of `keys`, in their order."""
    groups: dict[tuple, list[Judged]] = {}
    for case in cases:
        groups.setdefault(tuple(getattr(case, key) for key in keys), []).append(case)
    print(f"\n{title}\n{'':38s}  cases   holds  width   bias | peer holds  width   bias")
    for key in sorted(groups):
        name = "  ".join(f"{value!s:>10s}" for value in key)
        print(f"{name:38s}{len(groups[key]):7d}   {figures(groups[key], 'ours')} |      {figures(groups[key], 'peer')}")


Reliability = list[tuple[int, float, float, int]]
"""Number of known, or 0 for all; mean chance in a bin; share that is true; candidates in the bin."""


def reliability(queries: list[Query], curves: list[YieldCurve]) -> Reliability:
    """Of candidates with about the same chance, in all lists that have any; every list counts alike."""
    said, true, known, weights = [], [], [], []
    for query, curve in zip(queries, curves, strict=True):
        deep = min(max(JUDGED, 3 * len(query.true_places)), len(query.scores)) if curve.can_tell else 0
        said.append(curve.chance[:deep])
        true.append(np.isin(np.arange(1, deep + 1), query.true_places))
        known.append(np.full(deep, query.n_known))
        # the first ten count as much as the next ninety: chances matter most at the top
        weights.append(1 / np.arange(1, deep + 1))
    s, t, m, w = (np.concatenate(parts) for parts in (said, true, known, weights))
    rows = []
    for n_known in (0, *np.unique(m).tolist()):
        for low, high in pairwise(CHANCES):
            inside = (s >= low) & ((s < high) | (high == 1)) & ((m == n_known) | (n_known == 0))
            if inside.sum() >= 20:
                of = w[inside]
                rows.append((n_known, *(float(np.average(x[inside], weights=of)) for x in (s, t)), int(inside.sum())))
    return rows


def print_reliability(rows: Reliability) -> None:
    print("\nknown  chance  share true  candidates")
    for n_known, said, true, number in rows:
        print(f"{n_known or 'all':>5}  {said:6.2f}  {true:10.2f}  {number:10d}")


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


def judged_looks(draw: Draw, rare: str, recipe: str, looks: list[int]) -> Iterator[Judged]:
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
        yield Judged(rare, "auto", recipe, len(known), len(members), f"{n} looks", left, ours, tuple(peer))


def draws_of(chosen: argparse.Namespace, X: NDArray, rare: NDArray[np.bool_], n_rare: int, name: str) -> Iterator[Draw]:
    """Of one survey and method, with `n_rare` members, or all if there are fewer; the same for every method."""
    n_rare = min(n_rare, int(rare.sum()))
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


def matrices(chosen: argparse.Namespace, rare: str) -> Iterator[tuple[str, NDArray, NDArray[np.bool_]]]:
    """Recipe, (n, d) features, and (n,) which rows are members, of each survey."""
    for path in chosen.survey:
        if path == "mock" or path.endswith(".py"):
            most = max([*chosen.n_rare, *chosen.known])
            yield "paper", *features_of_survey(path, rare, chosen.n, most, chosen.seed)
            continue
        survey = Survey.open(path)
        members = rare_class(survey, rare).members
        for recipe in chosen.recipes:
            features = features_of(survey, recipe_named(recipe))
            yield recipe, features.usable_values, members[np.flatnonzero(features.usable)]


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--survey", nargs="+", default=["mock"])
    parser.add_argument("--rare", nargs="+", default=["CARBON"])
    parser.add_argument("--recipes", nargs="+", default=["paper"])
    parser.add_argument("--n", type=int, default=15_000)
    parser.add_argument("--n-rare", type=int, nargs="+", default=[0, 20, 150, 2000])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--known", type=int, nargs="+", default=[1, 2, 3, 5, 10, 30])
    parser.add_argument("--methods", nargs="+", default=["auto"])
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--lists", type=Path, nargs="+", help="judge these kept lists")
    parser.add_argument("--keep", type=Path, help="file for the lists")
    parser.add_argument("--plot", type=Path, help="file for the reliability diagram")
    parser.add_argument("--looks", type=int, nargs="+", help="judge what remains after so many looks, by Auto")
    chosen = parser.parse_args()
    if chosen.looks:
        chosen.methods = ["auto"]
    if any(n < 1 or n % LEARN_EVERY for n in chosen.looks or ()):
        parser.error(f"--looks: a campaign learns after every {LEARN_EVERY} looks; give multiples of that")
    return chosen


def all_draws(chosen: argparse.Namespace) -> Iterator[tuple[Draw, dict[str, str]]]:
    """Every draw, and its class, method and recipe."""
    for rare in chosen.rare:
        for recipe, X, is_rare in matrices(chosen, rare):
            print(f"{len(X)} spectra, {is_rare.sum()} {rare}, recipe {recipe}, seed {chosen.seed}", flush=True)
            for n_rare in chosen.n_rare:
                for name in chosen.methods:
                    for draw in draws_of(chosen, X, is_rare, n_rare, name):
                        yield draw, {"rare": rare, "method": name, "recipe": recipe}


def main() -> None:
    chosen = parsed()
    warnings.filterwarnings("ignore", message=".*cut off.*")
    if chosen.looks:
        draws = ((draw, about["rare"], about["recipe"]) for draw, about in all_draws(chosen))
        report([case for one in draws for case in judged_looks(*one, chosen.looks)])
        return
    if chosen.lists:
        queries = [query for path in chosen.lists for query in kept_lists(path)]
    else:
        queries = [asked(draw, chosen.folds, **about) for draw, about in all_draws(chosen)]
    if chosen.keep:
        keep_lists(queries, chosen.keep)
    curves = [yield_curve(query.scores, query.hidden_places, query.n_known) for query in queries]
    silent = sum(not curve.can_tell for curve in curves)
    print(f"{len(queries)} lists; in {silent} of them the curve says that it cannot tell: not counted below")
    report([case for pair in zip(queries, curves, strict=True) for case in judged(*pair, chosen.seed)])
    rows = reliability(queries, curves)
    print_reliability(rows)
    if chosen.plot:
        draw_reliability(rows, chosen.plot)


def draw_reliability(rows: Reliability, path: Path) -> None:
    """Share of true candidates against the chance that was said, one line for each number of known examples."""
    figure = empty_figure(4.2, 3.6)
    panel = figure.subplots()
    panel.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":", label="as said")
    known = sorted({n_known for n_known, *_ in rows})
    for number, n_known in enumerate(known):
        said, true = np.array([row[1:3] for row in rows if row[0] == n_known]).T
        look = {"color": "black", "linewidth": 2.0} if n_known == 0 else {"color": f"C{number - 1}", "linewidth": 1.0}
        panel.plot(said, true, marker="o", markersize=3, label=f"{n_known or 'all lists'}", **look)
    panel.set(xlim=(0, 1), ylim=(0, 1.02))
    panel.set_xlabel("chance said", fontsize=LABEL_SIZE)
    panel.set_ylabel("share that is true", fontsize=LABEL_SIZE)
    panel.tick_params(labelsize=SMALL_SIZE)
    panel.legend(frameon=False, fontsize=SMALL_SIZE, title="known examples", title_fontsize=SMALL_SIZE)
    save(figure, path)


def report(cases: list[Judged]) -> None:
    some, none = [c for c in cases if c.n_members], [c for c in cases if not c.n_members]
    print_rows("class, members in the survey", some, "rare", "in_survey")
    print_rows("class, known", some, "rare", "n_known")
    print_rows("recipe, method", some, "recipe", "method")
    print_rows("depth", some, "depth")
    print_rows("known", some, "n_known")
    print_rows("known, whole list", [case for case in some if case.depth == "all"], "n_known")
    print_rows("lists with members", some)
    print_rows("lists without any, class, known", none, "rare", "n_known")


if __name__ == "__main__":
    main()
