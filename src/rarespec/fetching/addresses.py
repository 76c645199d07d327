"""Where the archives keep their files: one table of addresses, of which a user may replace any value."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from rarespec.survey.manifest import WrongUseError

VARIABLE = "RARESPEC_ARCHIVES"
"""Environment variable that names a TOML file with addresses of the user's own."""


@dataclass(frozen=True)
class Archive:
    """The addresses of one archive as they are in one release; `values` are those of the table."""

    name: str
    release: str
    values: Mapping[str, Any]

    def text(self, key: str) -> str:
        return self._value(key, str)

    def number(self, key: str) -> int:
        return self._value(key, int)

    def texts(self, key: str) -> list[str]:
        """A list; a single text counts as a list of one."""
        value = self.values.get(key)
        return [value] if isinstance(value, str) else self._value(key, list)

    def _value(self, key: str, kind: type) -> Any:
        value = self.values.get(key)
        if not isinstance(value, kind):
            raise WrongUseError(
                f"the table of archives has no {key} for {self.name}, release {self.release}; "
                f"give one with --archives FILE, under [{self.name}.releases.{self.release}]"
            )
        return value

    def filled(self, template: str, **values: Any) -> str:
        """The template with its fields filled in; `release` is always there."""
        try:
            return template.format(release=self.release, **values)
        except (KeyError, IndexError, ValueError):
            there = ", ".join(("release", *values))
            raise WrongUseError(
                f"the address {template!r} of {self.name} cannot be filled in; its fields may be {there}"
            ) from None


Table = Mapping[str, Any]


def load_addresses(path: str | os.PathLike[str] | None = None) -> Table:
    """The built-in table, with the values of this file, or of that which RARESPEC_ARCHIVES names, put over it."""
    builtin = tomllib.loads(files("rarespec.fetching").joinpath("archives.toml").read_text())
    own = path or os.environ.get(VARIABLE)
    return _over(builtin, _own_table(Path(own)), str(own)) if own else builtin


def _own_table(path: Path) -> Table:
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise WrongUseError(f"{path}: {error.strerror or error}; it should be a table of addresses in TOML") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WrongUseError(f"{path}: not TOML: {error}") from None


def _over(builtin: Table, own: Table, where: str) -> Table:
    unknown = own.keys() - builtin.keys()
    if unknown:
        there = ", ".join(builtin)
        raise WrongUseError(f"{where}: no archive is called {', '.join(sorted(unknown))}; there are {there}")
    return _merged(builtin, own)


def _merged(builtin: Any, own: Any) -> Any:
    if not isinstance(builtin, dict) or not isinstance(own, dict):
        return own
    return {**builtin, **{key: _merged(builtin.get(key), value) for key, value in own.items()}}


def archive(table: Table, name: str, release: str | None, default: str = "release") -> Archive:
    """One archive in one release; by default that which the table calls `default`."""
    values = table[name]
    releases = values.get("releases", {})
    chosen = release or values.get(default, "")
    if releases and chosen not in releases:
        known = ", ".join(releases)
        raise WrongUseError(f"{name} has no release {chosen!r} in the table of archives; there are {known}")
    return Archive(name, chosen, {**values, **releases.get(chosen, {})})
