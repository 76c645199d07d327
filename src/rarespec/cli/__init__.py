"""The command line: one file per verb, heavy imports inside the commands."""

from __future__ import annotations


def main() -> None:
    from rarespec.cli.app import app

    app()
