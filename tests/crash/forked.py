"""Functions in a child of this process, which has loaded all they need: many runs without many starts of Python."""

import io
import os
import pickle
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple


class Ended(NamedTuple):
    """How a child ended: the code of its exit, what it returned, and what it said on standard error."""

    code: int
    result: Any
    said: str


FAULT_OF_OUR_OWN = 70
SECONDS = 120


def in_child(function: Callable[[], Any]) -> Ended:
    return started(function)()


def started(function: Callable[[], Any]) -> Callable[[], Ended]:
    """Starts it, and returns a function that waits for its end."""
    read_from, write_to = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_from)
        _run(function, write_to)
    os.close(write_to)
    return lambda: _ended(child, read_from)


def _run(function, write_to):
    import signal

    signal.alarm(SECONDS)  # whatever hangs is killed, and so is told from what ends
    said, result, code = io.StringIO(), None, 0
    try:
        with redirect_stderr(said), redirect_stdout(io.StringIO()):
            try:
                result = function()
            except SystemExit as exit:
                code = int(exit.code or 0)
            except BaseException as error:
                traceback.print_exc()
                code = 3 if _is_told(error) else FAULT_OF_OUR_OWN
        with open(write_to, "wb") as pipe:
            pipe.write(pickle.dumps((result, said.getvalue())))
    finally:
        os._exit(code)


def _is_told(error):
    """What a user of the library is told to expect."""
    from rarespec.errors import SurveyError

    return isinstance(error, OSError | SurveyError)


def _ended(child, read_from):
    with open(read_from, "rb") as pipe:
        content = pipe.read()
    _, status = os.waitpid(child, 0)
    result, said = pickle.loads(content) if content else (None, "")
    return Ended(os.waitstatus_to_exitcode(status), result, said)


def rarespec(*arguments: str) -> None:
    """The command line, in this process."""
    from rarespec.cli import main

    sys.argv = ["rarespec", *arguments]
    main()
