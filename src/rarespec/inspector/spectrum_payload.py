"""One spectrum as the page draws it: curves as float32, and a header that says what they are."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.inspector.known_curve import known_curve
from rarespec.inspector.pixel_errors import good_pixels, has_errors, sigma_of, weights_of
from rarespec.inspector.shelf import Shelf
from rarespec.searching.explanation import Band, explain_score
from rarespec.searching.ranking import Ranking
from rarespec.searching.template import NoTemplate
from rarespec.spectrum import Spectrum
from rarespec.strict_json import as_json
from rarespec.survey.manifest import WrongUseError

Vector = NDArray[np.floating]
ALIGNMENT = 8


def spectrum_payload(ranking: Ranking, shelf: Shelf, spectrum: Spectrum, facts: Mapping[str, Any]) -> bytes:
    """Header and curves of a spectrum, seen by this ranking.

    facts : the spectrum's row of the table of candidates, as far as there is one
    """
    nearest = str(facts.get("nearest_known") or "")
    known, note = known_curve(ranking, shelf, spectrum, nearest)
    contribution, bands, why_none = _contribution(ranking, spectrum)
    curves = {
        "flux": np.where(np.isfinite(spectrum.flux), spectrum.flux, 0),
        "sigma": sigma_of(spectrum),
        "ivar": weights_of(spectrum),
        "known": known,
        "contribution": contribution,
    }
    header = {
        "id": spectrum.id,
        "n": len(spectrum.flux),
        "known_id": nearest or None,
        "known_note": note,
        "bands": [_band(band) for band in bands],
        "facts": {**spectrum.catalogue, **facts},
        "has_errors": has_errors(spectrum),
        "n_bad": int((~good_pixels(spectrum)).sum()),
        "why_no_contribution": why_none,
    }
    return packed(header, curves)


def packed(header: Mapping[str, Any], curves: Mapping[str, Vector]) -> bytes:
    """Length of the header as uint32, the header as JSON with blanks behind it, then (p,) float32 curves in order.

    All little-endian. The curves begin at a multiple of 8 bytes, so that they can be read where they lie.
    """
    text = as_json({"arrays": list(curves), **header}).encode("ascii")
    text += b" " * (-(4 + len(text)) % ALIGNMENT)
    return b"".join([struct.pack("<I", len(text)), text, *(curve.astype("<f4").tobytes() for curve in curves.values())])


def _contribution(ranking: Ranking, spectrum: Spectrum) -> tuple[Vector, tuple[Band, ...], str | None]:
    """What each pixel adds to the score, the ranges that add most, and why there is none."""
    nothing = np.full(len(spectrum.flux), np.nan)
    template = ranking.template
    if isinstance(template, NoTemplate):
        return nothing, (), template.said
    try:
        found = explain_score(template, spectrum, ranking.rows.features)
    except WrongUseError as error:
        return nothing, (), str(error)
    return found.contribution, found.bands, None


def _band(band: Band) -> dict[str, float]:
    """`share` is of all that speaks for or against; `contribution` is below 0 where it speaks against."""
    return {"first": band.start, "last": band.stop, "share": band.share, "contribution": band.contribution}
