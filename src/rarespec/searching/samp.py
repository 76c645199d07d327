"""Send a table to TOPCAT, Aladin or whatever else listens on the SAMP hub of this computer."""

from __future__ import annotations

import importlib
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from rarespec.errors import UsageError
from rarespec.searching.export import write_table
from rarespec.searching.export.values import NOT_PRINTABLE_ASCII, escape_text, pattern_of

if TYPE_CHECKING:
    from astropy.samp import SAMPIntegratedClient
    from astropy.table import Table

LOAD_TABLE = "table.load.votable"
ANSWER_SECONDS = 60
FOLDER_PREFIX = "rarespec-samp-"
KEPT_SECONDS = 24 * 3600
_NOT_IN_SAMP = pattern_of(NOT_PRINTABLE_ASCII)


def send_table(
    table: Table, name: str, to: str | None = None, provenance: Mapping[str, Any] | None = None
) -> list[str]:
    """Send a table of candidates to other programs (TOPCAT, Aladin) over SAMP.

    A program that does not answer within a minute, or answers with an error, is named in a warning. The table travels
    as a VOTable in the folder for temporary files; it stays there for a day, as some programs answer before they read.

    Parameters
    ----------
    table : astropy.table.Table
        As for `write_table`.
    name : str
        The name under which the programs show it.
    to : str, optional
        Name of one program ("topcat", "Aladin"); by default all that take tables.
    provenance : mapping, optional
        As for `write_table`.

    Returns
    -------
    list of str
        Names of the programs that loaded the table.

    Raises
    ------
    UsageError
        If no SAMP hub is running, or no program takes tables.

    Examples
    --------
    >>> from astropy.table import Table
    >>> from rarespec.searching import send_table
    >>> send_table(Table({"rank": [1], "id": ["a"]}), "candidates", to="topcat")  # doctest: +SKIP
    ['topcat']
    """
    answers = offer_table(table, name, to, provenance)
    for program, problem in answers:
        if problem:
            warnings.warn(f"{program} did not load the table: {problem}", stacklevel=2)
    return [program for program, problem in answers if not problem]


def offer_table(
    table: Table, name: str, to: str | None = None, provenance: Mapping[str, Any] | None = None
) -> list[tuple[str, str]]:
    """Send a table as `send_table` does; give (program, why it did not load the table), empty where it did.

    Parameters
    ----------
    table : astropy.table.Table
        As for `write_table`.
    name : str
        The name under which the programs show it.
    to : str, optional
        Name of one program.
    provenance : mapping, optional
        As for `write_table`.

    Returns
    -------
    list of (str, str)
        One for each program.
    """
    with _connect() as client:
        receivers = _receivers(client, to)
        url = _keep_file(table, provenance or {}).as_uri()
        content = {"url": url, "table-id": url, "name": escape_text(name, _NOT_IN_SAMP)}
        message = {"samp.mtype": LOAD_TABLE, "samp.params": content}
        return [(program, _problem(client, key, message)) for key, program in receivers.items()]


def samp_library() -> ModuleType:
    """Import astropy.samp; or pyvo.samp, which it becomes: astropy announces this from version 8 on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the announcement is for us, not for whoever sends a table
        for name in ("astropy.samp", "pyvo.samp"):
            with suppress(ImportError):
                return importlib.import_module(name)
    raise UsageError("to send tables, this version of astropy needs pyvo: pip install pyvo")


@contextmanager
def _connect() -> Iterator[SAMPIntegratedClient]:
    samp = samp_library()
    with samp.conf.set_temp("use_internet", False):  # it would ask a server far away whether there is a network
        client = samp.SAMPIntegratedClient("rarespec", "Candidates for rare spectra", callable=False)
        try:
            client.connect()
        except (samp.SAMPHubError, OSError, KeyError):  # KeyError: the only hub is a private one of another program
            raise UsageError("no SAMP hub is running; start TOPCAT or Aladin first") from None
        try:
            yield client
        finally:
            with suppress(Exception):  # a hub that ended meanwhile; what counts has been said by then
                client.disconnect()


def _receivers(client: SAMPIntegratedClient, to: str | None) -> dict[str, str]:
    """Key in the hub -> name of every program that loads tables, or of the one called `to`."""
    programs = {key: _name_of(client, key) for key in client.get_subscribed_clients(LOAD_TABLE)}
    if not programs:
        raise UsageError("no program on the SAMP hub accepts tables; start TOPCAT or Aladin first")
    chosen = {key: name for key, name in programs.items() if to is None or name.casefold() == to.casefold()}
    if not chosen:
        raise UsageError(f"no program on the SAMP hub is called {to!r}; choose from {', '.join(programs.values())}")
    return chosen


def _name_of(client: SAMPIntegratedClient, key: str) -> str:
    return str(client.get_metadata(key).get("samp.name", key))


def _problem(client: SAMPIntegratedClient, key: str, message: dict[str, Any]) -> str:
    """Why a program did not load the table; empty if it did."""
    try:
        answer = client.call_and_wait(key, message, str(ANSWER_SECONDS))
    except samp_library().SAMPProxyError as error:
        return str(error.faultString)
    if answer["samp.status"] != "samp.error":
        return ""
    return str(answer.get("samp.error", {}).get("samp.errortxt", "it gave no reason"))


def _keep_file(table: Table, provenance: Mapping[str, Any]) -> Path:
    _remove_old_files()
    folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
    return write_table(table, folder / "candidates.vot", provenance)


def _remove_old_files() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        with suppress(OSError):  # of another user, or removed by another process
            if folder.stat().st_mtime < time.time() - KEPT_SECONDS:
                shutil.rmtree(folder)
