"""The same work on a GPU: features, components, TopPush on all bags at once, scoring, exact neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rarespec.public_names import hand_out

if TYPE_CHECKING:
    from rarespec.gpu.device import NoGPUWarning as NoGPUWarning
    from rarespec.gpu.device import usable_device as usable_device
    from rarespec.gpu.device_recipe import DeviceRecipe as DeviceRecipe
    from rarespec.gpu.device_recipe import recipe_on as recipe_on
    from rarespec.gpu.exact_neighbours import nearest_rows as nearest_rows
    from rarespec.gpu.exact_neighbours import neighbours_on as neighbours_on
    from rarespec.gpu.pinned_stream import through_device as through_device
    from rarespec.gpu.scoring import top_rows as top_rows

__getattr__, __dir__, __all__ = hand_out(
    __name__,
    {
        "DeviceRecipe": "device_recipe",
        "NoGPUWarning": "device",
        "nearest_rows": "exact_neighbours",
        "neighbours_on": "exact_neighbours",
        "recipe_on": "device_recipe",
        "through_device": "pinned_stream",
        "top_rows": "scoring",
        "usable_device": "device",
    },
)
