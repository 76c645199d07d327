"""Where on the web to look at a position: images of the sky, and what is known of the object."""

from __future__ import annotations

from urllib.parse import quote

import numpy as np

from rarespec.searching.crossmatch import is_position


def sky_links(ra: float, dec: float) -> dict[str, str]:
    """Name of a service -> address of its page for this position, degrees; none for what is no position."""
    if not is_position(np.array(ra), np.array(dec)):
        return {}
    ra = ra % 360
    at = f"ra={ra:.6f}&dec={dec:.6f}"
    place = quote(f"{ra:.6f} {dec:+.6f}", safe="")
    return {
        "SkyServer": f"https://skyserver.sdss.org/dr18/VisualTools/navi?{at}&scale=0.2",
        "Legacy Survey": f"https://www.legacysurvey.org/viewer?{at}&layer=ls-dr10&zoom=15&mark={ra:.6f},{dec:.6f}",
        "SIMBAD": f"https://simbad.cds.unistra.fr/simbad/sim-coo?Coord={place}&CooFrame=ICRS&Radius=5&Radius.unit=arcsec",
    }
