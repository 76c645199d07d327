"""Manifests that someone made up, with a digest that fits: a survey opens, or a message says what is wrong."""

import copy
import hashlib
import json
import shutil
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from conftest import SMALL_GRID, make_spectra
from rarespec.cli.app import app
from rarespec.errors import SurveyError, UsageError
from rarespec.survey import Survey
from rarespec.survey.store.manifest import NAME, Manifest
from rarespec.survey.store.writer import SurveyWriter
from rarespec.survey.summary import summarise
from rarespec.survey.verify import verify


def forged(content) -> bytes:
    """As `Manifest.to_bytes` writes it, whatever the content."""
    content = {name: value for name, value in content.items() if name != "digest"}
    digest = hashlib.sha256(written(content)).hexdigest()
    return written(content | {"digest": digest})


def written(content) -> bytes:
    return json.dumps(content, indent=1, ensure_ascii=False).encode(errors="surrogatepass")


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SurveyWriter.__init__, "__defaults__", (False, 4, None))
        survey = Survey.create(tmp_path_factory.mktemp("forged") / "a.survey", SMALL_GRID)
        spectra = make_spectra(10, SMALL_GRID, **{"class": ["M"] * 10, "source": ["f"] * 10})
        spectra.flux[9] = float("nan")
        survey.append(spectra)
    return survey


@pytest.fixture(scope="module")
def true_content(survey):
    return json.loads((survey.path / NAME).read_bytes())


@pytest.fixture
def forge(survey, true_content):
    """Puts a forged manifest in place, as it is or by a change of the true one, which comes back afterwards."""

    def put(change):
        if callable(change):
            content = copy.deepcopy(true_content)
            change(content)
            change = forged(content)
        (survey.path / NAME).write_bytes(change)
        return survey.path

    yield put
    (survey.path / NAME).write_bytes(survey.manifest.to_bytes())


def setting(*way, to):
    def change(content):
        for step in way[:-1]:
            content = content[step]
        content[way[-1]] = to

    return change


def dropping(*way):
    def change(content):
        for step in way[:-1]:
            content = content[step]
        del content[way[-1]]

    return change


def renaming(old, new):
    """Of a file of the first block."""

    def change(content):
        digests = content["blocks"][0]["digests"]
        digests[new] = digests.pop(old)

    return change


FORGERIES = {
    "no blocks": dropping("blocks"),
    "no grid": dropping("grid"),
    "no step": dropping("grid", "step"),
    "no rows": dropping("blocks", 0, "rows"),
    "one more entry": setting("more", to=1),
    "one more entry of a block": setting("blocks", 0, "more", to=1),
    "grid is a list": setting("grid", to=[]),
    "grid without end": setting("grid", "n_pixels", to=10**12),
    "grid of more digits than a number has": setting("grid", "start", to=10**400),
    "grid of no width": setting("grid", "step", to=1e-300),
    "grid beyond all": setting("grid", "start", to=400),
    "falling grid": setting("grid", "step", to=-1e-4),
    "grid in text": setting("grid", "step", to="1e-4"),
    "half a pixel": setting("grid", "n_pixels", to=300.5),
    "curved grid": setting("grid", "spacing", to="curved"),
    "no rows in a block": setting("block_rows", to=0),
    "blocks without end": setting("block_rows", to=10**18),
    "true rows": setting("block_rows", to=True),
    "negative rows": setting("blocks", 2, "rows", to=-1),
    "a block of none": setting("blocks", 2, "rows", to=0),
    "a block too full": setting("blocks", 2, "rows", to=5),
    "a short block before the last": setting("blocks", 0, "rows", to=3),
    "rows in text": setting("blocks", 2, "rows", to="1"),
    "blocks in a table": setting("blocks", to={}),
    "digests in a list": setting("blocks", 0, "digests", to=[]),
    "a digest that is none": setting("blocks", 0, "digests", "flux/c/0/0", to="00"),
    "a digest that is a number": setting("blocks", 0, "digests", "flux/c/0/0", to=0),
    "a file elsewhere": renaming("flux/c/0/0", "../../home/.bashrc"),
    "a file of the system": renaming("flux/c/0/0", "/etc/passwd"),
    "a file of another block": renaming("flux/c/0/0", "flux/c/9/0"),
    "another file elsewhere": setting("files", "../x", to="0" * 64),
    "another file of the system": setting("files", "/etc/passwd", to="0" * 64),
    "columns of an unknown type": setting("columns", "z", to="object"),
    "columns of no type": setting("columns", "z", to=[]),
    "columns in a list": setting("columns", to=["id"]),
    "no ids": dropping("columns", "id"),
    "ids that are numbers": setting("columns", "id", to="double"),
    "negative generation": setting("generation", to=-1),
    "generation that is text": setting("generation", to="1"),
    "unfinished numbers": setting("unfinished", to=[1]),
    "history in text": setting("provenance", to="x"),
    "history of numbers": setting("provenance", to=[1]),
    "frame that is a number": setting("rest_frame", to=1),
    "deep history": setting("provenance", to=[{"a": json.loads("[" * 400 + "]" * 400)}]),
    "not a number": setting("grid", "start", to=float("nan")),
    "infinite": setting("grid", "start", to=float("inf")),
    "half a character": setting("columns", "\ud800", to="double"),
    "nested without end": b"[" * 100_000 + b"]" * 100_000,
    "history nested without end": b'{"format": "rarespec-survey", "version": 1, "provenance": '
    + b"[" * 100_000
    + b"]" * 100_000
    + b"}",
    "not UTF-8": b'{"format": "rarespec-survey\xff", "version": 1}',
    "a number of many digits": b'{"format": "rarespec-survey", "version": 1' + b"0" * 10_000 + b"}",
    "empty": b"",
    "a list": b"[]",
    "no precision in a survey that has one": dropping("precision"),
    "precision that is a number": setting("precision", to=0.35),
    "precision that is a list": setting("precision", to=["noise"]),
    "unknown precision": setting("precision", to="noisy"),
    "precision beyond all": setting("precision", to="noise:1000"),
    "precision of no width": setting("precision", to="noise:0"),
    "precision without end": setting("precision", to="noise:0." + "0" * 10_000 + "1"),
    "precision of other arrays": setting("precision", to="exact"),
    "a precision that the first version had not": setting("version", to=1),
    "a block without steps": dropping("blocks", 1, "digests", "steps/c/1/0"),
    "version in text": setting("version", to="1"),
    "no version": dropping("version"),
}


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES.keys())
def test_a_forged_manifest_is_refused_with_its_name(survey, forge, forgery):
    path = forge(forgery)
    for way_in in (Survey.open, lambda path: SurveyWriter(path, SMALL_GRID), Manifest.load):
        with pytest.raises(SurveyError) as refusal:
            way_in(path)
        assert NAME in str(refusal.value) and not isinstance(refusal.value, UsageError)
        assert len(str(refusal.value)) < 400 + len(str(path))
    assert [NAME in problem for problem in verify(path).problems] == [True]


@pytest.mark.parametrize("forgery", ["blocks without end", "a file elsewhere"])
def test_the_commands_tell_it_without_a_traceback(forge, forgery):
    path = str(forge(FORGERIES[forgery]))
    for verb in (
        ["info", path],
        ["verify", path],
        ["ingest", __file__, "--into", path],
        ["search", path, "--known", "x"],
    ):
        done = CliRunner().invoke(app, verb)
        assert done.exit_code in (1 if verb[0] == "verify" else 3, 2) and NAME in done.output, verb
        assert isinstance(done.exception, SystemExit), done.exception


def test_a_grid_that_no_survey_can_have_is_wrong_use(tmp_path):
    from rarespec.spectrum import WavelengthGrid

    for n_pixels in (10**12, 10**6):
        with pytest.raises(UsageError, match="is not a valid grid"):
            Survey.create(tmp_path / "a.survey", WavelengthGrid("log", 3.5, 1e-13, n_pixels))


def test_a_table_of_defects_that_is_none_is_told(survey):
    path = survey.path / "defects.csv"
    true = path.read_bytes()
    try:
        for content in (
            b"",
            b"x",
            b"\xff",
            b"path,id,reason,detail\na,b,no such reason,c\n",
            true + b'"',
            true + b"\0",
        ):
            path.write_bytes(content)
            with pytest.raises(SurveyError, match=r"defects\.csv"):
                _ = survey.defects
    finally:
        path.write_bytes(true)
    assert len(survey.defects) == 1


def test_a_defect_with_endless_words_can_be_read_again(tmp_path):
    from rarespec.spectrum import Defect, Reason
    from rarespec.survey.store.accounts import load_defects, to_csv

    (tmp_path / "defects.csv").write_bytes(to_csv([Defect("f" * 10**6, Reason.LAYOUT, "\0" * 10**6, "i" * 10**6)]))
    (defect,) = load_defects(tmp_path)
    assert defect.source.startswith("fff") and defect.detail.startswith(r"\x00\x00") and len(defect.detail) < 40_000


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-2, 12)
    | st.sampled_from([2**31, 2**63, 10**18, -(10**18), 10**400])
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["string", "double", "int64", "null", "log", "linear", "0" * 64, "../x", "/etc/passwd", "id"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


def places_in(value, way=()):
    yield way
    if isinstance(value, dict | list):
        for step in value if isinstance(value, dict) else range(len(value)):
            yield from places_in(value[step], (*way, step))


def changed(content, way, value, how):
    content = copy.deepcopy(content)
    inner = content
    for step in way[:-1]:
        inner = inner[step]
    if how == "drop":
        del inner[way[-1]]
    elif how == "rename" and isinstance(inner, dict) and isinstance(value, str):
        inner[value] = inner.pop(way[-1])
    elif how == "repeat" and isinstance(inner, list):
        inner.append(inner[way[-1]])
    else:
        inner[way[-1]] = value
    return content


def read_all_of(path):
    """All that can be read, each giving what is there or a SurveyError."""
    survey = Survey.open(path)
    verify(path)
    readings = (
        lambda: summarise(survey),
        lambda: survey.select(list(survey.ids)),
        lambda: list(survey.blocks()),
        lambda: survey.to_table(),
        lambda: survey.defects,
        lambda: survey._repr_html_(),
        lambda: SurveyWriter(path, survey.grid, survey.manifest.rest_frame).__exit__(None, None, None),
    )
    for reading in readings:
        with suppress(SurveyError, KeyError):
            reading()


def try_forgeries(survey, true_content, data):
    content = true_content
    for _ in range(data.draw(st.integers(1, 3))):
        way = data.draw(st.sampled_from([way for way in places_in(content) if way and way != ("digest",)]))
        content = changed(
            content, way, data.draw(anything), data.draw(st.sampled_from(["set", "drop", "rename", "repeat"]))
        )
    (survey.path / NAME).write_bytes(forged(content))
    try:
        read_all_of(survey.path)
    except SurveyError as refusal:
        assert str(survey.path) in str(refusal)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_manifest_opens_or_is_refused(survey, true_content, forge, data):
    try_forgeries(survey, true_content, data)


@pytest.mark.exhaustive
@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_of_ten_thousand_manifests_opens_or_is_refused(survey, true_content, forge, data):
    try_forgeries(survey, true_content, data)


def test_the_true_manifest_opens(survey, tmp_path):
    shutil.copytree(survey.path, tmp_path / "copy.survey")
    read_all_of(tmp_path / "copy.survey")
    assert verify(tmp_path / "copy.survey").sound
