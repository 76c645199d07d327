"""How many catalogue columns a survey takes: each costs time and room in every block, also in those without it."""

from __future__ import annotations

from collections.abc import Iterable

from rarespec.spectrum import Spectra
from rarespec.spectrum.spectra import COMMON_COLUMNS

OF_A_FILE = 1000
"""New columns that one file may bring. The richest headers of surveys have some hundred cards."""
OF_A_SURVEY = 4000

ALWAYS = frozenset((*COMMON_COLUMNS, "coverage", "has_ivar"))


class ColumnLimit:
    """Leaves out the columns of a file beyond its first thousand, and new ones when the survey is full of them.

    What is left out depends on the files and their order alone, so that an interrupted ingest ends the same way.
    """

    def __init__(self, known: Iterable[str]) -> None:
        self._known = {*known, *ALWAYS}
        self.left_out: set[str] = set()

    def within(self, spectra: Spectra) -> Spectra:
        """These spectra with the columns that the survey takes."""
        if self._known.issuperset(spectra.catalogue):
            return spectra
        own = [name for name in spectra.catalogue if name not in ALWAYS]
        for place, name in enumerate(own):
            if name not in self._known and place < OF_A_FILE and len(self._known) < OF_A_SURVEY:
                self._known.add(name)
        self.left_out.update(name for name in own if name not in self._known)
        taken = {name: values for name, values in spectra.catalogue.items() if name in self._known}
        return Spectra(spectra.wavelength, spectra.flux, spectra.ivar, spectra.bad, taken)
