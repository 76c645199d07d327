"""Completion of words in bash, zsh and fish, and the version."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rarespec import __version__


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`rarespec` as it is installed, wherever the tests run."""
    path = tmp_path_factory.mktemp("bin") / "rarespec"
    path.write_text(f"#!{sys.executable}\nfrom rarespec.cli import main\nmain()\n")
    path.chmod(0o755)
    return path


def said(program: Path, *words: str, **environment: str) -> str:
    done = subprocess.run(
        [program, *words], env=os.environ | environment, capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout


def test_version(program: Path) -> None:
    assert said(program, "--version") == f"rarespec {__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(program: Path, shell: str) -> None:
    script = said(program, _RARESPEC_COMPLETE=f"source_{shell}")
    assert f"_RARESPEC_COMPLETE=complete_{shell}" in script and "rarespec" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("rarespec se", ["search"]),
        ("rarespec doc", ["doctor"]),
        ("rarespec search --kn", ["--known", "--known-resolution"]),
    ],
)
def test_each_shell_completes_verbs_and_options(program: Path, typed: str, wanted: list[str]) -> None:
    last = typed.rpartition(" ")[2]
    number = str(len(typed.split()) - 1)
    bash = said(program, _RARESPEC_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=number)
    zsh = said(program, _RARESPEC_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS=typed)
    fish = said(
        program,
        _RARESPEC_COMPLETE="complete_fish",
        _TYPER_COMPLETE_ARGS=typed,
        _TYPER_COMPLETE_FISH_ACTION="get-args",
        _TYPER_COMPLETE_WORD_TO_COMPLETE=last,
    )
    assert bash.split() == wanted and all(word in zsh and word in fish for word in wanted)
    assert "verify" not in bash + zsh + fish


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")
def test_in_bash_itself(program: Path) -> None:
    script = said(program, _RARESPEC_COMPLETE="source_bash")
    ask = (
        "COMP_WORDS=(rarespec ver); COMP_CWORD=1; "
        f'_rarespec_completion {program}; echo "${{COMPREPLY[@]}}"; complete -p rarespec'
    )
    done = subprocess.run(["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "verify" and "_rarespec_completion rarespec" in done.stdout
