"""Labels that leave the page, and the count of labels that is kept on the server."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from astropy.table import Table

from inspector.running_inspector import Running, campaign_of, label_of, running
from rarespec.labels.exchange import read_labels
from rarespec.survey import Survey


@pytest.fixture(scope="module")
def server(survey: Survey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(campaign_of(survey, top=150), tmp_path_factory.mktemp("export") / "a.labels.sqlite") as server:
        server.post("/api/labels", label_of("s012", tags=["dC", "CH"], chance=0.25))
        server.post("/api/labels", label_of("s011", "no", comment="=1+1"))
        yield server


@pytest.mark.parametrize(("ending", "form"), [("csv", "ascii.csv"), ("ecsv", "ascii.ecsv"), ("vot", "votable")])
def test_a_file_has_all_that_a_match_needs(server: Running, ending: str, form: str) -> None:
    answer = server.get(f"/api/export?format={ending}&only=yes")
    assert (
        answer.status == 200
        and answer.headers["content-disposition"] == f'attachment; filename="a-yes-labels.{ending}"'
    )
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    table = Table.read(BytesIO(answer.body), format=form)
    assert {"ra", "dec", "z", "class", "subclass", "snr", "rank", "chance", "person", "at"} <= set(table.colnames)
    assert table["id"].tolist() == ["s012"] and table["tags"].tolist() == ["dC,CH"] and table["chance"][0] == 0.25


def test_a_fits_file_comes_back(server: Running, tmp_path: Path) -> None:
    (tmp_path / "a.fits").write_bytes(server.get("/api/export?format=fits").body)
    assert [event.spectrum for event in read_labels(tmp_path / "a.fits").events] == ["s012", "s011"]


def test_labels_are_exported_by_tag_and_listed_with_them(server: Running) -> None:
    assert server.get("/api/export?format=csv&tag=CH").body.count(b"\n") == 2
    listed = {one["id"]: one for one in server.get("/api/candidates?n=1000").json["candidates"]}
    assert listed["s012"]["tags"] == ["dC", "CH"] and listed["s011"]["tags"] == []
    assert server.get("/api/session").json["tags"] == ["dC", "CH"]


@pytest.mark.parametrize(
    "query", ["format=exe", "format=csv&format=fits", "only=maybe", "tag=a;b", "file=/etc/passwd", "format=../csv"]
)
def test_an_odd_request_is_refused(server: Running, query: str) -> None:
    before = server.state()
    assert server.get(f"/api/export?{query}").status == 400
    assert server.state() == before


@pytest.mark.parametrize("tags", ["dC", [1], ["a,b"], [""], ["x" * 21], ["\ud800"], [f"t{i}" for i in range(11)]])
def test_odd_tags_are_refused(server: Running, tags: object) -> None:
    before = server.state()
    assert server.post("/api/labels", label_of("s052", tags=tags)).status == 400
    assert server.state() == before


def test_sending_without_a_hub_is_told(server: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SAMP_HUB", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    answer = server.post("/api/send", {"only": "", "tag": ""})
    assert answer.status == 409 and "no SAMP hub is running" in answer.json["error"]
    assert server.post("/api/send", {"only": "bad"}).json["error"] == "there are no such labels to send"


def test_the_server_counts_what_teaches(survey: Survey, tmp_path: Path) -> None:
    with running(campaign_of(survey), tmp_path / "a.sqlite", relearn_every=3) as server:
        yes = label_of("s012")
        said = [yes, yes, label_of("s012", comment="again"), label_of("s011", "unsure"), label_of("s052", "no")]
        assert not any(server.post("/api/labels", one).json["relearn_due"] for one in said)
        assert not server.get("/api/session").json["relearn_due"]
        undone = server.post("/api/undo", {"event_id": label_of("x")["event_id"]}).json
        assert undone["relearn_due"] and server.get("/api/session").json["relearn_due"]
        assert not server.post("/api/relearn", {}).json["relearn_due"]
        assert not server.post("/api/labels", label_of("s053", "bad")).json["relearn_due"]
