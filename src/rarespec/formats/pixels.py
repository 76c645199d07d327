"""Which pixels of a spectrum must not be used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def native(values: NDArray[Any]) -> NDArray[np.floating]:
    """The same floats in this machine's byte order, as a contiguous array; whole numbers become float64."""
    kind = values.dtype.newbyteorder("=") if values.dtype.kind == "f" else np.dtype(np.float64)
    return np.ascontiguousarray(values, dtype=kind)


def bad_pixels(
    flux: NDArray[Any], ivar: NDArray[Any] | None, masked: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """True where the flux is not finite, the inverse variance is not a positive number, or the mask says so."""
    bad = ~np.isfinite(flux)
    if ivar is not None:
        bad |= ~((ivar > 0) & np.isfinite(ivar))
    if masked is not None:
        bad |= masked
    return bad


def has_bits(mask: NDArray[Any], bits: int) -> NDArray[np.bool_]:
    """True where the mask has one of these bits. Masks stored as floats count too; NaN counts as all bits set."""
    if mask.dtype.kind == "f":
        lost = ~np.isfinite(mask) | (np.abs(mask) >= 2.0**62)
        return lost | ((np.where(lost, 0, mask).astype(np.int64) & bits) != 0)
    return (mask.astype(np.int64) & bits) != 0
