"""Auto's part that the list teaches: a support vector machine around the rows that walks are sure of.

Walks step from neighbour to neighbour. They lose a member whose neighbours are odd, and from an odd member they leak
into other kinds. The first rows of the list, each weighted by its chance under both walks, are examples enough for a
machine with an RBF kernel, which draws one smooth boundary around them all. Where walks are sure of few rows, as with a
kind of which there are only a handful, the list could teach little but errors, and the machine hardly counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers.auto.query import some
from rarespec.rankers.auto.trust import RARITY
from rarespec.rankers.ranker import Scores
from rarespec.rankers.rows import Rows
from rarespec.rankers.svm.kernel import Kernel, kernel_sums

FEWEST_FIRST, MOST_FIRST = 5, 1000
"""First rows of the list that teach, whatever the size of the survey."""

PASSED_OVER = 4
"""Times as many first rows that are no examples of other kinds: members may be among them."""

N_OTHERS, OTHERS_COUNT = 3000, 3.0
"""Rows further down that stand for other kinds, and what they count for together, in units of all examples."""

PENALTY = 3.0
"""Of an error, for the mean example: C of the machine."""

WEIGHT = 0.5
"""Of the machine, relative to all other parts together, where walks are sure of half of the first rows."""


class Lesson(NamedTuple):
    """What a list teaches."""

    first: NDArray[np.intp]
    """Rows at the top, best first."""
    sureness: NDArray[np.float64]
    """(m,) chance of each of these under both walks."""
    others: NDArray[np.intp]
    """Rows of other kinds."""

    @property
    def weight(self) -> float:
        """Of the machine, relative to all other parts together."""
        return WEIGHT * min(1.0, 2 * float(self.sureness.mean()))


def lesson_of_list(
    order: NDArray[np.intp], chances: Mapping[str, Scores], others_known: NDArray[np.intp], rng: np.random.Generator
) -> Lesson | None:
    """Choose the rows of a list from which a machine learns.

    Parameters
    ----------
    order : (n,) int
        Unlabelled rows, best first.
    chances : mapping of str to (N,) float64
        Part -> chance that a walk from each of all rows meets a known one.
    others_known : (r,) int
        Rows that are known not to be of the kind.
    rng : numpy.random.Generator
        Draws rows of other kinds.

    Returns
    -------
    Lesson or None
        None where the list is too short to have rows of other kinds.
    """
    m = int(np.clip(RARITY * len(order), FEWEST_FIRST, MOST_FIRST))
    first, rest = order[:m], order[PASSED_OVER * m :]
    if not len(rest):
        return None
    # drawn by their places in the list: the numbers of rows, which depend on their order, must not matter
    rest = rest[some(np.arange(len(rest)), N_OTHERS, rng)]
    sureness = np.prod([np.clip(one[first], 0.0, 1.0) for one in chances.values()], axis=0)
    return Lesson(first, sureness, np.concatenate([others_known, rest]))


class Machine(NamedTuple):
    """A weighted sum of RBF kernels; the constant is left out, as only the order of rows counts."""

    vectors: NDArray[np.float64]
    """(s, d)."""
    weights: NDArray[np.float64]
    """(s,)."""
    gamma: NDArray[np.float64]
    """(1,)."""

    def scores(self, X: Rows) -> Scores:
        """Score rows, (n,)."""
        return kernel_sums(Kernel("rbf", gamma=float(self.gamma[0])), X, self.vectors, self.weights)


def teach(lesson: Lesson, X: Rows, known: Rows, gamma: float) -> Machine:
    """Train a machine on the known rows and on those of a lesson.

    Parameters
    ----------
    lesson : Lesson
        Row numbers into X.
    X : (n, d) array
        All rows.
    known : (m, d) array
        Known examples.
    gamma : float
        Of the kernel exp(-gamma |x - z|^2).

    Returns
    -------
    Machine
        Scores are the higher, the more a row is like the examples.
    """
    from sklearn.svm import SVC

    known = np.unique(known, axis=0)  # in an order of their own: the machine is not solved to the last digit
    examples = np.concatenate([np.ones(len(known)), np.maximum(lesson.sureness, np.finfo(np.float32).tiny)])
    others = np.full(len(lesson.others), OTHERS_COUNT * examples.sum() / len(lesson.others))
    rows = np.concatenate([known, X[lesson.first], X[lesson.others]]).astype(np.float64)
    is_example = np.arange(len(rows)) < len(examples)
    machine: Any = SVC(C=PENALTY * len(lesson.first) / examples.sum(), gamma=gamma)
    machine.fit(rows, is_example, sample_weight=np.concatenate([examples, others]))
    return Machine(machine.support_vectors_, machine.dual_coef_[0], np.array([gamma]))
