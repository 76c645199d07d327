"""Checks of rankers' parameters, made in `fit` as scikit-learn asks."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any


def require(condition: bool, ranker: Any, name: str, allowed: str) -> None:
    """A ValueError that names the parameter, its value and what is allowed, unless the condition holds."""
    if not condition:
        raise ValueError(f"{type(ranker).__name__}: {name}={getattr(ranker, name)!r}, but it must be {allowed}")


def require_one_of(ranker: Any, name: str, allowed: tuple[str, ...]) -> None:
    require(getattr(ranker, name) in allowed, ranker, name, f"one of {', '.join(map(repr, allowed))}")


def require_positive(ranker: Any, *names: str) -> None:
    for name in names:
        value = getattr(ranker, name)
        require(isinstance(value, Real) and 0 < float(value) < float("inf"), ranker, name, "a number > 0")


def require_count(ranker: Any, *names: str, optional: bool = False) -> None:
    """Whole numbers from 1 up; `optional` ones may be None."""
    for name in names:
        value = getattr(ranker, name)
        fine = (optional and value is None) or (isinstance(value, Integral) and int(value) >= 1)
        require(fine, ranker, name, "a whole number >= 1" + (" or None" if optional else ""))
