"""One spectrum, and a stack of spectra that share their wavelengths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import specutils
    from astropy.table import Table


Catalogue = dict[str, list[Any]]
"""Column name -> one value per spectrum (None where unknown). `id` is always there and holds strings."""

COMMON_COLUMNS = ("id", "ra", "dec", "z", "class", "subclass", "snr", "survey", "source")
"""The columns every reader fills under the same name, whatever the survey calls them."""


@dataclass(frozen=True, slots=True)
class Spectrum:
    """One spectrum: vacuum wavelengths in Angstrom, flux density, inverse variance, flags of bad pixels."""

    id: str
    wavelength: NDArray[np.float64]
    flux: NDArray[np.floating]
    ivar: NDArray[np.floating] | None
    bad: NDArray[np.bool_]
    catalogue: dict[str, Any] = field(default_factory=dict)

    def to_specutils(self, unit: Any = "") -> specutils.Spectrum:
        """For specutils, which must be installed; `unit` is that of the flux, which files do not always say."""
        from rarespec.spectrum.specutils_objects import specutils_of

        return specutils_of(self, unit)

    def to_table(self) -> Table:
        """An astropy Table of wavelength, flux, ivar where it is known, and bad; the catalogue's row is its `meta`."""
        from astropy.table import Table

        columns: dict[str, Any] = {"wavelength": self.wavelength, "flux": self.flux}
        columns |= {} if self.ivar is None else {"ivar": self.ivar}
        table = Table(columns | {"bad": self.bad}, meta=self.catalogue | {"id": self.id})
        table["wavelength"].unit = "Angstrom"
        return table

    def plot(self, ax: Any = None) -> Any:
        """Plot the flux; matplotlib must be installed."""
        import rarespec

        return rarespec.plot_spectrum(self, ax)

    def __repr__(self) -> str:
        from rarespec.spectrum.picture import spectrum_in_words

        return f"<Spectrum {spectrum_in_words(self)}>"

    def _repr_html_(self) -> str:
        from rarespec.spectrum.picture import spectrum_html

        return spectrum_html(self)


@dataclass(frozen=True, slots=True)
class Spectra:
    """A stack of n spectra on one wavelength vector of p pixels.

    wavelength : (p,) float64, vacuum Angstrom, strictly increasing
    flux       : (n, p) float32 or float64
    ivar       : (n, p) inverse variance, or None when the file has none
    bad        : (n, p) bool, True where the pixel must not be used
    catalogue  : columns of length n, `id` among them
    """

    wavelength: NDArray[np.float64]
    flux: NDArray[np.floating]
    ivar: NDArray[np.floating] | None
    bad: NDArray[np.bool_]
    catalogue: Catalogue

    def __post_init__(self) -> None:
        n, p = self.flux.shape
        if self.wavelength.shape != (p,):
            raise ValueError(f"{self.wavelength.shape} wavelengths for {p} pixels")
        if self.bad.shape != (n, p) or (self.ivar is not None and self.ivar.shape != (n, p)):
            raise ValueError(f"flux is {(n, p)}, but bad or ivar has a different shape")
        if not {n}.issuperset(map(len, self.catalogue.values())):
            wrong = [name for name, column in self.catalogue.items() if len(column) != n]
            raise ValueError(f"the catalogue columns {', '.join(wrong)} do not have {n} values")
        if not all(isinstance(id, str) for id in self.catalogue.get("id", [None])):
            raise ValueError("every spectrum needs an id, and ids are text")

    def __len__(self) -> int:
        return len(self.flux)

    @property
    def ids(self) -> list[str]:
        return self.catalogue["id"]

    def __getitem__(self, i: int) -> Spectrum:
        row = {name: column[i] for name, column in self.catalogue.items()}
        return Spectrum(
            row["id"], self.wavelength, self.flux[i], None if self.ivar is None else self.ivar[i], self.bad[i], row
        )

    def __iter__(self) -> Iterator[Spectrum]:
        return (self[i] for i in range(len(self)))

    def take(self, rows: NDArray[np.intp]) -> Spectra:
        """The spectra at these positions of the stack, in this order."""
        return Spectra(
            self.wavelength,
            self.flux[rows],
            None if self.ivar is None else self.ivar[rows],
            self.bad[rows],
            {name: [column[i] for i in rows] for name, column in self.catalogue.items()},
        )

    @classmethod
    def from_specutils(cls, spectrum: Any, id: str | list[str] | None = None, air: bool = False) -> Spectra:
        """A stack from a `specutils.Spectrum`; see `rarespec.from_specutils`."""
        import rarespec

        return rarespec.from_specutils(spectrum, id, air)

    def to_specutils(self, unit: Any = "") -> specutils.Spectrum:
        """One object with flux (n, p), for specutils, which must be installed; the catalogue is its `meta`."""
        from rarespec.spectrum.specutils_objects import specutils_of

        return specutils_of(self, unit)

    def to_table(self) -> Table:
        """The catalogue as an astropy Table, masked where nothing is known; one row a spectrum."""
        return table_of(self.catalogue)

    def __repr__(self) -> str:
        from rarespec.spectrum.picture import stack_in_words

        return f"<Spectra: {stack_in_words(self)}>"

    def _repr_html_(self) -> str:
        from rarespec.spectrum.picture import spectra_html

        return spectra_html(self)


# ---- The catalogue of a stack of spectra as an astropy Table.


def table_of(catalogue: Mapping[str, list[Any]]) -> Table:
    """One column for each, masked where a value is None."""
    from astropy.table import Table

    return Table({name: _column(values) for name, values in catalogue.items()})


def _column(values: list[Any]) -> Any:
    missing = [value is None for value in values]
    if not any(missing):
        return values
    known = next((value for value in values if value is not None), np.nan)
    stand_in = "" if isinstance(known, str) else known
    return np.ma.MaskedArray([stand_in if value is None else value for value in values], missing)
