"""Rankings of a small made-up survey: rare spectra with the bands of carbon, some with hostile names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from conftest import make_spectra
from rarespec import search
from rarespec.features import PaperFeatures
from rarespec.searching.ranking import Ranking
from rarespec.spectrum import Spectra, WavelengthGrid
from rarespec.survey import Survey

N, N_RARE = 200, 20
GRID = WavelengthGrid("log", 3.593, 4e-4, 900)
"""The paper's wavelengths in wider pixels, to be quick."""
HEADS = (4738.4, 5166.6, 5637.1)
"""Vacuum Angstrom."""
HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a&b;'c", r"$\frac{1}{$", "‮gpj.exe")


def survey_with_bands(path: Path, without_ivar: bool = False, bad: Any = None, **columns: list[Any]) -> Survey:
    """The first 20 of 200 spectra have bands; the names of some of these, and their class, are hostile.

    bad : further bad pixels, as (row, slice)
    """
    spectra = make_spectra(N, GRID, seed=3)
    spectra.flux[:N_RARE] -= 8 * bands(spectra.wavelength)
    spectra.flux[:] += np.sin(np.linspace(0, 9, spectra.flux.shape[1]) + np.arange(N)[:, None])  # others differ too
    spectra.bad[4, 250:325] = True
    if bad is not None:
        spectra.bad[bad] = True
    ids = [HOSTILE[i - 6] if 6 <= i < 6 + len(HOSTILE) else f"s{i:03d}" for i in range(N)]
    sky = {"ra": [float(i) for i in range(N)], "dec": [float(i / 3) - 45 for i in range(N)]}
    kinds: dict[str, list[Any]] = {"class": ["<b>C</b>" if i < N_RARE else "M" for i in range(N)], "snr": [9.5] * N}
    catalogue = spectra.catalogue | {"id": ids} | sky | kinds | columns
    survey = Survey.create(path, GRID)
    ivar = None if without_ivar else spectra.ivar
    survey.append(Spectra(spectra.wavelength, spectra.flux, ivar, spectra.bad, catalogue))
    return survey


def bands(wavelength: np.ndarray) -> np.ndarray:
    """Absorption, (p,), that begins sharply at each head and fades towards the blue."""
    behind = np.array(HEADS)[:, None] - wavelength
    return np.where(behind > 0, np.exp(-np.clip(behind, 0, None) / 60), 0).sum(axis=0)


def ranking_of(survey: Survey, n_known: int = 4, top: int = 40, known: Any = None) -> Ranking:
    ids = survey.ids[:n_known].tolist() if known is None else known
    recipe = PaperFeatures(n_components=10)  # few, to be quick
    return search(survey, ids, "matched_filter", top, params={"method": "lda"}, recipe=recipe)


def spectra_with_bands(n: int) -> Spectra:
    """Of the same kind, from elsewhere."""
    spectra = make_spectra(n, GRID, seed=8, prefix="elsewhere")
    spectra.flux[:] -= 8 * bands(spectra.wavelength)
    return spectra
