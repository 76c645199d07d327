"""Text tables with one column per pixel, named by its wavelength (4000.5, flux_4000.5) or numbered (flux_0001)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.column_roles import ANY_WAVELENGTH, FLUX, Roles, find, missing
from rarespec.formats.wavelength_axis import Axis
from rarespec.spectrum import DefectError, Reason

HEADERLESS_COLUMNS = 10
"""A first line of fewer numbers than this is taken for data without a header, not for wavelengths."""

NUMBER = r"\d+\.?\d*(?:[eE][+-]?\d+)?"
PIXEL_COLUMN = re.compile(rf"(?:(flux|ivar|flux_err|err|error|sigma|mask)_)?({NUMBER})", re.IGNORECASE)
ROLE_OF_PREFIX = {"flux": "flux", "ivar": "ivar", "mask": "mask"}


@dataclass(frozen=True)
class Wide:
    """Names of the columns on pixels, by role; and the wavelengths that the flux columns are named by."""

    columns: dict[str, list[str]]
    wavelength: NDArray[np.float64] | None

    @classmethod
    def among(cls, names: Sequence[str]) -> Wide:
        found = {name: match for name in names if (match := PIXEL_COLUMN.fullmatch(name.strip()))}
        bare = [name for name, match in found.items() if match[1] is None]
        columns: dict[str, list[str]] = {"flux": bare} if len(bare) > 1 else {}
        for name, match in found.items():
            role = ROLE_OF_PREFIX.get((match[1] or "").lower(), "error")
            if match[1] and not (role == "flux" and bare):
                columns.setdefault(role, []).append(name)
        flux = columns.get("flux", [])
        if len(flux) < 2 or (len(bare) == len(names) and len(bare) < HEADERLESS_COLUMNS):
            raise missing("flux", (*FLUX, "columns named by their wavelength"), names)
        pixels = [found[name][2] for name in flux]
        if any([found[name][2] for name in group] != pixels for group in columns.values()):
            raise DefectError(Reason.LAYOUT, "the columns of flux, ivar, error and mask do not have the same pixels")
        return cls(columns, None if _are_row_numbers(pixels) else np.array(pixels, dtype=np.float64))

    @cached_property
    def names(self) -> set[str]:
        return {name for group in self.columns.values() for name in group}

    @property
    def roles(self) -> Roles:
        """Names in angle brackets, which no file uses, for the matrices put together from many columns."""
        ivar, error, mask = (f"<{role}>" if role in self.columns else None for role in ("ivar", "error", "mask"))
        return Roles("<flux>", ivar=ivar, error=None if ivar else error, mask=mask)

    def axis(self, meta: Mapping[str, Any], air: bool, names: Iterable[str]) -> Axis:
        if find(meta, ANY_WAVELENGTH) or self.wavelength is None:
            return Axis.in_metadata(meta, air, names)
        return Axis.of(self.wavelength, unit=meta.get("wavelength_unit"), air=air)


def _are_row_numbers(pixels: list[str]) -> bool:
    """0, 1, 2 ... or 1, 2, 3 ...: numbers of pixels, not wavelengths."""
    return [float(pixel) for pixel in pixels] in ([float(i + j) for i in range(len(pixels))] for j in (0, 1))
