"""What the page is given: every value against the survey and the ranking it comes from."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import numpy as np
import pytest

from inspector.running_inspector import Running, campaign_of, label_of, running
from rarespec.features import PaperFeatures
from rarespec.inspector.lines import MORE_IN_AIR, PRESETS
from rarespec.inspector.listing import table_rows
from rarespec.inspector.spectrum_payload import POINTS, depths, thumbnails_of
from rarespec.labels.campaign import Campaign
from rarespec.labels.event import Label, LabelEvent
from rarespec.searching.explain.portrait import names_in, portraits_of
from rarespec.searching.explain.spectral_features import SpectralFeature, list_spectral_features
from rarespec.spectrum import Spectrum
from rarespec.storage.text import as_json
from rarespec.survey import Survey
from search_rankings import HOSTILE, spectra_with_bands, survey_with_bands


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    ra = [float(i) if i % 2 else None for i in range(200)]
    return survey_with_bands(tmp_path_factory.mktemp("payloads") / "a.survey", ra=ra)


@pytest.fixture(scope="module")
def server(survey: Survey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    log = tmp_path_factory.mktemp("log") / "labels.sqlite"
    lines = [SpectralFeature("<b>mine</b>", 5000.0, 0)]
    with running(campaign_of(survey), log, lines=lines, relearn_every=7) as server:
        server.inspection.read_ahead.result()
        yield server


def spectrum(server: Running, id: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    body = server.get(f"/api/spectrum?id={quote(id, safe='')}").body
    (length,) = struct.unpack("<I", body[:4])
    header = json.loads(body[4 : 4 + length])
    assert (4 + length) % 8 == 0 and b"NaN" not in body[4 : 4 + length]
    curves = np.frombuffer(body, "<f4", offset=4 + length).reshape(len(header["arrays"]), header["n"])
    return header, dict(zip(header["arrays"], curves, strict=True))


def test_session(server: Running, survey: Survey) -> None:
    told = server.get("/api/session").json
    assert told["survey"] == "a.survey" and told["person"] == "Ada" and told["xsrf"] == server.secrets.xsrf
    assert told["known"] == survey.ids[:4].tolist() and told["n_known"] == 4 and told["n_listed"] == 196
    assert (told["method"], told["revision"], told["order"]) == ("matched_filter", 0, "likely")
    assert told["relearn_every"] == 7 and told["rest_frame"] is False
    assert [line for line in told["problems"] if "narrower than 3 pixels" not in line] == []  # a coarse grid
    assert told["species"][-1] == {"name": "<b>mine</b>", "lines": [{"wavelength": 5000.0, "side": 0}], "own": True}
    n_lines = sum(len(one["lines"]) for one in told["species"])
    assert n_lines == len(list_spectral_features()) + sum(len(where) for _, _, where in MORE_IN_AIR) + 1
    assert told["telling_species"] == ["C₂"] and told["redshifts"] == {} and "dC" in told["templates"]
    names = {one["name"] for one in told["species"]}
    assert [one["name"] for one in told["presets"]] == list(PRESETS)
    assert all(set(one["species"]) <= names for one in told["presets"])
    assert {one["name"] for one in told["sky"]} == {"sky", "O₂"}


def test_wavelength(server: Running, survey: Survey) -> None:
    answer = server.get("/api/wavelength")
    assert np.array_equal(np.frombuffer(answer.body, "<f8"), survey.grid.wavelength)
    assert answer.headers["content-type"] == "application/octet-stream"


def test_candidates_are_the_table(server: Running) -> None:
    ranking = server.inspection.campaign.ranking
    told = server.get("/api/candidates?start=5&n=10").json
    assert told["total"] == 40 and [one["position"] for one in told["candidates"]] == list(range(5, 15))
    for one, row in zip(told["candidates"], ranking.table[5:15], strict=True):
        assert (one["id"], one["rank"], one["score"]) == (row["id"], row["rank"], row["score"])
        assert one["nearest_known"] == row["nearest_known"] and one["class"] == row["class"]
        assert one["flags"] == row["flags"] != "unexamined"
        assert one["ra"] == (None if np.isnan(row["ra"]) else row["ra"])
        assert one["label"] is None and one["others"] == {} and one["disagree"] is False
    assert server.get("/api/candidates?start=38&n=100").json["candidates"][-1]["position"] == 39
    assert server.get("/api/candidates?start=40").json["candidates"] == []


WRONG_NUMBERS = ("start=-1", "start=x", "start=1.5", "start=1e3", "start=", "start=1&start=2", "start=9999999999999")
WRONG_NUMBERS += ("n=0", "n=-5", "n=1001", "n=²", "n=%00", "n=0x10")


@pytest.mark.parametrize("query", WRONG_NUMBERS)
def test_wrong_numbers_are_refused(server: Running, query: str) -> None:
    assert server.get(f"/api/candidates?{quote(query, safe='=&%')}").status == 400


def test_thumbnails_are_weighted_means(server: Running, survey: Survey) -> None:
    ids = ["s004", "s012", *HOSTILE]
    answer = server.get("/api/thumbnails?" + "&".join(f"id={quote(id, safe='')}" for id in ids))
    values, known = np.frombuffer(answer.body, "<f4").reshape(2, len(ids), POINTS)
    assert answer.headers["x-points"] == str(POINTS) == "160"
    for id, row in zip(ids, values, strict=True):
        one = survey[id]
        weights = np.where(one.bad, 0, one.ivar)
        edges = np.arange(POINTS + 1) * len(one.flux) // POINTS
        for start, stop, value in zip(edges[:-1], edges[1:], row, strict=True):
            total = weights[start:stop].sum()
            wanted = (weights * one.flux)[start:stop].sum() / total if total else np.nan
            assert np.isclose(value, wanted, rtol=1e-5, equal_nan=True)
    assert np.isnan(values[0]).any()  # of s004 a whole range is bad
    for id, row, behind in zip(ids, values, known, strict=True):
        nearest = server.inspection.listing.facts.get(id, {}).get("nearest_known")
        assert np.isfinite(behind).any() == bool(nearest)
        if nearest:
            (own,) = thumbnails_of([survey[nearest]])
            assert np.allclose(behind / own, np.nanmedian(row) / np.nanmedian(own), rtol=1e-4, equal_nan=True)


@pytest.mark.parametrize("query", ["", "id=nobody", "id=s012&id=nobody", "&".join(["id=s012"] * 101)])
def test_thumbnails_of_nothing_are_refused(server: Running, query: str) -> None:
    assert server.get(f"/api/thumbnails?{query}").status == (404 if "nobody" in query else 400)


def test_thumbnails_of_few_pixels_show_all_of_them() -> None:
    flux, bad = np.arange(7.0), np.zeros(7, bool)
    (row,) = thumbnails_of([Spectrum("x", flux, flux, np.ones(7), bad)])
    assert set(row.tolist()) == set(range(7)) and (np.diff(row) >= 0).all()
    assert thumbnails_of([]).shape == (0, POINTS)


def test_a_spectrum_is_that_of_the_report(server: Running, survey: Survey) -> None:
    ranking = server.inspection.campaign.ranking
    for portrait in portraits_of(ranking, 8):
        id = str(portrait.facts["id"])
        header, curves = spectrum(server, id)
        one, good = survey[id], ~survey[id].bad
        assert header["id"] == id and header["n"] == survey.grid.n_pixels
        assert np.array_equal(curves["flux"], one.flux) and np.isfinite(curves["flux"]).all()
        assert (curves["ivar"][~good] == 0).all() and np.array_equal(curves["ivar"][good], one.ivar[good])
        assert np.isnan(curves["sigma"][~good]).all() and np.allclose(curves["sigma"][good], one.ivar[good] ** -0.5)
        assert np.allclose(curves["known"], portrait.known, rtol=1e-5, equal_nan=True)
        assert header["known_id"] == portrait.facts["nearest_known"] and header["known_note"] == ""
        assert np.allclose(curves["contribution"], ranking.explain(id).contribution, rtol=1e-4, atol=1e-6)
        assert [band["first"] for band in header["bands"]] == [band.start for band in portrait.bands]
        assert [band["share"] for band in header["bands"]] == [band.share for band in portrait.bands]
        assert header["facts"]["rank"] == portrait.facts["rank"] and header["why_no_contribution"] is None
        assert header["facts"]["survey"] == one.catalogue["survey"] and header["flux_unit"] == "unit not known"
        assert [band["names"] for band in header["bands"]] == [
            names_in(band, portrait.marks) for band in portrait.bands
        ]


def test_a_spectrum_that_is_not_listed(server: Running, survey: Survey) -> None:
    """A known example, or one far down the list, can be looked at too."""
    header, curves = spectrum(server, "s000")
    assert header["known_id"] is None and np.isnan(curves["known"]).all()
    assert header["facts"]["class"] == "<b>C</b>" and np.isfinite(curves["contribution"]).all()
    assert server.get("/api/spectrum?id=nobody").status == 404
    assert server.get("/api/spectrum").status == server.get("/api/spectrum?id=s001&id=s002").status == 400


def test_known_examples_from_elsewhere_are_drawn(survey: Survey, tmp_path: Path) -> None:
    recipe = PaperFeatures(n_components=10)
    campaign = Campaign.start(survey, spectra_with_bands(3), "matched_filter", 10, recipe=recipe)
    with running(campaign, tmp_path / "labels.sqlite") as server:
        for portrait in portraits_of(campaign.ranking, 3):
            header, curves = spectrum(server, str(portrait.facts["id"]))
            assert header["known_id"].startswith("elsewhere") and header["known_note"] == portrait.known_note
            assert portrait.known is not None
            assert np.allclose(curves["known"], portrait.known, rtol=1e-5, equal_nan=True)


@pytest.mark.parametrize("name", ["SDSS", "DESI", "LAMOST", "other"])
def test_the_unit_of_the_flux_is_that_of_the_survey(tmp_path: Path, name: str) -> None:
    survey = survey_with_bands(tmp_path / "a.survey", survey=[name] * 200)
    with running(campaign_of(survey), tmp_path / "labels.sqlite") as server:
        told = spectrum(server, "s012")[0]["flux_unit"]
    units = {"LAMOST": "relative", "other": "unit not known"}
    assert told == units.get(name, "10⁻¹⁷ erg s⁻¹ cm⁻² Å⁻¹")


def test_yield(server: Running) -> None:
    curve, told = server.inspection.campaign.ranking.yield_curve, server.get("/api/yield").json
    assert (told["can_tell"], told["why"], told["stopping_rank"]) == (True, curve.why, curve.stopping_rank)
    at = np.array(told["k"]) - 1
    assert at[0] == 0 and at[-1] == len(curve.expected) - 1
    for name in ("expected", "low", "high"):
        assert np.allclose(told[name], getattr(curve, name)[at])


@pytest.mark.parametrize("n", [1, 2, 299, 300, 301, 100_000])
def test_at_most_300_depths(n: int) -> None:
    found = depths(n)
    assert len(found) <= 300 and found[0] == 1 and found[-1] == n and (np.diff(found) > 0).all()


def test_what_others_said(server: Running) -> None:
    ids = [one["id"] for one in server.get("/api/candidates?n=3").json["candidates"]]
    server.post("/api/labels", label_of(ids[0], "yes", comment="<i>mine</i>"))
    for person, id, label in (("Grace", ids[0], "no"), ("Vera", ids[1], "yes")):
        server.log.append(LabelEvent(str(uuid4()), id, Label(label), person=person))
    rows = server.get("/api/candidates?n=3").json["candidates"]
    assert (rows[0]["label"], rows[0]["comment"], rows[0]["others"]) == ("yes", "<i>mine</i>", {"Grace": "no"})
    assert [row["disagree"] for row in rows] == [True, False, False]
    assert rows[1]["label"] is None and rows[1]["others"] == {"Vera": "yes"}
    (one,) = server.get("/api/disagreements").json
    assert list(one.pop("times")) == ["Ada", "Grace"]
    assert one == {
        "id": ids[0],
        "labels": {"Ada": "yes", "Grace": "no"},
        "remarks": {"Ada": "<i>mine</i>"},
        "merged": None,
    }
    assert server.get("/api/progress").json["found"] == 1  # the other is not decided


def test_a_survey_without_errors_and_one_known_example(tmp_path: Path) -> None:
    """No ivar, and nothing can be hidden: what the scores say is told, and nothing of it is NaN."""
    survey = survey_with_bands(tmp_path / "a.survey", without_ivar=True)
    with running(campaign_of(survey, n_known=1), tmp_path / "labels.sqlite") as server:
        told = server.get("/api/yield").json
        assert told["can_tell"] and "from how the scores fall alone" in told["why"]
        row = server.get("/api/candidates?n=1").json["candidates"][0]
        assert 0 <= row["chance"] <= 1
        assert len(server.get("/api/progress").json["expected_remaining"]) == 3
        header, curves = spectrum(server, "s004")
        assert header["has_errors"] is False and np.isnan(curves["sigma"]).all()
        assert np.array_equal(curves["ivar"], (~survey["s004"].bad).astype("f4"))


def test_table_rows_are_plain(server: Running) -> None:
    rows = table_rows(server.inspection.campaign.ranking)
    kinds = {type(value) for row in rows.values() for value in row.values()}
    assert kinds <= {str, int, float}


def test_json_has_no_nan_and_needs_no_encoding() -> None:
    odd = {"a": np.float32("nan"), "b": [np.inf, -np.inf, 1.5], "c": np.array([np.nan, 1]), 1: ("\ud800", np.int64(3))}
    text = as_json(odd | {"d": Label.YES, "e": np.bool_(True), "f": None})
    assert text.isascii()
    assert json.loads(text) == {
        "a": None,
        "b": [None, None, 1.5],
        "c": [None, 1.0],
        "1": ["\ud800", 3],
        "d": "yes",
        "e": True,
        "f": None,
    }


def test_the_page_and_its_files(server: Running) -> None:
    page = server.get("/")
    assert page.status == 200 and page.headers["content-type"] == "text/html; charset=utf-8"
    kinds = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
    folder = Path(__file__).parents[2] / "src" / "rarespec" / "inspector" / "static"
    names = [path.name for path in folder.iterdir() if path.suffix in (".js", ".css")]
    assert names
    for name in names:
        answer = server.get(f"/static/{name}")
        assert answer.body == (folder / name).read_bytes()
        assert answer.headers["content-type"] == kinds[name.rpartition(".")[2]]
