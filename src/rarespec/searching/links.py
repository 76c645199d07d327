"""Where on the web to look at an object: the page of its own spectrum, and what others know of its position."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from rarespec.searching.crossmatch import is_position

# ---- Services that show a position. {ra} and {dec} are degrees, {place} is both of them, quoted for an address.


BY_POSITION = {
    "SkyServer": "https://skyserver.sdss.org/dr18/VisualTools/navi?ra={ra}&dec={dec}&scale=0.2",
    "Legacy Survey": "https://www.legacysurvey.org/viewer?ra={ra}&dec={dec}&layer=ls-dr10&zoom=15&mark={ra},{dec}",
    "Aladin Lite": "https://aladin.cds.unistra.fr/AladinLite/?target={place}&fov=0.05",
    "ESASky": "https://sky.esa.int/?target={place}&hips=DSS2%20color&fov=0.05&cooframe=J2000&sci=true&lang=en",
    "SIMBAD": "https://simbad.cds.unistra.fr/simbad/sim-coo?Coord={place}&CooFrame=ICRS&Radius=5&Radius.unit=arcsec",
    "VizieR": "https://vizier.cds.unistra.fr/viz-bin/VizieR-4?-c={place}&-c.rs=5",
    "Gaia DR3": "https://vizier.cds.unistra.fr/viz-bin/VizieR-4?-source=I/355/gaiadr3&-c={place}&-c.rs=5",
}


def sky_links(ra: float, dec: float) -> dict[str, str]:
    """Name of a service -> address of its page for this position, degrees; none for what is no position."""
    if not is_position(np.array(ra), np.array(dec)):
        return {}
    ra = ra % 360
    place = quote(f"{ra:.6f} {dec:+.6f}", safe="")
    return {name: page.format(ra=f"{ra:.6f}", dec=f"{dec:.6f}", place=place) for name, page in BY_POSITION.items()}


# ---- Surveys that show a spectrum of their own by its number.


class OwnPage(NamedTuple):
    """The page of a survey for one of its spectra.

    surveys : what the column `survey` may say
    column : where its number is
    looks : what the number looks like; the address takes its groups, which are digits and nothing else
    """

    name: str
    surveys: frozenset[str]
    column: str
    looks: re.Pattern[str]
    address: str


PLATE_MJD_FIBER = re.compile(r"0*([0-9]{1,5})-([0-9]{5})-0*([0-9]{1,4})")
NUMBER = re.compile(r"([0-9]{1,19})")

OWN_PAGES = (
    OwnPage(
        "SDSS explorer",
        frozenset({"SDSS", "BOSS", "eBOSS"}),
        "id",
        PLATE_MJD_FIBER,
        "https://skyserver.sdss.org/dr18/VisualTools/explore/summary?plate={0}&mjd={1}&fiber={2}",
    ),
    OwnPage("SDSS Zora", frozenset({"SDSS-V"}), "sdss_id", NUMBER, "https://dr19.sdss.org/zora/target/{0}"),
    OwnPage("LAMOST", frozenset({"LAMOST"}), "id", NUMBER, "https://www.lamost.org/dr10/v2.0/spectrum/view?obsid={0}"),
    OwnPage(
        "DESI spectrum",
        frozenset({"DESI"}),
        "id",
        NUMBER,
        "https://www.legacysurvey.org/viewer/desi-spectrum/dr1/targetid{0}",
    ),
)


def own_links(catalogue: Mapping[str, Any]) -> dict[str, str]:
    """Name of a page -> its address, for a spectrum that its own survey shows on the web."""
    pages = (page for page in OWN_PAGES if catalogue.get("survey") in page.surveys)
    found = ((page, page.looks.fullmatch(str(catalogue.get(page.column, "")))) for page in pages)
    return {page.name: page.address.format(*match.groups()) for page, match in found if match}


def object_links(catalogue: Mapping[str, Any]) -> dict[str, str]:
    """Collect the pages for one row of a catalogue: those of its survey first, then those of its position."""
    ra, dec = catalogue.get("ra"), catalogue.get("dec")
    return own_links(catalogue) | (sky_links(float(ra), float(dec)) if ra is not None and dec is not None else {})
