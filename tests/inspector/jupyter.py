"""A real Jupyter server with jupyter-server-proxy, below a path as on a hub, with folders of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from rarespec.inspector.server import listening

BASE = "/user/ada/"
TOKEN = "a-token-of-jupyter"


@dataclass(frozen=True)
class Jupyter:
    """A server that runs."""

    port: int
    runtime: Path

    @property
    def folder(self) -> Path:
        """Of the notebooks."""
        return self.runtime.parent

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}{BASE}"

    @property
    def entry(self) -> str:
        """Where a browser becomes one that Jupyter knows."""
        return f"{self.url}api/status?token={TOKEN}"


@contextmanager
def running_jupyter(folder: Path, **environment: str) -> Iterator[Jupyter]:
    for name in ("jupyter_server", "jupyter_server_proxy"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    with listening(0) as free:
        port = free.getsockname()[1]
    places = {f"JUPYTER_{kind}_DIR": str(folder / kind.lower()) for kind in ("CONFIG", "RUNTIME", "DATA")}
    options = {"port": port, "port_retries": 0, "base_url": BASE, "root_dir": folder, "open_browser": False}
    options |= {"jpserver_extensions": {"jupyter_server_proxy": True}, "allow_root": True}
    command = [sys.executable, "-m", "jupyter_server", *(f"--ServerApp.{name}={options[name]}" for name in options)]
    with (folder / "jupyter.txt").open("w") as said:
        process = subprocess.Popen(
            [*command, f"--IdentityProvider.token={TOKEN}"],
            cwd=folder,
            env=os.environ | places | environment,
            stdout=said,
            stderr=said,
        )
        try:
            jupyter = Jupyter(port, folder / "runtime")
            _wait_until_it_answers(jupyter, process)
            yield jupyter
        finally:
            process.terminate()
            process.wait()


def _wait_until_it_answers(jupyter: Jupyter, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        try:
            urlopen(jupyter.entry).close()
            return
        except URLError:
            sleep(0.1)
    raise AssertionError("Jupyter did not start; see jupyter.txt in its folder")
