"""The same work on a GPU: features, components, TopPush on all bags at once, scoring, exact neighbours."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rarespec.gpu.device import NoGPUWarning as NoGPUWarning
    from rarespec.gpu.device import usable_device as usable_device
    from rarespec.gpu.device_recipe import DeviceRecipe as DeviceRecipe
    from rarespec.gpu.device_recipe import recipe_on as recipe_on
    from rarespec.gpu.exact_neighbours import nearest_rows as nearest_rows
    from rarespec.gpu.exact_neighbours import neighbours_on as neighbours_on
    from rarespec.gpu.pinned_stream import through_device as through_device
    from rarespec.gpu.scoring import top_rows as top_rows

_HOME_OF = {
    "DeviceRecipe": "device_recipe",
    "NoGPUWarning": "device",
    "nearest_rows": "exact_neighbours",
    "neighbours_on": "exact_neighbours",
    "recipe_on": "device_recipe",
    "through_device": "pinned_stream",
    "top_rows": "scoring",
    "usable_device": "device",
}
"""Public name -> module of this room, imported on first use."""

__all__ = list(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'rarespec.gpu' has no attribute {name!r}")
    return getattr(import_module(f"rarespec.gpu.{_HOME_OF[name]}"), name)
