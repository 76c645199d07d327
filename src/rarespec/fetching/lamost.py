"""LAMOST: from obsid to the address of a spectrum."""

from __future__ import annotations

from collections.abc import Sequence

from rarespec.fetching.addresses import Archive
from rarespec.fetching.asked import Asked
from rarespec.fetching.outcome import Cause, Result, failed
from rarespec.fetching.secret import Secret, secret_from_environment
from rarespec.fetching.wanted import Wanted

NO_ID = "not a LAMOST obsid: write a whole number, such as 437513049"


def lamost_files(asked: Sequence[Asked], archive: Archive) -> list[Wanted | Result]:
    """A file for each object, or a failure that says why there is none."""
    return [_file(one.id, archive) for one in asked]


def _file(id: str, archive: Archive) -> Wanted | Result:
    if not (id.isascii() and id.isdigit()):
        return failed([id], NO_ID, cause=Cause.NO_ID)
    obsid = int(id)
    addresses = tuple(archive.filled(template, obsid=obsid) for template in archive.texts("spectrum"))
    return Wanted((id,), f"{obsid // 100_000}/lamost-{obsid}.fits", addresses)


def lamost_secret(archive: Archive) -> Secret | None:
    """The token for releases that are not public yet, from the environment alone."""
    address = archive.filled(archive.texts("spectrum")[0], obsid=0)
    return secret_from_environment(archive.text("token_variable"), address)
