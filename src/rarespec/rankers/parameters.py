"""Checks of rankers' parameters, made in `fit` as scikit-learn asks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

from sklearn.exceptions import ConvergenceWarning


def require(ranker: Any, name: str, holds: bool, allowed: str) -> None:
    """Refuse a parameter unless a condition holds.

    Parameters
    ----------
    ranker : Ranker
        Whose parameter it is; named in the message.
    name : str
        The parameter; its value is in the message too.
    holds : bool
        The condition.
    allowed : str
        What is allowed, to stand after "it must be".

    Raises
    ------
    ValueError
        If the condition does not hold.
    """
    if not holds:
        raise ValueError(f"{type(ranker).__name__}: {name}={getattr(ranker, name)!r}, but it must be {allowed}")


def require_one_of(ranker: Any, name: str, allowed: tuple[str, ...]) -> None:
    """Refuse a parameter that is none of these words.

    Parameters
    ----------
    ranker : Ranker
        Whose parameter it is.
    name : str
        The parameter.
    allowed : tuple of str
        The words.

    Raises
    ------
    ValueError
        If it is something else.
    """
    value = getattr(ranker, name)
    fine = isinstance(value, str) and value in allowed
    require(ranker, name, fine, f"one of {', '.join(map(repr, allowed))}")


def require_positive(ranker: Any, *names: str, optional: bool = False) -> None:
    """Refuse parameters that are not finite numbers above 0; `optional` ones may be None."""
    for name in names:
        value = getattr(ranker, name)
        fine = (optional and value is None) or is_positive(value)
        require(ranker, name, fine, "a number > 0" + (" or None" if optional else ""))


def require_count(ranker: Any, *names: str, optional: bool = False, least: int = 1) -> None:
    """Refuse parameters that are not whole numbers, or too small.

    Parameters
    ----------
    ranker : Ranker
        Whose parameters they are.
    *names : str
        The parameters.
    optional : bool, default False
        Whether None is allowed too.
    least : int, default 1
        The smallest number allowed.

    Raises
    ------
    ValueError
        For the first that is refused. True and False are no numbers here.
    """
    for name in names:
        value = getattr(ranker, name)
        fine = (optional and value is None) or (is_whole(value) and int(value) >= least)
        require(ranker, name, fine, f"a whole number >= {least}" + (" or None" if optional else ""))


def require_share(ranker: Any, name: str) -> None:
    """Refuse a parameter that is not a number above 0 and at most 1."""
    value = getattr(ranker, name)
    require(ranker, name, is_positive(value) and float(value) <= 1, "a number above 0 and at most 1")


def is_positive(value: Any) -> bool:
    return is_number(value) and 0 < float(value) < float("inf")


def is_from_0_to_1(value: Any) -> bool:
    return is_number(value) and 0 <= float(value) <= 1


def is_number(value: Any) -> bool:
    """Whether a value is a number; True and False are not, though Python counts them among the whole numbers."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    return is_number(value) and isinstance(value, Integral)


# ---- What rankers say when a solver stopped before it was done.


def warn_unless_converged(converged: bool, where: str, advice: str) -> None:
    """Warn once that a solver stopped early, at the line that called `fit`.

    Parameters
    ----------
    converged : bool
        Whether it was done; then nothing is said.
    where : str
        How far it came, to stand after "stopped".
    advice : str
        What the user can do about it.

    Warns
    -----
    ConvergenceWarning
        If it has not converged. The line is right only when `_fit` itself calls this.
    """
    if not converged:
        warnings.warn(f"stopped {where}: {advice}", ConvergenceWarning, stacklevel=5)


@contextmanager
def unheard() -> Iterator[None]:
    """Silence scikit-learn's own warnings, one for each small machine: the ranker gives one for all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
