"""Spectra given as examples: on the grid of the survey, and many of them as one stack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rarespec.searching.example_file import Unusable, unusable
from rarespec.spectrum import Reason, Spectra, Spectrum
from rarespec.survey import Survey
from rarespec.survey.placement import place

NO_REDSHIFT = "the survey is in the rest frame, and this spectrum has no redshift"


def on_grid(spectra: Spectra, survey: Survey) -> Iterator[Spectrum | Unusable]:
    """Each spectrum as the survey would store it, or why it cannot."""
    for placed in place(spectra, survey.grid, survey.manifest.rest_frame):
        if isinstance(placed, Spectra):
            yield from placed
        elif placed.reason == Reason.NO_REDSHIFT:
            yield Unusable(f"{placed.id}: {placed.reason}: {NO_REDSHIFT}")
        else:
            yield unusable(placed)


def alone(spectrum: Spectrum) -> Spectra:
    """A stack of one."""
    ivar = None if spectrum.ivar is None else spectrum.ivar[np.newaxis]
    catalogue = {name: [value] for name, value in spectrum.catalogue.items()} | {"id": [spectrum.id]}
    return Spectra(spectrum.wavelength, spectrum.flux[np.newaxis], ivar, spectrum.bad[np.newaxis], catalogue)


def stacked(spectra: Sequence[Spectrum], ids: Sequence[str]) -> Spectra:
    """One stack, under these ids. As in a survey, ivar is 0 where none is known, and `has_ivar` tells it apart."""
    names = dict.fromkeys(name for spectrum in spectra for name in spectrum.catalogue)
    catalogue = {name: [spectrum.catalogue.get(name) for spectrum in spectra] for name in names}
    return Spectra(
        spectra[0].wavelength,
        np.stack([spectrum.flux for spectrum in spectra]),
        np.stack([np.zeros_like(spectrum.flux) if spectrum.ivar is None else spectrum.ivar for spectrum in spectra]),
        np.stack([spectrum.bad for spectrum in spectra]),
        catalogue | {"id": list(ids)},
    )
