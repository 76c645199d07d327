"""Damaged copies of good survey files, of every kind that ingest must survive and name."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rarespec.mock.damage import bytewise, meaning
from rarespec.mock.damage.bytewise import gzip_bomb
from rarespec.mock.damage.units import Unit, is_read, spectral_arrays, take_apart

Spoil = Callable[[bytes, np.random.Generator], bytes]
"""Intact bytes and a generator -> damaged bytes."""

_INFLATED: dict[str, Spoil] = {
    "truncated-header": bytewise.truncate_header,
    "truncated-data": bytewise.truncate_data,
    "bit-flip-header": bytewise.bit_flip_header,
    "bit-flip-data": bytewise.bit_flip_data,
    "wrong-naxis": bytewise.wrong_naxis,
    "missing-column": meaning.missing_column,
    "renamed-column": meaning.rename_column,
    "nan-everywhere": meaning.nan_everywhere,
    "zero-ivar": meaning.zero_ivar,
    "no-overlap": meaning.no_overlap,
}
"""Kinds that change the FITS bytes; a gzipped file is inflated before and packed again after."""

_RAW: dict[str, Spoil] = {
    "bit-flip-gzip": bytewise.bit_flip_gzip,
    "truncated-gzip": bytewise.truncate_gzip,
    "zeroed-tail": bytewise.zero_tail,
    "empty": bytewise.empty,
    "html-page": bytewise.html_page,
    "text-garbage": bytewise.text_garbage,
    "binary-garbage": bytewise.binary_garbage,
    "bomb": lambda raw, rng: gzip_bomb(),
}
"""Kinds that change the bytes as they lie on disk."""

_PLACES = ("unreadable", "dangling-link", "link-loop", "fifo")
"""Kinds where the bytes cannot be reached at all."""

VALID_FITS = ("missing-column", "renamed-column", "nan-everywhere", "zero-ivar", "no-overlap")
"""Kinds that remain FITS files with right checksums: only a look at what they say can tell."""

KINDS: tuple[str, ...] = (*_INFLATED, *_RAW, *_PLACES)

__all__ = ["KINDS", "VALID_FITS", "applies_to", "damage"]


def damage(path: str | os.PathLike[str], kind: str, out: str | os.PathLike[str], rng: np.random.Generator) -> Path:
    """Make a damaged copy of a good file; the same generator gives the same bytes.

    Parameters
    ----------
    path : path or str
        The good file.
    kind : str
        One of `KINDS`, such as "truncated-data".
    out : path or str
        The copy, which must not exist.
    rng : numpy.random.Generator
        Chooses where the damage is.

    Returns
    -------
    Path
        The copy.

    Raises
    ------
    ValueError
        If this kind of damage cannot be done to this file.
    FileExistsError
        If the copy exists already.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from rarespec.mock.damage import damage
    >>> with TemporaryDirectory() as folder:
    ...     good = Path(folder, "good.fits")
    ...     size = good.write_bytes(b"SIMPLE")
    ...     print(damage(good, "empty", f"{folder}/bad.fits", np.random.default_rng(0)).stat().st_size)
    0
    """
    if not applies_to(kind, path):
        raise ValueError(f"damage of kind {kind!r} cannot be done to {os.fspath(path)}")
    out = Path(out)
    if os.path.lexists(out):
        raise FileExistsError(f"{out} already exists")
    raw = Path(path).read_bytes()
    if kind in _PLACES:
        _put_out_of_reach(raw, kind, out)
    elif kind in _RAW:
        out.write_bytes(_RAW[kind](raw, rng))
    else:
        spoiled = _INFLATED[kind](_inflate(raw), rng)
        out.write_bytes(gzip.compress(spoiled, 6, mtime=0) if _is_gzip(raw) else spoiled)
    return out


def applies_to(kind: str, path: str | os.PathLike[str]) -> bool:
    """Say whether a kind of damage makes sense for a file: some need gzip, checksums, or a named flux column.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    path : path or str
        A good file.

    Returns
    -------
    bool
        Whether `damage` can do it.

    Raises
    ------
    ValueError
        If there is no such kind.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rarespec.mock.damage import applies_to
    >>> with TemporaryDirectory() as folder:
    ...     plain = Path(folder, "plain.fits")
    ...     size = plain.write_bytes(b"SIMPLE")
    ...     print(applies_to("truncated-gzip", plain))
    False
    """
    if kind not in KINDS:
        raise ValueError(f"there is no damage {kind!r}; choose from {', '.join(KINDS)}")
    if kind == "fifo":
        return hasattr(os, "mkfifo")
    raw = Path(path).read_bytes()
    if kind in ("bit-flip-gzip", "truncated-gzip"):
        return _is_gzip(raw)
    if kind == "zeroed-tail" and _is_gzip(raw):
        return True
    if kind in _INFLATED or kind == "zeroed-tail":
        content = _inflate(raw)
        return content.startswith(b"SIMPLE") and _fits_has_what_it_takes(kind, take_apart(content))
    return True


def _fits_has_what_it_takes(kind: str, units: list[Unit]) -> bool:
    if kind in ("bit-flip-header", "bit-flip-data", "zeroed-tail"):
        return all({"CHECKSUM", "DATASUM"} <= unit.positions.keys() for unit in units if is_read(unit))
    if kind in ("missing-column", "renamed-column"):
        return bool(meaning.find_flux(units))
    if kind == "zero-ivar":
        return any({"ivar", "sigma"} & spectral_arrays(unit).keys() for unit in units)
    return any("flux" in spectral_arrays(unit) for unit in units)


def _put_out_of_reach(raw: bytes, kind: str, out: Path) -> None:
    if kind == "link-loop":
        out.symlink_to(out.name)
    elif kind == "fifo":
        os.mkfifo(out)
    elif kind == "unreadable" and _permissions_bind():
        out.write_bytes(raw)
        out.chmod(0)
    else:
        out.symlink_to(out.name + ".gone")


def _permissions_bind() -> bool:
    """Root reads every file: for root an unreadable file is a link to nowhere."""
    return os.name == "posix" and os.geteuid() != 0


def _is_gzip(raw: bytes) -> bool:
    return raw.startswith(b"\x1f\x8b")


def _inflate(raw: bytes) -> bytes:
    return gzip.decompress(raw) if _is_gzip(raw) else raw
