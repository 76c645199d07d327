"""Files that a stranger gives to a verb, with anything in any place: used or refused in words, never a traceback."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from astropy.table import Table
from click.testing import Result
from typer.testing import CliRunner

from conftest import SMALL_GRID, make_spectra
from rarespec.cli.app import app
from rarespec.errors import RarespecError
from rarespec.labels.campaign import Campaign
from rarespec.labels.campaign_start import CampaignStart
from rarespec.survey import Survey

WORDS: list[Any] = [
    None, True, 0, -1, 7, 2**70, 1.5, 1e308, "", "x", "paper", "auto", "s00001", "\x1b[31m", "a" * 5000, [], [1], ["x"],
    [["x"]], {}, {"x": 1}, "yes", "2025-03-01", "../../x", "/etc/passwd", "nan", float("inf"), float("nan"),
]  # fmt: skip


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    survey = Survey.create(tmp_path_factory.mktemp("inputs") / "a.survey", SMALL_GRID)
    survey.append(make_spectra(80, SMALL_GRID, ra=[float(i) for i in range(80)], dec=[1.0] * 80))
    return survey


def rarespec(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def check(result: Result, what: object) -> None:
    assert result.exit_code in (0, 1, 2, 3), (what, result.output)
    assert "bug in rarespec" not in result.output, (what, result.output)
    assert result.exit_code < 2 or result.stderr.startswith(("rarespec: ", "/")), (what, result.output)


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Cells, bytes and lines replaced, cut, doubled."""
    lines = content.split(b"\n")
    for _ in range(chance.choice([1, 1, 2, 4])):
        i = chance.randrange(len(lines))
        cells = lines[i].split(b",")
        kind = chance.randrange(6)
        if kind == 0:
            cells[chance.randrange(len(cells))] = str(chance.choice(WORDS)).encode()
            lines[i] = b",".join(cells)
        elif kind == 1:
            lines[i] = lines[i][: chance.randrange(len(lines[i]) + 1)]
        elif kind == 2:
            lines.insert(i, lines[i])
        elif kind == 3:
            lines[i] += chance.choice([b"\xff", b"\0", b'"', b",", b"\r", b"\x1b[31m", b"{", b": ["])
        elif kind == 4:
            del lines[max(i, 1) :]
        else:
            lines[i] = chance.randbytes(20)
    return b"\n".join(lines)


def tables(survey: Survey, folder: Path) -> dict[str, bytes]:
    """Good ones, as people have them: ids, positions, labels."""
    known = Table({"id": survey.ids[:4].tolist(), "ra": [0.0, 1.0, 2.0, 3.0], "dec": [1.0] * 4})
    said = Table(
        {
            "id": survey.ids[:3].tolist(),
            "person": ["Ada", "Bea", "Ada"],
            "label": ["yes", "no", "bad"],
            "at": ["2025-03-01T20:15:00Z"] * 3,
            "comment": ["a", "b", ""],
        }
    )
    found = {}
    for name, table in (("known", known), ("labels", said)):
        for form in ("csv", "ecsv"):
            table.write(folder / f"{name}.{form}", format=f"ascii.{form}")
            found[f"{name}.{form}"] = (folder / f"{name}.{form}").read_bytes()
    known.write(folder / "known.vot", format="votable")
    return found | {"known.vot": (folder / "known.vot").read_bytes()}


def words_for(name: str, path: Path, folder: Path) -> tuple[object, ...]:
    if name.startswith("labels"):
        return ("--import", path, "--log", folder / "log.sqlite")
    return ("--known", path, "--method", "matched_filter", "--top", 5)


def check_tables(survey: Survey, folder: Path, n: int, seed: str) -> None:
    for name, content in tables(survey, folder).items():
        verb = "labels" if name.startswith("labels") else "search"
        for i in range(n):
            path = folder / f"forged-{name}"
            path.write_bytes(damaged(content, random.Random(f"{seed}{name}{i}")))
            check(rarespec(verb, survey.path, *words_for(name, path, folder)), path.read_bytes())


@pytest.mark.filterwarnings("ignore")
def test_tables_of_examples_and_labels(survey: Survey, tmp_path: Path) -> None:
    check_tables(survey, tmp_path, 2, "default")


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
def test_tables_of_examples_and_labels_at_full_size(survey: Survey, tmp_path: Path) -> None:
    check_tables(survey, tmp_path, 400, "more")


# --- campaigns


def forged_start(content: dict[str, Any], chance: random.Random) -> str:
    for _ in range(chance.choice([1, 1, 2])):
        key = chance.choice(sorted(content))
        inner = content[key]
        if isinstance(inner, dict) and inner and chance.random() < 0.5:
            inner[chance.choice(sorted(inner))] = chance.choice(WORDS)
        elif isinstance(inner, list) and inner and chance.random() < 0.5:
            inner[chance.randrange(len(inner))] = chance.choice(WORDS)
        else:
            content[key] = chance.choice(WORDS)
    return json.dumps(content)


@pytest.mark.filterwarnings("ignore")
def test_campaigns_that_were_kept(survey: Survey, tmp_path: Path) -> None:
    path = tmp_path / "campaign.json"
    Campaign.start(survey, survey.ids[:4].tolist(), "matched_filter", 10).keep(path)
    good = path.read_text()
    for i in range(60):
        path.write_text(forged_start(json.loads(good), random.Random(f"campaign{i}")))
        try:
            Campaign.resume(survey, path=path)
        except RarespecError as error:
            assert str(error)
    for content in (b"\xff", b"[" * 100_000, b"7", b"", b"null", b'{"format": 1}'):
        path.write_bytes(content)
        with pytest.raises(RarespecError, match=r"campaign\.json"):
            CampaignStart.read(path)
