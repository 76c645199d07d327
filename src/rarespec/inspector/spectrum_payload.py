"""One spectrum as the page draws it: curves as float32, and a header that says what they are."""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import UsageError
from rarespec.features import median_filter
from rarespec.searching.explain.explanation import Band, explain_score
from rarespec.searching.explain.portrait import TellingLines, from_elsewhere, from_features, names_in, on_scale_of
from rarespec.searching.explain.spectral_features import SpectralFeature
from rarespec.searching.explain.template import NoTemplate
from rarespec.searching.links import object_links
from rarespec.searching.ranking import Ranking
from rarespec.searching.yields.yield_curve import YieldCurve
from rarespec.spectrum import Spectrum
from rarespec.storage.text import as_json
from rarespec.survey import Survey
from rarespec.survey.export import KNOWN_UNIT

# ---- How much each pixel of a spectrum is worth, and how uncertain it is.


def good_pixels(spectrum: Spectrum) -> NDArray[np.bool_]:
    """(p,) bool: pixels that may be used."""
    return ~spectrum.bad & np.isfinite(spectrum.flux)


def weights_of(spectrum: Spectrum) -> NDArray[np.float32]:
    """(p,) inverse variance, 0 where a pixel is bad; of a spectrum that came without errors, 1 where it is good."""
    good, ivar = good_pixels(spectrum), spectrum.ivar
    if ivar is None or not has_errors(spectrum):
        return good.astype(np.float32)
    return np.where(good & np.isfinite(ivar) & (ivar > 0), ivar, 0).astype(np.float32)


def sigma_of(spectrum: Spectrum) -> NDArray[np.float32]:
    """(p,) error of the flux; NaN where a pixel is bad, and everywhere when the spectrum came without errors."""
    weights = weights_of(spectrum)
    known = (weights > 0) & has_errors(spectrum)
    return np.where(known, np.where(known, weights, 1) ** -0.5, np.nan).astype(np.float32)


def has_errors(spectrum: Spectrum) -> bool:
    """Say whether errors are known: where a file had none, a survey stores an inverse variance of 0 throughout."""
    return spectrum.ivar is not None and bool((spectrum.ivar > 0).any())


# ---- Spectra with as many points as a thumbnail shows.


POINTS = 160


def thumbnails_of(spectra: Sequence[Spectrum]) -> NDArray[np.float32]:
    """(n, 160) float32: mean flux in bins of as many pixels, weighted by inverse variance; NaN without a good pixel."""
    rows = [_bin(spectrum.flux, weights_of(spectrum)) for spectrum in spectra]
    return np.array(rows, dtype="<f4").reshape(len(rows), POINTS)


def _bin(flux: NDArray[np.floating], weights: NDArray[np.float32]) -> NDArray[np.float64]:
    starts = np.arange(POINTS) * len(flux) // POINTS  # where pixels are fewer than points, one is shown several times
    weight = np.add.reduceat(weights, starts, dtype=np.float64)
    total = np.add.reduceat(np.where(weights > 0, flux * weights, 0.0), starts, dtype=np.float64)
    return np.divide(total, weight, out=np.full(POINTS, np.nan), where=weight > 0)


# ---- The yield curve, thinned to what a small picture shows.


MOST_DEPTHS = 300


def yield_payload(curve: YieldCurve) -> dict[str, Any]:
    """Thin out the expected number of true objects among the first k, and its interval; empty without an estimate."""
    k = depths(len(curve.expected)) if curve.can_tell else np.empty(0, np.int64)
    at = k - 1
    return {
        "can_tell": curve.can_tell,
        "why": curve.why,
        "stopping_rank": curve.stopping_rank,
        "k": k,
        "expected": curve.expected[at],
        "low": curve.low[at],
        "high": curve.high[at],
    }


def depths(n: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Rising whole numbers from 1 to n, (m,) int64, m <= 300: dense at the top of the list."""
    steps = np.geomspace(1, n, min(n, MOST_DEPTHS)).round().astype(np.int64)
    return np.unique(steps)


# ---- What was made last, kept for when it is asked for again.


K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """At most so many values; the one that has not been asked for longest is forgotten first. Safe between threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[K, V] = OrderedDict()
        self._lock = Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key]

    def keep(self, key: K, value: V) -> V:
        with self._lock:
            self._kept[key] = value
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return value

    def or_made(self, key: K, make: Callable[[], V]) -> V:
        """Return the kept value, or make a new one; two threads may make the same one at the same time."""
        found = self.get(key)
        return self.keep(key, make()) if found is None else found


# ---- Spectra at hand: a survey reads whole blocks of rows, so those that will be looked at are read before,
# together.


MOST = 2000
"""Spectra kept: 65 MB on the paper's grid."""
AT_ONCE = 100
"""Spectra that are read together ahead of being asked for: the first page of the list comes first."""


class SpectrumCache:
    """Spectra of a survey by id, kept in memory; others are read when they are asked for."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self._kept: Recent[str, Spectrum] = Recent(MOST)

    def fetch(self, ids: Sequence[str]) -> list[Spectrum]:
        """Return the spectra of these ids, in this order; raise a KeyError if the survey does not have one."""
        found = {id: self._kept.get(id) for id in ids}
        absent = [id for id, spectrum in found.items() if spectrum is None]
        if absent:
            found |= {one.id: self._kept.keep(one.id, _alone(one)) for one in self.survey.select(absent)}
        return [spectrum for id in ids if (spectrum := found[id]) is not None]

    def fill(self, ids: Sequence[str]) -> None:
        """Read the first of these ids ahead."""
        wanted = ids[:MOST]
        self.fetch(wanted[:AT_ONCE])
        self.fetch(wanted)


def _alone(spectrum: Spectrum) -> Spectrum:
    """Copy a spectrum into memory of its own, so that keeping it does not keep all that were read with it."""
    ivar = None if spectrum.ivar is None else spectrum.ivar.copy()
    return Spectrum(
        spectrum.id, spectrum.wavelength, spectrum.flux.copy(), ivar, spectrum.bad.copy(), spectrum.catalogue
    )


# ---- The nearest known example, drawn behind a candidate.


Vector = NDArray[np.floating]

FROM_FEATURES = "the nearest known example is not in the survey; its curve is reconstructed from its features"
CANNOT_BE_DRAWN = "the nearest known example is not in the survey and cannot be drawn"
NO_SCALE = "the nearest known example cannot be scaled to this spectrum"


def known_curve(ranking: Ranking, cache: SpectrumCache, spectrum: Spectrum, known_id: str) -> tuple[Vector, str]:
    """Bring a known example to the scale of a spectrum, to be drawn behind it.

    Parameters
    ----------
    ranking : Ranking
        The newest ranking.
    cache : SpectrumCache
        Spectra that were read before.
    spectrum : Spectrum
        The spectrum in front, of p pixels.
    known_id : str
        Id of the known example; empty for none.

    Returns
    -------
    curve : (p,) array
        Filtered flux of the example; NaN where there is none.
    note : str
        Why the curve is missing or reconstructed, in words for the page; empty if nothing needs to be said.
    """
    nothing = np.full(len(spectrum.flux), np.nan)
    if not known_id:
        return nothing, ""
    known, note = filter_known(ranking, cache, known_id)
    if known is None:
        return nothing, note
    curve = on_scale_of(filter_flux(ranking, spectrum), known, offset_is_free=bool(note))
    return (nothing, NO_SCALE) if curve is None else (curve, note)


def filter_known(ranking: Ranking, cache: SpectrumCache, id: str) -> tuple[Vector | None, str]:
    """Filter a spectrum of the survey, or an example as it was given; else reconstruct this from its features."""
    if id in ranking.survey:
        return filter_flux(ranking, cache.fetch([id])[0]), ""
    if (given := from_elsewhere(ranking, [id])) is not None:
        return filter_flux(ranking, given[0]), ""
    described = from_features(ranking, [id]).get(id)
    return described, CANNOT_BE_DRAWN if described is None else FROM_FEATURES


def filter_flux(ranking: Ranking, spectrum: Spectrum) -> Vector:
    """(p,) flux after the median filter of 10 Angstrom, NaN where a pixel is bad."""
    bad = ~good_pixels(spectrum)
    flux = np.where(bad, 0, spectrum.flux)
    return np.where(bad, np.nan, median_filter(flux[None], ranking.survey.grid, bad=bad[None])[0])


# ---- spectrum payload


ALIGNMENT = 8


UNITS = dict.fromkeys(KNOWN_UNIT, "10⁻¹⁷ erg s⁻¹ cm⁻² Å⁻¹") | {"LAMOST": "relative", "mock": "relative"}
"""Name of a survey in the catalogue -> unit of the flux in its files."""
UNKNOWN_UNIT = "unit not known"


def spectrum_payload(
    ranking: Ranking, cache: SpectrumCache, spectrum: Spectrum, facts: Mapping[str, Any], lines: TellingLines
) -> bytes:
    """Pack header and curves of a spectrum, seen by this ranking.

    Parameters
    ----------
    ranking : Ranking
        The newest ranking.
    cache : SpectrumCache
        Spectra that were read before.
    spectrum : Spectrum
        The spectrum.
    facts : mapping
        Its row of the table of candidates, as far as there is one.
    lines : TellingLines
        Of the ranking: they name what is in the ranges that count.

    Returns
    -------
    bytes
        What the page unpacks.
    """
    nearest = str(facts.get("nearest_known") or "")
    known, note = known_curve(ranking, cache, spectrum, nearest)
    contribution, bands, marks, why_none = _contribution(ranking, spectrum, lines)
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
        "bands": [_band(band, marks) for band in bands],
        "flux_unit": UNITS.get(str(spectrum.catalogue.get("survey")), UNKNOWN_UNIT),
        "facts": {**spectrum.catalogue, **facts},
        "links": [{"name": name, "url": url} for name, url in object_links({**spectrum.catalogue, **facts}).items()],
        "has_errors": has_errors(spectrum),
        "n_bad": int((~good_pixels(spectrum)).sum()),
        "why_no_contribution": why_none,
    }
    return pack_payload(header, curves)


def pack_payload(header: Mapping[str, Any], curves: Mapping[str, Vector]) -> bytes:
    """Length of the header as uint32, the header as JSON with blanks behind it, then (p,) float32 curves in order.

    All little-endian. The curves begin at a multiple of 8 bytes, so that they can be read where they lie.
    """
    text = as_json({"arrays": list(curves), **header}).encode("ascii")
    text += b" " * (-(4 + len(text)) % ALIGNMENT)
    return b"".join([struct.pack("<I", len(text)), text, *(curve.astype("<f4").tobytes() for curve in curves.values())])


def _contribution(
    ranking: Ranking, spectrum: Spectrum, lines: TellingLines
) -> tuple[Vector, tuple[Band, ...], tuple[SpectralFeature, ...], str | None]:
    """What each pixel adds to the score, the ranges that add most, the lines there, and why there is none."""
    nothing = np.full(len(spectrum.flux), np.nan)
    template = ranking.template
    if isinstance(template, NoTemplate):
        return nothing, (), (), template.said
    try:
        found = explain_score(template, spectrum, ranking.rows.features)
    except UsageError as error:
        return nothing, (), (), str(error)
    return found.contribution, found.bands, lines.of(found.flux, redshift_of(spectrum)), None


def redshift_of(spectrum: Spectrum) -> float:
    """Of the catalogue; NaN where it is not known."""
    z = spectrum.catalogue.get("z")
    return float(z) if isinstance(z, int | float) else np.nan


def _band(band: Band, marks: Sequence[SpectralFeature]) -> dict[str, Any]:
    """`share` is of all that speaks for or against; `contribution` is below 0 where it speaks against."""
    at = {"first": band.start, "last": band.stop, "names": names_in(band, marks)}
    return {**at, "share": band.share, "contribution": band.contribution}
