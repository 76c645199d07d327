"""Which column of a file is flux, wavelength, inverse variance, error or mask; case does not matter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from rarespec.spectrum import DefectError, Reason

FLUX = ("flux", "flam", "f_lambda", "flux_density")
WAVELENGTH = ("wavelength", "lambda", "wave", "lam", "wavelengths")
LOG_WAVELENGTH = ("loglam", "log_wavelength", "log_lambda", "loglambda")
IVAR = ("ivar", "inverse_variance", "invvar")
ERROR = ("err", "error", "sigma", "flux_err", "flux_error", "fluxerr", "e_flux", "uncertainty")
MASK = ("mask", "bad", "badpix")

ANY_WAVELENGTH = (*WAVELENGTH, *LOG_WAVELENGTH)

Column = NDArray[Any] | list[Any]
"""One value per row: a 1-D or 2-D array, or a list, whose elements may be vectors of different lengths."""


def find(names: Iterable[str], wanted: tuple[str, ...]) -> str | None:
    """The file's name for the first of the wanted columns that is there."""
    by_lower: dict[str, str] = {}
    for name in names:
        by_lower.setdefault(name.lower(), name)
    return next((by_lower[name] for name in wanted if name in by_lower), None)


def missing(what: str, looked_for: Iterable[str], names: Iterable[str]) -> DefectError:
    there = ", ".join(name[:40] for name in sorted(names)[:12]) or "nothing"
    return DefectError(Reason.MISSING_COLUMN, f"no {what}: looked for {', '.join(looked_for)}; found {there}")


@dataclass(frozen=True, slots=True)
class Roles:
    """The file's own names of the columns that make a spectrum; None for what it does not have."""

    flux: str
    wavelength: str | None = None
    log: bool = False
    ivar: str | None = None
    error: str | None = None
    mask: str | None = None

    @classmethod
    def among(cls, names: Iterable[str]) -> Roles:
        names = list(names)
        flux = find(names, FLUX)
        if flux is None:
            raise missing("flux", FLUX, names)
        wavelength = find(names, WAVELENGTH)
        log = wavelength is None
        ivar = find(names, IVAR)
        return cls(
            flux,
            find(names, LOG_WAVELENGTH) if log else wavelength,
            log,
            ivar,
            None if ivar else find(names, ERROR),
            find(names, MASK),
        )

    @property
    def on_pixels(self) -> list[str]:
        """Columns with the shape of the flux."""
        return [name for name in (self.flux, self.ivar, self.error, self.mask) if name]

    @property
    def used(self) -> list[str]:
        """Columns that make a spectrum, all of them."""
        return self.on_pixels + ([self.wavelength] if self.wavelength else [])
