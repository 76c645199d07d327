"""Curves to lay over a spectrum: another spectrum, a known example, or a template."""

from __future__ import annotations

from rarespec.inspector.answers import RefusedError
from rarespec.inspector.spectrum_payload import (
    CANNOT_BE_DRAWN,
    FROM_FEATURES,
    SpectrumCache,
    filter_known,
    pack_payload,
    redshift_of,
)
from rarespec.mock.templates import KINDS, template_named
from rarespec.searching.explain.portrait import from_elsewhere
from rarespec.searching.ranking import Ranking

TEMPLATES = tuple(KINDS)
NOTES = {FROM_FEATURES: "not in the survey; the curve is reconstructed from its features"}


def template_payload(name: str) -> bytes:
    """Pack a template at rest: wavelength and flux; it is simulated, and made when it is first asked for."""
    if name not in KINDS:
        raise RefusedError(404, f"there is no template {name[:40]!a}")
    template = template_named(name)
    header = {"n": len(template.flux), "z": 0.0, "note": "", "offset_is_free": False}
    return pack_payload(header, {"wavelength": template.wavelength, "flux": template.flux})


def example_payload(ranking: Ranking, cache: SpectrumCache, id: str) -> bytes:
    """Pack a spectrum of the survey, or a known example from elsewhere, after the median filter.

    Parameters
    ----------
    ranking : Ranking
        The newest ranking.
    cache : SpectrumCache
        Spectra that were read before.
    id : str
        Of the spectrum or example.

    Returns
    -------
    bytes
        Wavelength and flux as they were observed, with the redshift of the catalogue.

    Raises
    ------
    RefusedError
        If there is no such spectrum, or it cannot be drawn.
    """
    here = id in ranking.survey
    if not here and id not in ranking.rows.known_ids:
        raise RefusedError(404, f"{ranking.survey.path.name}: no spectrum and no known example has the id {id[:100]!r}")
    flux, note = filter_known(ranking, cache, id)
    if flux is None:
        raise RefusedError(404, f"{id[:100]}: {CANNOT_BE_DRAWN.replace('the nearest known example', 'it')}")
    given = cache.fetch([id]) if here else list(from_elsewhere(ranking, [id]) or [])
    header = {
        "n": len(flux),
        "z": redshift_of(given[0]) if given else None,
        "note": NOTES.get(note, note),
        "offset_is_free": bool(note),
    }
    return pack_payload(header, {"wavelength": ranking.survey.grid.wavelength, "flux": flux})
