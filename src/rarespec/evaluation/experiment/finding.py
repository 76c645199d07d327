"""A finding in words, and how numbers are put into words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rarespec.evaluation.experiment.methods import method
from rarespec.evaluation.experiment.plan import STUDIED
from rarespec.evaluation.experiment.results import Results
from rarespec.evaluation.places import PairedDifference


class Verdict(StrEnum):
    """Whether a claim of the paper holds in an experiment."""

    HOLDS = "holds here"
    PARTLY = "holds in part"
    OPEN = "is undecided"
    FAILS = "does not hold here"
    NOT_RUN = "was not run"


@dataclass(frozen=True)
class Quote:
    """The words of the paper that a claim is taken from, and where they stand."""

    place: str
    words: str

    def __str__(self) -> str:
        return f"{self.place}: “{self.words}”"


@dataclass(frozen=True)
class Finding:
    title: str
    sentences: tuple[str, ...]
    verdict: Verdict | None = None
    """None where the paper claims nothing."""
    quote: Quote | None = None
    """What the paper says, where it does."""
    where: str = ""
    """The verdict for each number of known examples, where they differ."""


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """Combine the verdicts on several parts of a claim; one that holds in no part does not hold in part."""
    different = set(verdicts)
    if len(different) == 1:
        return different.pop()
    return Verdict.PARTLY if different & {Verdict.HOLDS, Verdict.PARTLY} else Verdict.FAILS


def as_claimed(agree: Sequence[bool]) -> Verdict:
    """Judge a claim by the cases that agree with it; without any it is open."""
    return together(Verdict.HOLDS if one else Verdict.FAILS for one in agree) if agree else Verdict.OPEN


def not_run(title: str, why: str, quote: Quote) -> Finding:
    """Make the finding of a claim that could not be checked.

    Parameters
    ----------
    title : str
        The claim.
    why : str
        The reason, to stand after "Not run:", without a full stop.
    quote : Quote
        What the paper says.

    Returns
    -------
    Finding
        With the verdict `NOT_RUN`.
    """
    return Finding(title, (f"Not run: {why}.",), Verdict.NOT_RUN, quote)


def in_words(difference: PairedDifference, digits: int = 3) -> str:
    mean = format_signed(difference.mean, digits)
    if difference.n == 1:
        return f"{mean} (one draw, so no interval)"
    interval = f"{format_signed(difference.low, digits)} to {format_signed(difference.high, digits)}"
    return f"{mean} (95 % interval {interval})"


def by_verdict(verdicts: Mapping[int, Verdict]) -> str:
    """List the numbers of known examples by verdict; empty where there is one verdict for all."""
    if len(set(verdicts.values())) == 1:
        return ""
    numbers = {verdict: [str(n) for n, one in verdicts.items() if one == verdict] for verdict in Verdict}
    return ", ".join(f"{verdict} for NP = {join_words(those)}" for verdict, those in numbers.items() if those)


def format_signed(value: float, digits: int) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


def in_seconds(time: float) -> str:
    return f"{time:.2g} s" if time < 10 else f"{time:.0f} s"


def format_count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def join_words(words: Sequence[str]) -> str:
    """Join words as in "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


# ---- What results rest on, in words: how many draws there are, and which parameters the methods had.


ONE_DRAW = "one draw"


def draws_in_words(results: Results, n_known: Collection[int] | None = None) -> str:
    """Say how many draws each mean is over, for these numbers of known examples or for all; draws lost do not count."""
    counts = {len(trials.auc) for (_, n), trials in results.trials.items() if n_known is None or n in n_known} or {0}
    if counts == {1}:
        return ONE_DRAW
    return f"{max(counts)} draws" if len(counts) == 1 else f"{min(counts)} to {max(counts)} draws"


def parameters_in_words(results: Results, methods: Iterable[str]) -> str:
    """Say which parameters these methods had, to stand after "with"."""
    tuned = {name: results.tuned.get(name, {}) for name in methods}
    chosen = [f"{results.label(name)} {format_parameters(params)}" for name, params in tuned.items() if params]
    default = [results.label(name) for name, params in tuned.items() if not params]
    if not chosen:
        return "default parameters"
    rest = f"; defaults for {join_words(default)}" if default else ""
    return f"the tuned parameters: {'; '.join(chosen)}{rest}"


def format_parameters(params: Mapping[str, Any]) -> str:
    """Write parameters as one reads them: C = 54.5982."""
    return ", ".join(
        f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}" for name, value in params.items()
    )


def default_of_studied(parameter: str) -> Any:
    """Return the value that this parameter has in figures 8 and 9 where another one is varied."""
    return method(STUDIED).make().get_params()[parameter]
