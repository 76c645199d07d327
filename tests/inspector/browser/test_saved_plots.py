"""The plot as a file: a picture, or true vectors, of what is shown, with its legend."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest

from inspector.browser.visiting import Visit

SVG = "{http://www.w3.org/2000/svg}"


def save(visit: Visit, format: str, folder: Path) -> Path:
    visit.press("Shift+S")
    with visit.page.expect_download() as started:
        visit.page.click(f"[data-save={format}]")
    visit.see("#save-plot").to_be_hidden()
    assert started.value.suggested_filename == f"{visit.selected}.{format}"
    path = folder / started.value.suggested_filename
    started.value.save_as(path)
    return path


@pytest.fixture
def shown(looker: Visit) -> Visit:
    looker.open_detail()
    looker.press("j")
    looker.drawn()
    return looker


def test_png_is_twice_as_sharp_as_the_screen(shown: Visit, tmp_path: Path) -> None:
    content = save(shown, "png", tmp_path).read_bytes()
    width, height = struct.unpack(">II", content[16:24])
    canvas = shown.page.locator("#spectrum").evaluate("canvas => [canvas.clientWidth, canvas.clientHeight]")
    assert content.startswith(b"\x89PNG") and (width, height) == (2 * canvas[0], 2 * (canvas[1] + 46))


def test_svg_holds_curves_and_words(shown: Visit, tmp_path: Path) -> None:
    def drawn() -> tuple[list[str], int]:
        root = ElementTree.parse(save(shown, "svg", tmp_path)).getroot()
        longest = max(len(one.attrib["d"].split("L")) for one in root.iter(f"{SVG}path"))
        return [one.text or "" for one in root.iter(f"{SVG}text")], longest

    words, longest = drawn()
    assert shown.selected in words[0] and "z = " in words[0]
    assert {"raw flux", "± 1σ", "vacuum wavelength (Å)", "flux (unit not known)", "C₂", "▲ for"} <= set(words)
    assert longest > 800, "every pixel of the spectrum is there"
    shown.press("x", "x", "l")
    closer, fewer = drawn()
    assert fewer < longest and "C₂" not in closer, "what is shown is saved"
    shown.press("0", "l")


def test_pdf_is_whole_and_of_vectors(shown: Visit, tmp_path: Path) -> None:
    content = save(shown, "pdf", tmp_path).read_bytes()
    assert content.startswith(b"%PDF-1.4") and content.endswith(b"%%EOF\n")
    table = int(content.rsplit(b"startxref\n", 1)[1].split()[0])
    assert content[table:].startswith(b"xref\n0 5\n")
    places = [int(line.split()[0]) for line in content[table:].splitlines()[3:7]]
    assert [content[place:].split(b"\n", 1)[0] for place in places] == [b"%d 0 obj" % i for i in (1, 2, 3, 4)]
    (length,) = map(int, re.findall(rb"/Length (\d+)", content))
    stream = content.partition(b"stream\n")[2][:length]
    assert stream.count(b" l\n") > 800 and b"(vacuum wavelength \xc5" not in stream and b"NaN" not in stream
    assert b"(vacuum wavelength \\(\xc5\\)) Tj" in stream and content.count(b"/Image") == 0
    assert stream.count(b"\nq\n") == stream.count(b"\nQ") and stream.count(b"BT") == stream.count(b"ET")
