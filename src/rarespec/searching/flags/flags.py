"""Flags: signs that a spectrum may stand on a list for what went wrong, not for what it is."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.engines.here import one_blas_thread
from rarespec.searching.explain.template import NoTemplate, Template
from rarespec.searching.flags.artefact_spectra import (
    ArtefactSpectra,
    BroadShape,
    measure_broad_shape,
    median_where,
    prepare_spectra,
)
from rarespec.searching.flags.artefacts import has_camera_step, has_gaps, has_sky_residuals, has_spike, lacks_pixels
from rarespec.spectrum import Spectra, WavelengthGrid
from rarespec.storage.processes import available_cores
from rarespec.survey.survey import Survey

FLAG_MEANINGS = {
    "bad-pixels": "Many pixels are bad, a long gap was interpolated, or pixels that the template uses are missing.",
    "camera-join": "The flux jumps where two cameras meet, by more than it varies elsewhere in this spectrum.",
    "low-snr": "The signal-to-noise ratio is below 3 in the catalogue or, if it is missing there, by the median pixel.",
    "negative-flux": "The flux is significantly negative over a range of wavelengths: the sky was oversubtracted.",
    "sky-residuals": "Pixels at strong night-sky lines scatter more than twice as much as their errors allow.",
    "spike": "One or two pixels rise far above the rest, narrower than any line: a cosmic ray or a hot pixel.",
}
"""Flag -> what it means. None of them removes a candidate or changes its rank."""

LOWEST_SNR = 3.0
"""Below it even molecular bands are hard to tell from noise by eye."""
NEGATIVE_SIGMA, NEGATIVE_SHARE = 5.0, 0.03
"""Bins that lie so many errors below zero, and their share from which they are flagged: 150 Angstrom of 5000."""
ROWS_AT_ONCE = 128
"""In each thread."""

NEEDED = ("id", "snr", "survey", "z")
"""Columns of the catalogue that are looked at."""

BAD_PIXELS = "bad-pixels"
"""The one flag that depends on the template, and the first in the alphabet."""

Flags = tuple[str, ...]
Found = dict[str, NDArray[np.bool_]]
Templates = Sequence[Template | NoTemplate | None]


def flags_of(survey: Survey, rows: Any, template: Template | NoTemplate | None = None) -> list[tuple[str, ...]]:
    """Find the flags of spectra of a survey; only these spectra are read.

    Parameters
    ----------
    survey : Survey
        The survey.
    rows : (k,) array of int
        Row numbers.
    template : Template or NoTemplate, optional
        Of the ranking, to see whether pixels are missing where it looks.

    Returns
    -------
    list of tuple of str
        The flags of each spectrum, in the order of the rows; see `FLAG_MEANINGS`.
    """
    return flags_of_lists(survey, [rows], [template])[0]


def flags_of_lists(survey: Survey, lists: Sequence[Any], templates: Templates) -> list[list[Flags]]:
    """Find the flags of several lists of spectra, each seen with a template of its own; each spectrum is read once.

    Parameters
    ----------
    survey : Survey
        The survey.
    lists : sequence of (k,) array of int
        Row numbers.
    templates : sequence of Template, NoTemplate or None
        One for each list.

    Returns
    -------
    list of list of tuple of str
        For each list what `flags_of` gives.
    """
    numbers = [np.asarray(rows, np.intp) for rows in lists]
    # in their order on disk, so that few files are opened twice
    rows = np.unique(np.concatenate(numbers)) if numbers else np.empty(0, np.intp)
    parts = [rows[start : start + ROWS_AT_ONCE] for start in range(0, len(rows), ROWS_AT_ONCE)]

    columns = [name for name in NEEDED if name in survey.catalogue]
    weights = _sizes_of_weights(templates, survey.grid)

    def found_in(part: NDArray[np.intp]) -> list[list[Flags]]:
        return _flags_by_template(survey.at(part, columns), survey.grid, weights, survey.manifest.rest_frame)

    flags: list[list[Flags]] = [[] for _ in lists]
    with one_blas_thread(), ThreadPoolExecutor(available_cores()) as threads:
        for found in threads.map(found_in, parts):
            for all_flags, some_flags in zip(flags, found, strict=True):
                all_flags += some_flags
    places = (np.searchsorted(rows, one).tolist() for one in numbers)
    return [[found[place] for place in there] for found, there in zip(flags, places, strict=True)]


def flags_of_spectra(
    spectra: Spectra,
    grid: WavelengthGrid,
    template: Template | NoTemplate | None = None,
    rest_frame: bool = False,
) -> list[tuple[str, ...]]:
    """Find the flags of spectra that are on this grid.

    Without errors (ivar) no sky residuals are looked for, and the noise is taken from the scatter of the flux. Steps
    between cameras are looked for where the catalogue's `survey` is known to have some.

    Parameters
    ----------
    spectra : Spectra
        n spectra.
    grid : WavelengthGrid
        Their wavelengths.
    template : Template or NoTemplate, optional
        Of the ranking, to see whether pixels are missing where it looks.
    rest_frame : bool
        Whether the spectra were shifted to their rest frame.

    Returns
    -------
    list of tuple of str
        The flags of each spectrum, in alphabetical order.
    """
    return _flags_by_template(spectra, grid, _sizes_of_weights([template], grid), rest_frame)[0]


def _flags_by_template(
    spectra: Spectra, grid: WavelengthGrid, weights: NDArray[np.float64], rest_frame: bool
) -> list[list[Flags]]:
    """For each template, of which (p, t) are the sizes of the weights, the flags of all spectra."""
    judged = np.flatnonzero((~spectra.bad & np.isfinite(spectra.flux)).any(axis=1))
    some = spectra.take(judged)
    look = prepare_spectra(some, grid, rest_frame)
    found = _find_flags(some, look)
    plain: list[Flags] = [(BAD_PIXELS,)] * len(spectra)  # stays for one without any good pixel
    for place, row in enumerate(judged.tolist()):
        plain[row] = tuple(flag for flag in FLAG_MEANINGS if found[flag][place])
    lacks = lacks_pixels(look.bad, weights) & ~found[BAD_PIXELS][:, None]
    flags = [list(plain) for _ in weights.T]
    for place, number in np.argwhere(lacks).tolist():
        flags[number][judged[place]] = (BAD_PIXELS, *plain[judged[place]])
    return flags


def _sizes_of_weights(templates: Templates, grid: WavelengthGrid) -> NDArray[np.float64]:
    """The sizes of the weights of templates, (p, t), 0 where there is none."""
    nowhere = np.zeros(grid.n_pixels)
    sizes = [np.abs(one.weights) if isinstance(one, Template) else nowhere for one in templates]
    return np.stack(sizes, axis=1) if sizes else np.empty((grid.n_pixels, 0))


def _find_flags(spectra: Spectra, look: ArtefactSpectra) -> Found:
    """The flags that no template is needed for."""
    broad = measure_broad_shape(look)
    return {
        BAD_PIXELS: has_gaps(look.bad, look.grid),
        "camera-join": has_camera_step(broad, _column(spectra, "survey"), _numbers(spectra, "z")),
        "low-snr": snr_of(spectra, look) < LOWEST_SNR,
        "negative-flux": _is_negative(broad),
        "sky-residuals": has_sky_residuals(look),
        "spike": has_spike(look),
    }


def snr_of(spectra: Spectra, look: ArtefactSpectra) -> NDArray[np.float64]:
    """Take the catalogue's S/N or, where it has none, the median over the good pixels of flux / noise, (n,)."""
    listed = _numbers(spectra, "snr")
    unknown = ~np.isfinite(listed)
    listed[unknown] = median_where(look.flux[unknown] / look.sigma[unknown], ~look.bad[unknown])
    return listed


def _is_negative(broad: BroadShape) -> NDArray[np.bool_]:
    return (broad.level < -NEGATIVE_SIGMA * broad.level_error).mean(axis=1) > NEGATIVE_SHARE


def _column(spectra: Spectra, name: str) -> list[Any]:
    return spectra.catalogue.get(name, [None] * len(spectra))


def _numbers(spectra: Spectra, name: str) -> NDArray[np.float64]:
    """A column of the catalogue, NaN where nothing is known or the column holds text."""
    values = _column(spectra, name)
    return np.array([value if isinstance(value, int | float) else np.nan for value in values], float)
