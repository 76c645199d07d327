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
    """Fetch spectra from a public archive into a folder, a survey, or both.

    Run it again after an interruption and it goes on where it stopped. A LAMOST token is read only from the environment
    variable RARESPEC_LAMOST_TOKEN.

    Parameters
    ----------
    archive : str
        "sdss", "lamost", "desi" or "sparcl".
    ids : str or iterable of str
        Objects by their ids: plate-mjd-fiber or field-mjd-catalogid, obsid, survey-program-healpix or TARGETID,
        sparcl_id or specid.
    table : path, optional
        A table of objects (FITS, CSV, ECSV, VOTable, Parquet), or a list with one id a line.
    sql : str, optional
        A query to SDSS's SkyServer that gives plate, mjd, fiberid and run2d.
    paper : bool
        Fetch the sample of the paper: 450 carbon stars and 100 000 other stars of SDSS, drawn with `seed`.
    seed : int
        Same seed, same sample of the paper.
    release : str or int, optional
        Release of the archive, such as 17, "dr10/v2.0" or "edr".
    run2d : str, optional
        Reduction of SDSS, when a table does not have it.
    out : path, optional
        Folder for the files; by default beside the survey, with the ending .files.
    into : path, optional
        Survey that is made or grown.
    archives : path, optional
        TOML file with addresses that replace the built-in ones.
    connections : int
        Requests at the same time.
    checksums : bool
        Whether files are compared with the checksums that the archive publishes.

    Returns
    -------
    FetchReport
        The result of each object.

    Raises
    ------
    UsageError
        If the archive does not exist, or cannot take what was asked for.

    Examples
    --------
    >>> import rarespec
    >>> report = rarespec.fetch("sdss", ["0355-51788-0579"], out="files", into="sdss.survey")  # doctest: +SKIP
    >>> report.counts  # doctest: +SKIP
    Counter({'fetched': 1})
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
