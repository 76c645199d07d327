"""Packages that are needed or can be used: there, too old, absent or broken."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from rarespec.doctor import software
from rarespec.doctor.software import OPTIONAL_PARTS, list_needed_packages, optional_packages, requirements_of


def install(folder: Path, name: str, *lines: str, module: str | None = "", version: str = "1.0") -> None:
    """A made-up package: its metadata, and a module unless there is none."""
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    head = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", *lines]
    (info / "METADATA").write_text("\n".join(head) + "\n\n")
    if module is not None:
        (folder / f"{name}.py").write_text(module)


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("madeup")]:
        del sys.modules[name]


def test_what_is_needed_always_and_for_a_part(packages: Path) -> None:
    lines = (
        "Requires-Dist: numpy>=1.26",
        "Requires-Dist: tomli>=2; python_version < '3'",
        "Requires-Dist: distributed>=2024; extra == 'dask'",
        "Provides-Extra: dask",
    )
    install(packages, "madeup", *lines)
    assert [one.name for one in requirements_of("madeup", "")] == ["numpy"]
    assert [one.name for one in requirements_of("madeup", "dask")] == ["distributed"]
    assert not list(requirements_of("madeup", "gpu")) and not list(requirements_of("nothing-of-this-name", ""))


def test_too_old_absent_and_broken(packages: Path) -> None:
    install(packages, "madeup_good")
    install(packages, "madeup_broken", module="raise RuntimeError('lib.so:\\n no such file')")
    examined = {
        name: software._examine(Requirement(name))
        for name in ("madeup_good>=1", "madeup_good>=2", "madeup_absent", "madeup_broken")
    }
    assert examined["madeup_good>=1"].problem is None and examined["madeup_good>=1"].version == "1.0"
    assert examined["madeup_good>=2"].problem == "version 1.0 is installed, but >=2 is required"
    assert examined["madeup_absent"].version is None and examined["madeup_absent"].problem == "not installed"
    assert examined["madeup_broken"].problem == "cannot be imported: RuntimeError: lib.so: no such file"


def test_a_version_before_the_release_counts(packages: Path) -> None:
    install(packages, "madeup_new", version="3.0.dev1")
    assert software._examine(Requirement("madeup_new>=2")).problem is None


def test_of_rarespec_itself() -> None:
    needed = {package.name: package for package in list_needed_packages()}
    assert needed["numpy"].version and needed["numpy"].problem is None
    assert list(optional_packages()) == list(OPTIONAL_PARTS)
