"""Exit codes, and how a failure is told: one line on standard error, a traceback only for a fault of rarespec's own."""

from __future__ import annotations

import errno
import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from functools import wraps
from typing import Any

import typer

from rarespec.cli.terminal import say, say_lines

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
GO_ON = "everything saved so far is intact; run the same command again to continue"


class Exit(IntEnum):
    DONE = 0
    DEFECTS = 1
    WRONG_USE = 2
    FAILED = 3


@contextmanager
def arguments() -> Iterator[None]:
    """Around the reading of options: a value that cannot be is the user's mistake, not ours."""
    from rarespec.errors import UsageError

    try:
        yield
    except ValueError as error:
        raise UsageError(str(error)) from None


def report_failures(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command whose failures end in a message and an exit code."""

    @wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        from rarespec.errors import RarespecError, UsageError

        try:
            return command(*args, **kwargs)
        except typer.Exit:
            raise
        except UsageError as error:
            raise _tell(str(error), Exit.WRONG_USE) from None
        except RarespecError as error:
            raise _tell(str(error), Exit.FAILED) from None
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise _tell(_wrong_place(error), Exit.WRONG_USE) from None
        except OSError as error:
            raise _tell(_of_the_system(error), Exit.FAILED) from None
        except KeyboardInterrupt:
            raise _tell(f"interrupted; {GO_ON}", Exit.FAILED) from None
        except Exception as error:
            say_lines(traceback.format_exc().split("\n"), err=True)
            raise _tell(
                f"this is a bug in rarespec ({error!r}); please report the traceback above", Exit.FAILED
            ) from None

    return wrapper


def _wrong_place(error: OSError) -> str:
    """What the system calls "File exists" and the like, in words that say what to do."""
    where = f"{error.filename}: " if error.filename else ""
    if isinstance(error, IsADirectoryError):
        return f"{where}this is a directory; give the name of a file"
    if isinstance(error, NotADirectoryError) or os.path.isfile(error.filename or ""):
        return f"{where}a file has this name or a part of it, where a directory is needed; choose another name"
    return f"{where}already exists; choose another name, or remove it first"


def _of_the_system(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}" + (f"; {GO_ON}" if error.errno in NO_ROOM else "")


def _tell(message: str, code: Exit) -> typer.Exit:
    say(f"rarespec: {message}", err=True)
    return typer.Exit(code)
