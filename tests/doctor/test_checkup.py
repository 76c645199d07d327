"""Parts of a checkup that depend on the machine."""

from __future__ import annotations

import sys
import webbrowser
from types import SimpleNamespace
from typing import Any

import pytest

import rarespec.gpu.device
from rarespec.doctor import checkup


def test_a_graphics_card_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = SimpleNamespace(get_device_name=lambda number: "A Card")
    torch = SimpleNamespace(__version__="2.9", cuda=cuda, version=SimpleNamespace(cuda="13.0"))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(rarespec.gpu.device, "why_not", lambda device: None)
    assert checkup._gpu() == "A Card, torch 2.9, CUDA 13.0"


def test_why_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rarespec.gpu.device, "why_not", lambda device: f"device={device}: torch 2.9 finds none")
    assert checkup._gpu() == "torch 2.9 finds none"


def test_a_broken_library_does_not_stop_the_checkup(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(device: str) -> Any:
        raise OSError("libcudart.so: cannot open")

    monkeypatch.setattr(rarespec.gpu.device, "why_not", broken)
    assert checkup._gpu() == "OSError: libcudart.so: cannot open"


def test_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Any:
        raise webbrowser.Error

    monkeypatch.setattr(webbrowser, "get", none)
    assert "open the address" in checkup._browser()
    monkeypatch.setattr(webbrowser, "get", lambda: SimpleNamespace(name="/usr/bin/firefox"))
    assert checkup._browser() == "firefox"
