"""Links to an object: whole addresses, whatever its id and its catalogue say."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarespec.searching.links import BY_POSITION, OWN_PAGES, object_links, own_links, sky_links

SURVEYS = sorted({survey for page in OWN_PAGES for survey in page.surveys})


@given(st.floats(-360, 360), st.floats(-90, 90))
def test_links_are_addresses_of_a_place(ra: float, dec: float) -> None:
    links = sky_links(ra, dec)
    assert list(links) == list(BY_POSITION)
    assert all(address.isascii() and not set(address) & set(" <>\"'") for address in links.values())
    assert f"dec={dec:.6f}" in links["SkyServer"] and f"ra={ra % 360:.6f}" in links["Legacy Survey"]
    for name, field in {"Aladin Lite": "target", "ESASky": "target", "SIMBAD": "Coord", "VizieR": "-c"}.items():
        assert parse_qs(urlsplit(links[name]).query)[field] == [f"{ra % 360:.6f} {dec:+.6f}"]


@pytest.mark.parametrize("place", [(np.nan, 0.0), (0.0, np.inf), (10.0, -9999.0), (-1e20, 5.0)])
def test_what_is_no_place_has_no_links(place: tuple[float, float]) -> None:
    assert sky_links(*place) == {}


@pytest.mark.parametrize(
    ("row", "address"),
    [
        ({"survey": "SDSS", "id": "0355-51788-0579"}, "summary?plate=355&mjd=51788&fiber=579"),
        ({"survey": "BOSS", "id": "10000-57346-0001"}, "summary?plate=10000&mjd=57346&fiber=1"),
        ({"survey": "SDSS-V", "id": "015004-59191-4402835442", "sdss_id": 54321}, "zora/target/54321"),
        ({"survey": "LAMOST", "id": "101001"}, "spectrum/view?obsid=101001"),
        ({"survey": "DESI", "id": "39628483684466824"}, "desi-spectrum/dr1/targetid39628483684466824"),
    ],
)
def test_a_survey_shows_its_own_spectrum(row: dict[str, object], address: str) -> None:
    (link,) = own_links(row).values()
    assert link.startswith("https://") and link.endswith(address)
    assert list(object_links({**row, "ra": 1.0, "dec": 2.0}))[1:] == list(BY_POSITION)


@pytest.mark.parametrize(
    "row",
    [
        {"survey": "mock", "id": "1000-53903-0046"},
        {"survey": "LAMOST", "id": "55859-F5902_sp01-001"},
        {"survey": "SDSS-V", "id": "015004-59191-4402835442"},
        {"survey": None, "id": None},
        {},
    ],
)
def test_others_have_none(row: dict[str, object]) -> None:
    assert object_links(row) == {}


@given(st.sampled_from(SURVEYS), st.text(max_size=40), st.text(max_size=40))
def test_no_id_adds_anything_to_an_address(survey: str, id: str, other: str) -> None:
    for link in own_links({"survey": survey, "id": id, "sdss_id": other}).values():
        assert set(link) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/?.=&-")


@pytest.mark.parametrize("id", ["1&x=1", "1\n", "\u0661\u0662", "1/../2", '1" onclick="', "1#", "-1", "9" * 20])
@pytest.mark.parametrize("survey", SURVEYS)
def test_hostile_ids_have_no_page(survey: str, id: str) -> None:
    assert own_links({"survey": survey, "id": id, "sdss_id": id}) == {}
