"""Links to files of the repository that lie outside docs/ lead to their pages of the site.

On a code host `../CONTRIBUTING.md` is the file itself; here it is the page that includes it.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from sphinx.application import Sphinx

PAGE_OF = {
    "../CONTRIBUTING.md": "contributing.md",
    "../benchmarks/README.md": "benchmarks.md",
    "../CHANGELOG.md": "changes.md",
    "../SECURITY.md": "security.md",
    "../CITATION.cff": "cite.md",
}
"""As a page in docs/ names the file -> the page of docs/ that shows it."""


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", _lead_to_pages)
    return {"parallel_read_safe": True}


def _lead_to_pages(app: Sphinx, document: str, source: list[str]) -> None:
    up = "../" * (len(PurePosixPath(document).parts) - 1)
    for outside, page in PAGE_OF.items():
        source[0] = source[0].replace(f"]({up}{outside}", f"]({up}{page}")
