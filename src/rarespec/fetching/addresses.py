"""Where the archives keep their files: one table of addresses. A user may replace any value."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Formatter
from typing import Any
from urllib.parse import urlsplit

from rarespec.errors import UsageError

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
            raise UsageError(
                f"the table of archives has no {key} for {self.name}, release {self.release}; "
                f"give one with --archives FILE, under [{self.name}.releases.{self.release}]"
            )
        return value

    def fill(self, template: str, **values: Any) -> str:
        """The template with its fields filled in; `release` is always there."""
        fields = {"release": self.release, **values}
        try:
            _check_fields(template, fields)
            address = template.format(**fields)
            _check_address(address)
            return address
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise UsageError(
                f"the address {template[:200]!r} of {self.name} cannot be filled in; allowed fields are "
                f"{', '.join(fields)} ({error})"
            ) from None


WIDTH = re.compile(r"(0?[1-9]\d?d?)?")
"""How a field may be written: with so many digits, 99 at most."""


def _check_fields(template: str, fields: Mapping[str, Any]) -> None:
    """Allow plain names only. `format` would also follow attributes ({plate.__class__}), and pad to any length."""
    for _, name, width, conversion in Formatter().parse(template):
        if name is not None and (name not in fields or conversion or not WIDTH.fullmatch(width or "")):
            raise ValueError(f"{{{name}}} is not a field")


def _check_address(address: str) -> None:
    """Check that a web address can be read as one; names of lists have no `://` and are not checked."""
    if "://" in address:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            raise ValueError(f"{address[:200]!r} is not a web address")


Table = Mapping[str, Any]

MOST_BYTES = 1 << 20
"""Most bytes of a user's table; the built-in one has a few thousand."""


def load_addresses(path: str | os.PathLike[str] | None = None) -> Table:
    """Load the built-in table; values in this file, or in the one that RARESPEC_ARCHIVES names, replace its own."""
    builtin = tomllib.loads(files("rarespec.fetching").joinpath("archives.toml").read_text())
    own = path or os.environ.get(VARIABLE)
    return _over(builtin, _own_table(Path(own)), str(own)) if own else builtin


def _own_table(path: Path) -> Table:
    try:
        if path.exists() and not path.is_dir() and (not path.is_file() or path.stat().st_size > MOST_BYTES):
            raise UsageError(f"{path}: not a regular file, or too large; give a TOML file of addresses")
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}; give a TOML file of addresses") from None
    except (ValueError, RecursionError) as error:  # that of TOML, of numbers without end, of bytes that are no text
        raise UsageError(f"{path}: not TOML: {error}") from None


def _over(builtin: Table, own: Table, where: str) -> Table:
    unknown = own.keys() - builtin.keys()
    if unknown:
        there = ", ".join(builtin)
        raise UsageError(f"{where}: there is no archive {', '.join(sorted(unknown))}; choose from {there}")
    for name, values in own.items():
        _check_values(values, f"{where}: [{name}]")
        for release, more in values.get("releases", {}).items():
            _check_values(more, f"{where}: [{name}.releases.{release}]", inner=True)
    return _merge(builtin, own)


def _check_values(values: Any, where: str, inner: bool = False) -> None:
    """Allow texts, whole numbers and lists of texts; an archive may also have releases."""
    if not isinstance(values, dict):
        raise UsageError(f"{where} is not a table")
    for key, value in values.items():
        if key == "releases" and not inner:
            if not isinstance(value, dict):
                raise UsageError(f"{where}, releases: not a table")
            continue
        in_list = isinstance(value, list) and value and all(isinstance(one, str) for one in value)
        if not (in_list or isinstance(value, str) or type(value) is int):
            raise UsageError(f"{where}, {key}: must be text, a whole number or a list of texts")
        if key in TEXTS and not isinstance(value, str):
            raise UsageError(f"{where}, {key}: not text")


TEXTS = ("checksums", "release", "plate_release", "field_release", "token_variable")
"""Keys that are read without being asked what they are."""


def _merge(builtin: Any, own: Any) -> Any:
    if not isinstance(builtin, dict) or not isinstance(own, dict):
        return own
    return {**builtin, **{key: _merge(builtin.get(key), value) for key, value in own.items()}}


def archive(table: Table, name: str, release: str | None, default: str = "release") -> Archive:
    """Choose one archive in one release.

    Parameters
    ----------
    table : mapping
        Archive -> its values, as `load_addresses` gives it.
    name : str
        The archive, a key of the table.
    release : str or None
        The release; None for the archive's usual one.
    default : str
        Key under which the table names the usual release. SDSS has two: one for plates, one for fields.

    Returns
    -------
    Archive
        With the values of the archive, and those of the release over them.

    Raises
    ------
    UsageError
        If the table lists releases, and this one is not among them.
    """
    values = table[name]
    releases = values.get("releases", {})
    chosen = release or values.get(default, "")
    if releases and chosen not in releases:
        known = ", ".join(releases)
        raise UsageError(f"{name} has no release {chosen!r} in the table of archives; choose from {known}")
    return Archive(name, chosen, {**values, **releases.get(chosen, {})})
