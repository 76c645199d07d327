"""Units of catalogue columns: what a joined catalogue says, or what is usual for a column of this name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rarespec.survey.store.manifest import Manifest

_NAMES = {
    "deg": "ra dec plug_ra plug_dec target_ra target_dec racat deccat fiber_ra fiber_dec plate_ra plate_dec "
    "mean_fiber_ra mean_fiber_dec raobj decobj ra_obs dec_obs raj2000 dej2000",
    "d": "mjd lmjd mjd_final min_mjd max_mjd mean_mjd",
    "s": "exptime coadd_exptime",
    "yr": "ref_epoch coord_epoch",
    "mas": "parallax parallax_error",
    "mas/yr": "pmra pmdec pmra_error pmdec_error",
    "mag": "ebv gaia_g_mag bp_mag rp_mag gaia_phot_g_mean_mag gaia_phot_bp_mean_mag gaia_phot_rp_mean_mag "
    "phot_g_mean_mag phot_bp_mean_mag phot_rp_mean_mag elodie_bv",
    "km/s": "vdisp vdisp_err xcsao_rv xcsao_erv helio_rv",
    "K": "elodie_teff xcsao_teff xcsao_eteff",
    "dex": "elodie_feh xcsao_feh xcsao_efeh",
    "Angstrom": "wavemin wavemax lambda_eff",
    "arcsec": "seeing seeing20 seeing50 seeing80",
    "mm": "xfocal yfocal mean_delta_x mean_delta_y rms_delta_x rms_delta_y",
}
USUAL = {name: unit for unit, names in _NAMES.items() for name in names.split()}
"""Column -> unit, as the data models of SDSS, LAMOST, DESI and Gaia have it; names that mean one thing in all."""


def column_units(manifest: Manifest) -> dict[str, str]:
    """Find the unit of each column of a survey's catalogue; columns without a known unit are left out.

    Positions are in degrees whatever a file says: they were brought to degrees when they were read.
    """
    said: dict[str, object] = {}
    for entry in manifest.provenance:
        units = entry.get("units")
        said |= units if isinstance(units, dict) else {}
    known = USUAL | {name: unit for name, unit in said.items() if isinstance(unit, str) and name not in ("ra", "dec")}
    return {name: known[name] for name in manifest.columns if name in known}
