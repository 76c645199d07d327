"""Damage that leaves a valid FITS file with right checksums: only a look at what it says can tell."""

from __future__ import annotations

import numpy as np

from rarespec.formats.fits.writing import row_dtype
from rarespec.mock.damage.units import Unit, assemble_file, spectral_arrays, table_columns, table_rows, take_apart

LOG_SHIFT = 0.5
"""Added to log10 of the wavelength: 3600 Angstrom become 11400."""


def nan_everywhere(content: bytes, rng: np.random.Generator) -> bytes:
    """Every flux is NaN."""
    return _with_constant(content, ("flux",), np.nan)


def zero_ivar(content: bytes, rng: np.random.Generator) -> bytes:
    """Every inverse variance (or sigma, where the layout has that) is 0: no pixel was observed."""
    return _with_constant(content, ("ivar", "sigma"), 0.0)


def no_overlap(content: bytes, rng: np.random.Generator) -> bytes:
    """The spectrum lies in the infrared, according to its wavelengths."""
    units = take_apart(content)
    for unit in units:
        arrays = spectral_arrays(unit)
        if "loglam" in arrays:
            arrays["loglam"] += LOG_SHIFT
        if "wavelength" in arrays:
            arrays["wavelength"] *= 10.0**LOG_SHIFT
        for keyword in {"COEFF0", "CRVAL1"} & unit.positions.keys():
            unit.set(keyword, round(float(unit.text(keyword)) + LOG_SHIFT, 6))
    return assemble_file(units)


def missing_column(content: bytes, rng: np.random.Generator) -> bytes:
    """The flux column, or one camera's flux, is gone."""
    units = take_apart(content)
    chosen = _any_named_flux(units, rng)
    if not chosen.is_table:
        return assemble_file(unit for unit in units if unit is not chosen)
    _drop_flux_column(chosen)
    return assemble_file(units)


def rename_column(content: bytes, rng: np.random.Generator) -> bytes:
    """The flux column, or one camera's flux, goes by another name."""
    units = take_apart(content)
    chosen = _any_named_flux(units, rng)
    new_name = str(rng.choice(["COUNTS", "SPEC", "DATA"]))
    if chosen.is_table:
        chosen.set(f"TTYPE{_flux_number(chosen)}", new_name)
    else:
        chosen.set("EXTNAME", f"{chosen.name[0]}_{new_name}")
    return assemble_file(units)


def find_flux(units: list[Unit]) -> list[Unit]:
    """HDUs whose flux is known by a name: a table column, or an image extension of one camera."""
    with_flux = [unit for unit in units if "flux" in spectral_arrays(unit)]
    return [unit for unit in with_flux if "XTENSION" in unit.positions]


def _with_constant(content: bytes, roles: tuple[str, ...], value: float) -> bytes:
    units = take_apart(content)
    for unit in units:
        arrays = spectral_arrays(unit)
        for role in set(roles) & arrays.keys():
            arrays[role][...] = value
    return assemble_file(units)


def _any_named_flux(units: list[Unit], rng: np.random.Generator) -> Unit:
    """The first flux table (later ones are single exposures), or any camera."""
    candidates = find_flux(units)
    return candidates[0] if candidates[0].is_table else candidates[int(rng.integers(len(candidates)))]


def _flux_number(unit: Unit) -> int:
    names = [column.name.lower() for column in table_columns(unit)]
    return names.index("flux") + 1


def _drop_flux_column(unit: Unit) -> None:
    """Rewrite the table without it, the columns behind it renumbered."""
    columns, old, gone = table_columns(unit), table_rows(unit), _flux_number(unit)
    kept = [column for i, column in enumerate(columns, start=1) if i != gone]
    rows = np.zeros(len(old), row_dtype(kept))
    for column in kept:
        rows[column.name] = old[column.name]
    unit.data = bytearray(rows.tobytes())
    unit.remove(f"{prefix}{gone}" for prefix in ("TTYPE", "TFORM", "TUNIT"))
    for number in range(gone + 1, len(columns) + 1):
        for prefix in ("TTYPE", "TFORM", "TUNIT"):
            _renumber(unit, prefix, number, number - 1)
    unit.set("TFIELDS", len(kept))
    unit.set("NAXIS1", rows.dtype.itemsize)


def _renumber(unit: Unit, prefix: str, old: int, new: int) -> None:
    at = unit.positions.pop(f"{prefix}{old}", None)
    if at is not None:
        unit.cards[at] = f"{prefix}{new}".ljust(8).encode() + unit.cards[at][8:]
        unit.positions[f"{prefix}{new}"] = at
