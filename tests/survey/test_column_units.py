"""Units of catalogue columns: from joined catalogues of any format, or by their names."""

from dataclasses import replace

import numpy as np
import pytest
from astropy.table import Table

from conftest import make_spectra
from rarespec.survey import Survey
from rarespec.survey.column_units import USUAL, column_units
from rarespec.survey.ingest.reading import IngestOptions
from rarespec.survey.ingest.run import run_ingest

FORMATS = {"fits": "fits", "vot": "votable", "ecsv": "ascii.ecsv"}


def catalogue(ids, path, unit="mJy"):
    table = Table({"id": ids, "ra": [np.pi] * len(ids), "dec": [1.0] * len(ids), "w1": [1.5] * len(ids)})
    table["ra"].unit, table["w1"].unit = "rad", unit
    table["mjd"], table["note"] = 59000.5, "plain"
    table.write(path, format=FORMATS[path.suffix[1:]])
    return path


def joined_survey(tmp_path, *catalogues):
    return run_ingest([tmp_path / "a.npz"], tmp_path / "a.survey", IngestOptions(), join=catalogues)[0]


@pytest.fixture
def ids(tmp_path):
    spectra = make_spectra(3)
    np.savez(tmp_path / "a.npz", flux=spectra.flux, ivar=spectra.ivar, wavelength=spectra.wavelength, id=spectra.ids)
    return spectra.ids


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_joined_catalogue_gives_its_units(ids, tmp_path, suffix):
    survey = joined_survey(tmp_path, catalogue(ids, tmp_path / f"c.{suffix}"))
    assert survey.catalogue["ra"].tolist() == [180.0] * 3  # degrees, whatever the file had
    assert survey.units == {"ra": "deg", "dec": "deg", "w1": "mJy", "mjd": "d"}
    assert Survey.open(survey.path).units == survey.units
    assert survey.verify().sound


def test_two_catalogues_that_disagree_give_none(ids, tmp_path):
    first, second = catalogue(ids, tmp_path / "c.fits"), catalogue(ids, tmp_path / "d.fits", unit="Jy")
    assert "w1" not in joined_survey(tmp_path, first, second).units


def test_a_unit_that_is_none_is_kept_short_and_printable(ids, tmp_path):
    unit = joined_survey(tmp_path, catalogue(ids, tmp_path / "c.vot", unit="a\x9bb " + "x" * 500)).units["w1"]
    assert unit.isprintable() and len(unit) <= 40


@pytest.mark.parametrize("units", ["deg", ["deg"], {"id": 3}, {"id": ["m"]}, None])
def test_a_forged_history_gives_no_units(ids, tmp_path, units):
    manifest = joined_survey(tmp_path).manifest
    assert "id" not in column_units(replace(manifest, provenance=({"units": units},)))


def test_usual_units_are_units():
    from astropy.units import Unit

    assert {str(Unit(unit)).replace(" ", "") for unit in USUAL.values()} == set(USUAL.values())
