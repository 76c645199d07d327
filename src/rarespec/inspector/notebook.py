"""The page in a cell of a notebook, through the proxy of the Jupyter server that shows the notebook."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from rarespec.inspector.entrance import Entrance, find_entrance, origins_of
from rarespec.inspector.jupyter_server import address_of_jupyter
from rarespec.pages.html import Html, element, join_html

HEIGHT = 800
"""CSS pixels."""


def find_way_from_notebook(allow_host: str | None, base_url: str | None, port: int) -> Entrance | None:
    """Find how the browser that shows this notebook reaches the page; None outside of notebooks, or without a proxy.

    Parameters
    ----------
    allow_host, base_url : str, optional
        As for `find_entrance`, if somebody gives them. Else the Jupyter server that started this kernel says it.
    port : int
        Of this machine.

    Returns
    -------
    Entrance or None
        One that the notebook, and no other page, may frame.
    """
    found = find_entrance(allow_host, base_url, port)
    if not _is_notebook():
        return found
    found = found or _entrance_of_server(port)
    return None if found is None else found.framed()


def frame(entrance: Entrance, ticket: str) -> Html:
    """The page inside a cell. The ticket opens it once, so that the notebook, when it is saved, holds no key."""
    page = element("iframe", src=f"{entrance.path}?key={ticket}", title="rarespec inspect", width="100%", height=HEIGHT)
    in_a_tab = element("a", "in a tab of its own", href=entrance.path, target="_blank", rel="noopener")
    return element("div", page, element("p", join_html("The page ", in_a_tab, ".")))


def _is_notebook() -> bool:
    """Whether a kernel runs this; IPython in a terminal has none."""
    shell: Any = sys.modules.get("IPython")
    return shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None


def _entrance_of_server(port: int) -> Entrance | None:
    """Through the Jupyter server that started this kernel, which wrote down its address."""
    url = address_of_jupyter()
    if not url or find_spec("jupyter_server_proxy") is None:
        return None
    parts = urlsplit(url)
    return Entrance(origins_of(f"{parts.scheme}://{parts.netloc}"), f"{parts.path.rstrip('/')}/proxy/{port}/")
