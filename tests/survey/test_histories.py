"""Promise: whatever is done to a survey, in whatever order, it stays what a plain dictionary would be.

A history is a run of steps that hypothesis chooses: append, ingest, search, label, verify, damage what is kept, kill
in the middle, open again. A kill is an exception at the n-th step on disk, after which no step on disk is done any
more, so that nothing can tidy up behind it.
"""

import atexit
import itertools
import os
import pathlib
import shutil
import tempfile
import warnings
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import rarespec as rs
from conftest import make_spectra, small_survey_files
from rarespec.features import PaperFeatures
from rarespec.labels.event import Label, LabelEvent, new_event_id
from rarespec.labels.log import LabelLog, path_beside
from rarespec.rankers.neighbours.neighbour_graph import build_neighbours
from rarespec.spectrum import WavelengthGrid
from rarespec.survey import Survey
from rarespec.survey.features.computing import features_of
from rarespec.survey.features.neighbours import graph_of, rows_of_graph
from rarespec.survey.ingest.reading import IngestOptions
from rarespec.survey.ingest.run import run_ingest
from rarespec.survey.store.precision import EXACT, Precision
from rarespec.survey.store.writer import SurveyWriter

GRID = WavelengthGrid("log", 3.6, 1e-3, 40)
BLOCK_ROWS, N_FILES = 4, 4
STEPS_ON_DISK = [(os, name) for name in ("replace", "fsync", "unlink", "remove", "rmdir", "mkdir")]
STEPS_ON_DISK += [(pathlib.Path, "write_bytes")]
STEPS_OF_A_CHANGE, STEPS_OF_A_SEARCH = 200, 30
"""An append of a few spectra takes about so many; a kill after the last of them is none."""


KILLS = st.lists(
    st.integers(0, 10**6).map(lambda number: 1 + number * 2_654_435_761 % 2**32 % STEPS_OF_A_CHANGE),
    min_size=1,
    max_size=5,
)
"""Spread evenly over the steps: hypothesis itself likes small numbers, and the ends of a range."""


HALF_A_STEP = 0.175 * 1.5
"""Of 0.35 of the noise, which is 0.7 to 1.4 in these spectra, and as large as it is in most of them."""


class Killed(BaseException):
    """No `except Exception` stops it."""


@contextmanager
def killed_at(step):
    """Every step on disk from this one on fails; those before are done, but for flushing, which takes long."""
    counter = itertools.count(1)

    def counted(name, function):
        def wrapper(*args, **kwargs):
            if next(counter) >= step:
                raise Killed
            return None if name == "fsync" else function(*args, **kwargs)

        return wrapper

    with ExitStack() as patched:
        for where, name in STEPS_ON_DISK:
            patched.enter_context(patch.object(where, name, counted(name, getattr(where, name))))
        yield


def never_killed():
    return killed_at(10**9)


@cache
def files():
    """Of one spectrum each, with what an ingest on the grid makes of them: (paths, ids, flux)."""
    folder = Path(tempfile.mkdtemp(prefix="rarespec-histories-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    paths = small_survey_files(folder / "files", N_FILES)
    survey, _ = run_ingest(paths, folder / "a.survey", IngestOptions(grid=GRID, precision=EXACT), jobs=1)
    return paths, survey.ids.tolist(), np.concatenate([block.flux for block in survey.blocks()])


def recipe():
    return PaperFeatures(n_components=2, width_angstrom=20)


class Histories(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="rarespec-history-"))
        self.flux, self.labels, self.n_made = {}, [], 0
        self.first_read = {}
        warnings.simplefilter("ignore")

    def teardown(self):
        try:
            if hasattr(self, "survey"):
                self.open_again()
                self.verify()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    # ---- the plain model

    def new_spectra(self, n):
        spectra = make_spectra(n, GRID, seed=self.n_made, prefix=f"s{self.n_made}-")
        self.n_made += 1
        return spectra, dict(zip(spectra.ids, spectra.flux, strict=True))

    def require_model(self, expected):
        """Ids in their order, and flux as precise as the survey is; once stored, it stays as it is to the bit."""
        assert self.survey.ids.tolist() == list(expected)
        flux = np.concatenate([block.flux for block in self.survey.blocks()])
        allowed = 0 if self.survey.precision == EXACT else HALF_A_STEP
        np.testing.assert_allclose(flux, np.array(list(expected.values())), rtol=0, atol=allowed)
        for id, row in zip(expected, flux, strict=True):
            np.testing.assert_array_equal(row, self.first_read.setdefault(id, row))

    # ---- what is done

    @initialize(n=st.integers(3, 9), precision=st.sampled_from([EXACT, Precision()]))
    def begin(self, n, precision):
        spectra, flux = self.new_spectra(n)
        path = self.folder / "a.survey"
        with never_killed(), SurveyWriter(path, GRID, block_rows=BLOCK_ROWS, precision=precision) as writer:
            writer.add(spectra)
            writer.commit()
        self.flux |= flux
        self.survey = Survey.open(self.folder / "a.survey")

    @rule(n=st.integers(1, 6))
    def append(self, n):
        spectra, flux = self.new_spectra(n)
        with never_killed():
            report = self.survey.append(spectra)
        assert report.spectra["stored"] == n
        self.flux |= flux

    @rule(n=st.integers(1, 3))
    def append_what_is_there(self, n):
        """Of the same ids, with other flux: what was stored first stays."""
        there = list(self.flux)[:n]
        with never_killed():
            report = self.survey.append(make_spectra(len(there), GRID, seed=99, id=there))
        assert report.spectra["repeated"] == len(there) and not report.spectra["stored"]

    @rule(chosen=st.sets(st.integers(0, N_FILES - 1), min_size=1))
    def ingest(self, chosen):
        with never_killed():
            self._ingest(sorted(chosen))
        self.flux |= {id: flux for id, flux in self.of_files(chosen).items() if id not in self.flux}

    def _ingest(self, chosen):
        run_ingest([files()[0][i] for i in chosen], self.survey.path, IngestOptions(), jobs=1)
        self.survey = Survey.open(self.survey.path)

    def of_files(self, chosen):
        _, ids, flux = files()
        return {ids[i]: flux[i] for i in sorted(chosen)}

    @rule(n_known=st.integers(1, 2), method=st.sampled_from(["matched_filter", "label_propagation"]))
    def search(self, n_known, method):
        known = list(self.flux)[:n_known]
        with never_killed():
            ranking = rs.search(self.survey, known, method, recipe=recipe())
        assert np.isfinite(ranking.scores).all()
        assert set(ranking.table["id"]) == set(self.flux) - set(known)
        self.require_features()

    def require_features(self):
        """Kept features and graph are what they are when they are computed from the model, as it is stored."""
        with never_killed():
            features = features_of(self.survey, recipe())
            graph = graph_of(features, 2)
        self.require_model(self.flux)
        flux = np.array([self.first_read[id] for id in self.flux])
        bad = np.concatenate([block.bad for block in self.survey.blocks()])
        expected = features.recipe.transform(np.where(bad, np.nan, flux).astype(np.float32))
        np.testing.assert_allclose(features.values, expected, rtol=1e-4, atol=1e-5)
        X = features.usable_values
        built = build_neighbours(X, graph.n_neighbours)
        np.testing.assert_allclose(graph.distances, built.distances, rtol=1e-3, atol=1e-5)
        assert len(rows_of_graph(features)) == len(X)

    @rule(said=st.sampled_from(list(Label)), which=st.integers(0, 100))
    def label(self, said, which):
        id = list(self.flux)[which % len(self.flux)]
        with LabelLog.beside(self.survey) as log:
            log.append(LabelEvent(new_event_id(), id, said, person="p"))
        self.labels.append((id, said))

    @rule()
    def verify(self):
        result = self.survey.verify()
        assert result.sound, result.problems
        assert result.n_rows == len(self.flux)

    @rule()
    def open_again(self):
        del self.survey
        self.survey = Survey.open(self.folder / "a.survey")
        self.require_model(self.flux)
        if path_beside(self.survey.path).exists():
            with LabelLog.beside(self.survey) as log:
                assert [(event.spectrum, event.label) for _, event in log.events()] == self.labels

    # ---- what goes wrong

    def kept_files(self):
        kept = (self.survey.path / "features", self.survey.path / "graphs")
        return sorted(path for folder in kept for path in folder.rglob("*") if path.suffix in (".npz", ".json"))

    @precondition(lambda self: self.kept_files())
    @rule(which=st.integers(0, 100), place=st.integers(0, 10**6), bit=st.integers(0, 7))
    def damage_what_is_kept(self, which, place, bit):
        """`verify` names it, a search gives what is right; where it did not need the file, that is deleted as told."""
        path = self.kept_files()[which % len(self.kept_files())]
        content = bytearray(path.read_bytes())
        content[place % len(content)] ^= 1 << bit
        path.write_bytes(content)
        assert [problem for problem in self.survey.verify().problems if path.name in problem]
        self.require_features()
        for problem in self.survey.verify().problems:
            assert path.name in problem
            path.unlink()

    @rule(steps=KILLS, n=st.integers(1, 6))
    def kill_an_append(self, steps, n):
        spectra, flux = self.new_spectra(n)
        self.killed_then_again(steps, lambda: self.survey.append(spectra), flux)

    @rule(steps=KILLS, chosen=st.sets(st.integers(0, N_FILES - 1), min_size=1))
    def kill_an_ingest(self, steps, chosen):
        new = {id: flux for id, flux in self.of_files(chosen).items() if id not in self.flux}
        self.killed_then_again(steps, lambda: self._ingest(sorted(chosen)), new)

    def killed_then_again(self, steps, change, new):
        """Each time the survey is as before, or has the first of the new ones; at last the same makes it complete."""
        for step in steps:
            with suppress(Killed), killed_at(step):
                change()
            self.survey = Survey.open(self.survey.path)
            n_new = len(self.survey) - len(self.flux)
            assert 0 <= n_new <= len(new)
            self.require_model(self.flux | dict(list(new.items())[:n_new]))
            self.verify_now(len(self.flux) + n_new)
        with never_killed():
            change()
        self.flux |= new

    def verify_now(self, n_rows):
        result = self.survey.verify()
        assert result.sound and result.n_rows == n_rows, result.problems

    @rule(step=st.integers(1, STEPS_OF_A_SEARCH), refit=st.booleans())
    def kill_a_search(self, step, refit):
        with suppress(Killed), killed_at(step):
            graph_of(features_of(self.survey, recipe(), refit=refit), 2)
        self.survey = Survey.open(self.survey.path)
        self.verify_now(len(self.flux))
        self.require_features()

    @invariant()
    def nothing_is_lost(self):
        if hasattr(self, "survey"):
            assert len(self.survey) == len(self.flux)


SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=12, stateful_step_count=5, deadline=None, suppress_health_check=SLOW)

MANY = settings(max_examples=1000, stateful_step_count=12, deadline=None, database=None, suppress_health_check=SLOW)


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", range(10))
def test_a_thousand_histories(number):
    """Ten times a thousand, so that two processes share them; each thousand can be run again by its number."""
    run_state_machine_as_test(seed(number)(type("ManyHistories", (Histories,), {})), settings=MANY)
