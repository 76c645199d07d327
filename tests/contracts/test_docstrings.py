"""The docstrings of the public names: numpydoc can read them, they name every parameter, and their examples run."""

import doctest
import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from numpydoc.docscrape import NumpyDocString

ROOMS = ("spectrum", "formats", "features", "rankers", "evaluation", "engines", "gpu")
ROOMS += ("survey", "searching", "labels", "hats", "inspector", "fetching", "mock", "plots")

MANY = 3
"""Parameters from which each must be documented; fewer may be told in the first sentence."""


def public_names(room: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Functions and classes that a room hands out and holds itself: `room.name`, and the thing."""
    house = import_module(f"rarespec.{room}")
    for name in house.__all__:
        thing = getattr(house, name)
        if callable(thing) and inspect.unwrap(thing).__module__.startswith(house.__name__):
            yield f"{room}.{name}", inspect.unwrap(thing)


def public_methods(room: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Methods of these classes, each where it is written: an inherited one is not met twice."""
    seen: set[Any] = set()
    for name, thing in public_names(room):
        for attribute in dir(thing) if inspect.isclass(thing) else ():
            method = inspect.getattr_static(thing, attribute)
            method = getattr(method, "__func__", method)
            ours = inspect.isfunction(method) and method.__module__.startswith(f"rarespec.{room}")
            if ours and not attribute.startswith("_") and method not in seen:
                seen.add(method)
                yield f"{name}.{attribute}", method


NAMES = dict(pair for room in ROOMS for pair in public_names(room))
CALLABLES = NAMES | dict(pair for room in ROOMS for pair in public_methods(room))


def signature_of(thing: Callable[..., Any]) -> set[str]:
    if inspect.isclass(thing) and issubclass(thing, BaseException) and "__init__" not in vars(thing):
        return set()
    return {name.lstrip("*") for name in inspect.signature(thing).parameters} - {"self", "cls"}


def documented_of(doc: str) -> dict[str, tuple[str, str]]:
    """Parameter -> its type and its sentence, as numpydoc reads them."""
    return {
        name.strip().lstrip("*"): (kind, " ".join(sentence))
        for names, kind, sentence in NumpyDocString(doc)["Parameters"]
        for name in names.split(",")
    }


def faults(thing: Callable[..., Any]) -> list[str]:
    """What is missing in a docstring, in words."""
    doc = inspect.getdoc(thing) if inspect.isfunction(thing) else inspect.cleandoc(vars(thing).get("__doc__") or "")
    if not doc:
        return ["no docstring"]
    parameters = set() if hasattr(thing, "__members__") else signature_of(thing)
    documented = documented_of(doc)
    found = [] if doc.splitlines()[0].strip() else ["no sentence first"]
    found += [f"no such parameter: {name}" for name in documented.keys() - parameters]
    if len(parameters) >= MANY:
        found += [f"not documented: {name}" for name in parameters - documented.keys()]
    found += [f"no type: {name}" for name, (kind, _) in documented.items() if not kind]
    found += [f"no sentence: {name}" for name, (_, sentence) in documented.items() if not sentence]
    return sorted(found)


@pytest.mark.parametrize("name", CALLABLES)
def test_numpydoc_finds_every_parameter(name: str) -> None:
    assert not faults(CALLABLES[name])


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_an_example(name: str) -> None:
    thing = NAMES[name]
    if not (inspect.isclass(thing) and issubclass(thing, BaseException)):
        assert ">>> " in (thing.__doc__ or "")


def examples_of(name: str) -> list[doctest.DocTest]:
    found = doctest.DocTestFinder(recurse=False).find(CALLABLES[name], name, module=False, globs={})
    return [test for test in found if test.examples]


@pytest.mark.parametrize("name", [name for name in CALLABLES if examples_of(name)])
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for test in examples_of(name):
        runner.run(test, out=said.append)
    assert not runner.failures, "".join(said)


# ---- The test itself can fail.


def _wrong(a: int, b: int, c: int) -> None:
    """Do something.

    Parameters
    ----------
    a : a sentence where the type should be
    b : int
        A sentence.
    d : int
        Of no parameter.
    """


def test_faults_are_found() -> None:
    assert faults(_wrong) == ["no sentence: a", "no such parameter: d", "not documented: c"]
