"""The nearest known example, drawn behind a candidate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rarespec.features import median_filter
from rarespec.inspector.pixel_errors import good_pixels
from rarespec.inspector.shelf import Shelf
from rarespec.searching.portrait import from_elsewhere, from_features, on_scale_of
from rarespec.searching.ranking import Ranking
from rarespec.spectrum import Spectrum

Vector = NDArray[np.floating]

FROM_FEATURES = "the nearest known example is not in the survey; its curve is reconstructed from its features"
CANNOT_BE_DRAWN = "the nearest known example is not in the survey and cannot be drawn"
NO_SCALE = "the nearest known example cannot be scaled to this spectrum"


def known_curve(ranking: Ranking, shelf: Shelf, spectrum: Spectrum, known_id: str) -> tuple[Vector, str]:
    """Filtered flux of a known example on the scale of a spectrum, (p,), NaN where there is none, and a note on it."""
    nothing = np.full(len(spectrum.flux), np.nan)
    if not known_id:
        return nothing, ""
    known, note = _filtered_known(ranking, shelf, known_id)
    if known is None:
        return nothing, note
    curve = on_scale_of(filtered(ranking, spectrum), known, offset_is_free=bool(note))
    return (nothing, NO_SCALE) if curve is None else (curve, note)


def _filtered_known(ranking: Ranking, shelf: Shelf, id: str) -> tuple[Vector | None, str]:
    """Of the survey, or as it was given; without either, as its features describe it."""
    if id in ranking.survey:
        return filtered(ranking, shelf.fetch([id])[0]), ""
    if (given := from_elsewhere(ranking, [id])) is not None:
        return filtered(ranking, given[0]), ""
    described = from_features(ranking, [id]).get(id)
    return described, CANNOT_BE_DRAWN if described is None else FROM_FEATURES


def filtered(ranking: Ranking, spectrum: Spectrum) -> Vector:
    """(p,) flux after the median filter of 10 Angstrom, NaN where a pixel is bad."""
    bad = ~good_pixels(spectrum)
    flux = np.where(bad, 0, spectrum.flux)
    return np.where(bad, np.nan, median_filter(flux[None], ranking.survey.grid, bad=bad[None])[0])
