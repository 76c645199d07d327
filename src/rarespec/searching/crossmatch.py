"""Positions on the sky to rows of a survey: the nearest spectrum and its distance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rarespec.survey import Survey

if TYPE_CHECKING:
    from scipy.spatial import cKDTree


# ---- A column of a survey's catalogue as numbers, also where the survey has no such column or holds it as text.


def numbers_of(survey: Survey, column: str) -> NDArray[np.float64]:
    """Read a column of the catalogue as (n,) float64, NaN where there is no number."""
    if column not in survey.catalogue:
        return np.full(len(survey), np.nan)
    values = survey.catalogue[column]
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    return np.array([_number(value) for value in values], dtype=np.float64)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


ARCSEC = np.pi / 180 / 3600
"""In radians."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """For each position: row of the nearest spectrum (-1: there is none), its distance, and that of the next one."""

    rows: NDArray[np.intp]
    arcsec: NDArray[np.float64]
    next_arcsec: NDArray[np.float64]


class Sky:
    """Where the spectra of a survey are: ra and dec in degrees, (n,) float64, NaN where unknown."""

    def __init__(self, ra: NDArray[np.float64], dec: NDArray[np.float64]) -> None:
        self.ra, self.dec = ra, dec
        self.placed = is_position(ra, dec)

    @classmethod
    def of(cls, survey: Survey) -> Sky:
        return cls(numbers_of(survey, "ra"), numbers_of(survey, "dec"))

    @property
    def n_without(self) -> int:
        """Spectra without a position, which cannot be matched."""
        return int((~self.placed).sum())

    @cached_property
    def _tree(self) -> cKDTree:
        from scipy.spatial import cKDTree

        # Neither option changes an answer; without them a million positions are ready several times sooner.
        placed = directions(self.ra[self.placed], self.dec[self.placed])
        return cKDTree(placed, balanced_tree=False, compact_nodes=False)

    def nearest(self, ra: NDArray[np.float64], dec: NDArray[np.float64]) -> Nearest:
        """Find the spectra nearest to these positions, (m,) finite degrees."""
        rows = np.flatnonzero(self.placed)
        if not len(rows) or not len(ra):
            nowhere = np.full(len(ra), np.inf)
            return Nearest(np.full(len(ra), -1), nowhere, nowhere)
        chords, places = self._tree.query(directions(ra, dec), k=[1, 2])
        arcsec = np.where(np.isfinite(chords), _arcsec_of(chords), np.inf)
        return Nearest(rows[places[:, 0]], arcsec[:, 0], arcsec[:, 1])

    def within(self, ra: float, dec: float, arcsec: float) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Find the spectra around a position in degrees.

        Parameters
        ----------
        ra : float
            Right ascension.
        dec : float
            Declination.
        arcsec : float
            How far around it, in arcsec.

        Returns
        -------
        rows : (k,) intp array
            Rows of the survey, the nearest first.
        arcsec : (k,) float64 array
            Their distances.
        """
        rows = np.flatnonzero(self.placed)
        if not len(rows):
            return rows, np.empty(0)
        here = directions(np.array(ra), np.array(dec))
        near = np.array(self._tree.query_ball_point(here, 2 * np.sin(arcsec * ARCSEC / 2)), dtype=np.intp)
        found = rows[near]
        away = _arcsec_of(np.linalg.norm(directions(self.ra[found], self.dec[found]) - here, axis=-1))
        order = np.argsort(away, kind="stable")
        return found[order], away[order]


def directions(ra: NDArray[np.float64], dec: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn positions into unit vectors, (n, 3), which have neither poles nor a jump at 360 degrees."""
    ra, dec = np.radians(ra), np.radians(dec)
    return np.stack([np.cos(dec) * np.cos(ra), np.cos(dec) * np.sin(ra), np.sin(dec)], axis=-1)


def is_position(ra: NDArray[np.float64], dec: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say whether these degrees, (n,), are a place on the sky; -9999 and the like are not."""
    return (np.abs(ra) <= 360) & (np.abs(dec) <= 90)


def _arcsec_of(chord: NDArray[np.float64]) -> NDArray[np.float64]:
    # By the chord, not the cosine: the arc cosine of two directions loses everything below 0.004 arcsec to rounding.
    return 2 * np.arcsin(np.minimum(chord / 2, 1)) / ARCSEC
