"""Under which licences the packages are that rarespec uses, as their own metadata say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from itertools import chain
from typing import cast

from rarespec.doctor.software import OPTIONAL_PARTS, requirements_of

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
        if key in found or not (package := _installed(name)):
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


def _installed(name: str) -> Distribution | None:
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
    return named or _recognised(chain([free], texts)) or "see the package files"


def _texts(package: Distribution) -> Iterator[str]:
    """Files of a package with a licence in them, read when they are needed."""
    for file in package.files or []:
        if file.stem.upper().startswith(("LICENSE", "LICENCE", "COPYING")):
            with suppress(OSError, UnicodeDecodeError):
                yield file.read_text()


def _recognised(texts: Iterable[str]) -> str:
    for text in (" ".join(text.split()) for text in texts):
        for words, licence in TELLING:
            if words in text:
                return licence
    return ""
