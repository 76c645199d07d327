"""Another way to the page: one host and one path, through a proxy such as that of JupyterHub."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from rarespec.errors import UsageError
from rarespec.inspector.jupyter_server import address_of_jupyter

LOOPBACK = ("127.0.0.1", "localhost")
"""Both names of this machine; a browser may use either."""
ALLOW_HOST = "RARESPEC_ALLOW_HOST"
"""Environment variable: the host, where nobody gives it; whoever runs a hub can set it for all."""
HUB_PREFIX, HUB_URL = "JUPYTERHUB_SERVICE_PREFIX", "JUPYTERHUB_PUBLIC_URL"

_ORIGIN = re.compile(r"(?:(https?)://)?([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::([1-9][0-9]{0,4}))?/?")
_PATH = re.compile(r"/(?:[\w~@%+=-][\w.~@%+=-]*/)*", re.ASCII)
_USUAL_PORTS = {"http": "80", "https": "443"}


@dataclass(frozen=True)
class Entrance:
    """A host and a path under which a proxy shows the page.

    Parameters
    ----------
    origins : mapping
        Host, as the browser writes it -> the only Origin that goes with it. One host; two names if it is this machine.
    path : str
        What the browser's path begins with; it ends with a slash.
    is_framed : bool
        Whether a page of the same origin may show ours inside itself.
    """

    origins: Mapping[str, str]
    path: str
    is_framed: bool = False

    @property
    def origin(self) -> str:
        return next(iter(self.origins.values()))

    def framed(self) -> Entrance:
        """Let pages of the same origin, such as a notebook, show ours inside themselves."""
        return replace(self, is_framed=True)


def find_entrance(allow_host: str | None, base_url: str | None, port: int) -> Entrance | None:
    """Find out under which host and path a proxy shows the page; None when no host is allowed.

    Parameters
    ----------
    allow_host : str, optional
        The host in the address bar of the browser. Default: RARESPEC_ALLOW_HOST, or what JupyterHub says of itself.
    base_url : str, optional
        The path up to the page. Default: `proxy/PORT/` below JUPYTERHUB_SERVICE_PREFIX.
    port : int
        Of this machine.

    Returns
    -------
    Entrance or None
        The entrance.

    Raises
    ------
    UsageError
        If host or path are not ones, or a path comes without a host.
    """
    given = allow_host or _host_told()
    if not given:
        if base_url is not None:
            raise UsageError(f"base URL {base_url}: give the host too, with --allow-host (allow_host=)")
        return None
    path = f"{os.environ.get(HUB_PREFIX) or '/'}proxy/{port}/" if base_url is None else base_url
    return Entrance(origins_of(given), _check_path(path))


def find_entrance_of_tile(base_url: str, port: int) -> Entrance:
    """Find out under which host and path Jupyter shows the page behind its tile.

    Jupyter writes down the address that it listens on. On a hub nobody's browser uses that one.

    Parameters
    ----------
    base_url : str
        The path up to the page.
    port : int
        Of this machine.

    Returns
    -------
    Entrance
        The entrance.

    Raises
    ------
    UsageError
        If nothing says the host, or what says it is no host.
    """
    listens_at = "" if HUB_PREFIX in os.environ else _host_of(address_of_jupyter())
    if not (told := _host_told() or listens_at):
        raise UsageError(
            f"rarespec does not know the host in your browser's address bar: set {ALLOW_HOST} to it, for example "
            f"{ALLOW_HOST}=hub.example.org, where Jupyter starts, and start Jupyter again"
        )
    entrance = find_entrance(told, base_url, port)
    assert entrance is not None
    return entrance


def origins_of(allow_host: str) -> dict[str, str]:
    """Host -> Origin, from `hub.example.org`, `hub.example.org:8000` or `http://hub.example.org`.

    Without http:// or https:// it is https, except for this machine itself, where a browser needs none.
    """
    found = _ORIGIN.fullmatch(allow_host.strip().lower())
    if found is None or ".." in allow_host:
        raise UsageError(
            f"allowed host {allow_host!r}: give one host as in the address bar of the browser, such as hub.example.org "
            "or http://localhost:8888"
        )
    scheme, name, port = found.groups()
    scheme = scheme or ("http" if name in LOOPBACK else "https")
    ending = f":{port}" if port and port != _USUAL_PORTS[scheme] else ""
    names = (name, *(other for other in LOOPBACK if other != name)) if name in LOOPBACK else (name,)
    return {f"{one}{ending}": f"{scheme}://{one}{ending}" for one in names}


def _host_told() -> str:
    return os.environ.get(ALLOW_HOST) or _host_of(os.environ.get(HUB_URL, ""))


def _host_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""


def _check_path(path: str) -> str:
    path = f"{path.rstrip('/')}/"
    if not _PATH.fullmatch(path):
        raise UsageError(
            f"base URL {path!r}: give the path under which the browser sees the page, such as /user/ada/proxy/8931/"
        )
    return path
