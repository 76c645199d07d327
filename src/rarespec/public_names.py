"""Names that a room hands out, each imported when it is first used, so that importing a room loads nothing heavy.

`lazy_loader` of Scientific Python does the same. These few lines spare every import of rarespec a dependency.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def hand_out(
    package: str, home_of: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The `__getattr__`, `__dir__` and `__all__` of a package.

    Parameters
    ----------
    package : str
        Its `__name__`.
    home_of : mapping
        Public name -> module below the package that holds it.

    Returns
    -------
    tuple
        The three, in this order.
    """

    def get(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{home_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(home_of), sorted(home_of)
