"""A checkup as text for a bug report, and as plain values for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from textwrap import wrap
from typing import Any

from rarespec.doctor.checkup import Checkup
from rarespec.doctor.machine import Place
from rarespec.doctor.software import OPTIONAL_PARTS, Package

WIDTH, INDENT = 79, 20


def as_text(checkup: Checkup) -> str:
    """Lines of at most 79 characters, plain ASCII, the same on a terminal and in a file."""
    return "\n".join([*_facts(checkup), "", *_verdict(checkup)])


def as_json(checkup: Checkup) -> dict[str, Any]:
    test = checkup.self_test
    return asdict(checkup) | {
        "self_test": asdict(test) | {"seconds": round(test.seconds, 2)},
        "problems": checkup.problems,
    }


def _facts(checkup: Checkup) -> Iterator[str]:
    for name, value in checkup.machine.items():
        yield from _line(name, value)
    yield from _line("needed", ", ".join(map(_name_package, checkup.needed)) or "unknown")
    for part, packages in checkup.optional.items():
        yield from _line(part, _of_part(part, packages, checkup.gpu))
    yield from _line("browser", checkup.browser)
    for place in checkup.places:
        yield from _line(place.what, _of_place(place))
    if checkup.survey:
        yield from _line("survey", f"{checkup.survey.path}: {checkup.survey.problem or checkup.survey.said}")
    test = checkup.self_test
    yield from _line("self-test", f"{'passed' if test.passed else 'FAILED'} in {test.seconds:.1f} s: {test.said}")


def _verdict(checkup: Checkup) -> Iterator[str]:
    if checkup.self_test.details:
        yield checkup.self_test.details
    problems = checkup.problems
    yield "No problems found." if not problems else f"Problems: {len(problems)}"
    for problem in problems:
        yield from wrap(problem, WIDTH, initial_indent="- ", subsequent_indent="  ")


def _name_package(package: Package) -> str:
    return f"{package.name} {package.version or 'MISSING'}" + (" (!)" if package.version and package.problem else "")


def _of_part(part: str, packages: list[Package], gpu: str) -> str:
    if not packages:
        return "unknown to this installation; reinstall rarespec"
    if any(package.version is None for package in packages):
        return f"not installed ({OPTIONAL_PARTS[part]}): pip install 'rarespec[{part}]'"
    return ", ".join(map(_name_package, packages)) + (f"; {gpu}" if part == "gpu" else "")


def _of_place(place: Place) -> str:
    kind = "file system unknown" if place.file_system is None else place.file_system
    shared = ", a network file system" if place.network and place.file_system else ""
    room = "" if place.free_bytes is None else f", {place.free_bytes / 1e9:.1f} GB free"
    state = "writable" if place.problem is None else f"NOT WRITABLE ({place.problem})"
    return f"{place.path}: {state}{room}, {kind}{shared}"


def _line(name: str, value: str) -> list[str]:
    before = f"{name:<{INDENT}}"
    options: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    return wrap(value, WIDTH, initial_indent=before, subsequent_indent=" " * INDENT, **options) or [before.rstrip()]
