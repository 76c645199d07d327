"""Biased SVM: known against unlabelled, where a missed known example costs far more than an unlabelled one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rarespec.engines.here import one_blas_thread
from rarespec.rankers.parameters import require, require_count, require_one_of, require_positive, warn_unless_converged
from rarespec.rankers.ranker import Ranker, Scores, weighted_sums
from rarespec.rankers.rows import Rows
from rarespec.rankers.svm.kernel import Array, Kernel, Scaling, kernel_sums, require_gamma, resolve_gamma
from rarespec.rankers.svm.squared_hinge import LinearMachine, fit_squared_hinge

C_MINUS_GRID = (0.01, 0.05, 0.21, 0.61)
"""Tried for C-: from the published 0.01, 0.03, ... 0.61."""

BALANCE_GRID = (0.01, 0.1, 1.0)
"""Tried for C+ / C-, as shares of unlabelled / known, which would give both classes the same total cost."""

LEAST_RATIO = 10.0
"""C+ / C- is never less: the least that was published."""

DEFAULT_C_MINUS, DEFAULT_BALANCE = 0.05, 0.1
N_FOLDS = 5
MAX_KERNEL_ROWS = 10_000


class BiasedSVM(Ranker):
    """Support vector machine with all unlabelled rows as negatives and two costs, C+ >> C- (Liu et al. 2003).

    The hidden examples among the unlabelled are noise in the negatives; a high C+ keeps the known on the right side
    while a low C- lets the hidden ones cross. Costs are chosen as published: the larger r^2 / Pr(f = 1) the better,
    where r is the share of held-out known rows that are called positive, and Pr(f = 1) the share of all held-out rows.

    How the costs are searched. From five known examples and five unlabelled rows up, both are split into 5 folds, and
    each is scored by a machine that has not seen it. C- is 0.01, 0.05, 0.21 or 0.61, which span the published grid.
    C+ / C- is 0.01, 0.1 or 1 times unlabelled / known, and at least 10: the published 10 to 200 were meant for classes
    of like size, not for one row in ten thousand. That is 12 pairs in place of 620. A random `selection_size` of the
    unlabelled rows is used for the choice, with C- raised so that their total cost is that of all; the final machine
    sees every row. With fewer of either, or if no pair finds any of them again, C- = 0.05 and
    C+ / C- = 0.1 times unlabelled / known (at least 10): a compromise, picked on simulated surveys of five rare
    classes, whose best C- with one known example lay anywhere from 0.003 to 0.3.

    Rows are centred and divided by one number inside, the root of the mean squared distance to the mean: the costs
    refer to that scale and not to the units of X.

    Not to be confused with `BaggingSVM`, which sees a few random unlabelled rows at a time.

    Parameters
    ----------
    kernel : "linear" (default) or "rbf"
        `linear` has a squared hinge loss (published: plain hinge), so that 100 000 rows take a fraction of a second
        for each machine. `rbf` has the plain hinge loss and takes at most 10 000 rows; rows far from all others get
        the same score there.
    C_plus, C_minus : float > 0 or None, default None
        Cost of a known and of an unlabelled row; None to choose it.
    gamma : "scale" (default) or float > 0
        Of the rbf kernel; "scale" is 1 / (sum of the variances of the columns of X).
    selection_size : int >= 10, default 20_000
        Unlabelled rows used to choose the costs.
    random_state : int, RandomState or None
        Draws those rows and the folds.

    Attributes
    ----------
    coef_ : (d,) float64 or None
        Weights for X as given; None for rbf.
    intercept_ : float
        Added to the weighted sum.
    C_plus_, C_minus_ : float
        The costs of the final machine.
    criterion_ : (p, 5) float64
        A row for each pair tried: C+, C-, r, Pr(f = 1), r^2 / Pr(f = 1); p = 0 if none was.
    n_iter_ : int
        Newton steps of the final machine (for rbf, libsvm's steps), at least 1.
    converged_ : bool
        Whether the final machine was solved.
    support_vectors_ : (s, d) float64 or None
        For rbf: the rows with a weight.
    dual_coef_ : (s,) float64 or None
        For rbf: their weights.
    gamma_ : float or None
        For rbf: gamma of the kernel.

    References
    ----------
    Liu, Dai, Li, Lee & Yu (2003), ICDM, 179. Lee & Liu (2003), ICML, 448, for the criterion.
    Chapelle (2007), Neural Computation 19, 1155, for the solver.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import BiasedSVM
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> X[:4] += 6.0  # four rare rows, of which two are known
    >>> y = np.zeros(60, int)
    >>> y[:2] = 1
    >>> sorted(BiasedSVM().fit(X, y).rank(X)[:4].tolist())
    [0, 1, 2, 3]
    """

    coef_: Any
    support_vectors_: Any
    dual_coef_: Any
    gamma_: Any
    criterion_: Array
    intercept_: float
    C_plus_: float
    C_minus_: float
    n_iter_: int
    converged_: bool

    def __init__(
        self,
        kernel: str = "linear",
        C_plus: float | None = None,
        C_minus: float | None = None,
        gamma: float | str = "scale",
        selection_size: int = 20_000,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.C_plus = C_plus
        self.C_minus = C_minus
        self.gamma = gamma
        self.selection_size = selection_size
        self.random_state = random_state

    def feature_weights(self) -> Array | None:
        """Return `coef_`, (d,), of a linear kernel; None for rbf."""
        weights: Array | None = self.coef_
        return weights

    def _fit(self, X: Rows, known: NDArray[np.bool_]) -> None:
        self._check_parameters()
        self._require_few_rows_for_a_kernel(len(X))
        gamma = resolve_gamma(self.gamma, X) if self.kernel == "rbf" else 1.0
        trainer = _Trainer(self.kernel, gamma, Scaling.of(X))
        # hundreds of products of small matrices: more BLAS threads wait for each other most of the time
        with one_blas_thread():
            self.C_plus_, self.C_minus_ = self._choose_costs(trainer, X, known)
            machine = trainer.train(X, known, np.where(known, self.C_plus_, self.C_minus_))
        self.intercept_, self.n_iter_, self.converged_ = machine.intercept, machine.n_iter, machine.converged
        linear = isinstance(machine, LinearMachine)
        self.coef_ = machine.coef if linear else None
        self.support_vectors_ = None if linear else machine.vectors
        self.dual_coef_ = None if linear else machine.weights
        self.gamma_ = None if linear else machine.gamma
        warn_unless_converged(self.converged_, f"after {self.n_iter_} steps", "use smaller costs")

    def _choose_costs(self, trainer: _Trainer, X: Rows, known: NDArray[np.bool_]) -> tuple[float, float]:
        self.criterion_ = np.empty((0, 5))
        balance = (len(X) - known.sum()) / known.sum()
        pairs = self._pairs(C_MINUS_GRID, BALANCE_GRID, balance)
        if min(known.sum(), (~known).sum()) >= N_FOLDS and len(pairs) > 1:
            self.criterion_ = _criterion_table(trainer, X, known, pairs, self.selection_size, self.random_state)
        if not self.criterion_[:, -1].any():
            return self._pairs((DEFAULT_C_MINUS,), (DEFAULT_BALANCE,), balance)[0]
        return pairs[int(self.criterion_[:, -1].argmax())]

    def _pairs(self, minus: Sequence[float], shares: Sequence[float], balance: float) -> list[tuple[float, float]]:
        """(C+, C-) to try, each pair once; a cost that was given is kept."""
        minus = minus if self.C_minus is None else (float(self.C_minus),)
        ratios = [max(LEAST_RATIO, share * balance) for share in shares]
        if self.C_plus is not None:
            return [(float(self.C_plus), c) for c in minus]
        return list(dict.fromkeys((float(c * ratio), c) for c in minus for ratio in ratios))

    def _check_parameters(self) -> None:
        require_one_of(self, "kernel", ("linear", "rbf"))
        require_positive(self, "C_plus", "C_minus", optional=True)
        require_gamma(self)
        require_count(self, "selection_size", least=2 * N_FOLDS)

    def _require_few_rows_for_a_kernel(self, n_rows: int) -> None:
        allowed = f"linear for more than {MAX_KERNEL_ROWS} rows, and X has {n_rows}"
        require(self, "kernel", self.kernel == "linear" or n_rows <= MAX_KERNEL_ROWS, allowed)

    def _scores(self, X: Rows) -> Scores:
        if self.coef_ is not None:
            return weighted_sums(X, self.coef_) + self.intercept_
        return kernel_sums(Kernel("rbf", self.gamma_), X, self.support_vectors_, self.dual_coef_) + self.intercept_


@dataclass(frozen=True)
class _KernelMachine:
    vectors: Array
    weights: Array
    intercept: float
    gamma: float
    n_iter: int
    converged: bool

    def values(self, X: Rows) -> Array:
        return kernel_sums(Kernel("rbf", self.gamma), X, self.vectors, self.weights) + self.intercept


@dataclass(frozen=True)
class _Trainer:
    kernel: str
    gamma: float
    scaling: Scaling

    def train(self, X: Rows, known: NDArray[np.bool_], costs: Array) -> Any:
        """A LinearMachine or a _KernelMachine; rows of cost 0 are left out."""
        if self.kernel == "linear":
            return fit_squared_hinge(X, np.where(known, 1.0, -1.0), costs, self.scaling)
        return self._train_rbf(X[costs > 0], known[costs > 0], costs[costs > 0])

    def _train_rbf(self, X: Rows, known: NDArray[np.bool_], costs: Array) -> _KernelMachine:
        from sklearn.svm import SVC

        machine = SVC(kernel="rbf", gamma=self.gamma * self.scaling.unit**2, C=1.0)
        machine.fit(self.scaling.scale(X), known, sample_weight=costs)
        vectors, intercept = X[machine.support_].astype(np.float64), float(machine.intercept_[0])
        n_iter, converged = max(1, int(machine.n_iter_[0])), machine.fit_status_ == 0
        return _KernelMachine(vectors, machine.dual_coef_[0], intercept, self.gamma, n_iter, converged)


def _criterion_table(
    trainer: _Trainer,
    X: Rows,
    known: NDArray[np.bool_],
    pairs: Sequence[tuple[float, float]],
    selection_size: int,
    random_state: Any,
) -> Array:
    """A row for each pair: C+, C-, r, Pr(f = 1), r^2 / Pr(f = 1)."""
    random = check_random_state(random_state)
    unlabelled = np.flatnonzero(~known)
    chosen = random.choice(unlabelled, min(selection_size, len(unlabelled)), replace=False)
    # each drawn row stands for several: costs and shares must be those of the whole survey, or C- would mean less
    stands_for = len(unlabelled) / len(chosen)
    rows = np.sort(np.concatenate([np.flatnonzero(known), chosen]))
    X, known = X[rows], known[rows]
    folds, weights = _folds(known, random), np.where(known, 1.0, stands_for)
    table = np.empty((len(pairs), 5))
    for entry, (plus, minus) in zip(table, pairs, strict=True):
        called = _predict_left_out(trainer, X, known, weights * np.where(known, plus, minus), folds)
        recall, share = called[known].mean(), np.average(called, weights=weights)
        entry[:] = plus, minus, recall, share, recall**2 / share if share > 0 else 0.0
    return table


def _folds(known: NDArray[np.bool_], random: RandomState) -> NDArray[np.intp]:
    """Fold of each row, (n,): known and unlabelled rows are spread evenly."""
    folds = np.empty(len(known), dtype=np.intp)
    for members in (known, ~known):
        folds[members] = random.permutation(members.sum()) % N_FOLDS
    return folds


def _predict_left_out(
    trainer: _Trainer, X: Rows, known: NDArray[np.bool_], costs: Array, folds: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Whether each row is on the positive side of the machine that was trained on the other folds, (n,)."""
    called = np.empty(len(X), dtype=bool)
    for fold in range(N_FOLDS):
        held_out = folds == fold
        called[held_out] = trainer.train(X, known, np.where(held_out, 0.0, costs)).values(X[held_out]) > 0
    return called
