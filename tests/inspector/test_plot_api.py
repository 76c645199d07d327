"""What the drawing asks for: overlays, other spectra of the same object, redshifts that are kept."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from inspector.running_inspector import Running, campaign_of, running
from rarespec.features import PaperFeatures
from rarespec.inspector.same_object import MOST, SameObject
from rarespec.labels.campaign import Campaign
from rarespec.labels.redshifts import RedshiftLog
from rarespec.mock.templates import template_named
from rarespec.survey import Survey
from search_rankings import N, spectra_with_bands, survey_with_bands


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The last eight spectra are of one object, and s050 and s051 have the same id of their object."""
    folder = tmp_path_factory.mktemp("plot")
    ra = [150.0 + 1e-5 * (i - N + 8) if i >= N - 8 else float(i) for i in range(N)]
    dec = [2.0 if i >= N - 8 else float(i / 3) - 45 for i in range(N)]
    targets = [77 if i in (50, 51) else 0 for i in range(N)]
    survey = survey_with_bands(folder / "a.survey", ra=ra, dec=dec, TARGETID=targets, z=[0.25] * N)
    with running(campaign_of(survey), folder / "labels.sqlite") as server:
        yield server


def overlay(server: Running, query: str) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    body = server.get(f"/api/overlay?{query}").body
    (length,) = struct.unpack("<I", body[:4])
    header = json.loads(body[4 : 4 + length])
    curves = np.frombuffer(body, "<f4", offset=4 + length).reshape(2, header["n"])
    assert header["arrays"] == ["wavelength", "flux"]
    return header, curves[0], curves[1]


def test_a_spectrum_of_the_survey_is_given_as_it_was_observed(server: Running) -> None:
    survey = server.inspection.survey
    header, wavelength, flux = overlay(server, "id=s100")
    assert header["z"] == 0.25 and header["note"] == "" and header["offset_is_free"] is False
    np.testing.assert_allclose(wavelength, survey.grid.wavelength, rtol=1e-6)
    one = survey["s100"]
    assert np.array_equal(np.isnan(flux), one.bad) and np.nanmedian(flux) == pytest.approx(np.median(one.flux), abs=0.1)


def test_a_template_is_given_at_rest(server: Running) -> None:
    header, wavelength, flux = overlay(server, "template=star-forming%20galaxy")
    template = template_named("star-forming galaxy")
    np.testing.assert_allclose(wavelength, template.wavelength, rtol=1e-6)
    assert np.array_equal(flux, template.flux) and header["z"] == 0


@pytest.mark.parametrize("query", ["", "id=s001&id=s002", "id=s001&template=A", "other=1"])
def test_one_overlay_at_a_time(server: Running, query: str) -> None:
    assert server.get(f"/api/overlay?{query}").status == 400


@pytest.mark.parametrize("query", ["id=nobody", "template=nothing", f"template={quote('<b>')}", "id="])
def test_what_is_not_there_is_refused(server: Running, query: str) -> None:
    assert server.get(f"/api/overlay?{query}").status == 404


def test_known_examples_from_elsewhere_can_be_laid_over(tmp_path: Path) -> None:
    survey = survey_with_bands(tmp_path / "a.survey")
    given = spectra_with_bands(3)
    campaign = Campaign.start(survey, given, "matched_filter", 10, recipe=PaperFeatures(n_components=10))
    with running(campaign, tmp_path / "labels.sqlite") as server:
        header, _, flux = overlay(server, f"id={given.ids[0]}")
    good = np.isfinite(flux)
    assert header["note"] == "" and np.corrcoef(flux[good], given.flux[0][good])[0, 1] > 0.8


# ---- The same object.


def test_other_spectra_of_the_same_object(server: Running) -> None:
    told = server.get("/api/same-object?id=s192").json
    assert told["n"] == 7 and told["note"] == "" and len(told["others"]) == MOST
    assert [one["id"] for one in told["others"]] == [f"s{i}" for i in range(193, 193 + MOST)]
    assert told["others"][0]["arcsec"] == pytest.approx(0.036, abs=1e-3) and told["others"][0]["class"] == "M"
    assert server.get("/api/same-object?id=s100").json["n"] == 0
    by_id = server.get("/api/same-object?id=s050").json["others"]
    assert [(one["id"], one["arcsec"]) for one in by_id] == [("s051", None)]
    assert server.get("/api/same-object?id=nobody").status == 404
    assert server.get("/api/same-object").status == server.get("/api/same-object?id=s001&id=s002").status == 400


def test_without_positions_it_says_so(tmp_path: Path) -> None:
    survey = survey_with_bands(tmp_path / "a.survey", ra=[None] * N)
    told = SameObject(survey).others(3)
    assert (
        told["others"] == [] and told["note"] == "the spectra of this survey have no position and no id of the object"
    )
    some = survey_with_bands(tmp_path / "b.survey", ra=[None] * 4 + [1.0] * (N - 4))
    assert SameObject(some).others(3)["note"] == "this spectrum has no position and no id of the object"


# ---- Redshifts.


def test_a_redshift_is_kept_for_its_person_alone(tmp_path: Path, survey: Survey) -> None:
    for blind in (False, True):
        with running(campaign_of(survey), tmp_path / "labels.sqlite", "Ada", blind=blind) as server:
            assert server.post("/api/redshift", {"id": "s012", "z": 0.5}).json == {"id": "s012", "z": 0.5}
            assert server.get("/api/session").json["redshifts"] == {"s012": 0.5}
        with running(campaign_of(survey), tmp_path / "labels.sqlite", "Grace", blind=blind) as server:
            assert server.get("/api/session").json["redshifts"] == {}
    with RedshiftLog(tmp_path / "labels.redshifts.sqlite") as log:
        assert log.of("Ada") == {"s012": 0.5}
    with running(campaign_of(survey), tmp_path / "labels.sqlite", "Ada") as server:
        assert server.post("/api/redshift", {"id": "s012", "z": None}).status == 200
        assert server.get("/api/session").json["redshifts"] == {}


WRONG: tuple[tuple[Any, int], ...] = (
    ({"id": "s012", "z": -1}, 400),
    ({"id": "s012", "z": 1000}, 400),
    ({"id": "s012", "z": "0.1"}, 400),
    ({"id": "s012", "z": True}, 400),
    ({"id": "s012", "z": [1]}, 400),
    ({"id": 12, "z": 0.1}, 400),
    ({"z": 0.1}, 400),
    ({"id": "s012", "z": 0.1, "person": "Grace"}, 400),
    ({"id": "nobody", "z": 0.1}, 404),
    (b'{"id": "s012", "z": NaN}', 400),
    (b'{"id": "s012", "z": 1, "z": 2}', 400),
)


@pytest.mark.parametrize(("body", "status"), WRONG)
def test_what_is_no_redshift_is_refused(server: Running, body: Any, status: int) -> None:
    before = server.state()
    assert server.post("/api/redshift", body).status == status
    assert server.state() == before
