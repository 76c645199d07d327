"""Zarr groups (v2 or v3) with arrays `flux` (n, pixels) and `wavelength` or `loglam`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray

from rarespec.formats.blosc_chunk import is_whole
from rarespec.formats.column_roles import ANY_WAVELENGTH, FLUX
from rarespec.formats.generic_catalogue import IDS
from rarespec.formats.library_faults import faults_of
from rarespec.formats.matrix import Lazy, read_matrix, wavelength_unit
from rarespec.formats.reader import Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.spectrum import Defect, DefectError, Reason, Spectra

METADATA = ("zarr.json", ".zarray", ".zgroup", ".zmetadata")
ATTRIBUTES = (*METADATA, ".zattrs")


def read(source: Source, options: ReadOptions) -> Iterator[Spectra | Defect]:
    _refuse_pickle(source.path)
    with faults_of("Zarr"):
        group = zarr.open(zarr.storage.LocalStore(source.path, read_only=True), mode="r")
        if not isinstance(group, zarr.Group):
            raise DefectError(Reason.LAYOUT, "a single array; a group with flux and wavelength is needed")
        members = dict(group.arrays())
        for name in members:
            _check_length_of_chunks(name, source.path / name)
        arrays = {name: _lazy(name, array) for name, array in members.items()}
        unit = wavelength_unit(members)
    yield from read_matrix(arrays, source, options, unit)


def _refuse_pickle(directory: Path) -> None:
    """A v2 array may name `pickle` as its codec; decoding it would run code."""
    for path in (file for name in METADATA for file in (directory / name, *directory.glob(f"*/{name}"))):
        if path.is_file():
            with faults_of("Zarr"):
                content = json.loads(path.read_text(encoding="utf-8"))
            if "pickle" in _codecs(content):
                detail = f"array {path.parent.name} holds Python objects, which would have to be unpickled"
                raise DefectError(Reason.LAYOUT, detail)


def _codecs(metadata: Any) -> set[str]:
    if isinstance(metadata, list):
        return set().union(*map(_codecs, metadata))
    if not isinstance(metadata, dict):
        return set()
    named = {str(metadata[key]).rpartition(".")[2] for key in ("id", "name") if key in metadata}
    return named.union(*map(_codecs, metadata.values()))


def _check_length_of_chunks(name: str, directory: Path) -> None:
    if "blosc" not in _codecs_in(directory):
        return
    for path in directory.rglob("*"):
        if path.is_file() and path.name not in ATTRIBUTES and not is_whole(path):
            raise DefectError(Reason.TRUNCATED, f"chunk {path.name} of {name} is cut short; fetch it again")


def _codecs_in(directory: Path) -> set[str]:
    """Names of the codecs of the array in this directory."""
    present = (directory / name for name in METADATA if (directory / name).is_file())
    return set().union(*(_codecs(json.loads(path.read_text(encoding="utf-8"))) for path in present))


def _lazy(name: str, array: zarr.Array) -> Lazy:
    if name.lower() in (*FLUX, *ANY_WAVELENGTH, *IDS):
        _check_written(name, array)
    return Lazy(array.shape or (1,), array.dtype, lambda rows: _rows(name, array, rows))


def _rows(name: str, array: zarr.Array, rows: slice) -> NDArray[Any]:
    with faults_of(f"Zarr array {name}"):
        return np.asarray(array[rows] if array.shape else array[()]).reshape(-1, *array.shape[1:])


def _check_written(name: str, array: zarr.Array) -> None:
    """What was never written, or was lost, would be read as zeros."""
    absent = array.nchunks - array.nchunks_initialized
    if absent > 0:
        raise DefectError(Reason.TRUNCATED, f"{absent} of {array.nchunks} chunks of {name} are missing; fetch it again")


READER = Reader(
    "zarr", Container.ZARR, lambda source: True, read, "Zarr group with flux (n, pixels) and wavelength or loglam"
)
