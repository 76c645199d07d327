"""What can be asked of a search is checked when the request is made, and is the same list everywhere."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from astropy.coordinates import SkyCoord
from astropy.table import Table

import rarespec as rs
from rarespec.cli.search_options import SearchOptions
from rarespec.errors import UsageError
from rarespec.searching.request import SearchRequest
from rarespec.searching.selection import Selection

FIELDS = {one.name for one in fields(SearchRequest)}
IN_WORDS = {"min_snr", "classes", "not_classes", "cone"}
"""The selection on the command line."""


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({}, "give either known examples"),
        ({"known": ["a"], "model": "m"}, "give either known examples"),
        ({"known": ["a"], "method": "magic"}, "no method 'magic'"),
        ({"known": ["a"], "params": {"magic": 1}}, "auto: has no parameter magic"),
        ({"known": ["a"], "recipe": "magic"}, "no recipe 'magic'"),
        ({"known": ["a"], "recipe": 3}, "recipe cannot be 3"),
        ({"known": ["a"], "selection": {"min_snr": 3}}, "selection cannot be"),
        ({"known": ["a"], "params": ["n_bags=3"]}, "params cannot be"),
        ({"known": ["a"], "top": 0}, "top must be a whole number of at least 1"),
        ({"known": ["a"], "top": 2.5}, "top must be a whole number of at least 1"),
        ({"known": ["a"], "seed": -1}, "seed must be a whole number of at least 0"),
        ({"known": ["a"], "radius_arcsec": 0.0}, "radius"),
        ({"known": ["a"], "radius_arcsec": float("nan")}, "radius"),
        ({"known": ["a"], "device": "tpu"}, "device='tpu' is not valid"),
        ({"known": ["a"], "device": "cuda", "engine": "tcp://host:1"}, "choose either"),
        ({"model": "m", "method": "lrga"}, "leave out method"),
        ({"model": "m", "non_members": ["a"], "params": {"random_state": 1}}, "leave out non_members, params"),
    ],
)
def test_wrong_use_is_refused_when_the_request_is_made(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        SearchRequest(**wrong)


def test_nothing_given_is_nothing() -> None:
    request = SearchRequest(np.array(["a"]), top=np.int64(3), non_members=[], params=None, selection=None)  # type: ignore[arg-type]
    assert request.non_members is None and request.params == {} and request.selection == Selection()


def test_an_empty_table_of_non_members_is_nothing_and_a_single_position_is_something() -> None:
    assert SearchRequest(["a"], non_members=Table({"id": []})).non_members is None
    assert SearchRequest(["a"], non_members=SkyCoord(1, 2, unit="deg")).non_members is not None


def test_python_takes_what_can_be_asked() -> None:
    in_python = set(inspect.signature(rs.search).parameters) - {"survey", "progress"}
    assert FIELDS - {"model", "lessons"} == in_python - {"labels", "kind", "tag", "not_tags"}  # which give the lessons


def test_the_command_line_takes_what_can_be_asked() -> None:
    own_words = {"selection": IN_WORDS, "radius_arcsec": {"radius"}, "engine": {"scheduler"}}
    own_words["lessons"] = {"labels", "log", "kind", "tag", "not_tags"}
    in_words = set().union(*(own_words.get(name, {name}) for name in FIELDS))
    assert {one.name for one in fields(SearchOptions)} == in_words | {"survey"}


def test_the_defaults_are_the_same_everywhere() -> None:
    request, options = SearchRequest("a"), SearchOptions("s", ["a"]).request()  # type: ignore[arg-type]
    for name in FIELDS - {"known"}:
        assert getattr(request, name) == getattr(options, name), name
    in_python = inspect.signature(rs.search).parameters
    for name in FIELDS - {"known", "model", "lessons", "params", "selection"}:  # these two are None there
        assert getattr(request, name) == in_python[name].default, name
