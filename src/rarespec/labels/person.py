"""The name under which somebody labels."""

from __future__ import annotations

import getpass
import unicodedata

from rarespec.survey.manifest import WrongUseError

MAX_PERSON = 100


def person_named(name: str | None = None) -> str:
    """This name without blanks around it, the same however its accents are typed; without a name, the system's user."""
    name = unicodedata.normalize("NFC", (_system_user() if name is None else name).strip())
    if not name:
        raise WrongUseError("the name of the person labelling is empty; give one, for example Ada")
    if len(name) > MAX_PERSON or not name.isprintable():
        raise WrongUseError(f"the name {name[:MAX_PERSON]!r} must have at most {MAX_PERSON} characters, all printable")
    return name


def _system_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a user that the system has no name for
        raise WrongUseError("cannot find your user name; give a name with --person") from None
