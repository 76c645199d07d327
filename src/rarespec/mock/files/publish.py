"""Files appear under their name only when they are complete."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

GZIP_LEVEL = 6


def publish(path: Path, content: bytes) -> Path:
    """Write under a temporary name in the same directory, then rename; `.gz` names are compressed."""
    if path.suffix == ".gz":
        # No time stamp: the same spectrum gives the same bytes.
        content = gzip.compress(content, GZIP_LEVEL, mtime=0)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return path
