"""Which software is installed: Python, what rarespec needs, and what it can use."""

from __future__ import annotations

import getpass
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from importlib import import_module
from importlib.metadata import Distribution, PackageNotFoundError, distribution, requires, version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from packaging.requirements import Requirement


# ---- Paths and messages without what is nobody else's business: the home folder, the user's name, a password in a
# URL.


PASSWORD = re.compile(r"(?<=://)[^/@\s]+@")
SHORTEST_NAME = 3
"""Shorter names are parts of too many words."""


def without_names(text: str) -> str:
    """The same text with ~ for the home folder and USER for the user's name."""
    for home in _homes():
        text = re.sub(rf"{re.escape(home)}(?![\w.-])", "~", text)
    user = _user()
    if len(user) >= SHORTEST_NAME:
        text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(user)}(?![A-Za-z0-9])", "USER", text)
    return PASSWORD.sub("", text)


def _homes() -> list[str]:
    """As it is called and as it is when links are followed, the longer first; a home of / would be in every path."""
    try:
        home = Path.home()
    except RuntimeError:  # a user without an entry, as in some containers
        return []
    return sorted({str(home), str(home.resolve())} - {"/"}, key=len, reverse=True)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


OPTIONAL_PARTS = {
    "specutils": "spectra as specutils objects",
    "dask": "computing on a Dask cluster",
    "hats": "HATS catalogues with LSDB",
    "cloud": "surveys in object stores",
    "gpu": "computing on a GPU",
    "mcp": "tools for language-model clients",
}
"""Extra of the package -> what it is for."""

MODULE_OF = {"scikit-learn": "sklearn", "faiss-cpu": "faiss", "universal-pathlib": "upath"}
"""Where a package and what is imported are called differently."""


@dataclass(frozen=True)
class Package:
    """A package that rarespec needs or can use.

    needs   : the versions that are known to do, such as >=1.26
    version : the one that is installed; None when there is none
    problem : why it cannot be used; None when it can
    """

    name: str
    needs: str
    version: str | None
    problem: str | None


def list_needed_packages() -> list[Package]:
    return [_examine(requirement) for requirement in requirements_of("rarespec", "")]


def optional_packages() -> dict[str, list[Package]]:
    """Optional part -> its packages."""
    return {part: [_examine(one) for one in requirements_of("rarespec", part)] for part in OPTIONAL_PARTS}


def requirements_of(package: str, extra: str) -> Iterator[Requirement]:
    """What an installed package needs here, or what one of its extras needs beyond that; nothing if it is not there."""
    from packaging.requirements import Requirement

    try:
        lines = requires(package) or []
    except PackageNotFoundError:
        return
    for requirement in map(Requirement, lines):
        marker = requirement.marker
        always = marker is None or marker.evaluate({"extra": ""})
        if always != bool(extra) and (always or (marker is not None and marker.evaluate({"extra": extra}))):
            yield requirement


def _examine(requirement: Requirement) -> Package:
    try:
        installed = version(requirement.name)
    except PackageNotFoundError:
        return Package(requirement.name, str(requirement.specifier), None, "not installed")
    problem = None
    if not requirement.specifier.contains(installed, prereleases=True):
        problem = f"version {installed} is installed, but {requirement.specifier} is required"
    return Package(requirement.name, str(requirement.specifier), installed, problem or _why_not_imported(requirement))


def _why_not_imported(requirement: Requirement) -> str | None:
    name = requirement.name.lower().replace("_", "-")
    try:
        import_module(MODULE_OF.get(name, name.replace("-", "_")))
    except Exception as error:  # a broken library may raise anything
        return without_names(f"cannot be imported: {type(error).__name__}: {' '.join(str(error).split())}")
    return None


# ---- Under which licences the packages are that rarespec uses, as their own metadata say.


LONGEST = 60
"""Characters; what is longer is a whole licence text."""
VAGUE = ("", "UNKNOWN", "Dual License")
TELLING = (
    ("may be used to endorse or promote products", "BSD-3-Clause"),
    ("Redistribution and use in source and binary forms", "BSD-2-Clause"),
    ("Permission is hereby granted, free of charge", "MIT"),
    ("Apache License", "Apache-2.0"),
)
"""Words by which a licence text is known, the most particular first."""


@dataclass(frozen=True)
class Licensed:
    """A package, its licence, and for what it is used: rarespec itself, an optional part, or another package."""

    name: str
    licence: str
    used_by: str


def licences_used() -> list[Licensed]:
    """Of all packages that rarespec needs or can use, and of those that these need, by name; installed ones only."""
    found: dict[str, Licensed] = {}
    waiting = [(one.name, "rarespec", one.extras) for one in requirements_of("rarespec", "")]
    for part in OPTIONAL_PARTS:
        waiting += [(one.name, f"rarespec[{part}]", one.extras) for one in requirements_of("rarespec", part)]
    while waiting:
        name, used_by, extras = waiting.pop(0)
        key = name.lower().replace("_", "-").replace(".", "-")
        if key in found or not (package := _find_distribution(name)):
            continue
        own_name = package.metadata["Name"]
        found[key] = Licensed(own_name, licence_of(cast(Message, package.metadata), _texts(package)), used_by)
        for extra in ("", *extras):
            waiting += [(one.name, own_name, one.extras) for one in requirements_of(name, extra)]
    return [found[key] for key in sorted(found)]


def as_markdown(used: list[Licensed]) -> str:
    """A table for a file of notices."""
    return "\n".join(_rows(used))


def _rows(used: list[Licensed]) -> Iterator[str]:
    yield "| package | licence | used by |"
    yield "|---|---|---|"
    for one in used:
        yield f"| {one.name} | {one.licence} | {one.used_by} |"


def _find_distribution(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def licence_of(facts: Message, texts: Iterable[str] = ()) -> str:
    """The expression where there is one; else what is written free if it is a name; the classifiers; the texts."""
    expression, free = (str(facts.get(name) or "").strip() for name in ("License-Expression", "License"))
    classified = [
        line.rpartition("::")[2].strip()
        for line in facts.get_all("Classifier") or []
        if line.startswith("License ::") and line.count("::") > 1
    ]
    is_name = "\n" not in free and len(free) <= LONGEST and free not in VAGUE
    named = expression or (free if is_name else "") or " or ".join(classified)
    return named or _recognise(chain([free], texts)) or "see the package files"


def _texts(package: Distribution) -> Iterator[str]:
    """Files of a package with a licence in them, read when they are needed."""
    for file in package.files or []:
        if file.stem.upper().startswith(("LICENSE", "LICENCE", "COPYING")):
            with suppress(OSError, UnicodeDecodeError):
                yield file.read_text()


def _recognise(texts: Iterable[str]) -> str:
    for text in (" ".join(text.split()) for text in texts):
        for words, licence in TELLING:
            if words in text:
                return licence
    return ""
