"""Wavelengths as generic files give them: in any unit, plain or log10, from blue to red or from red to blue."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.column_roles import ANY_WAVELENGTH, LOG_WAVELENGTH, find, missing
from rarespec.formats.library_faults import faults_of
from rarespec.formats.pixels import numbers
from rarespec.formats.wavelength import angstroms_per
from rarespec.spectrum import DefectError, Reason
from rarespec.spectrum.air import air_to_vacuum


@dataclass(frozen=True, slots=True)
class Axis:
    """Wavelengths, (p,) float64 vacuum Angstrom increasing; `reverse` when the file lists them the other way."""

    wavelength: NDArray[np.float64]
    reverse: bool

    @classmethod
    def of(cls, values: Any, log: bool = False, unit: str | None = None, air: bool = False) -> Axis:
        given = numbers(values, "wavelength").astype(np.float64)
        with np.errstate(over="ignore"):
            wavelength = (10.0**given if log else given) * angstroms_per(unit)
        _check_wavelength(wavelength)
        reverse = bool(wavelength[0] > wavelength[-1])
        if reverse:
            wavelength = np.ascontiguousarray(wavelength[::-1])
        if air:
            wavelength = air_to_vacuum(wavelength)
        return cls(wavelength, reverse)

    @classmethod
    def in_metadata(cls, metadata: Mapping[str, Any], air: bool, columns: Iterable[str]) -> Axis:
        """From a vector, or the text of one, called `wavelength` or `loglam`, with its unit under `wavelength_unit`."""
        name = find(metadata, ANY_WAVELENGTH)
        if name is None:
            looked_for = (*ANY_WAVELENGTH, "the same in the metadata")
            raise missing("wavelength", looked_for, [*columns, *(f"metadata {key}" for key in metadata)])
        values = metadata[name]
        with faults_of(f"metadata {name}"):
            if isinstance(values, str):
                values = re.split(r"[\s,;]+", values.strip("[]() \t\r\n"))
            vector = np.array(values, dtype=np.float64)
        return cls.of(vector, name.lower() in LOG_WAVELENGTH, metadata.get("wavelength_unit"), air)


def _check_wavelength(wavelength: NDArray[np.float64]) -> None:
    if wavelength.ndim != 1 or len(wavelength) < 2:
        raise DefectError(Reason.LAYOUT, f"wavelength has shape {wavelength.shape}; it must be a vector of at least 2")
    if not np.isfinite(wavelength).all() or wavelength.min() <= 0:
        raise DefectError(Reason.LAYOUT, "wavelengths that are not finite and positive")
    steps = np.diff(wavelength)
    if not ((steps > 0).all() or (steps < 0).all()):
        first = int(np.argmax(np.sign(steps) != np.sign(steps[0])))
        raise DefectError(Reason.LAYOUT, f"wavelengths do not increase steadily (pixels {first} and {first + 1})")
