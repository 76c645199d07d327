"""The manifest: what a survey consists of, with a digest of every file. It is published last, so it is the commit."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rarespec.spectrum import WavelengthGrid
from rarespec.survey.location import MOST_TEXT, content_of, is_remote
from rarespec.survey.manifest_checks import check_content

NAME = "manifest.json"
FORMAT = "rarespec-survey"
VERSION = 1
BLOCK_ROWS = 2048
"""Rows of one block: one chunk of each array, one catalogue file. 30 MB of flux on the paper's grid."""


class SurveyError(Exception):
    """A survey that cannot be opened, read or written, with what to do about it."""


class WrongUseError(SurveyError):
    """The survey is fine, or there is none; what was asked of it does not fit."""


@dataclass(frozen=True)
class BlockRecord:
    """One block: how many rows it holds and the SHA-256 of each of its files, by path inside the survey."""

    rows: int
    digests: dict[str, str]


@dataclass(frozen=True)
class Manifest:
    grid: WavelengthGrid
    rest_frame: bool = False
    block_rows: int = BLOCK_ROWS
    generation: int = 0
    blocks: tuple[BlockRecord, ...] = ()
    columns: dict[str, str] = field(default_factory=dict)
    """Catalogue column -> Arrow type, valid for all blocks."""
    files: dict[str, str] = field(default_factory=dict)
    """Files that belong to no block (array metadata, defects) -> SHA-256."""
    unfinished: tuple[str, ...] = ()
    """Input files of which only the first spectra were stored when this state was published."""
    provenance: tuple[dict[str, Any], ...] = ()

    @property
    def n_rows(self) -> int:
        return sum(block.rows for block in self.blocks)

    def digests(self) -> dict[str, str]:
        """Every file of the survey but the manifest itself -> SHA-256."""
        everything = dict(self.files)
        for block in self.blocks:
            everything.update(block.digests)
        return everything

    def to_bytes(self) -> bytes:
        content = {"format": FORMAT, "version": VERSION} | asdict(self) | {"grid": self.grid.to_json()}
        return _canonical(content | {"digest": _digest_of(content)})

    @classmethod
    def from_bytes(cls, text: bytes, where: Path) -> Manifest:
        """From what `to_bytes` gave; anything else, also with a digest that fits, is a SurveyError."""
        try:
            content = _parsed(text, where)
            if content.pop("digest", None) != _digest_of(content) or _canonical(json.loads(text)) != text:
                raise ValueError("checksum does not match")
            del content["format"], content["version"]
            check_content(content)
        except (ValueError, RecursionError) as error:
            why = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
            raise SurveyError(f"{where}: the manifest is damaged ({why}); restore it from a backup") from None
        return cls(
            **content
            | {
                "grid": WavelengthGrid.from_json(content["grid"]),
                "blocks": tuple(BlockRecord(**block) for block in content["blocks"]),
                "unfinished": tuple(content["unfinished"]),
                "provenance": tuple(content["provenance"]),
            }
        )

    @classmethod
    def load(cls, root: Path) -> Manifest:
        path = root / NAME
        try:
            text = content_of(path, MOST_TEXT)
        except (FileNotFoundError, NotADirectoryError):
            missing = f"no {NAME}" if is_remote(root) or root.exists() else "it does not exist"
            raise WrongUseError(f"{root}: not a survey ({missing}); create one with `rarespec ingest`") from None
        except OSError as error:
            raise SurveyError(f"{path}: {error.strerror or error}") from None
        return cls.from_bytes(text, path)


def _parsed(text: bytes, where: Path) -> dict[str, Any]:
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
    except ValueError:
        raise ValueError("not JSON") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise SurveyError(f"{where}: not the manifest of a rarespec survey")
    if content.get("version") != VERSION:
        found = repr(content.get("version"))[:20]
        raise SurveyError(f"{where}: survey format {found}; this rarespec reads {VERSION}, use a newer one")
    return content


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _canonical(content: dict[str, Any]) -> bytes:
    return json.dumps(content, indent=1, ensure_ascii=False).encode()


def _digest_of(content: dict[str, Any]) -> str:
    return hashlib.sha256(_canonical(content)).hexdigest()
