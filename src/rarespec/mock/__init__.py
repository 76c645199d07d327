"""Simulated surveys: stars from physics, seen through dust, sky and spectrograph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rarespec.public_names import hand_out

if TYPE_CHECKING:
    from rarespec.mock.classes import CLASSES as CLASSES
    from rarespec.mock.simulate import SkyChoice as SkyChoice
    from rarespec.mock.simulate import simulate_files as simulate_files
    from rarespec.mock.simulate import simulate_survey as simulate_survey
    from rarespec.mock.sky import MockSky as MockSky

__getattr__, __dir__, __all__ = hand_out(
    __name__,
    {
        "CLASSES": "classes",
        "MockSky": "sky",
        "SkyChoice": "simulate",
        "simulate_files": "simulate",
        "simulate_survey": "simulate",
    },
)
