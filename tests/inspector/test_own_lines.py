"""The user's own lines: read as they are meant, or refused with the line and the reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarespec.errors import UsageError
from rarespec.inspector.lines import own_lines
from rarespec.spectrum.grid import air_to_vacuum

LI = float(air_to_vacuum(np.array(6707.8)))

READ = {
    "Li I, 6707.8, air\n": [("Li I", LI)],
    "Li I,6707.8,vacuum": [("Li I", 6707.8)],
    "Li I,6707.8\r\n": [("Li I", 6707.8)],
    "Li I,6707.8,\n": [("Li I", 6707.8)],
    "Li I;6707.8;AIR\n": [("Li I", LI)],
    "Li I\t6707.8\tair\n": [("Li I", LI)],
    "Li I   6707.8  air\n": [("Li I", LI)],
    "Li 6707.8\n": [("Li", 6707.8)],
    '"[O III]", 5008.24\n': [("[O III]", 5008.24)],
    "name,wavelength,medium\nHα,6564.6\n": [("Hα", 6564.6)],
    "\ufeff# mine\n\nname wavelength\nA 1.5e4 # far\nB, 1216, air\n": [("A", 15000.0), ("B", 1216.0)],
    "<script>alert(1)</script>, 5000\n": [("<script>alert(1)</script>", 5000.0)],
}


@pytest.mark.parametrize("text", READ)
def test_lines_are_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "lines.csv").write_text(text, encoding="utf-8", newline="")
    found = own_lines(tmp_path / "lines.csv")
    assert [(one.name, one.side) for one in found] == [(name, 0) for name, _ in READ[text]]
    assert np.allclose([one.wavelength for one in found], [wavelength for _, wavelength in READ[text]], atol=1e-9)


REFUSED = {
    "A, 5000\nB, blue\n": "line 2",
    "A, 5000, water\n": "line 1",
    "A, 5000, air, more\n": "line 1",
    "A, -5000\n": "wavelength",
    "A, 0\n": "wavelength",
    "A, nan\n": "wavelength",
    "A, inf\n": "wavelength",
    "A\n": "line 1",
    "5000\n": "line 1",
    ", 5000\n": "name",
    f"{'x' * 41}, 5000\n": "name",
    "": "contains no lines",
    "# nothing\nname,wavelength\n": "contains no lines",
    "A,5000\n" * 2001: "2001 lines",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_line_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "lines.csv").write_text(text)
    with pytest.raises(UsageError, match=r"lines\.csv") as told:
        own_lines(tmp_path / "lines.csv")
    assert REFUSED[text] in str(told.value) and len(str(told.value)) < 600


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lines.fits").write_bytes(b"\xff\x00" * 100)
    (tmp_path / "large").write_bytes(b"A, 5000\n" * 200_000)
    for name, reason in (("lines.fits", "UTF-8"), ("large", "larger"), ("absent", "No such file"), (".", "directory")):
        with pytest.raises(UsageError, match=reason):
            own_lines(tmp_path / name)


@given(st.binary(max_size=200))
def test_any_bytes_give_lines_or_a_reason(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "any"
    file.write_bytes(content)
    try:
        found = own_lines(file)
    except UsageError:
        return
    assert found and all(one.wavelength > 0 and np.isfinite(one.wavelength) and one.name for one in found)
