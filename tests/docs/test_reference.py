"""The reference names all that is public, and the parts of the site that are our own do what they say."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PUBLIC = (
    "rarespec",
    "rarespec.rankers",
    "rarespec.features",
    "rarespec.evaluation",
    "rarespec.formats",
    "rarespec.plots",
)


@pytest.fixture(scope="module", autouse=True)
def extensions_can_be_imported() -> Iterator[None]:
    pytest.importorskip("sphinx", reason="the site needs Sphinx")
    sys.path.insert(0, str(DOCS / "_ext"))
    yield
    sys.path.remove(str(DOCS / "_ext"))


def extension(name: str) -> ModuleType:
    return import_module(name)


def documented() -> set[str]:
    """Full names of all that the reference lists."""
    found = set()
    for page in (DOCS / "reference").glob("*.md"):
        for block in re.findall(r"```\{eval-rst\}\n(.*?)```", page.read_text(), re.DOTALL):
            module = re.search(r"currentmodule:: (\S+)", block)
            names = re.findall(r"^   (\w[\w.]*)$", block, re.MULTILINE)
            found |= {f"{module[1]}.{name}" if module else name for name in names}
    return found


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_in_the_reference(module: str) -> None:
    named = documented()
    homes = {module, "rarespec"}  # what rarespec itself offers is described there, whatever its home
    public = [name for name in import_module(module).__all__ if not name.startswith("__")]
    assert [name for name in public if not any(f"{home}.{name}" in named for home in homes)] == []


def test_every_name_in_the_reference_exists() -> None:
    for name in documented():
        module, _, last = name.rpartition(".")
        assert hasattr(import_module(module), last), name


def test_every_verb_and_option_is_in_the_command_reference() -> None:
    from typer.main import get_command

    from rarespec.cli.app import app

    written = extension("command_line")
    text = "\n".join(line for verb in written.verbs(get_command(app), "rarespec") for line in written.described(*verb))
    sections = dict(re.findall(r"^## rarespec (.*)\n((?:(?!^## ).*\n?)*)", text, re.MULTILINE))
    assert {"search", "ingest", "inspect"} <= set(sections)
    assert "| `--known` |" in sections["search"]
    assert "Default: `1000`" in sections["search"]
    assert "| `SURVEY` |" in sections["search"]
    assert "rarespec search dr17.survey" in sections["search"]


def test_commands_of_a_group_are_described_one_by_one() -> None:
    import typer
    from typer.main import get_command

    app, group = typer.Typer(), typer.Typer()
    group.command("one", help="First.")(lambda: None)
    group.command("two", help="Second.", hidden=True)(lambda: None)
    app.add_typer(group, name="group")
    app.command("alone", help="By itself.")(lambda: None)
    found = [path for path, _ in extension("command_line").verbs(get_command(app), "x")]
    assert sorted(found) == ["x alone", "x group one"]


def test_lines_of_names_become_a_section() -> None:
    lines = ["What it is.", "", "flux : (n, p) float32", "ivar : its weights", "", "More words.", ""]
    expected = [
        "What it is.",
        "",
        "More words.",
        "",
        "Attributes",
        "-" * 10,
        "flux : (n, p) float32",
        "ivar : its weights",
    ]
    assert extension("plain_docstrings").with_section(lines, "Attributes")[: len(expected)] == expected


def test_a_section_that_is_there_stays_as_it_is() -> None:
    lines = ["What it is.", "", "Parameters", "----------", "a : int", "    A number.", ""]
    assert extension("plain_docstrings").with_section(lines, "Attributes") == lines


def test_a_sentence_that_goes_on_is_joined_and_a_type_is_not() -> None:
    sentence, kind = "known : " + "many words " * 9, "top : int"
    joined = extension("plain_docstrings").unwrapped([sentence, "    and more", kind, "    How many."])
    assert joined == [f"{sentence} and more", kind, "    How many."]


@pytest.mark.parametrize(
    ("plain", "markup"),
    [
        ("lam/2 |w|^2", r"lam/2 \|w\|^2"),
        ("the weights w_ of `coef_`", r"the weights w\_ of `coef_`"),
        ("M* and x_i", r"M\* and x_i"),
    ],
)
def test_markup_in_docstrings_is_harmless(plain: str, markup: str) -> None:
    assert extension("plain_docstrings").escaped(plain) == markup


def test_signatures_are_short() -> None:
    long = "(x: ~numpy.ndarray[tuple[~typing.Any, ...], ~numpy.dtype[~numpy.float64]], n: int = 3)"
    assert extension("short_signatures").short(long) == "(x: NDArray[float64], n: int = 3)"


def test_files_outside_have_pages() -> None:
    for outside, page in extension("files_outside").PAGE_OF.items():
        assert (DOCS / outside).resolve().is_file()
        assert (DOCS / page).is_file()
