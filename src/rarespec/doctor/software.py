"""Which software is installed: Python, what rarespec needs, and what it can use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from typing import TYPE_CHECKING

from rarespec.doctor.private import without_names

if TYPE_CHECKING:
    from packaging.requirements import Requirement

OPTIONAL_PARTS = {
    "specutils": "spectra as specutils objects",
    "dask": "computing on a Dask cluster",
    "hats": "HATS catalogues with LSDB",
    "cloud": "surveys in object stores",
    "gpu": "computing on a GPU",
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


def needed_packages() -> list[Package]:
    return [_examined(requirement) for requirement in requirements_of("rarespec", "")]


def optional_packages() -> dict[str, list[Package]]:
    """Optional part -> its packages."""
    return {part: [_examined(one) for one in requirements_of("rarespec", part)] for part in OPTIONAL_PARTS}


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


def _examined(requirement: Requirement) -> Package:
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
