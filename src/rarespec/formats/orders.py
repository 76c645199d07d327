"""Orders or segments of one spectrum, joined: each overlap is cut in its middle."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

JOINED = "segments or orders of a spectrum joined, overlaps cut in their middle"

FEWEST_ORDERS = 3
"""Of an echelle; two apertures on other wavelengths may be two arms or two objects."""

Pixels = dict[str, NDArray[Any]]
"""`wavelength`, increasing, and the values on these pixels, by name."""


def join_rows(rows: list[Pixels]) -> Pixels:
    """Join rows, the bluest first; where two overlap, each keeps its pixels up to the middle of the overlap."""
    kept = [rows[0]]
    for row in rows[1:]:
        last = kept[-1]
        middle = (last["wavelength"][-1] + row["wavelength"][0]) / 2
        if row["wavelength"][-1] <= last["wavelength"][-1]:
            continue  # wholly inside the row before
        kept[-1] = {name: values[last["wavelength"] < middle] for name, values in last.items()}
        kept.append({name: values[row["wavelength"] >= middle] for name, values in row.items()})
    return {name: np.concatenate([row[name] for row in kept]) for name in rows[0]}


def are_orders(wavelengths: list[NDArray[np.float64]]) -> bool:
    """Say whether these are the wavelengths of an echelle's orders: each begins in the redder half of the one before.

    Fibres of a multi-object spectrograph have nearly the same wavelengths.
    """
    ordered = sorted(wavelengths, key=lambda values: values[0])
    redder = (after[0] >= before[len(before) // 2] for before, after in pairwise(ordered))
    return len(ordered) >= FEWEST_ORDERS and all(redder)
