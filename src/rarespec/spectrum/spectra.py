"""One spectrum, and a stack of spectra that share their wavelengths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
            raise ValueError(f"flux is {(n, p)}, but bad or ivar is of another shape")
        wrong = [name for name, column in self.catalogue.items() if len(column) != n]
        if wrong:
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
