"""Checks of rankers' parameters, made in `fit` as scikit-learn asks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

from sklearn.exceptions import ConvergenceWarning


def require(ranker: Any, name: str, holds: bool, allowed: str) -> None:
    """A ValueError that names the parameter, its value and what is allowed, unless it holds."""
    if not holds:
        raise ValueError(f"{type(ranker).__name__}: {name}={getattr(ranker, name)!r}, but it must be {allowed}")


def require_one_of(ranker: Any, name: str, allowed: tuple[str, ...]) -> None:
    value = getattr(ranker, name)
    fine = isinstance(value, str) and value in allowed
    require(ranker, name, fine, f"one of {', '.join(map(repr, allowed))}")


def require_positive(ranker: Any, *names: str, optional: bool = False) -> None:
    """Finite numbers above 0; `optional` ones may be None."""
    for name in names:
        value = getattr(ranker, name)
        fine = (optional and value is None) or is_positive(value)
        require(ranker, name, fine, "a number > 0" + (" or None" if optional else ""))


def require_count(ranker: Any, *names: str, optional: bool = False, least: int = 1) -> None:
    """Whole numbers from `least` up; `optional` ones may be None."""
    for name in names:
        value = getattr(ranker, name)
        fine = (optional and value is None) or (is_whole(value) and int(value) >= least)
        require(ranker, name, fine, f"a whole number >= {least}" + (" or None" if optional else ""))


def require_share(ranker: Any, name: str) -> None:
    """A number above 0 and at most 1."""
    value = getattr(ranker, name)
    require(ranker, name, is_positive(value) and float(value) <= 1, "a number above 0 and at most 1")


def is_positive(value: Any) -> bool:
    return is_number(value) and 0 < float(value) < float("inf")


def is_from_0_to_1(value: Any) -> bool:
    return is_number(value) and 0 <= float(value) <= 1


def is_number(value: Any) -> bool:
    """True and False are none, though Python counts them among the whole numbers."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    return is_number(value) and isinstance(value, Integral)


# ---- What rankers say when a solver stopped before it was done.


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
