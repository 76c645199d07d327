"""Lines and band heads that are marked in pictures of spectra: those that matter for a template."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarespec.spectrum.grid import air_to_vacuum

Vector = NDArray[np.floating]

BLUEWARDS, LINE, REDWARDS = -1, 0, +1
"""On which side of its head a band absorbs; a line is as strong on both."""

REACH = 60.0
"""Angstrom on each side of a feature in which the weights are compared."""
CORE = 15.0
"""Angstrom on each side that belong to a line itself."""
APART = 100.0
"""Angstrom between two marks at least, so that their names can be read."""
WORTH = 0.1
"""A feature is marked when it has at least this share of the strongest one's worth."""
FAINT = 0.02
"""Share of a spectrum's range below which a feature is too shallow to be seen."""
MOST = 8


class SpectralFeature(NamedTuple):
    """A line or band head at rest.

    Parameters
    ----------
    name : str
        The atom or molecule.
    wavelength : float
        Vacuum Angstrom.
    side : int
        BLUEWARDS, LINE or REDWARDS.
    """

    name: str
    wavelength: float
    side: int


IN_AIR: tuple[tuple[str, int, tuple[float, ...]], ...] = (
    ("C₂", BLUEWARDS, (4382.5, 4737.1, 5165.2, 5635.5, 6191.2)),
    ("CN", BLUEWARDS, (3883.4, 4216.0)),
    ("CN", REDWARDS, (6925.9, 7088.0, 7876.0, 8067.0)),
    ("CH", BLUEWARDS, (4314.5,)),
    ("TiO", REDWARDS, (4761.0, 4954.6, 5166.8, 5448.2, 5847.6, 6158.5, 6651.5, 7054.5, 7589.6, 8432.0)),
    ("VO", REDWARDS, (7334.0, 7851.0)),
    ("FeH", REDWARDS, (8691.0,)),
    ("MgH", BLUEWARDS, (5211.1,)),
    ("H", LINE, (4101.7, 4340.5, 4861.3, 6562.8)),
    ("Ca II", LINE, (3933.7, 3968.5, 8498.0, 8542.1, 8662.1)),
    ("Ca I", LINE, (4226.7,)),
    ("Mg b", LINE, (5175.4,)),
    ("Na I", LINE, (5892.9, 8189.0)),
    ("K I", LINE, (7682.0,)),
    ("He I", LINE, (4471.5, 5875.6, 6678.2, 7065.2)),
    ("He II", LINE, (4685.7,)),
    ("[O II]", LINE, (3727.4,)),
    ("[O III]", LINE, (4958.9, 5006.8)),
    ("Mg II", LINE, (2798.3,)),
    ("C III]", LINE, (1908.7,)),
    ("C IV", LINE, (1549.1,)),
    ("Lyα", LINE, (1215.7,)),
)
"""Name, side, wavelengths in air (in vacuum below 2000 Angstrom). Doublets and triplets are at their middle."""

NOT_OF_THE_OBJECT = (("sky", 5577.3), ("O₂", 6867.2), ("O₂", 7594.0))
"""Name and wavelength in air of what the night sky and the air leave in a spectrum; no redshift moves it."""


def list_spectral_features() -> list[SpectralFeature]:
    return in_vacuum(IN_AIR)


def in_vacuum(table: Iterable[tuple[str, int, tuple[float, ...]]]) -> list[SpectralFeature]:
    """List the features of a table like `IN_AIR`."""
    return [
        SpectralFeature(name, float(wavelength), side)
        for name, side, wavelengths in table
        for wavelength in air_to_vacuum(np.array(wavelengths))
    ]


def sky_features(first: float, last: float) -> tuple[SpectralFeature, ...]:
    """List the features of the sky and the air between these wavelengths."""
    at = [(name, float(air_to_vacuum(np.array([wavelength]))[0])) for name, wavelength in NOT_OF_THE_OBJECT]
    return tuple(SpectralFeature(name, wavelength, LINE) for name, wavelength in at if first <= wavelength <= last)


def telling_features(
    wavelength: Vector,
    weights: Vector,
    known: Vector,
    redshift: float = 0.0,
    sides: Sequence[int] | None = None,
) -> tuple[SpectralFeature, ...]:
    """Choose the features that known spectra have and weights on the flux ask for; at most 8, well apart.

    A band has less flux behind its head than before it, a line less or more flux than on both sides. Of features at
    the same place, the one is taken whose atom or molecule is seen elsewhere as well.

    Parameters
    ----------
    wavelength : (p,) array
        Vacuum Angstrom.
    weights : (p,) array
        Weight of the flux there.
    known : (p,) array
        Mean flux of the known examples.
    redshift : float
        By which the features are moved.
    sides : sequence of int, optional
        Only lines (LINE), or only bands that absorb on these sides. Default: all.

    Returns
    -------
    tuple of SpectralFeature
        At the wavelengths where they are observed.
    """
    observed = [
        feature._replace(wavelength=feature.wavelength * (1 + redshift))
        for feature in list_spectral_features()
        if sides is None or feature.side in sides
    ]
    first, last = wavelength[0] + 2 * REACH, wavelength[-1] - 2 * REACH
    inside = [one for one in observed if first <= one.wavelength <= last]
    strength = {one: _strength(one, wavelength, weights, known) for one in inside}
    worth = {one: strength[one] * _mean_of_its_kind(one, strength) for one in inside}
    least = WORTH * max(worth.values(), default=0.0)
    seen = (one for one in inside if worth[one] > 0 and worth[one] >= least and not _is_of_a_band(one, strength))
    best = sorted(seen, key=lambda one: -worth[one])
    return tuple(sorted(_apart(best)[:MOST], key=lambda one: one.wavelength))


def _strength(feature: SpectralFeature, wavelength: Vector, weights: Vector, known: Vector) -> float:
    """Measure a feature; 0 unless the known have what the weights ask for: a band absorbs, a line may do either."""
    asked, there = (_absorption(feature, wavelength, values) for values in (weights, known))
    if abs(there) < FAINT * np.ptp(known) or (feature.side != LINE and asked < 0):
        return 0.0
    return float(np.sqrt(max(0.0, asked * there)))


def _absorption(feature: SpectralFeature, wavelength: Vector, values: Vector) -> float:
    """Measure how much lower the values, (p,), are in a feature than beside it."""
    distance = wavelength - feature.wavelength
    if feature.side == LINE:
        inside = np.abs(distance) <= CORE
        return _mean(values[(np.abs(distance) <= REACH) & ~inside]) - _mean(values[inside])
    behind = distance * feature.side / REACH
    near, far = (
        _mean(values[(behind >= -end) & (behind < 1 - end)]) - _mean(values[(behind > end - 1) & (behind <= end)])
        for end in (1, 2)
    )
    return near - far / 3  # an even slope, which is no step, rises three times as much over three times the distance


def _mean(values: Vector) -> float:
    """Average the values; NaN, and so no strength, where pixels are too wide to have one here."""
    return float(values.mean()) if len(values) else np.nan


def _mean_of_its_kind(feature: SpectralFeature, strength: dict[SpectralFeature, float]) -> float:
    """Average over features of its kind and one of strength 0, so that a single one counts for less than several."""
    kind = [value for one, value in strength.items() if (one.name, one.side) == (feature.name, feature.side)]
    return sum(kind) / (len(kind) + 1)


def _is_of_a_band(line: SpectralFeature, strength: dict[SpectralFeature, float]) -> bool:
    """Say whether a lone line lies in the band of a molecule seen elsewhere: He II 4686 in a carbon star is C₂."""
    if line.side != LINE or _count_seen(line, strength) > 1:
        return False
    around = (one for one in strength if 0 <= (line.wavelength - one.wavelength) * one.side <= REACH)
    return any(one.side != LINE and _count_seen(one, strength) > 1 for one in around)


def _count_seen(feature: SpectralFeature, strength: dict[SpectralFeature, float]) -> int:
    return sum(value > 0 for one, value in strength.items() if (one.name, one.side) == (feature.name, feature.side))


def _apart(best: Sequence[SpectralFeature]) -> list[SpectralFeature]:
    """Leave out features, best first, that are too near to a better one."""
    kept: list[SpectralFeature] = []
    for one in best:
        if all(abs(one.wavelength - other.wavelength) >= APART for other in kept):
            kept.append(one)
    return kept
