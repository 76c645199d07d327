"""Where flux, inverse variance and wavelength lie in the survey layouts that can be damaged."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.mock.damage.units import Unit
from rarespec.mock.files.table import Column, row_dtype

_IMAGE_TYPES = {8: "u1", 16: ">i2", 32: ">i4", 64: ">i8", -32: ">f4", -64: ">f8"}
_NEVER_READ = ("SPZLINE", "ZALL", "ZLINE", "EXP_FIBERMAP", "SCORES", "WAVEDISP", "ORMASK", "SKY", "RESOLUTION")
"""HDUs that hold nothing a survey of spectra keeps: a reader may skip them without looking."""


def is_read(unit: Unit) -> bool:
    """Whether a reader has a reason to open this HDU."""
    return not unit.name.endswith(_NEVER_READ)


def spectral_arrays(unit: Unit) -> dict[str, NDArray[Any]]:
    """Writable views of this HDU's data: flux, ivar, sigma, loglam, wavelength, as far as they are here."""
    if unit.is_table:
        return _table_arrays(unit)
    if not unit.data:
        return {}
    image = np.frombuffer(unit.data, _IMAGE_TYPES[unit.number("BITPIX")]).reshape(unit.shape)
    if "XTENSION" in unit.positions:
        role = unit.name.rpartition("_")[2].lower()
        return {role: image} if role in ("flux", "ivar", "wavelength") else {}
    return _primary_arrays(unit, image)


def table_columns(unit: Unit) -> list[Column]:
    numbers = range(1, unit.number("TFIELDS") + 1)
    return [Column(unit.text(f"TTYPE{i}"), unit.text(f"TFORM{i}")) for i in numbers]


def table_rows(unit: Unit) -> NDArray[np.void]:
    """The rows of a binary table, a writable view."""
    return np.frombuffer(unit.data, row_dtype(table_columns(unit)))


def _table_arrays(unit: Unit) -> dict[str, NDArray[Any]]:
    wanted = {column.name for column in table_columns(unit)}
    wanted = {name for name in wanted if name.lower() in ("flux", "ivar", "loglam", "wavelength")}
    if not wanted:
        return {}
    rows = table_rows(unit)
    return {name.lower(): rows[name] for name in wanted}


def _primary_arrays(unit: Unit, image: NDArray[Any]) -> dict[str, NDArray[Any]]:
    if "SPEC_CLN" in unit.positions:
        return {"flux": image[0], "sigma": image[2]}
    if "EXTEN0" not in unit.positions:
        return {"flux": image}
    arrays = {"flux": image[0], "ivar": image[1]}
    return arrays | {"wavelength": image[2]} if "Wavelength" in unit.text("EXTEN0") else arrays
