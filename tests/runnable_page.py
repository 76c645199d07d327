"""Pages of the documentation that are run: their Python and their commands in order, their outputs compared.

- A block marked `python` is run. What it prints must be in the block marked `text` that follows it.
- In a block marked `console` each line after `$ ` is a command, and the lines below it are what it prints. `rarespec`
  runs in this process, other commands in a shell. Progress is left out, as on a terminal, where it goes away.
- `...` in an output stands for anything; white space counts as one space, and a number may be one
  off in its last digit. Blocks marked otherwise are not run.

python tests/runnable_page.py docs/tutorials/*.md     # writes what is printed now into the pages; read the differences
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass, field
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path
from typing import Any

PROMPT = "$ "
WIDTH = "100"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w-])|(?<![\w.-])\d+(?=-\d+ A\b)|(?<=\d-)\d+(?= A\b)")
"""One that stands alone, or an end of a range of wavelengths: no part of an id."""
PROGRESS = re.compile(r"^\w[\w ]*: \d+ of \d+ \w+, .*\n", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """Something to run, and what it should print."""

    language: str
    code: str
    expected: str
    line: int
    """Of the page, where the code begins."""


@dataclass
class Run:
    """One reading of a page: what earlier blocks defined is there for later ones."""

    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})

    def output_of(self, step: Step) -> str:
        return self._python(step.code) if step.language == "python" else self._command(step.code)

    def _python(self, code: str) -> str:
        with redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, "page", "exec"), self.names)
        return printed.getvalue()

    def _command(self, command: str) -> str:
        if not command.startswith("rarespec "):
            done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
            return done.stdout + done.stderr
        from typer.testing import CliRunner

        from rarespec.cli.app import app

        result = CliRunner(env={"COLUMNS": WIDTH}).invoke(app, shlex.split(command)[1:], catch_exceptions=False)
        assert result.exit_code == 0, f"{command}\nended with {result.exit_code}:\n{result.output}"
        return PROGRESS.sub("", result.output)


def steps_of(page: Path) -> list[Step]:
    """All that a page runs, in its order."""
    text = page.read_text()
    fences = list(FENCE.finditer(text))
    found: list[Step] = []
    for number, fence in enumerate(fences):
        line = text.count("\n", 0, fence.start(2)) + 1
        if fence[1] == "python":
            found.append(Step("python", fence[2], _output_in(fences[number + 1 : number + 2]), line))
        elif fence[1] == "console":
            found += _commands(fence[2], line)
    return found


def _output_in(following: list[re.Match[str]]) -> str:
    """What the next block, if there is one, says that Python prints."""
    return "".join(fence[2] for fence in following if fence[1] == "text")


def _commands(block: str, line: int) -> Iterator[Step]:
    for said in re.split(rf"^{re.escape(PROMPT)}", block, flags=re.MULTILINE)[1:]:
        command, _, expected = said.replace("\\\n", "").partition("\n")
        yield Step("console", " ".join(command.split()), expected, line)


def same(expected: str, printed: str) -> bool:
    return OutputChecker().check_output(
        expected.strip() + "\n", printed.strip() + "\n", ELLIPSIS | NORMALIZE_WHITESPACE
    )


def nearly_same(expected: str, printed: str) -> bool:
    """As `same`, but numbers may differ by rounding, as they do between versions of NumPy and kinds of processors.

    By one in their last digit or by a thousandth; by a tenth in a line that says "about", which is an estimate.
    """
    said, found = list(NUMBER.finditer(expected)), NUMBER.findall(printed)
    if len(said) != len(found):
        return same(expected, printed)
    for one, other in zip(said, found, strict=True):
        line = expected[expected.rfind("\n", 0, one.start()) + 1 :].partition("\n")[0]
        if not _near(one[0], other, 0.1 if "about" in line else 1e-3):
            return same(expected, printed)
    as_said = iter(said)
    return same(expected, NUMBER.sub(lambda _: next(as_said)[0], printed))


def _near(one: str, other: str, share: float) -> bool:
    decimals = len(one.partition(".")[2])
    most = max(1.5 * 10**-decimals, share * abs(float(one)))
    return decimals == len(other.partition(".")[2]) and abs(float(one) - float(other)) < most


def rewritten(page: Path, printed: list[str]) -> str:
    """The text of the page with these outputs, one for each step."""
    outputs = iter(printed)
    pending: list[str] = []

    def block(fence: re.Match[str]) -> str:
        language, content = fence[1], fence[2]
        if language == "python":
            pending[:] = [next(outputs)]
        elif language == "console":
            pending.clear()
            content = "".join(_command_and_output(said, next(outputs)) for said in _as_said(content))
        elif language == "text" and pending:
            content = _kept(content, pending.pop())
        return f"```{language}\n{content}```\n"

    return FENCE.sub(block, page.read_text())


def _as_said(block: str) -> list[tuple[str, str]]:
    """Commands as they are written, with continuation lines, and their outputs."""
    return re.findall(r"^(\$ (?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE)


def _command_and_output(said: tuple[str, str], printed: str) -> str:
    return said[0] + _kept(said[1], printed)


def _kept(expected: str, printed: str) -> str:
    """What the page says, where it is still true: a `...` stays."""
    stripped = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
    return expected if same(expected, printed) else stripped


def _rewrite(page: Path) -> None:
    os.environ["COLUMNS"] = WIDTH
    run = Run()
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        printed = [run.output_of(step) for step in steps_of(page)]
    page.write_text(rewritten(page, printed))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        _rewrite(Path(name).resolve())
