"""HDF5 files with datasets `flux` (n, pixels) and `wavelength` or `loglam`, at the root or in one group."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

import h5py
from numpy.typing import NDArray

from rarespec.formats.columns import ANY_WAVELENGTH, FLUX, find, missing
from rarespec.formats.inflating import DEFLATE_RATIO, LARGEST_CHUNK, check_deflated
from rarespec.formats.matrices.matrix import MOST_ARRAYS, Lazy, read_matrix, wavelength_unit
from rarespec.formats.reader import Found, Reader, ReadOptions, faults_of
from rarespec.formats.source import Container, Source, SourceFile
from rarespec.spectrum import DefectError, Reason

CHUNK_CACHE_BYTES = 64 << 20
"""Chunks seldom end where a block of rows ends: the last ones are kept so that none is inflated twice."""

NOT_COMPRESSORS = (h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32, h5py.h5z.FILTER_NBIT)


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    with faults_of("HDF5"):
        file = h5py.File(cast(BinaryIO, SourceFile(source)), "r", rdcc_nbytes=CHUNK_CACHE_BYTES)
    with file:
        with faults_of("HDF5"):
            datasets = _datasets_with_flux(file)
            arrays = {name: _lazy(name, dataset) for name, dataset in datasets.items()}
            unit = wavelength_unit(datasets)
        yield from read_matrix(arrays, source, options, unit)


def _datasets_with_flux(file: h5py.File) -> dict[str, h5py.Dataset]:
    """Those at the root, and those of the group that holds the flux."""
    members = _members(file, MOST_ARRAYS)
    root = _only_datasets(members)
    if _holds_flux(root):
        return root
    groups, left = {}, MOST_ARRAYS - len(members)
    for name, group in members.items():
        if isinstance(group, h5py.Group):
            inner = _members(group, left)
            left -= len(inner)
            groups[name] = _only_datasets(inner)
    fitting = {name: datasets for name, datasets in groups.items() if _holds_flux(datasets)}
    if len(fitting) > 1:
        raise DefectError(Reason.LAYOUT, f"flux in several groups: {', '.join(fitting)}; use one per file")
    if not fitting:
        raise missing("flux", FLUX, [*root, *(f"{group}/{name}" for group in groups for name in groups[group])])
    return root | next(iter(fitting.values()))


def _members(group: h5py.Group, most: int) -> dict[str, Any]:
    """What is in this file: a link into another one is not followed. Groups may hold each other, so all are counted."""
    if len(group) > most:
        raise DefectError(Reason.LAYOUT, f"more than {MOST_ARRAYS} datasets and groups")
    return {name: group[name] for name in group if isinstance(group.get(name, getlink=True), h5py.HardLink)}


def _only_datasets(members: dict[str, Any]) -> dict[str, h5py.Dataset]:
    return {name: member for name, member in members.items() if isinstance(member, h5py.Dataset)}


def _holds_flux(datasets: dict[str, h5py.Dataset]) -> bool:
    names = [*datasets, *(field for dataset in datasets.values() for field in dataset.dtype.names or ())]
    return find(names, FLUX) is not None


def _lazy(name: str, dataset: h5py.Dataset) -> Lazy:
    if dataset.is_virtual or dataset.external:
        raise DefectError(Reason.LAYOUT, f"dataset {name} is stored in other files")
    if dataset.chunks:
        _check_chunks(name, dataset)
    if name.lower() in (*FLUX, *ANY_WAVELENGTH):
        _check_written(name, dataset)
    return Lazy(dataset.shape or (1,), dataset.dtype, lambda rows: _rows(dataset, rows))


def _check_chunks(name: str, dataset: h5py.Dataset) -> None:
    """Refuse chunks that are declared too large, or that may unfold to far more: HDF5 goes on until memory is full."""
    size = math.prod(dataset.chunks) * dataset.dtype.itemsize
    if size > LARGEST_CHUNK:
        raise DefectError(Reason.TOO_LARGE, f"dataset {name} has chunks of {size >> 20} MiB; use smaller ones")
    pipeline = dataset.id.get_create_plist()
    filters = [pipeline.get_filter(i)[0] for i in range(pipeline.get_nfilters())]
    if len([code for code in filters if code not in NOT_COMPRESSORS]) > 1:
        raise DefectError(Reason.LAYOUT, f"dataset {name} is compressed more than once")
    if h5py.h5z.FILTER_DEFLATE in filters:
        _check_deflated_chunks(dataset)


def _check_deflated_chunks(dataset: h5py.Dataset) -> None:
    large: list[tuple[int, ...]] = []

    def note(chunk: Any) -> None:
        if chunk.size * DEFLATE_RATIO > LARGEST_CHUNK:
            large.append(chunk.chunk_offset)

    dataset.id.chunk_iter(note)
    for offset in large:
        check_deflated(dataset.id.read_direct_chunk(offset)[1], LARGEST_CHUNK)


def _rows(dataset: h5py.Dataset, rows: slice) -> NDArray[Any]:
    with faults_of("HDF5"):
        return dataset[rows] if dataset.shape else dataset[()].reshape(1)


def _check_written(name: str, dataset: h5py.Dataset) -> None:
    """Check that the data were written: otherwise they would be read as zeros."""
    if dataset.size and dataset.chunks:
        chunks = math.prod(-(-n // size) for n, size in zip(dataset.shape, dataset.chunks, strict=True))
        absent = chunks - dataset.id.get_num_chunks()
    else:
        absent = int(bool(dataset.size) and dataset.id.get_storage_size() == 0)
    if absent:
        raise DefectError(Reason.TRUNCATED, f"{absent} chunks of {name} were never written")


READER = Reader(
    "hdf5", Container.HDF5, lambda source: True, read, "HDF5 with datasets flux (n, pixels) and wavelength or loglam"
)
