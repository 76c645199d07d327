"""Names as they can be printed."""

import pytest

from rarespec.storage.text import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("spec-0355.fits", "spec-0355.fits"),
        ("étoile 星", "étoile 星"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("two\nlines", "two\\nlines"),
        ("turned \u202e round", "turned \\u202e round"),
        ("byte \udcff", "byte \\xff"),
        ("half \ud800 a character", "half \\ud800 a character"),
    ],
)
def test_what_cannot_be_printed_is_written_out(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(text).isprintable()
