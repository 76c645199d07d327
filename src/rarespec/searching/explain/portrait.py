"""What is shown of a candidate: its spectrum, the nearest known one, what to look at, and what the table says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.features import median_filter
from rarespec.searching.explain.explanation import Band, explain_score
from rarespec.searching.explain.spectral_features import SpectralFeature, sky_features, telling_features
from rarespec.searching.explain.template import NoTemplate, spectrum_of, why_not_linear
from rarespec.searching.ranking import Ranking
from rarespec.spectrum import Spectra

Vector = NDArray[np.floating]

AT_REST = 0.01
"""Known examples with a smaller redshift are stars: a candidate's lines are looked for where theirs are."""


@dataclass(frozen=True, eq=False)
class Portrait:
    """What is shown of one candidate.

    Parameters
    ----------
    facts : mapping
        The candidate's row of the table.
    wavelength : (p,) float64 array
        Vacuum Angstrom.
    observed : (p,) array
        The flux as observed, NaN where a pixel is bad.
    filtered : (p,) array
        The flux after the median filter, NaN where a pixel is bad.
    known : (p,) array or None
        Filtered flux of the nearest known example on the scale of the candidate; None when none can be drawn.
    known_note : str
        What is particular about its curve; empty when it is as observed.
    marks : tuple of SpectralFeature
        Lines and band heads that count for or against the candidate, where it should have them.
    sky : tuple of SpectralFeature
        Places where sky and air leave traces.
    bands : tuple of Band
        Wavelength ranges that count for or against it, the largest first.
    """

    facts: Mapping[str, Any]
    wavelength: NDArray[np.float64]
    observed: Vector
    filtered: Vector
    known: Vector | None
    known_note: str
    marks: tuple[SpectralFeature, ...]
    sky: tuple[SpectralFeature, ...]
    bands: tuple[Band, ...]


def portraits_of(ranking: Ranking, n: int, first: int = 0) -> list[Portrait]:
    """Collect what is shown of the best candidates.

    Parameters
    ----------
    ranking : Ranking
        The answer of a search.
    n : int
        How many candidates; all when there are fewer.
    first : int
        How many candidates to pass over before.

    Returns
    -------
    list of Portrait
        One for each candidate, best first.
    """
    table = ranking.table[first : first + n]
    spectra = ranking.survey.select([str(id) for id in table["id"]])
    filtered = _filter(ranking, spectra)
    known = _KnownCurves(ranking, [str(id) for id in table["nearest_known"]])
    wavelength = spectra.wavelength
    moved = ranking.survey.manifest.rest_frame  # by each redshift, the traces of the sky too
    sky = () if moved else sky_features(wavelength[0], wavelength[-1])
    portraits = []
    for i, row in enumerate(table):
        facts = {name: row[name] for name in table.colnames}
        curve, note = known.beside(str(row["nearest_known"]), filtered[i])
        observed = np.where(spectra.bad[i], np.nan, spectra.flux[i])
        marks = _marks(ranking, float(row["z"]), known.at_rest)
        bands = _bands(ranking, spectra, i)
        portraits.append(Portrait(facts, wavelength, observed, filtered[i], curve, note, marks, sky, bands))
    return portraits


def mean_known(ranking: Ranking) -> NDArray[np.float64]:
    """Average the known examples, (p,), filtered and rescaled as the template's typical spectrum is."""
    rows = ranking.rows
    return spectrum_of(rows.features.recipe, rows.X[rows.known].mean(axis=0, dtype=np.float64))


def on_scale_of(filtered: Vector, known: Vector, offset_is_free: bool = False) -> Vector | None:
    """Scale a known spectrum so that it has the median of another.

    A free offset is one that a rescaling has taken away; then the spread is made the same as well. So it is where a
    median is not positive, as it happens in noise.

    Parameters
    ----------
    filtered : (p,) array
        The other spectrum, NaN where bad.
    known : (p,) array
        The known spectrum, NaN where bad.
    offset_is_free : bool
        Whether the spectra may be shifted against each other.

    Returns
    -------
    (p,) array or None
        The known spectrum, scaled; None when there is nothing to compare.
    """
    medians = np.array([np.nanmedian(one) if np.isfinite(one).any() else np.nan for one in (filtered, known)])
    if not np.isfinite(medians).all():
        return None
    if not offset_is_free and (medians > 0).all():
        return known * (medians[0] / medians[1])
    spreads = [np.subtract(*np.nanpercentile(one, [90, 10])) for one in (filtered, known)]
    return medians[0] + (known - medians[1]) * (spreads[0] / spreads[1] if spreads[1] > 0 else 0.0)


class _KnownCurves:
    """Filtered spectra of known examples by id; where only features are known, they are reconstructed from these."""

    def __init__(self, ranking: Ranking, ids: list[str]) -> None:
        wanted = [id for id in dict.fromkeys(ids) if id]
        stacks = [stack for stack in (_in_the_survey(ranking, wanted), from_elsewhere(ranking, wanted)) if stack]
        self.observed = {
            id: filtered for stack in stacks for id, filtered in zip(stack.ids, _filter(ranking, stack), strict=True)
        }
        self.described = from_features(ranking, [id for id in wanted if id not in self.observed])
        redshifts = np.array([z for stack in stacks for z in stack.catalogue.get("z", []) if z is not None], float)
        far = np.abs(redshifts[np.isfinite(redshifts)]) > AT_REST
        self.at_rest = ranking.survey.manifest.rest_frame or not (len(far) and far.mean() > 0.5)

    def beside(self, id: str, filtered: Vector) -> tuple[Vector | None, str]:
        """The curve on the scale of a candidate, and what is particular about it."""
        if id in self.observed:
            return on_scale_of(filtered, self.observed[id]), ""
        if id in self.described:
            curve = on_scale_of(filtered, self.described[id], offset_is_free=True)
            return curve, "the nearest known example is not in the survey; its curve is reconstructed from its features"
        return None, "the nearest known example is not in the survey and cannot be drawn"


def _in_the_survey(ranking: Ranking, ids: list[str]) -> Spectra | None:
    here = [id for id, row in zip(ids, ranking.survey.rows_of(ids), strict=True) if row >= 0]
    return ranking.survey.select(here) if here else None


def from_elsewhere(ranking: Ranking, ids: list[str]) -> Spectra | None:
    """Find examples that were given as spectra, on the grid of the survey."""
    given = ranking.rows.elsewhere
    if given is None:
        return None
    rows = np.flatnonzero(np.isin(given.ids, ids))
    return given.take(rows) if len(rows) else None


def _filter(ranking: Ranking, spectra: Spectra) -> Vector:
    """(n, p) flux after the median filter of 10 Angstrom, NaN where a pixel is bad."""
    filtered = median_filter(spectra.flux, ranking.survey.grid, bad=spectra.bad)
    return np.where(spectra.bad, np.nan, filtered)


def from_features(ranking: Ranking, ids: list[str]) -> dict[str, Vector]:
    """Map ids of known examples to the spectra, (p,), that their features describe; empty for nonlinear recipes."""
    rows = ranking.rows
    recipe = rows.features.recipe
    if not ids or why_not_linear(recipe, ranking.survey.grid.n_pixels):
        return {}
    features = dict(zip(rows.known_ids, rows.X[rows.known], strict=True))
    return {id: spectrum_of(recipe, features[id].astype(np.float64)) for id in ids if id in features}


def _marks(ranking: Ranking, redshift: float, at_rest: bool) -> tuple[SpectralFeature, ...]:
    """Choose the lines to mark. Where known examples are at rest no redshift is used: a rare star's is often wrong."""
    template = ranking.template
    if isinstance(template, NoTemplate) or not (at_rest or np.isfinite(redshift)):
        return ()
    return telling_features(template.wavelength, template.weights, mean_known(ranking), 0.0 if at_rest else redshift)


def _bands(ranking: Ranking, spectra: Spectra, i: int) -> tuple[Band, ...]:
    if isinstance(ranking.template, NoTemplate):
        return ()
    return explain_score(ranking.template, spectra[i], ranking.rows.features).bands
