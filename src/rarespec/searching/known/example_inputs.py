"""What a person gives as examples, in any form, sorted into tables of ids or positions, spectra, and neither."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from rarespec.formats.columns import ids_of, python_values
from rarespec.formats.contained import end_readers
from rarespec.formats.reader import WAVELENGTH_UNITS, ReadOptions
from rarespec.formats.source import is_zarr
from rarespec.searching.known.example_file import ExampleInput, Unusable, examples_in, unusable
from rarespec.searching.known.example_table import ExampleTable, find_used_columns
from rarespec.spectrum import Defect, DefectError, Reason, Resolution, Skipped, Spectra, Spectrum
from rarespec.spectrum.resolution import resolution_in, smooth
from rarespec.survey import Survey
from rarespec.survey.ingest.inputs import input_files
from rarespec.survey.placement import place

# ---- Examples in a table in memory: of astropy, pandas, Arrow or NumPy, or a dictionary of columns.


def is_table(given: Any) -> bool:
    """Say whether it has named columns; each library is recognised by what its tables have, without importing it."""
    return isinstance(given, Mapping) or _names_of(given) is not None


def _names_of(table: Any) -> list[str] | None:
    if isinstance(table, Mapping):
        return list(table)
    if isinstance(table, np.ndarray):
        return list(table.dtype.names) if table.dtype.names else None
    if isinstance(table, type):
        return None
    for attribute in ("colnames", "column_names", "columns"):
        names = getattr(table, attribute, None)
        if names is not None:
            return [str(name) for name in names]
    return None


def table_in_memory(given: Any) -> ExampleTable:
    """Read the examples in a table; raise a DefectError if no column holds ids or positions."""
    where = f"the {type(given).__name__} given"
    table = _with_index(given)
    names = _names_of(table) or []
    used = find_used_columns(names) or names
    columns = {name: _values(table[name]) for name in used}
    units = {name: str(table[name].unit) for name in used if getattr(table[name], "unit", None) is not None}
    return ExampleTable.of_columns(columns | _sky_column(table, names), where, units)


def _with_index(table: Any) -> Any:
    """Add a named index of a pandas table to its columns, as it often holds ids."""
    names = getattr(getattr(table, "index", None), "names", None) or ()
    unseen = [name for name in names if name is not None and name not in table.columns]
    return table.reset_index() if unseen and len(unseen) == len(names) else table


def _values(column: Any) -> Any:
    if hasattr(column, "notna"):  # pandas marks what is missing in several ways
        return column.astype(object).where(column.notna(), None).tolist()
    if hasattr(column, "to_pylist"):
        return column.to_pylist()
    if isinstance(column, np.ma.MaskedArray):
        return np.ma.MaskedArray(np.asarray(column.data), np.ma.getmaskarray(column))
    return np.atleast_1d(np.asarray(getattr(column, "value", column)))


def _sky_column(table: Any, names: list[str]) -> dict[str, Any]:
    """ra and dec of the first column that holds coordinates, as astropy's tables can."""
    coordinates = next((table[name].icrs for name in names if hasattr(table[name], "icrs")), None)
    if coordinates is None:
        return {}
    return {"ra": np.atleast_1d(coordinates.ra.deg), "dec": np.atleast_1d(coordinates.dec.deg)}


# ---- Spectra given as examples: on the grid of the survey, at its resolution, and many of them as one stack.


NO_REDSHIFT = "the survey is in the rest frame, and this spectrum has no redshift"


class Matching:
    """Brings example spectra to the resolution of a survey where both are known, and counts what it did."""

    def __init__(self, survey: Survey, given: Resolution | None = None) -> None:
        self._survey = survey
        self._given = given
        self._counts: Counter[tuple[Resolution, int]] = Counter()
        self._n_unmatched = 0

    @cached_property
    def _wanted(self) -> Resolution | None:
        return self._survey.resolution

    def bring(self, spectrum: Spectrum) -> Spectrum:
        """Smooth a spectrum, which is on the grid of the survey, if it is sharper than those of the survey."""
        own = self._given or resolution_in(spectrum.catalogue)
        if own is None or self._wanted is None:
            self._n_unmatched += self._given is not None
            return spectrum
        sharper = own.compare(self._wanted, self._survey.grid)
        self._counts[own, sharper] += 1
        return smooth(alone(spectrum), self._survey.grid, own, self._wanted)[0] if sharper > 0 else spectrum

    def in_words(self) -> Iterator[str]:
        """Say what was done to how many, a line for each resolution."""
        for (own, sharper), n in self._counts.items():
            if sharper > 0:
                yield f"smoothed from {own} to the {self._wanted} of the survey: {n} example spectra"
            elif sharper < 0:
                yield f"less sharp ({own}) than the survey ({self._wanted}), used as they are: {n} example spectra"
        if self._n_unmatched:
            yield (
                f"not smoothed, since the resolution of the survey is unknown: {self._n_unmatched} example spectra; "
                "a new survey from `rarespec ingest --resolution` knows it"
            )


def on_grid(spectra: Spectra, survey: Survey, matching: Matching) -> Iterator[Spectrum | Unusable]:
    """Yield each spectrum as the survey would store it, at its resolution, or why it cannot."""
    for placed in place(spectra, survey.grid, survey.manifest.rest_frame):
        if isinstance(placed, Spectra):
            yield from map(matching.bring, placed)
        elif placed.reason == Reason.NO_REDSHIFT:
            yield Unusable(f"{placed.id}: {placed.reason}: {NO_REDSHIFT}")
        else:
            yield unusable(placed)


def alone(spectrum: Spectrum) -> Spectra:
    """Make a stack of one spectrum."""
    ivar = None if spectrum.ivar is None else spectrum.ivar[np.newaxis]
    catalogue = {name: [value] for name, value in spectrum.catalogue.items()} | {"id": [spectrum.id]}
    return Spectra(spectrum.wavelength, spectrum.flux[np.newaxis], ivar, spectrum.bad[np.newaxis], catalogue)


def stack_spectra(spectra: Sequence[Spectrum], ids: Sequence[str]) -> Spectra:
    """One stack, under these ids. As in a survey, ivar is 0 where none is known, and `has_ivar` tells it apart."""
    names = dict.fromkeys(name for spectrum in spectra for name in spectrum.catalogue)
    catalogue = {name: [spectrum.catalogue.get(name) for spectrum in spectra] for name in names}
    return Spectra(
        spectra[0].wavelength,
        np.stack([spectrum.flux for spectrum in spectra]),
        np.stack([np.zeros_like(spectrum.flux) if spectrum.ivar is None else spectrum.ivar for spectrum in spectra]),
        np.stack([spectrum.bad for spectrum in spectra]),
        catalogue | {"id": list(ids)},
    )


# ---- example inputs


SUFFIXES = (
    *(".csv", ".tsv", ".txt", ".dat", ".lst", ".list", ".ecsv", ".vot", ".votable", ".xml", ".parquet", ".pq"),
    *(".fits", ".fit", ".fts", ".gz", ".npz", ".npy", ".h5", ".hdf5", ".zarr"),
)
"""What ends like this and is no id of the survey was meant as a file."""


def read_examples(known: Any, survey: Survey, options: ReadOptions | None = None) -> Iterator[ExampleInput]:
    """Yield examples in the order given; ids are looked up together, since each look at a large survey takes time."""
    options = options or ReadOptions()
    try:
        for is_word, items in groupby(_unpack_examples(known), lambda item: isinstance(item, str)):
            group = list(items)
            yield from _of_words(group, survey, options) if is_word else _of_objects(group, options)
    finally:
        end_readers()


def options_of(survey: Survey) -> ReadOptions:
    """How files of examples are read: those that name no unit of wavelength as the files of the survey were."""
    reading = next((entry["reading"] for entry in reversed(survey.manifest.provenance) if "reading" in entry), None)
    unit = reading.get("wavelength_unit") if isinstance(reading, dict) else None
    return ReadOptions(wavelength_unit=unit if unit in WAVELENGTH_UNITS else None)


def _unpack_examples(known: Any) -> Iterator[Any]:
    """Take single things out of nested lists. Numbers and bytes that are ids become words."""
    if known is np.ma.masked:
        yield Unusable("a masked value is not an id")
    elif isinstance(known, np.ndarray) and known.ndim == 0:
        yield from _unpack_examples(known.item())
    elif isinstance(known, bytes | int | float | np.generic) and not isinstance(known, str | bool):
        yield from _word(known)
    elif hasattr(known, "as_py"):
        yield from _unpack_examples(known.as_py())
    elif isinstance(known, Iterable) and not _is_single(known):
        for item in known:
            yield from _unpack_examples(item)
    else:
        yield known


def _is_single(known: Any) -> bool:
    return isinstance(known, str | os.PathLike | Spectrum | Spectra) or is_table(known) or _is_sky_coord(known)


def _is_sky_coord(known: Any) -> bool:
    return hasattr(known, "icrs") and hasattr(known, "separation")


def _word(value: Any) -> Iterator[str | Unusable]:
    try:
        yield ids_of(python_values([value]), [""])[0] or Unusable(f"{value!r}: not an id")
    except DefectError as error:
        yield Unusable(f"{value}: {error.detail}; give it as text")


# --- words


def _of_words(words: list[str], survey: Survey, options: ReadOptions) -> Iterator[ExampleInput]:
    """Read ids, files, and several of them with commas. An id of the survey is never taken for a file."""
    pieces = [piece.strip() for word in words for piece in (word, *word.split(","))]
    known = {piece for piece, row in zip(pieces, survey.rows_of(pieces), strict=True) if row >= 0}
    for is_file, group in groupby(_pieces(words, known), lambda piece: _is_file(piece, known)):
        if is_file:
            for path in group:
                yield from _of_path(path, options)
        else:
            yield ExampleTable.of_ids(list(group))


def _pieces(words: list[str], known: set[str]) -> Iterator[str]:
    for word in map(str.strip, words):
        whole = word in known or os.path.exists(word)
        yield from filter(None, [word] if whole else map(str.strip, word.split(",")))


def _is_file(word: str, known: set[str]) -> bool:
    return word not in known and (os.path.exists(word) or "/" in word or os.sep in word or _ends_like_a_file(word))


def _ends_like_a_file(word: str) -> bool:
    return word.lower().endswith(SUFFIXES)


def _of_path(path: str | os.PathLike[str], options: ReadOptions) -> Iterator[ExampleInput]:
    name = os.fspath(path)
    if not os.path.exists(name) and not glob.has_magic(name):
        yield Unusable(f"{name}: no such file; check the path")
    elif (os.path.isdir(name) and not is_zarr(Path(name))) or not os.path.exists(name):
        yield from _of_several(name, options)
    else:
        yield from examples_in(name, options)


def _of_several(directory_or_pattern: str, options: ReadOptions) -> Iterator[ExampleInput]:
    """All that is in a directory or fits a pattern. Surveys keep catalogues beside spectra, which name no examples."""
    inputs = list(input_files([os.path.join(".", directory_or_pattern)]))
    found = [given for file in inputs for given in _of_input(file, options)]
    among_spectra = any(isinstance(given, Spectra) for given in found)
    for given in found:
        if among_spectra and isinstance(given, ExampleTable):
            yield Unusable(
                f"{given.where}: skipped, because it is a table among spectra; give it by name if it lists examples", 0
            )
        else:
            yield given
    if not inputs:
        yield Unusable(f"{directory_or_pattern}: no files found")


def _of_input(file: str | Defect | Skipped, options: ReadOptions) -> Iterator[ExampleInput]:
    if isinstance(file, Defect):
        yield unusable(file)
    elif isinstance(file, Skipped):
        yield Unusable(f"{file.source}: skipped ({file.reason})")
    else:
        yield from examples_in(file, options)


# --- objects


def _of_objects(items: Iterable[Any], options: ReadOptions) -> Iterator[ExampleInput]:
    for item in items:
        try:
            yield from _of_object(item, options)
        except DefectError as error:
            yield Unusable(f"the {type(item).__name__} given: {error.reason}: {error.detail}")


def _of_object(item: Any, options: ReadOptions) -> Iterator[ExampleInput]:
    if isinstance(item, Unusable | Spectra | ExampleTable):
        yield item
    elif isinstance(item, Spectrum):
        yield alone(item)
    elif isinstance(item, os.PathLike):
        yield from _of_path(item, options)
    elif _is_sky_coord(item):
        sky = item.icrs
        yield ExampleTable.of_positions(np.atleast_1d(sky.ra.deg), np.atleast_1d(sky.dec.deg), "the positions given")
    elif is_table(item):
        yield table_in_memory(item)
    elif hasattr(item, "spectral_axis"):
        from rarespec.formats.specutils_objects import from_specutils

        yield from_specutils(item)
    else:
        yield Unusable(f"{item!r}: not an id, file, table, position or spectrum")
