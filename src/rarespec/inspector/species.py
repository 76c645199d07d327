"""Lines and band heads that can be laid over a spectrum, by atom or molecule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rarespec.searching.spectral_features import SpectralFeature, known_features, sky_features
from rarespec.survey import Survey


def species_of(own: Sequence[SpectralFeature]) -> list[dict[str, Any]]:
    """Those of rarespec's own list, then the user's; wavelengths at rest, vacuum Angstrom."""
    return [*_by_name(known_features(), False), *_by_name(own, True)]


def _by_name(features: Iterable[SpectralFeature], own: bool) -> list[dict[str, Any]]:
    lines: dict[str, list[dict[str, Any]]] = {}
    for name, wavelength, side in features:
        lines.setdefault(name, []).append({"wavelength": wavelength, "side": side})
    return [{"name": name, "lines": its_lines, "own": own} for name, its_lines in lines.items()]


def sky_of(survey: Survey) -> list[dict[str, Any]]:
    """Traces of the sky; none in a survey at rest, where each spectrum has moved them."""
    if survey.manifest.rest_frame:
        return []
    wavelength = survey.grid.wavelength
    features = sky_features(wavelength[0], wavelength[-1])
    return [{"name": one.name, "wavelength": one.wavelength} for one in features]
