"""The classes of the mock sky, how common each is, and who draws it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from rarespec.mock.light import Population

MIX: dict[str, float] = {
    "O": 0.003, "B": 0.012, "A": 0.08, "F": 0.25, "G": 0.16, "K": 0.18, "M": 0.18, "L": 0.004, "T": 0.0003,
    "WD": 0.03, "DQ": 0.0008, "DZ": 0.0008, "BINARY": 0.004, "CV": 0.003, "CARBON": 0.0,
    "QSO": 0.05, "GALAXY": 0.03, "SKY": 0.012,
}  # fmt: skip
"""What a random fibre of a stellar survey sees. No carbon stars unless they are asked for."""

CLASSES: tuple[str, ...] = tuple(name.lower() for name in MIX)
"""Names accepted as rare classes, in any case."""

_DRAWN_BY = {
    "M": ("red_dwarfs", "draw_m"), "L": ("red_dwarfs", "draw_l"), "T": ("red_dwarfs", "draw_t"),
    "WD": ("white_dwarfs", "draw"), "DQ": ("white_dwarfs", "draw_dq"), "DZ": ("white_dwarfs", "draw_dz"),
    "BINARY": ("white_dwarfs", "draw_binary"), "CV": ("cataclysmic", "draw"), "CARBON": ("carbon_stars", "draw"),
    "QSO": ("quasars", "draw"), "GALAXY": ("galaxies", "draw"), "SKY": ("blank", "draw"),
}  # fmt: skip


def draw(name: str, rng: np.random.Generator, n: int) -> Population:
    """Draw objects of one class.

    Parameters
    ----------
    name : str
        The class, a key of `MIX`.
    rng : numpy.random.Generator
        Gives everything that varies from object to object.
    n : int
        How many objects.

    Returns
    -------
    Population
        The objects.
    """
    if name in _DRAWN_BY:
        module, function = _DRAWN_BY[name]
        return getattr(import_module(f"rarespec.mock.populations.{module}"), function)(rng, n)
    from rarespec.mock.populations import stars

    return stars.draw(rng, n, name)


def class_of(name: str) -> str:
    """Find the class that a user means, in upper or lower case."""
    if name.lower() not in CLASSES:
        raise ValueError(f"there is no class {name!r}; choose from {', '.join(CLASSES)}")
    return name.upper()


def rare_classes(rare: Mapping[str, int]) -> dict[str, int]:
    """Count the rare classes asked for, by class name; refuse what cannot be."""
    counts: dict[str, int] = {}
    for name, count in rare.items():
        if count < 0:
            raise ValueError(f"{count} {name} objects: the number must be at least 0")
        counts[class_of(name)] = counts.get(class_of(name), 0) + int(count)
    return counts


def common_mix(rare: Mapping[str, int]) -> dict[str, float]:
    """Leave the rare classes out of the mix, so that their number is exactly what was asked for."""
    left = {name: share for name, share in MIX.items() if name not in rare and share > 0}
    if not left:
        raise ValueError("every class is requested as rare, so none is left for the common objects")
    total = sum(left.values())
    return {name: share / total for name, share in left.items()}
