"""A recipe for the wavelength grid of a survey."""

from __future__ import annotations

from typing import Any, TypeVar

from sklearn.base import BaseEstimator, clone

from rarespec.spectrum import WavelengthGrid

Step = TypeVar("Step", bound=BaseEstimator)


def for_grid(step: Step, grid: WavelengthGrid) -> Step:
    """A copy in which every step that was given no grid has this one; a step made for another grid is refused."""
    copy = clone(step)
    return copy.set_params(**{name: _set(name, value, grid) for name, value in copy.get_params(deep=False).items()})


def _set(name: str, value: Any, grid: WavelengthGrid) -> Any:
    if name == "grid":
        if value not in (None, grid):
            raise ValueError(f"a step was made for the grid {value}, but the spectra are on {grid}")
        return grid
    if isinstance(value, list | tuple):
        return type(value)(_set("", item, grid) for item in value)
    return for_grid(value, grid) if isinstance(value, BaseEstimator) else value
