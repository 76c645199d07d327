"""How many labels a supervised machine needs to rank a survey as well as Auto does from a few known examples.

    python benchmarks/learning_curve.py --survey PATH [PATH ...] [--labels PATH] [--rare CARBON] [--recipe sky]
                                        [--known 1 3 10 30] [--n-labels 10 30 100 300 1000 3000] [--machines svm forest]
                                        [--draws 5] [--seed 0]

Any survey of rarespec whose catalogue has classes will do. In each draw a random half of the members and of the others
is judged, the same rows for all, and all that is known or labelled comes from the other half. Labels are drawn in three
ways:

    random    spectra at random, as when somebody goes through a survey: few of them are members
    balanced  as many members as others
    full      members, and every other spectrum of the half labelled as a non-member; only the members are counted

With `--labels`, members of the last two ways are drawn from another survey, which may have more of them; objects that
are judged are left out by their id. Its features are those that the judged survey learned. The machines are a support
vector machine with a Gaussian kernel and a random forest, both with balanced class weights, on the same features as
Auto. A machine without a labelled member, or without an other, ranks at random.

Printed: average precision of the judged half, its mean and in brackets its 10th percentile over all draws of all
surveys; and the number of labels at which the mean of each machine reaches that of Auto.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

from rarespec.evaluation import average_precision_at_k, relevance_in_order
from rarespec.evaluation.experiment.setting import rare_class
from rarespec.rankers import Auto
from rarespec.searching.request import recipe_named
from rarespec.survey import Survey
from rarespec.survey.features.computing import features_by, features_of
from rarespec.survey.features.feature_set import FeatureSet
from real_sky import mean_and_tenth

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Labelled:
    """The usable spectra of a survey, and what its catalogue says of them."""

    X: NDArray[np.float32]
    rare: NDArray[np.bool_]
    ids: NDArray[np.str_]

    @classmethod
    def of(cls, features: FeatureSet, rare: str) -> Labelled:
        usable, survey = features.usable, features.survey
        members = rare_class(survey, rare).members[usable]
        return cls(features.usable_values, members, np.asarray(survey.catalogue["id"]).astype(str)[usable])


@dataclass(frozen=True)
class Draw:
    """What one draw judges and what it may label."""

    sky: Labelled
    judged: NDArray[np.bool_]
    members: NDArray[np.float32]
    """Features of the members that may be labelled, in random order."""
    others: Rows
    """Rows of the other half that are no members, in random order."""
    own: Rows
    """Rows of its members, in random order."""

    def label(self, way: str, n: int, rng: np.random.Generator) -> tuple[NDArray, NDArray[np.bool_]] | None:
        """Features and labels of n spectra; None where there are not as many."""
        if way == "random":
            rows = rng.permutation(np.concatenate([self.own, self.others]))[:n]
            return (self.sky.X[rows], self.sky.rare[rows]) if len(rows) == n else None
        n_members = n // 2 if way == "balanced" else n
        others = self.others[: n - n_members] if way == "balanced" else self.others
        if n_members > len(self.members) or (way == "balanced" and len(others) < n - n_members):
            return None
        X = np.concatenate([self.members[:n_members], self.sky.X[others]])
        return X, np.arange(len(X)) < n_members

    def precision(self, scores: NDArray[np.float64]) -> float:
        """Of scores of the judged rows."""
        return float(average_precision_at_k(relevance_in_order(scores, self.sky.rare[self.judged])))


def draw_half(sky: Labelled, more: Labelled | None, rng: np.random.Generator) -> Draw:
    judged = np.zeros(len(sky.X), bool)
    halves = []
    for rows in (np.flatnonzero(sky.rare), np.flatnonzero(~sky.rare)):
        judged[rng.permutation(rows)[: len(rows) // 2]] = True
        halves.append(rng.permutation(rows[~judged[rows]]))
    own, others = halves
    members = sky.X[own]
    if more is not None:
        new = more.rare & ~np.isin(more.ids, sky.ids[judged]) & ~np.isin(more.ids, sky.ids[own])
        members = rng.permutation(np.concatenate([members, more.X[new]]))
    return Draw(sky, judged, members, others, own)


def svm(seed: int) -> Any:
    return SVC(C=1, class_weight="balanced")


def forest(seed: int) -> Any:
    return RandomForestClassifier(300, class_weight="balanced", random_state=seed, n_jobs=-1)


MACHINES: dict[str, Callable[[int], Any]] = {"svm": svm, "forest": forest}
WAYS = ("random", "balanced", "full")


def scores_of_machine(name: str, X: NDArray, is_member: NDArray[np.bool_], judged: NDArray, seed: int) -> NDArray:
    if is_member.all() or not is_member.any():
        return np.random.default_rng(seed).random(len(judged))
    fitted = MACHINES[name](seed).fit(X, is_member)
    return fitted.decision_function(judged) if name == "svm" else fitted.predict_proba(judged)[:, 1]


@dataclass
class Tally:
    """Average precisions of all draws."""

    auto: dict[int, list[float]]
    """By the number of known."""
    machines: dict[tuple[str, int, str], list[float]]
    """By way of labelling, number of labels, machine."""
    members: dict[tuple[str, int], list[int]]
    """Members among the labels."""


def add_survey(tally: Tally, path: str, chosen: argparse.Namespace) -> None:
    features = features_of(Survey.open(path), recipe_named(chosen.recipe))
    sky, more = Labelled.of(features, chosen.rare), None
    if chosen.labels:
        more = Labelled.of(features_by(Survey.open(chosen.labels), features.recipe), chosen.rare)
    auto = Auto(random_state=chosen.seed).prepare(sky.X)
    for number in range(chosen.draws):
        rng = np.random.default_rng([chosen.seed, number])
        draw = draw_half(sky, more, rng)
        for n_known in chosen.known:
            known = np.zeros(len(sky.X), bool)
            known[rng.choice(draw.own, n_known, replace=False)] = True
            tally.auto[n_known].append(draw.precision(auto.fit(known).scores[draw.judged]))
        for way in chosen.ways:
            for n in chosen.n_labels:
                add_machines(tally, chosen, draw, way, n, rng)
        print(f"{path}: draw {number + 1} of {chosen.draws} done", file=sys.stderr, flush=True)


def add_machines(
    tally: Tally, chosen: argparse.Namespace, draw: Draw, way: str, n: int, rng: np.random.Generator
) -> None:
    labelled = draw.label(way, n, rng)
    if labelled is None:
        return
    X, is_member = labelled
    tally.members[way, n].append(int(is_member.sum()))
    for name in chosen.machines:
        scores = scores_of_machine(name, X, is_member, draw.sky.X[draw.judged], int(rng.integers(2**31)))
        tally.machines[way, n, name].append(draw.precision(scores))


def labels_to_reach(target: float, numbers: list[int], means: list[float]) -> str:
    """Where the curve first reaches the target, between two points by their logarithms."""
    above = [i for i, mean in enumerate(means) if mean >= target]
    if not above:
        return f"more than {numbers[-1]}" if numbers else "-"
    i = above[0]
    if i == 0:
        return f"at most {numbers[0]}"
    share = (target - means[i - 1]) / (means[i] - means[i - 1])
    return f"{np.exp(np.log(numbers[i - 1]) + share * np.log(numbers[i] / numbers[i - 1])):.0f}"


def print_curves(tally: Tally, chosen: argparse.Namespace) -> None:
    print("| labels | how many | members among them |" + "".join(f" {name} |" for name in chosen.machines))
    print("|---|---|---|" + "---|" * len(chosen.machines))
    for (way, n), members in sorted(tally.members.items(), key=lambda item: (WAYS.index(item[0][0]), item[0][1])):
        figures = [mean_and_tenth(np.array(tally.machines[way, n, name])) for name in chosen.machines]
        print(f"| {way} | {n} | {np.mean(members):.1f} | " + " | ".join(figures) + " |")


def print_crossings(tally: Tally, chosen: argparse.Namespace) -> None:
    pairs = [(name, way) for name in chosen.machines for way in chosen.ways]
    print("| Auto, known | average precision |" + "".join(f" {name}, {way} |" for name, way in pairs))
    print("|---|---|" + "---|" * len(pairs))
    for n_known, found in tally.auto.items():
        cells = []
        for name, way in pairs:
            numbers = sorted(n for one, n in tally.members if one == way)
            means = [float(np.mean(tally.machines[way, n, name])) for n in numbers]
            cells.append(labels_to_reach(float(np.mean(found)), numbers, means))
        print(f"| {n_known} | {mean_and_tenth(np.array(found))} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--survey", nargs="+", required=True)
    parser.add_argument("--labels", help="another survey, whose members may be labelled too")
    parser.add_argument("--rare", default="CARBON")
    parser.add_argument("--recipe", default="sky")
    parser.add_argument("--known", type=int, nargs="+", default=[1, 3, 10, 30])
    parser.add_argument("--n-labels", type=int, nargs="+", default=[10, 30, 100, 300, 1000, 3000])
    parser.add_argument("--machines", nargs="+", choices=MACHINES, default=list(MACHINES))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    tally = Tally(defaultdict(list), defaultdict(list), defaultdict(list))
    for path in chosen.survey:
        add_survey(tally, path, chosen)
    print(f"{chosen.rare} in {len(chosen.survey)} surveys, {chosen.draws} draws each, {chosen.recipe} features")
    print_curves(tally, chosen)
    print("Labels at which the mean of a machine reaches that of Auto:")
    print_crossings(tally, chosen)


if __name__ == "__main__":
    main()
