"""What the best candidates of a search have in common: their kinds, brightness and redshift, what counts, flags."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarespec.searching.explain.explanation import Band, bands_of
from rarespec.searching.explain.portrait import Portrait, names_in
from rarespec.searching.explain.template import NoTemplate, spectrum_of
from rarespec.searching.ranking import Ranking
from rarespec.survey import Survey

Vector = NDArray[np.float64]

USUAL = 0.5
"""Share of the candidates that must show a feature in a range for the range to bear its name."""
MAGNITUDE = re.compile(r"(?i)(?:^|_|[a-z])mag(?:$|_)")
"""Names of columns that hold magnitudes: psfMag_r, phot_g_mean_mag, gmag."""
BRIGHTEST, FAINTEST = -5.0, 40.0
"""Magnitudes outside are marks for a missing one, such as -9999."""


class Spread(NamedTuple):
    """The lowest, the middle and the highest of some numbers."""

    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Measured:
    """A column of the catalogue: how it spreads over the best candidates, the known examples and the survey.

    Parameters
    ----------
    column : str
        Its name.
    candidates : Spread
        Over the best candidates.
    known : Spread or None
        Over the known examples; None if they have no such value.
    survey : Spread
        Over the whole survey, from its 5th to its 95th percentile.
    """

    column: str
    candidates: Spread
    known: Spread | None
    survey: Spread


@dataclass(frozen=True, eq=False)
class InCommon:
    """What the best candidates have in common.

    Parameters
    ----------
    n : int
        How many candidates: those shown, down to where it is worth looking.
    classes : list of (str, int)
        Class of the survey, and how many candidates have it; the most frequent first.
    measured : list of Measured
        S/N, redshift, and a magnitude if the catalogue has one.
    bands : list of (Band, list of str)
        Wavelength ranges that count most for or against them, the largest first, each with the lines and bands in it.
    nearest : list of (str, int)
        Known example, and how many candidates are most like it.
    flags : list of (str, int)
        Flag, and how many candidates have it.
    n_flagged : int
        How many have any flag.
    mean : (p,) float64 array or None
        Their mean spectrum, filtered and rescaled; None where the features cannot be turned back into flux.
    """

    n: int
    classes: list[tuple[str, int]]
    measured: list[Measured]
    bands: list[tuple[Band, list[str]]]
    nearest: list[tuple[str, int]]
    flags: list[tuple[str, int]]
    n_flagged: int
    mean: Vector | None


def find_in_common(ranking: Ranking, portraits: Sequence[Portrait]) -> InCommon:
    """Compare the best candidates with the known examples and the survey.

    Parameters
    ----------
    ranking : Ranking
        The answer of a search.
    portraits : sequence of Portrait
        The candidates that are shown, best first.

    Returns
    -------
    InCommon
        What they have in common.
    """
    best = portraits[: n_worth_looking(ranking, len(portraits))]
    flags = [list(filter(None, str(one.facts["flags"]).split(","))) for one in best]
    rows = ranking.survey.rows_of([str(one.facts["id"]) for one in best])
    mean = _mean_spectrum(ranking, rows)
    return InCommon(
        n=len(best),
        classes=_count(str(one.facts["class"]) for one in best),
        measured=_measure(ranking, rows),
        bands=_name_bands(ranking, mean, best),
        nearest=_count(filter(None, (str(one.facts["nearest_known"]) for one in best))),
        flags=_count(flag for these in flags for flag in these),
        n_flagged=sum(map(bool, flags)),
        mean=mean,
    )


def n_worth_looking(ranking: Ranking, n_shown: int) -> int:
    """How many of those shown stand above the suggested end of the list; all when there is no suggestion."""
    stop = ranking.yield_curve.stopping_rank if ranking.yield_curve.can_tell else 0
    return min(n_shown, stop) if stop else n_shown


def _count(values: Iterable[str]) -> list[tuple[str, int]]:
    return Counter(values).most_common()


def _mean_spectrum(ranking: Ranking, rows: NDArray[np.intp]) -> Vector | None:
    if isinstance(ranking.template, NoTemplate):
        return None
    places = ranking.rows.places_of(rows)
    return spectrum_of(ranking.rows.features.recipe, ranking.rows.X[places].mean(axis=0, dtype=np.float64))


# ---- Numbers of the catalogue.


def _measure(ranking: Ranking, rows: NDArray[np.intp]) -> list[Measured]:
    survey = ranking.survey
    known = survey.rows_of(ranking.rows.known_ids)
    columns = [name for name in ("snr", "z", *_magnitude(survey)) if name in survey.catalogue]
    found = (_measure_column(survey, name, rows, known[known >= 0]) for name in columns)
    return [one for one in found if one]


def _magnitude(survey: Survey) -> list[str]:
    """The first column of magnitudes, if there is one."""
    names = [name for name in survey.catalogue.columns if MAGNITUDE.search(name) and "err" not in name.lower()]
    return names[:1]


def _measure_column(survey: Survey, column: str, rows: NDArray[np.intp], known: NDArray[np.intp]) -> Measured | None:
    values = survey.catalogue[column]
    if values.dtype.kind not in "if":
        return None
    values = values.astype(np.float64)
    if MAGNITUDE.search(column):
        values = np.where((values > BRIGHTEST) & (values < FAINTEST), values, np.nan)
    of_candidates, of_survey = _spread(values[rows]), _spread(values, 5.0)
    if of_candidates is None or of_survey is None:
        return None
    return Measured(column, of_candidates, _spread(values[known]), of_survey)


def _spread(values: Vector, percent: float = 0.0) -> Spread | None:
    finite = values[np.isfinite(values)]
    return Spread(*np.percentile(finite, [percent, 50, 100 - percent]).tolist()) if len(finite) else None


# ---- Wavelengths that count.


def _name_bands(ranking: Ranking, mean: Vector | None, best: Sequence[Portrait]) -> list[tuple[Band, list[str]]]:
    """The ranges in which the mean candidate differs most from the survey as the ranking weighs it."""
    template = ranking.template
    if isinstance(template, NoTemplate) or mean is None:
        return []
    bands = bands_of(template.wavelength, template.weights * (mean - template.typical))
    return [(band, _usual_names(band, best)) for band in bands]


def _usual_names(band: Band, best: Sequence[Portrait]) -> list[str]:
    """Lines and band heads that are marked in this range in most of the candidates."""
    names = Counter(name for one in best for name in names_in(band, one.marks))
    return [name for name, n in names.items() if n >= USUAL * len(best)]
