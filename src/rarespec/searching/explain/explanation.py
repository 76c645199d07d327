"""Why a candidate stands where it stands: what each wavelength range adds to its score, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import UsageError
from rarespec.searching.explain.template import NoTemplate, Template, rescale_flux
from rarespec.spectrum import Spectrum
from rarespec.storage.text import printable
from rarespec.survey.features.feature_set import FeatureSet

Vector = NDArray[np.float64]

SMOOTHING_ANGSTROM = 60.0
"""A band is a feature that an eye would point at: neighbouring pixels are taken together over this width."""
BAND_LEVEL = 0.2
"""A band reaches as far as the smoothed contribution exceeds this share of its largest value anywhere."""
N_BANDS = 6
"""Ranges that are named, the largest first."""


@dataclass(frozen=True)
class Band:
    """A wavelength range that counts for a candidate (contribution > 0) or against it.

    Parameters
    ----------
    start : float
        Where it begins, vacuum Angstrom.
    stop : float
        Where it ends, vacuum Angstrom.
    contribution : float
        Sum over the range, in units of the score.
    share : float
        Its share of all that counts for or against, from 0 to 1.
    """

    start: float
    stop: float
    contribution: float
    share: float

    def __str__(self) -> str:
        side = "in favour" if self.contribution > 0 else "against"
        return f"{self.start:.0f}-{self.stop:.0f} A {side}: {100 * self.share:.0f} %"


@dataclass(frozen=True)
class Explanation:
    """What the template found in one spectrum.

    Parameters
    ----------
    id : str
        Id of the spectrum.
    wavelength : (p,) float64 array
        Vacuum Angstrom.
    flux : (p,) float64 array
        The flux, filtered and rescaled.
    contribution : (p,) float64 array
        Weight times (flux - typical flux) in each pixel.
    score : float
        Their sum: by how much the spectrum scores above the typical one. Where the template only approximates the
        ranker, so does this score.
    bands : tuple of Band
        The wavelength ranges that contribute most, the largest first.
    said : str
        What the template is.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.searching import Explanation
    >>> pixels = np.array([4000.0, 4001.0])
    >>> print(Explanation("a", pixels, np.ones(2), np.array([0.5, 0.25]), 0.75, (), "A matched filter."))
    a: +0.75 relative to a typical spectrum of the survey
    A matched filter.
    """

    id: str
    wavelength: Vector
    flux: Vector
    contribution: Vector
    score: float
    bands: tuple[Band, ...]
    said: str

    def __str__(self) -> str:
        total = f"{self.id}: {self.score:+.4g} relative to a typical spectrum of the survey"
        return "\n".join([total, *map(str, self.bands), self.said])

    def __repr__(self) -> str:
        return f"<Explanation of {printable(self.id)}>\n" + "\n".join(map(printable, str(self).split("\n")))

    def _repr_html_(self) -> str:
        from rarespec.searching.notebook_view import explanation_html

        return explanation_html(self)


def contributions(template: Template, rescaled_flux: NDArray[np.floating]) -> Vector:
    """Multiply weight and (flux - typical flux); summed over the pixels, it is the score above the typical one's.

    Parameters
    ----------
    template : Template
        The weights and the typical flux.
    rescaled_flux : (p,) or (n, p) array
        As the linear step of the recipe gets it.

    Returns
    -------
    (p,) or (n, p) float64 array
        The contribution of each pixel.
    """
    return template.weights * (rescaled_flux - template.typical)


def explain_score(template: Template | NoTemplate, spectrum: Spectrum, features: FeatureSet) -> Explanation:
    """Explain what a template finds in a spectrum.

    Parameters
    ----------
    template : Template or NoTemplate
        Of the ranking.
    spectrum : Spectrum
        On the grid of the survey that the features are of.
    features : FeatureSet
        Of the search.

    Returns
    -------
    Explanation
        The contribution of each pixel, and the ranges that matter most.

    Raises
    ------
    UsageError
        If there is no template, or the spectrum has other pixels or no features.
    """
    if isinstance(template, NoTemplate):
        raise UsageError(f"{spectrum.id}: no explanation by wavelength. {template.said}")
    if len(spectrum.flux) != len(template.wavelength):
        raise UsageError(
            f"{spectrum.id}: has {len(spectrum.flux)} pixels, but the template has {len(template.wavelength)}"
        )
    observed = np.where(spectrum.bad, np.nan, spectrum.flux).astype(np.float32)
    flux = rescale_flux(features.recipe, observed[None, :])[0].astype(np.float64)
    if not np.isfinite(flux).all():
        raise UsageError(f"{spectrum.id}: has no features, so there is no score to explain")
    contribution = contributions(template, flux)
    bands = bands_of(template.wavelength, contribution)
    score = float(contribution.sum())
    return Explanation(spectrum.id, template.wavelength, flux, contribution, score, bands, template.said)


def bands_of(wavelength: Vector, contribution: Vector) -> tuple[Band, ...]:
    """Find the few ranges in which a contribution by pixel, (p,), is largest for and against, the largest first."""
    smooth = smooth_weights(wavelength, contribution)
    everything = np.abs(smooth).sum()
    if not everything > 0:
        return ()
    side = np.sign(smooth) * (np.abs(smooth) > BAND_LEVEL * np.abs(smooth).max())
    cuts = np.concatenate([[0], np.flatnonzero(np.diff(side)) + 1, [len(side)]])
    runs = [(start, stop) for start, stop in pairwise(cuts.tolist()) if side[start]]
    # a pixel reaches halfway to the next, so that a band of a single one has a width too
    edges = np.concatenate([wavelength[:1], (wavelength[1:] + wavelength[:-1]) / 2, wavelength[-1:]])
    bands = [_band(edges, smooth, start, stop, everything) for start, stop in runs]
    return tuple(sorted(bands, key=lambda band: -band.share)[:N_BANDS])


def _band(edges: Vector, smooth: Vector, start: int, stop: int, everything: float) -> Band:
    total = float(smooth[start:stop].sum())
    return Band(float(edges[start]), float(edges[stop]), total, abs(total) / everything)


def smooth_weights(wavelength: Vector, values: Vector, width_angstrom: float = SMOOTHING_ANGSTROM) -> Vector:
    """Spread each value evenly over the pixels within half the width; the sum stays the same.

    Parameters
    ----------
    wavelength : (p,) float64 array
        Rising.
    values : (p,) float64 array
        To be smoothed.
    width_angstrom : float
        The width.

    Returns
    -------
    (p,) float64 array
        The smoothed values.
    """
    first = np.searchsorted(wavelength, wavelength - width_angstrom / 2)
    last = np.searchsorted(wavelength, wavelength + width_angstrom / 2)
    spread = np.zeros(len(values) + 1)
    np.add.at(spread, first, values / (last - first))
    np.add.at(spread, last, -values / (last - first))
    return np.cumsum(spread)[:-1]
