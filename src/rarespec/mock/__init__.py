"""Simulated surveys: stars from physics, seen through dust, sky and spectrograph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rarespec.mock.classes import CLASSES

if TYPE_CHECKING:
    from rarespec.mock.sky import MockSky

__all__ = ["CLASSES", "MockSky"]


def __getattr__(name: str) -> Any:
    if name == "MockSky":
        from rarespec.mock.sky import MockSky

        return MockSky
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
