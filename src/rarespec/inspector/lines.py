"""The user's own lines: a text or CSV file with a name and a wavelength a line, in vacuum or in air."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rarespec.errors import UsageError
from rarespec.searching.explain.spectral_features import (
    LINE,
    REDWARDS,
    SpectralFeature,
    in_vacuum,
    list_spectral_features,
    sky_features,
)
from rarespec.spectrum.grid import air_to_vacuum
from rarespec.storage.text import printable
from rarespec.survey import Survey

MOST_BYTES = 1 << 20
MOST_LINES = 2000
"""More cannot be told apart on a screen."""
LONGEST_NAME = 40
MEDIA = ("vacuum", "air")
WANTED = "write NAME, WAVELENGTH in Angstrom, and air or vacuum (default: vacuum), for example: Li I, 6707.8, air"


def own_lines(path: str | os.PathLike[str]) -> list[SpectralFeature]:
    """Read the user's lines, at rest, vacuum Angstrom. Empty lines, comments (`#`) and a heading are skipped."""
    file = Path(path)
    rows = [(number, row) for number, row in enumerate(_text(file).splitlines(), 1) if row.split("#")[0].strip()]
    if rows and _is_heading(rows[0][1]):
        rows = rows[1:]
    if not rows:
        raise UsageError(f"{file}: contains no lines; {WANTED}")
    if len(rows) > MOST_LINES:
        raise UsageError(f"{file}: has {len(rows)} lines, more than {MOST_LINES}; shorten the list")
    return [_line(f"{file}, line {number}", row) for number, row in rows]


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}; give a file of spectral lines: {WANTED}") from None
    if len(content) > MOST_BYTES:
        raise UsageError(f"{file}: larger than {MOST_BYTES} bytes, too large for a list of lines; {WANTED}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{file}: not UTF-8 text; {WANTED}") from None


def _is_heading(row: str) -> bool:
    """Recognise a heading: no number, but a word that says what the columns are."""
    words = [word.lower() for word in _words(row)]
    return not any(_number(word) for word in words) and any(word.startswith(("wave", "lambda")) for word in words)


def _line(where: str, row: str) -> SpectralFeature:
    words = _words(row)
    medium = words.pop().lower() if len(words) > 2 else "vacuum"
    if len(words) != 2 or medium not in MEDIA:
        raise UsageError(f"{where}: {printable(row[:60])!r} is not a spectral line; {WANTED}")
    name, wavelength = words[0], _number(words[1])
    if wavelength is None:
        raise UsageError(f"{where}: {printable(words[1][:60])!r} is not a wavelength; {WANTED}")
    if not 0 < len(name) <= LONGEST_NAME:
        raise UsageError(f"{where}: a name must have 1 to {LONGEST_NAME} letters; {WANTED}")
    vacuum = float(air_to_vacuum(np.array(wavelength))) if medium == "air" else wavelength
    return SpectralFeature(printable(name), vacuum, LINE)


def _words(row: str) -> list[str]:
    """Split a row at commas, semicolons or tabs; in a row without any, find the number between blanks."""
    row = row.split("#")[0].strip()
    if re.search("[,;\t]", row):
        words = [word.strip().strip('"').strip() for word in re.split("[,;\t]", row)]
        return words[:-1] if len(words) > 2 and not words[-1] else words
    found = re.fullmatch(r"(.*?)\s+(\S+?)(?:\s+(air|vacuum))?", row, re.IGNORECASE)
    return [word for word in found.groups() if word] if found else [row]


def _number(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) and value > 0 else None


# ---- Lines and band heads that can be laid over a spectrum, by atom or molecule.


MORE_IN_AIR: tuple[tuple[str, int, tuple[float, ...]], ...] = (
    ("N V", LINE, (1240.1,)),
    ("Si IV", LINE, (1396.8,)),
    ("[Ne III]", LINE, (3868.8,)),
    ("[N II]", LINE, (6548.1, 6583.5)),
    ("[S II]", LINE, (6716.4, 6730.8)),
    ("Mg I", LINE, (3835.3,)),
    ("Fe I", LINE, (3734.9, 4383.5, 5269.5)),
    ("Ba II", LINE, (4554.0, 4934.1, 6141.7, 6496.9)),
    ("Li I", LINE, (6707.8,)),
    ("Rb I", LINE, (7800.3, 7947.6)),
    ("Cs I", LINE, (8521.1, 8943.5)),
    ("CrH", REDWARDS, (8611.0,)),
)
"""Lines for the eye alone: no explanation names them. In air; in vacuum below 2000 Angstrom."""

PRESETS: dict[str, tuple[str, ...]] = {
    "Carbon": ("C₂", "CN", "CH", "Ba II", "Na I", "H"),
    "White dwarf": ("H", "He I", "He II", "Ca II", "Mg I", "Mg b", "Fe I", "Na I", "C₂"),
    "Quasar": ("Lyα", "N V", "Si IV", "C IV", "C III]", "Mg II", "[O II]", "[O III]", "H"),
    "M and L dwarfs": ("TiO", "VO", "FeH", "CrH", "MgH", "Ca I", "Na I", "K I", "Rb I", "Cs I", "Li I", "H"),
    "Galaxy": ("Ca II", "CH", "Mg b", "Na I", "H", "[O II]", "[O III]", "[N II]", "[S II]"),
    "Emission lines": ("H", "He I", "He II", "[O II]", "[O III]", "[N II]", "[S II]", "[Ne III]"),
}
"""Name -> the species that are worth marking in this kind of object."""


def presets() -> list[dict[str, Any]]:
    """List the presets of species as the page needs them."""
    return [{"name": name, "species": list(species)} for name, species in PRESETS.items()]


def species_of(own: Sequence[SpectralFeature]) -> list[dict[str, Any]]:
    """List atoms and molecules: rarespec's own, then the user's; wavelengths at rest, vacuum Angstrom."""
    return [*_by_name([*list_spectral_features(), *in_vacuum(MORE_IN_AIR)], False), *_by_name(own, True)]


def _by_name(features: Iterable[SpectralFeature], own: bool) -> list[dict[str, Any]]:
    lines: dict[str, list[dict[str, Any]]] = {}
    for name, wavelength, side in features:
        lines.setdefault(name, []).append({"wavelength": wavelength, "side": side})
    return [{"name": name, "lines": its_lines, "own": own} for name, its_lines in lines.items()]


def sky_of(survey: Survey) -> list[dict[str, Any]]:
    """List traces of the sky; none in a survey at rest, where each spectrum has moved them."""
    if survey.manifest.rest_frame:
        return []
    wavelength = survey.grid.wavelength
    features = sky_features(wavelength[0], wavelength[-1])
    return [{"name": one.name, "wavelength": one.wavelength} for one in features]
