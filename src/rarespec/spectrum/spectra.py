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
    """One spectrum.

    Parameters
    ----------
    id : str
        Its id.
    wavelength : ndarray of float64
        Pixel centres, (p,) vacuum Angstrom.
    flux : ndarray of float32 or float64
        Flux density, (p,).
    ivar : ndarray or None
        Inverse variance of the flux, (p,). None if it is not known.
    bad : ndarray of bool
        True where a pixel must not be used, (p,).
    catalogue : dict, optional
        What the catalogue says about it: column name to value.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.spectrum import Spectrum
    >>> wavelength = np.array([4000.0, 4001.0])
    >>> spectrum = Spectrum("a", wavelength, np.array([1.0, 2.0]), None, np.zeros(2, bool), {"z": 0.1})
    >>> spectrum.catalogue["z"]
    0.1
    """

    id: str
    wavelength: NDArray[np.float64]
    flux: NDArray[np.floating]
    ivar: NDArray[np.floating] | None
    bad: NDArray[np.bool_]
    catalogue: dict[str, Any] = field(default_factory=dict)

    def to_specutils(self, unit: Any = "") -> specutils.Spectrum:
        """Convert to a `specutils.Spectrum`; specutils must be installed.

        Parameters
        ----------
        unit : str or astropy unit, optional
            Unit of the flux, which files do not always say. By default the flux has none.

        Returns
        -------
        specutils.Spectrum
            Bad pixels are its mask and the catalogue is its `meta`.

        Raises
        ------
        ImportError
            If specutils is not installed.
        """
        from rarespec.spectrum.specutils_objects import specutils_of

        return specutils_of(self, unit)

    def to_table(self) -> Table:
        """Convert to an astropy Table with one row per pixel.

        Returns
        -------
        astropy.table.Table
            Columns wavelength, flux, ivar (if it is known) and bad. The catalogue is its `meta`.
        """
        from astropy.table import Table

        columns: dict[str, Any] = {"wavelength": self.wavelength, "flux": self.flux}
        columns |= {} if self.ivar is None else {"ivar": self.ivar}
        table = Table(columns | {"bad": self.bad}, meta=self.catalogue | {"id": self.id})
        table["wavelength"].unit = "Angstrom"
        return table

    def plot(self, ax: Any = None) -> Any:
        """Plot the flux; matplotlib must be installed.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. By default a new figure.

        Returns
        -------
        matplotlib Axes
            What was drawn on.
        """
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
    """A stack of n spectra that share their p wavelengths.

    Parameters
    ----------
    wavelength : ndarray of float64
        Pixel centres, (p,) vacuum Angstrom, strictly increasing.
    flux : ndarray of float32 or float64
        Flux density, (n, p).
    ivar : ndarray or None
        Inverse variance, (n, p). None if the file has none.
    bad : ndarray of bool
        True where a pixel must not be used, (n, p).
    catalogue : dict of list
        Column name to n values, None where a value is unknown. `id` must be there and hold text.

    Raises
    ------
    ValueError
        If shapes do not match, or an id is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.spectrum import Spectra
    >>> flux = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> spectra = Spectra(np.array([4000.0, 4001.0]), flux, None, np.zeros(flux.shape, bool), {"id": ["a", "b"]})
    >>> len(spectra)
    2
    >>> spectra[1].flux
    array([3., 4.])
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
        """Ids of the spectra, in their order."""
        return self.catalogue["id"]

    def __getitem__(self, i: int) -> Spectrum:
        row = {name: column[i] for name, column in self.catalogue.items()}
        return Spectrum(
            row["id"], self.wavelength, self.flux[i], None if self.ivar is None else self.ivar[i], self.bad[i], row
        )

    def __iter__(self) -> Iterator[Spectrum]:
        return (self[i] for i in range(len(self)))

    def take(self, rows: NDArray[np.intp]) -> Spectra:
        """Return the spectra at these positions, in this order.

        Parameters
        ----------
        rows : ndarray of int
            Positions in the stack.

        Returns
        -------
        Spectra
            A stack of these spectra.
        """
        return Spectra(
            self.wavelength,
            self.flux[rows],
            None if self.ivar is None else self.ivar[rows],
            self.bad[rows],
            {name: [column[i] for i in rows] for name, column in self.catalogue.items()},
        )

    @classmethod
    def from_specutils(cls, spectrum: Any, id: str | list[str] | None = None, air: bool = False) -> Spectra:
        """Convert a `specutils.Spectrum` to a stack; see `rarespec.from_specutils`.

        Parameters
        ----------
        spectrum : specutils.Spectrum
            Flux of shape (p,) or (n, p).
        id : str or list of str, optional
            Ids of the spectra. By default they come from its `meta`.
        air : bool, optional
            Whether its wavelengths are in air.

        Returns
        -------
        Spectra
            The spectra, in vacuum wavelengths.
        """
        import rarespec

        return rarespec.from_specutils(spectrum, id, air)

    def to_specutils(self, unit: Any = "") -> specutils.Spectrum:
        """Convert to one `specutils.Spectrum` with flux (n, p); specutils must be installed.

        Parameters
        ----------
        unit : str or astropy unit, optional
            Unit of the flux, which files do not always say. By default the flux has none.

        Returns
        -------
        specutils.Spectrum
            Bad pixels are its mask and the catalogue is its `meta`.

        Raises
        ------
        ImportError
            If specutils is not installed.
        """
        from rarespec.spectrum.specutils_objects import specutils_of

        return specutils_of(self, unit)

    def to_table(self) -> Table:
        """Convert the catalogue to an astropy Table with one row per spectrum.

        Returns
        -------
        astropy.table.Table
            The columns of the catalogue, masked where a value is unknown.
        """
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
