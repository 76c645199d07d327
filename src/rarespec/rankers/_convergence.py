"""What rankers say when a solver stopped before it was done."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.exceptions import ConvergenceWarning


def warn_unless_converged(converged: bool, where: str, advice: str) -> None:
    """One ConvergenceWarning with the line that called `fit`; for use in `_fit` itself."""
    if not converged:
        warnings.warn(f"stopped {where}: {advice}", ConvergenceWarning, stacklevel=5)


@contextmanager
def unheard() -> Iterator[None]:
    """scikit-learn's own such warnings, one for each small machine, are left out: the ranker gives one for all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
