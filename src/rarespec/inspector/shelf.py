"""Spectra at hand: a survey reads whole blocks of rows, so those that will be looked at are read before, together."""

from __future__ import annotations

from collections.abc import Sequence

from rarespec.inspector.recent import Recent
from rarespec.spectrum import Spectrum
from rarespec.survey import Survey

MOST = 2000
"""Spectra kept: 65 MB on the paper's grid."""
AT_ONCE = 100
"""Spectra that are read together ahead of being asked for: the first page of the list comes first."""


class Shelf:
    """Spectra of a survey by id; what is not at hand is read."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self._kept: Recent[str, Spectrum] = Recent(MOST)

    def fetch(self, ids: Sequence[str]) -> list[Spectrum]:
        """The spectra of these ids, in this order; a KeyError when the survey does not have one."""
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
    """In memory of its own, so that one that is kept does not keep all that were read with it."""
    ivar = None if spectrum.ivar is None else spectrum.ivar.copy()
    return Spectrum(
        spectrum.id, spectrum.wavelength, spectrum.flux.copy(), ivar, spectrum.bad.copy(), spectrum.catalogue
    )
