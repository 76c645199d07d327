"""Members found per 100 looks: rarespec that learns, against a fixed ranking and coniferest's forests.

    python benchmarks/looks.py [--survey mock | --survey PATH/make_survey.py | --survey FEATURES.npz] [--rare CARBON]
                               [--n 100000] [--n-rare 450] [--seed 1] [--draws 10] [--known 1 3 10] [--looks 100]
                               [--every 10] [--forest-every 1] [--ways learning fixed pine aad] [--method auto]
                               [--plot looks.png]

An inspector who knows the truth looks at the best candidate not yet looked at, says yes or no, and goes on. All ways
have the same features (the paper's), the same known examples, drawn at random from the rare class, and the same number
of looks, and one look is one label.

    learning     rarespec; it learns from members and non-members after every `every` looks
    informative  the same, but looks first at the candidates whose chance is nearest to one half
    positives    the same as learning, but only from members
    fixed        rarespec's first ranking, from the top down
    pine, aad    coniferest's PineForest and AADForest with its default parameters, fitted again after every
                 `forest-every` looks; known examples are labelled as anomalies before the first look

FEATURES.npz holds X (n, d) and rare (n,). Printed: members found in the first 100 looks (and 200, ...), mean and
standard deviation over the draws, and the paired difference of the first way to each other with its 95 % interval.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rankings import add_survey_options, features_of_survey
from rarespec.evaluation.places import paired_difference
from rarespec.labels.campaign_progress import in_order
from rarespec.labels.event import Label
from rarespec.labels.simulated_inspector import Listing, simulate_looks
from rarespec.plots.canvas import save
from rarespec.plots.yield_curve import WAYS, looks_figure
from rarespec.rankers import by_name
from rarespec.rankers.ranker import Preparation, best_first
from rarespec.searching.yields.after_looks import yield_after_looks
from rarespec.searching.yields.yield_curve import places_among

STEP = 100
"""Looks after which the members found are printed."""

LISTED = 2000
"""Candidates of a list, as many as anyone looks at."""


class RankedLooks:
    """rarespec's list; ids are row numbers as text."""

    def __init__(
        self, prepared: Preparation, X: NDArray, known: NDArray[np.intp], learns: bool = True, from_no: bool = True
    ) -> None:
        self.prepared, self.X, self.start = prepared, X, known
        self.learns, self.from_no = learns, from_no
        self._rank({})

    def list_ids(self, order: str) -> list[str]:
        return [str(row) for row in self.order[in_order(order, self._precision(order))]]

    def relearn(self, labels: Mapping[str, Label]) -> None:
        if self.learns:
            self._rank(labels)

    def _rank(self, labels: Mapping[str, Label]) -> None:
        known, refused = np.zeros(len(self.X), bool), np.zeros(len(self.X), bool)
        known[self.start] = True
        known[[int(id) for id, label in labels.items() if label is Label.YES]] = True
        refused[[int(id) for id, label in labels.items() if label is Label.NO]] = True
        told = refused if self.from_no else np.zeros_like(refused)
        self.fit = self.prepared.fit(known, told)
        scores, left = self.fit.scores, np.flatnonzero(~known & ~refused)
        order = left[best_first(scores[left])]
        self.order, self.falling = order[:LISTED], scores[order]
        if not labels:  # where hidden examples stand before the first look
            hidden = self.fit.hidden_scores
            self.hidden = places_among(self.falling, () if hidden is None else hidden)
        self.n_looked, self.n_found = len(labels), int(known.sum()) - len(self.start)

    def _precision(self, order: str) -> NDArray[np.float64]:
        if order == "likely":
            return np.full(len(self.order), np.nan)
        curve = yield_after_looks(self.falling, self.hidden, len(self.start), self.n_looked, self.n_found)
        return curve.chance[:LISTED]


class ForestLooks:
    """A forest's list; its scores are the lower the more anomalous."""

    def __init__(self, forest: object, X: NDArray, known: NDArray[np.intp]) -> None:
        from coniferest.label import Label as ForestLabel

        self.forest, self.X = forest, X
        self.marks = {Label.YES: ForestLabel.ANOMALY, Label.NO: ForestLabel.REGULAR}
        self.labels = np.full(len(X), ForestLabel.UNKNOWN)
        self.labels[known] = ForestLabel.ANOMALY
        self._fit()

    def list_ids(self, order: str) -> list[str]:
        return [str(row) for row in self.order]

    def relearn(self, labels: Mapping[str, Label]) -> None:
        for id, label in labels.items():
            self.labels[int(id)] = self.marks[label]
        self._fit()

    def _fit(self) -> None:
        told = np.flatnonzero(self.labels)
        self.forest.fit_known(self.X, self.X[told], self.labels[told])
        scores = self.forest.score_samples(self.X)
        self.order = np.flatnonzero(self.labels == 0)
        self.order = self.order[np.argsort(scores[self.order], kind="stable")][:LISTED]


def ways_of(chosen: argparse.Namespace, X: NDArray) -> dict[str, Callable[[NDArray[np.intp], int], Listing]]:
    """Way -> what makes its list from the known rows and the number of the draw."""
    from coniferest.aadforest import AADForest
    from coniferest.pineforest import PineForest

    prepared = prepared_ranker(chosen, X)
    made: dict[str, Callable[[NDArray[np.intp], int], Listing]] = {
        "learning": lambda known, draw: RankedLooks(prepared, X, known),
        "informative": lambda known, draw: RankedLooks(prepared, X, known),
        "positives": lambda known, draw: RankedLooks(prepared, X, known, from_no=False),
        "fixed": lambda known, draw: RankedLooks(prepared, X, known, learns=False),
        "pine": lambda known, draw: ForestLooks(PineForest(random_seed=chosen.seed + draw), X, known),
        "aad": lambda known, draw: ForestLooks(AADForest(random_seed=chosen.seed + draw), X, known),
    }
    return {way: made[way] for way in chosen.ways}


def prepared_ranker(chosen: argparse.Namespace, X: NDArray) -> Preparation:
    ranker = by_name(chosen.method)()
    settings = {"random_state": chosen.seed} if "random_state" in ranker.get_params() else {}
    return ranker.set_params(**settings).prepare(X)


def looked(chosen: argparse.Namespace, X: NDArray, rare: NDArray[np.bool_]) -> dict[int, dict[str, NDArray[np.bool_]]]:
    """Number known -> way -> whether each look found a member, (draws, looks)."""
    rng, members = np.random.default_rng(chosen.seed), np.flatnonzero(rare)
    truth, ways = frozenset(map(str, members.tolist())), ways_of(chosen, X)
    found: dict[int, dict[str, NDArray[np.bool_]]] = {}
    for n_known in chosen.known:
        draws = [rng.choice(members, n_known, replace=False) for _ in range(chosen.draws)]
        found[n_known] = {}
        for way, made in ways.items():
            every = chosen.forest_every if way in ("pine", "aad") else chosen.every
            order = "informative" if way == "informative" else "likely"
            looks = [simulate_looks(made(d, i), truth, chosen.looks, every, order) for i, d in enumerate(draws)]
            found[n_known][way] = np.array(looks)
            print_hits(n_known, way, found[n_known][way])
        print_differences(n_known, found[n_known])
    return found


def depths_of(found: NDArray[np.bool_]) -> list[int]:
    return list(range(STEP, found.shape[1] + 1, STEP)) or [found.shape[1]]


def print_hits(n_known: int, way: str, found: NDArray[np.bool_]) -> None:
    hits = [found[:, :depth].sum(axis=1) for depth in depths_of(found)]
    figures = [f"{h.mean():6.1f} ± {h.std(ddof=1) if len(h) > 1 else np.nan:4.1f}" for h in hits]
    said = "   ".join(f"{figure} in {depth}" for figure, depth in zip(figures, depths_of(found), strict=True))
    print(f"{n_known:5d}  {way:12s} {said}", flush=True)


def print_differences(n_known: int, found: Mapping[str, NDArray[np.bool_]]) -> None:
    first, *others = found
    for way in others:
        said = []
        for depth in depths_of(found[first]):
            ours, theirs = (found[name][:, :depth].sum(axis=1) for name in (first, way))
            gap = paired_difference(ours, theirs)
            said.append(f"{gap.mean:+6.1f} ({gap.low:+.1f} to {gap.high:+.1f})")
        print(f"{n_known:5d}  {first} - {way:12s} {'   '.join(said)}", flush=True)


def features(chosen: argparse.Namespace) -> tuple[NDArray, NDArray[np.bool_]]:
    """Of the survey asked for; of a file of features, as many rows as asked for."""
    if not chosen.survey.endswith(".npz"):
        return features_of_survey(chosen.survey, chosen.rare, chosen.n, chosen.n_rare, chosen.seed)
    arrays, rng = np.load(chosen.survey), np.random.default_rng(chosen.seed)
    rare = arrays["rare"].astype(bool)
    parts = ((np.flatnonzero(rare), chosen.n_rare), (np.flatnonzero(~rare), chosen.n))
    rows = np.sort(np.concatenate([rng.permutation(rows)[:n] for rows, n in parts]))
    return arrays["X"][rows], rare[rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_survey_options(parser)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--known", type=int, nargs="+", default=[1, 3, 10])
    parser.add_argument("--looks", type=int, default=100)
    parser.add_argument("--every", type=int, default=10, help="looks after which rarespec learns")
    parser.add_argument("--forest-every", type=int, default=1, help="looks after which a forest is fitted again")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=["learning", "fixed", "pine", "aad"])
    parser.add_argument("--method", default="auto", help="rarespec's ranker")
    parser.add_argument("--plot", type=Path, help="file for the curves")
    chosen = parser.parse_args()
    X, rare = features(chosen)
    print(f"{chosen.survey}: {len(X)} spectra, {rare.sum()} {chosen.rare}, seed {chosen.seed}, {chosen.draws} draws")
    print("known  way          members found, mean ± standard deviation")
    found = looked(chosen, X, rare)
    if chosen.plot:
        name = Path(chosen.survey).stem
        title = f"{name}, {chosen.rare}: mean of {chosen.draws} draws; band: ± one standard deviation"
        save(looks_figure(found, int(rare.sum()), title), chosen.plot)


if __name__ == "__main__":
    main()
