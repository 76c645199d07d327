"""Draws what a newcomer sees: the demo and a search in the terminal, the spectra and the report that the demo makes.

python docs/demo_pictures.py

The report is photographed by Chromium, as in inspector_pictures.py.
"""

import io
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
COLUMNS = 100
REPORT_SIZE = {"width": 1100, "height": 835}
ABOVE_FIRST = 128
"""Pixels of the report that are shown above its first candidate: what its curves mean."""
WEB_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
LEFT_OUT = "    ..."
RESET_ALONE = re.compile(r"^\x1b\[0m$", re.MULTILINE)
"""What a terminal gets for an empty line."""


def main() -> None:
    with TemporaryDirectory() as folder:
        place = Path(folder)
        demo = printed_by("rarespec demo", place)
        draw_terminal("rarespec demo", shortened(demo), HERE / "demo.svg")
        search = f"rarespec search rarespec-demo/demo.survey --known {known_in(demo)}"
        draw_terminal(search, printed_by(search, place), HERE / "search.svg")
        shutil.copy(place / "rarespec-demo" / "spectra.png", HERE / "demo-spectra.png")
        photograph(place / "rarespec-demo" / "report" / "report.html", HERE / "report.png")


def printed_by(command: str, folder: Path) -> str:
    """What a command prints on a terminal, with its colours; progress is left out, as it goes away."""
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", *shlex.split(command)]
    terminal = os.environ | {"COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    with subprocess.Popen(words, stdout=theirs, stderr=subprocess.DEVNULL, cwd=folder, env=terminal) as process:
        os.close(theirs)
        printed = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    assert process.returncode == 0, f"{command}: ended with {process.returncode}"
    return printed.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # so ends a terminal whose command has ended
        return b""


def known_in(demo: str) -> str:
    return re.findall(r"--known ([\d,-]+)", demo)[-1]


def shortened(demo: str) -> str:
    """Without what is in it, a few of its spectra and the list itself, which the other picture shows."""
    demo = RESET_ALONE.sub("", demo)
    steps = re.split(r"^(?=\S*\d\. [\dA-Z])", demo, flags=re.MULTILINE)
    _, first, second, _, _, fifth, sixth = (step.strip() for step in steps)
    title, _, found = fifth.partition("\n\n")
    expected = re.split(r"^(?=\S*rank\b)", found, flags=re.MULTILINE)[0].rstrip()
    told = "\n".join(found.splitlines()[-2:])
    return "\n" + "\n\n".join([first, second, LEFT_OUT, title, f"{expected}\n{LEFT_OUT}\n{told}", sixth])


def draw_terminal(command: str, printed: str, path: Path) -> None:
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), highlight=False)
    console.print(Text.assemble(("$ ", "bold green"), command))
    console.print(Text.from_ansi(printed.rstrip()))
    svg = console.export_svg(title="rarespec", unique_id=path.stem)
    path.write_text(WEB_FONTS.sub("", svg))  # nothing is fetched to show it


def photograph(report: Path, path: Path) -> None:
    with sync_playwright() as starter:
        browser = starter.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(viewport=REPORT_SIZE, color_scheme="light")
        page.goto(report.as_uri())
        page.evaluate(f"scrollTo(0, document.querySelector('h3').getBoundingClientRect().top - {ABOVE_FIRST})")
        page.screenshot(path=path)
        browser.close()


if __name__ == "__main__":
    main()
