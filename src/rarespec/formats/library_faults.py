"""What libraries raise on damaged files, as defects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rarespec.spectrum import DefectError, Reason


@contextmanager
def faults_of(library: str) -> Iterator[None]:
    """Whatever a library raises on a damaged file becomes a defect; each has its own zoo of exceptions."""
    try:
        yield
    except (DefectError, MemoryError):
        raise
    except Exception as error:
        detail = (str(error).splitlines() or ["no message"])[0]
        raise DefectError(_reason(detail.lower()), f"{library}: {detail}; fetch it again") from None


def _reason(detail: str) -> Reason:
    if any(word in detail for word in ("checksum", "crc", "fletcher")):
        return Reason.CHECKSUM
    if any(word in detail for word in ("truncated", "unexpected end", "eof", "too short")):
        return Reason.TRUNCATED
    return Reason.CORRUPT
