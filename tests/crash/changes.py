"""Changes of a survey that are interrupted: how each begins, what it does, and what may be found afterwards."""

import hashlib
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from file_system_calls import DIED
from forked import in_child, rarespec

from conftest import SMALL_GRID, make_spectra, small_survey_files
from rarespec.errors import UsageError
from rarespec.features import MedianFilter, MinMax, Recipe, StreamingPCA
from rarespec.mock.damage import damage
from rarespec.survey import Survey
from rarespec.survey.features.computing import features_of
from rarespec.survey.store import commit
from rarespec.survey.store.writer import SurveyWriter

BLOCK = 8
SURVEY = "a.survey"

State = dict[str, Any]
"""What a reader finds: ids, digests of rows, catalogue, defects; None for `ids` where there is no survey yet."""


@dataclass(frozen=True)
class Change:
    """prepare(folder) makes what is there before; run(folder) is the command, which may be run again and again."""

    prepare: Callable[[Path], None]
    run: Callable[[Path], Any]
    result_matters: bool = False
    """Whether what `run` returns must always be the same."""
    where: str = SURVEY
    """Calls below this place in the folder are made to fail."""


def small_blocks() -> None:
    SurveyWriter.__init__.__defaults__ = (False, BLOCK, None)


def state_of(folder: Path) -> State:
    """Of the survey in this folder, which must be sound."""
    try:
        survey = Survey.open(folder / SURVEY)
    except UsageError:
        return {"ids": None}
    verification = survey.verify()
    assert verification.sound, verification.problems
    if not len(survey):
        return {"ids": [], "defects": _defects_of(survey)}
    rows = survey.at(np.arange(len(survey)))
    parts = zip(rows.flux, rows.ivar, rows.bad, strict=True)
    return {
        "ids": rows.ids,
        "numbers": [hashlib.sha256(b"".join(part.tobytes() for part in row)).hexdigest() for row in parts],
        "catalogue": rows.catalogue,
        "defects": _defects_of(survey),
    }


def _defects_of(survey: Survey) -> list[tuple[str, str, str]]:
    return sorted((d.source, d.id, d.reason.value) for d in survey.defects)


def is_between(found: State, before: State, after: State, while_changing: bool = False) -> bool:
    """The old state, the new one, or one in which the first of the new spectra were published.

    The table of defects is a file of its own: while a change goes on, it may already be that of the next state.
    """
    if found in (before, after):
        return True
    n, n_before, n_after = (len(state["ids"] or []) for state in (found, before, after))
    rows = [name for name in found if name != "defects"]
    published = n % BLOCK == 0 or (while_changing and n in (n_before, n_after))
    return published and n_before <= n and all(_begins(after[name], found[name]) for name in rows)


def _begins(whole: Any, beginning: Any) -> bool:
    if isinstance(beginning, dict):
        return all(_begins(whole[name], values) for name, values in beginning.items())
    return whole[: len(beginning)] == beginning


def _write_files(folder: Path) -> None:
    first = small_survey_files(folder / "first", 5)
    paths = small_survey_files(folder / "all", 11)
    damage(paths[3], "truncated-data", folder / "all" / "cut.fits", np.random.default_rng(0))
    assert len(first) == 5


def _make_survey(folder: Path) -> None:
    Survey.create(folder / SURVEY, SMALL_GRID).append(make_spectra(12, SMALL_GRID))


def _ingest(files: str) -> Callable[[Path], None]:
    return lambda folder: rarespec("ingest", str(folder / files), "--into", str(folder / SURVEY), "--jobs", "1")


def _prepare_growing(folder: Path) -> None:
    _write_files(folder)
    _ingest("first")(folder)


def _append(folder: Path) -> None:
    spectra = make_spectra(7, SMALL_GRID, seed=1, prefix="t")
    spectra.flux[2] = np.nan
    Survey.open(folder / SURVEY).append(spectra)


def _interrupt_an_append(folder: Path) -> None:
    """Its process dies when some of its files are in place, and the manifest is not."""

    def carry_out_a_part(root: Path, journal: commit.Journal) -> None:
        for relative in journal.moves[:3]:
            os.replace(root / commit.STAGING / relative, root / relative)
        os._exit(DIED)

    commit._carry_out = carry_out_a_part
    _append(folder)


def _prepare_interrupted(folder: Path) -> None:
    _make_survey(folder)
    assert in_child(lambda: _interrupt_an_append(folder)).code == DIED


def features_digest(survey: Survey, refit: bool = False) -> tuple[int, str]:
    """Of how many spectra, and a digest of the features."""
    values = features_of(survey, Recipe([MedianFilter(), MinMax(), StreamingPCA(3)]), refit).values
    return len(values), hashlib.sha256(values.tobytes()).hexdigest()


def _features(folder: Path) -> str:
    return features_digest(Survey.open(folder / SURVEY))[1]


def _simulate(folder: Path) -> None:
    sky = ("--n", "20", "--rare", "carbon=3", "--grid", "log:3.6:1e-3:300")
    rarespec("simulate", *sky, "--into", str(folder / SURVEY), "--jobs", "1")


def _prepare_search(folder: Path) -> None:
    SurveyWriter.__init__.__defaults__ = (False, 64, None)
    survey = Survey.create(folder / SURVEY, SMALL_GRID)
    survey.append(make_spectra(100, SMALL_GRID))
    (folder / "known.txt").write_text("\n".join(survey.ids[:4]))


def _search(folder: Path) -> str:
    table = folder / "candidates.csv"
    with suppress(SystemExit):
        rarespec("search", str(folder / SURVEY), "--known", str(folder / "known.txt"), "--out", str(table))
    return table.read_text()


CHANGES = {
    "create": Change(lambda folder: None, lambda folder: Survey.create(folder / SURVEY, SMALL_GRID) and None),
    "ingest": Change(_write_files, _ingest("all")),
    "grow": Change(_prepare_growing, _ingest("all")),
    "append": Change(_make_survey, _append),
    "recover": Change(_prepare_interrupted, _append),
    "features": Change(_make_survey, _features, result_matters=True),
    "simulate": Change(lambda folder: None, _simulate),
    "search": Change(_prepare_search, _search, result_matters=True, where="."),
}


def prepared(change: Change, folder: Path) -> Path:
    """A folder in which the change has not begun."""
    folder.mkdir()
    ended = in_child(lambda: change.prepare(folder))
    assert ended.code in (0, 1), ended.said
    return folder


def copied(folder: Path, to: Path) -> Path:
    if to.exists():
        shutil.rmtree(to)
    return Path(shutil.copytree(folder, to))
