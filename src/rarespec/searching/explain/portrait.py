"""What is shown of a candidate: its spectrum, the nearest known one, what to look at, and what the table says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.features import median_filter
from rarespec.searching.explain.explanation import Band, Explanation, explain_score
from rarespec.searching.explain.spectral_features import LINE, SpectralFeature, sky_features, telling_features
from rarespec.searching.explain.template import NoTemplate, spectrum_of, why_not_linear
from rarespec.searching.ranking import Ranking
from rarespec.spectrum import Spectra

Vector = NDArray[np.floating]

AT_REST = 0.01
"""Objects with a smaller redshift are stars: a candidate's lines are looked for where the known stars have theirs."""
NEAR = 25.0
"""Angstrom within which a feature belongs to a range of wavelengths."""
MOST_ASKED = 30
"""Known examples, each at a redshift of its own, that are asked which lines they show."""
OFTEN = 0.25
"""Share of them that must show a line."""


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
    is_far : bool
        Whether the marks are lines of its own at its redshift, where the known examples are stars.
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
    is_far: bool = False


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
    lines = TellingLines(ranking)
    wavelength = spectra.wavelength
    moved = ranking.survey.manifest.rest_frame  # by each redshift, the traces of the sky too
    sky = () if moved else sky_features(wavelength[0], wavelength[-1])
    portraits = []
    for i, row in enumerate(table):
        facts = {name: row[name] for name in table.colnames}
        curve, note = known.beside(str(row["nearest_known"]), filtered[i])
        observed = np.where(spectra.bad[i], np.nan, spectra.flux[i])
        found = _explain(ranking, spectra, i)
        marks, bands = (lines.of(found.flux, float(row["z"])), found.bands) if found else ((), ())
        is_far = lines.known_at_rest and lines.is_far(float(row["z"]))
        portraits.append(Portrait(facts, wavelength, observed, filtered[i], curve, note, marks, sky, bands, is_far))
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


class TellingLines:
    """Which lines and bands of a candidate count for it, by the frame in which it can be compared with the known.

    Stars are compared as observed: no redshift is used, as that of a rare star is often wrong. A galaxy or quasar among
    candidates for a kind of star has other lines at the same wavelengths: its own are looked for, at its redshift, and
    no molecule of the known stars is named.
    """

    def __init__(self, ranking: Ranking) -> None:
        self._ranking, self._template = ranking, ranking.template
        self._redshifts = _known_redshifts(ranking)
        far = np.abs(self._redshifts[np.isfinite(self._redshifts)]) > AT_REST
        self._is_moved = ranking.survey.manifest.rest_frame
        self.known_at_rest = self._is_moved or not (len(far) and far.mean() > 0.5)

    def is_far(self, redshift: float) -> bool:
        """Say whether an object at this redshift is no star; not where it is unknown, nor in a survey at rest."""
        return not self._is_moved and abs(redshift) > AT_REST

    def of(self, flux: Vector, redshift: float) -> tuple[SpectralFeature, ...]:
        """Choose the features of a candidate, rescaled flux (p,), at the wavelengths where it has them."""
        if self.known_at_rest and not self.is_far(redshift):
            return self.of_known
        if isinstance(self._template, NoTemplate) or not np.isfinite(redshift):
            return ()
        return self._own(flux, redshift, lines_only=self.known_at_rest)

    @cached_property
    def of_known(self) -> tuple[SpectralFeature, ...]:
        """The features that known stars have and the ranking asks for."""
        template = self._template
        if isinstance(template, NoTemplate):
            return ()
        return telling_features(template.wavelength, template.weights, mean_known(self._ranking))

    def species(self) -> list[str]:
        """Name the atoms and molecules that the known examples show, the most frequent first; empty where unknown."""
        if isinstance(self._template, NoTemplate):
            return []
        if self.known_at_rest:
            return list(dict.fromkeys(one.name for one in self.of_known))
        rows = self._ranking.rows
        placed = np.flatnonzero(np.isfinite(self._redshifts)).tolist()[:MOST_ASKED]
        features = rows.X[rows.known][placed].astype(np.float64)
        fluxes = (spectrum_of(rows.features.recipe, one) for one in features)
        shown = [self._own(flux, self._redshifts[i]) for flux, i in zip(fluxes, placed, strict=True)]
        counts = Counter(name for marks in shown for name in {one.name for one in marks})
        return [name for name, count in counts.most_common() if count >= OFTEN * len(placed)]

    def _own(self, flux: Vector, redshift: float, lines_only: bool = False) -> tuple[SpectralFeature, ...]:
        assert not isinstance(self._template, NoTemplate)
        template, sides = self._template, (LINE,) if lines_only else None
        return telling_features(template.wavelength, template.weights, flux, redshift, sides)


def _known_redshifts(ranking: Ranking) -> NDArray[np.float64]:
    """Redshifts of the known examples, in the order of their ids; NaN where unknown."""
    ids, given = ranking.rows.known_ids, ranking.rows.elsewhere
    rows = ranking.survey.rows_of(ids)
    catalogue = ranking.survey.catalogue.take(rows[rows >= 0])
    here = iter(catalogue["z"].tolist()) if "z" in catalogue else iter(())
    elsewhere = dict(zip(given.ids, given.catalogue.get("z", []), strict=False)) if given else {}
    told = [next(here, None) if row >= 0 else elsewhere.get(id) for id, row in zip(ids, rows, strict=True)]
    return np.array(told, dtype=np.float64)


def names_in(band: Band, marks: Sequence[SpectralFeature]) -> list[str]:
    """Name the features in a range of wavelengths, or just beside it, each once."""
    here = (one.name for one in marks if band.start - NEAR <= one.wavelength <= band.stop + NEAR)
    return list(dict.fromkeys(here))


def _explain(ranking: Ranking, spectra: Spectra, i: int) -> Explanation | None:
    if isinstance(ranking.template, NoTemplate):
        return None
    return explain_score(ranking.template, spectra[i], ranking.rows.features)
