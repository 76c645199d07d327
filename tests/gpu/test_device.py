"""Asking for a GPU gives one, or the CPU and a message that says why."""

import warnings

import pytest

from rarespec.gpu import device
from rarespec.gpu.device import NoGPUWarning, usable_device


@pytest.mark.parametrize("asked", [None, "cpu"])
def test_the_cpu_is_the_cpu_without_a_word(asked):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert usable_device(asked) is None


def test_an_unknown_device_is_refused():
    with pytest.raises(ValueError, match="tpu"):
        usable_device("tpu")


def test_without_torch_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setattr(device, "find_spec", lambda name: None)
    with pytest.warns(NoGPUWarning, match=r"rarespec\[gpu\].*using the CPU"):
        assert usable_device("cuda") is None


def test_without_a_card_the_message_says_so(torch, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.warns(NoGPUWarning, match="CUDA"):
        assert usable_device("cuda") is None


def test_a_card_that_is_not_there(torch, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert usable_device("cuda:1") == "cuda:1"
    with pytest.warns(NoGPUWarning, match="only 2"):
        assert usable_device("cuda:2") is None
