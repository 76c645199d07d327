"""What a file layout is: the pixels its spectra are sampled on, and how a stack becomes files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rarespec.mock.files.target import Target
from rarespec.spectrum import Spectra, WavelengthGrid


@dataclass(frozen=True, slots=True)
class Layout:
    """One kind of survey file. `write` takes a stack on `grid`, its targets and a directory."""

    grid: WavelengthGrid
    write: Callable[[Spectra, Sequence[Target], Path], list[Path]]
    summary: str
