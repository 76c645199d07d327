"""Exit codes, and how a failure is told: one line on standard error, no traceback."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from functools import wraps
from typing import Any

import typer


class Exit(IntEnum):
    DONE = 0
    DEFECTS = 1
    WRONG_USE = 2
    FAILED = 3


def told(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command whose expected failures end in a message and an exit code."""

    @wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        from rarespec.survey.manifest import SurveyError, WrongUseError

        try:
            return command(*args, **kwargs)
        except (WrongUseError, ValueError) as error:
            raise _told(str(error), Exit.WRONG_USE) from None
        except SurveyError as error:
            raise _told(str(error), Exit.FAILED) from None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            hint = "; what was published before is intact, run the same command again to go on"
            raise _told(f"{where}{error.strerror or error}{hint}", Exit.FAILED) from None
        except KeyboardInterrupt:
            raise _told("interrupted; run the same command again to go on", Exit.FAILED) from None

    return wrapper


def _told(message: str, code: Exit) -> typer.Exit:
    typer.echo(f"rarespec: {message}", err=True)
    return typer.Exit(code)
