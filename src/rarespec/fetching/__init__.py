"""From the public archives to a survey: SDSS, LAMOST, DESI and SPARCL."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rarespec.fetching.record import FetchReport

__all__ = ["fetch"]


def fetch(
    archive: str,
    ids: str | Iterable[str] = (),
    *,
    table: str | os.PathLike[str] | None = None,
    sql: str | None = None,
    paper: bool = False,
    seed: int = 0,
    release: str | int | None = None,
    run2d: str | None = None,
    out: str | os.PathLike[str] | None = None,
    into: str | os.PathLike[str] | None = None,
    archives: str | os.PathLike[str] | None = None,
    connections: int = 4,
    checksums: bool = True,
) -> FetchReport:
    """Fetch spectra from a public archive into a folder, a survey, or both; say what became of each object.

    Parameters
    ----------
    archive : sdss, lamost, desi or sparcl
    ids : objects by their ids: plate-mjd-fiber or field-mjd-catalogid, obsid, survey-program-healpix or TARGETID,
        sparcl_id or specid
    table : a table of objects (FITS, CSV, ECSV, VOTable, Parquet), or a list with an id a line
    sql : a query to SDSS's SkyServer that gives plate, mjd, fiberid and run2d
    paper : the sample of the paper, 450 carbon stars and 100 000 other stars of SDSS, drawn with `seed`
    release : of the archive, such as 17, "dr10/v2.0" or "edr"
    run2d : reduction of SDSS, when a table does not tell it
    out : folder for the files; by default beside the survey, with the ending .files
    into : survey that is made or grown
    archives : TOML file with addresses that replace the built-in ones
    connections : requests at the same time
    checksums : whether files are compared with the checksums that the archive publishes

    Run it again after an interruption and it goes on where it stopped. A LAMOST token is read from the environment
    variable RARESPEC_LAMOST_TOKEN alone.
    """
    from rarespec.fetching.job import Place, run_fetch
    from rarespec.fetching.question import Question

    chosen = (ids,) if isinstance(ids, str) else tuple(map(str, ids))
    question = Question(archive, chosen, _path(table), sql, paper, seed, _text(release), run2d)
    return run_fetch(question, Place(_path(out), _path(into), _path(archives), connections, checksums))


def _path(path: str | os.PathLike[str] | None) -> Path | None:
    return None if path is None else Path(path)


def _text(release: str | int | None) -> str | None:
    return None if release is None else str(release)
