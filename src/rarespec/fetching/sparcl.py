"""SPARCL, NOIRLab's archive of spectra of many surveys: by its ids, some spectra a request, as JSON.

Its own client downgrades NumPy and unpickles what the server sends; here its HTTP interface is asked for JSON.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import SurveyError
from rarespec.fetching.addresses import Archive
from rarespec.fetching.fault import FaultError
from rarespec.fetching.record import Cause, Outcome, Record, Result, record_failure
from rarespec.fetching.run import Task
from rarespec.fetching.secret import origin_of
from rarespec.fetching.targets import RemoteFile, Target, once
from rarespec.fetching.web import QUERY_SECONDS, Web, page_title
from rarespec.formats.reader import SDSS_BAD_BITS
from rarespec.storage.text import printable
from rarespec.storage.whole_file import write_whole

# ---- A record of SPARCL as a file: Parquet in the layout of the Multimodal Universe, which `ingest` reads.


SCALARS = ("sparcl_id", "specid", "targetid", "data_release", "ra", "dec", "redshift", "redshift_warning", "spectype")
VECTORS = ("wavelength", "flux", "ivar", "mask")
FIELDS = (*SCALARS, *VECTORS)
"""Fields to ask for: spectra of every data set have them."""


def parquet_of(record: dict[str, Any]) -> bytes:
    """Write a record as a file; raise a FaultError if it lacks a vector, or its vectors differ in length.

    The mask becomes true where a pixel is bad. For SDSS and BOSS, only the bits about single pixels count.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    vectors = _vectors(record)
    release = str(record.get("data_release") or "")
    bits = SDSS_BAD_BITS if release.upper().startswith(("SDSS", "BOSS")) else -1
    spectrum = pa.StructArray.from_arrays(
        [
            _one_row(vectors["flux"].astype(np.float32)),
            _one_row(vectors["ivar"].astype(np.float32)),
            _one_row(vectors["wavelength"]),
            _one_row(vectors["mask"].astype(np.int64) & bits != 0),
        ],
        ["flux", "ivar", "lambda", "mask"],
    )
    out = io.BytesIO()
    try:
        table = pa.table({"spectrum": spectrum, **{name: [value] for name, value in _scalars(record).items()}})
        pq.write_table(table, out, write_page_checksum=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise FaultError(f"cannot store a record in a table: {printable(str(error))[:200]}") from None
    return out.getvalue()


def _one_row(values: NDArray[Any]) -> Any:
    import pyarrow as pa

    return pa.ListArray.from_arrays([0, len(values)], pa.array(values))


def _vectors(record: dict[str, Any]) -> dict[str, NDArray[np.float64]]:
    try:
        vectors = {name: np.asarray(record[name], float) for name in VECTORS}
    except (KeyError, TypeError, ValueError, OverflowError):
        there = printable(", ".join(record))[:200]
        raise FaultError(f"a record without {', '.join(VECTORS)}; there is {there}") from None
    lengths = {vector.shape for vector in vectors.values()}
    shape = lengths.pop()
    if lengths or len(shape) != 1 or shape == (0,):
        raise FaultError("a record whose vectors differ in length, or are empty")
    return vectors


def _scalars(record: dict[str, Any]) -> dict[str, Any]:
    """Under the names that the readers know. Ids are text: they are larger than a float can hold."""
    ids = {name: str(record[name]) for name in ("specid", "targetid") if record.get(name) is not None}
    plain = {name: record.get(name) for name in ("ra", "dec", "redshift_warning")}
    return {"object_id": record["sparcl_id"], **ids, **plain, "z": record.get("redshift"),
            "class": record.get("spectype"), "survey": record.get("data_release")}  # fmt: skip


UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
SPECTRA_AT_A_TIME = 25
"""A spectrum is about a third of a megabyte of JSON."""
SPECTRUM_BYTES = 4 << 20
"""Most bytes of one spectrum."""
MOST_BRACKETS = 50
"""Most brackets in one record, which has a list for each vector."""
SPECTRA_SECONDS = 120.0
"""Longest silence before the spectra come."""
SPECIDS_AT_A_TIME = 500
MATCHES_EACH = 20
"""The same specid may be in several data sets."""
NO_ID = "not a SPARCL id: write a sparcl_id (00000dd7-b1ff-48ed-b162-46d9d65f829c) or a specid, a whole number"
NOT_THERE = "not in the archive: SPARCL has no such spectrum"


def sparcl_files(targets: Sequence[Target], archive: Archive, web: Web) -> list[RemoteFile | Result]:
    """Name a file for each spectrum of SPARCL.

    Parameters
    ----------
    targets : sequence of Target
        Spectra by sparcl_id or by specid (of DESI the TARGETID).
    archive : Archive
        SPARCL, with its addresses.
    web : Web
        Looks up the specids; each may have several spectra.

    Returns
    -------
    list of RemoteFile or Result
        The files, each once; then a failure, with the reason, for each target without a spectrum.

    Raises
    ------
    SurveyError
        If SPARCL cannot be asked for the specids.
    """
    specids = {one.id: one for one in targets if one.id.isascii() and one.id.isdigit()}
    matches = _look_up(list(specids), archive, web)
    files: list[RemoteFile] = []
    failures: list[Result] = []
    for one in targets:
        is_uuid = UUID.fullmatch(one.id.lower())
        uuids = [one.id.lower()] if is_uuid else matches.get(one.id, [])
        files += [RemoteFile((one.id,), f"{uuid[:2]}/sparcl-{uuid}.parquet", (uuid,)) for uuid in uuids]
        if not uuids:
            reason, cause = (NOT_THERE, Cause.ABSENT) if one.id in specids else (NO_ID, Cause.NO_ID)
            failures.append(record_failure([one.id], reason, cause=cause))
    return [*once(files), *failures]


def _look_up(specids: Sequence[str], archive: Archive, web: Web) -> dict[str, list[str]]:
    """specid -> sparcl_ids."""
    found: dict[str, list[str]] = {}
    for first in range(0, len(specids), SPECIDS_AT_A_TIME):
        some = {str(int(id)): id for id in specids[first : first + SPECIDS_AT_A_TIME]}
        search = {"outfields": ["sparcl_id", "specid"], "search": [["specid", *map(int, some)]]}
        address = archive.fill(archive.text("find"), limit=MATCHES_EACH * len(some))
        try:
            text = web.text("POST", address, json=search, seconds=QUERY_SECONDS)
            records = _records(text, MATCHES_EACH * len(some))
        except FaultError as fault:
            raise SurveyError(f"cannot query SPARCL for the specids: {fault.reason}") from None
        for record in records:
            id = some.get(str(record.get("specid")))
            if id is not None and UUID.fullmatch(str(record.get("sparcl_id"))):
                found.setdefault(id, []).append(record["sparcl_id"])
    return found


def _records(text: str, most: int) -> list[dict[str, Any]]:
    """Read the records of an answer, `most` at most; the first element of the list is a header."""
    title = page_title(text.encode()[:65536])
    if title is not None:
        raise FaultError(f"a web page instead of data{f': {title!r}' if title else ''}")
    # Before it is taken apart: lists in lists, or millions of small ones, take far more memory than their text.
    if text.count("{") + text.count("[") > MOST_BRACKETS * (most + 2):
        raise FaultError(f"more records in the answer than {most} spectra can have")
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        raise FaultError(f"the answer is not JSON: {printable(text[:100])!r}", passing=True) from None
    if not isinstance(answer, list) or not answer or not all(isinstance(record, dict) for record in answer):
        raise FaultError(f"unexpected answer: {printable(text[:200])!r}")
    return answer[1:]


@dataclass(frozen=True)
class SparclDownloads:
    """Spectra of SPARCL into one folder, a Parquet file each."""

    web: Web
    folder: Path
    record: Record
    archive: Archive

    def tasks(self, files: Sequence[RemoteFile]) -> Iterator[Task]:
        for first in range(0, len(files), SPECTRA_AT_A_TIME):
            some = files[first : first + SPECTRA_AT_A_TIME]
            yield Task(partial(self._fetch, some), [id for remote in some for id in remote.ids], len(some))

    def _fetch(self, files: Sequence[RemoteFile]) -> list[Result]:
        there = {remote.name: self.record.already_there(remote) for remote in files}
        missing = [remote for remote in files if not there[remote.name]]
        fetched = {result.name: result for result in self._fetch_files(missing)} if missing else {}
        return [there[remote.name] or fetched[remote.name] for remote in files]

    def _fetch_files(self, files: Sequence[RemoteFile]) -> Iterator[Result]:
        address = self.archive.fill(self.archive.text("spectra"), include=",".join(FIELDS))
        uuids = [remote.addresses[0] for remote in files]

        def ask() -> list[dict[str, Any]]:
            with self.web.ask("POST", address, seconds=SPECTRA_SECONDS, json=uuids) as response:
                content = b"".join(self.web.pieces(response, SPECTRUM_BYTES * (len(files) + 1)))
                return _records(content.decode("utf-8", "replace"), len(files))

        try:
            records = {
                str(record.get("sparcl_id")): record for record in self.web.patience.insist(ask, origin_of(address))
            }
        except FaultError as fault:
            yield from (record_failure(remote.ids, fault.reason, remote.name, address) for remote in files)
            return
        for remote in files:
            yield self._store_record(remote, records.get(remote.addresses[0]), address)

    def _store_record(self, remote: RemoteFile, record: dict[str, Any] | None, address: str) -> Result:
        if record is None:
            return record_failure(remote.ids, NOT_THERE, remote.name, address, Cause.ABSENT)
        try:
            content = parquet_of(record)
        except FaultError as fault:
            return record_failure(remote.ids, fault.reason, remote.name, address)
        path = self.folder / remote.name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
        return Result(remote.ids, Outcome.FETCHED, remote.name, address, "", len(content))
