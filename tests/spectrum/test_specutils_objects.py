"""To specutils and back: the same spectra."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import rarespec as rs
from conftest import SMALL_GRID, make_spectra
from rarespec.spectrum import Spectra

pytest.importorskip("specutils")


def same(one: Spectra, other: Spectra) -> None:
    np.testing.assert_allclose(one.wavelength, other.wavelength, rtol=1e-12)
    np.testing.assert_array_equal(one.bad, other.bad)
    np.testing.assert_allclose(one.flux[~one.bad], other.flux[~other.bad], rtol=1e-6)
    assert one.ivar is not None and other.ivar is not None
    np.testing.assert_allclose(one.ivar, other.ivar, rtol=1e-6)
    for name, values in one.catalogue.items():
        assert other.catalogue[name] == values


def test_one_spectrum_there_and_back() -> None:
    spectra = make_spectra(1, SMALL_GRID, **{"class": ["STAR"], "snr": [7.5]})
    there = spectra[0].to_specutils("1e-17 erg / (s cm2 AA)")
    assert there.flux.shape == (SMALL_GRID.n_pixels,) and there.flux.unit.is_equivalent("W / (m2 um)")
    assert there.meta["id"] == "s00000" and there.meta["snr"] == 7.5
    same(spectra, rs.from_specutils(there))


def test_a_stack_there_and_back() -> None:
    spectra = make_spectra(4, SMALL_GRID, **{"class": ["STAR", None, "QSO", "STAR"]})
    there = spectra.to_specutils()
    assert there.flux.shape == (4, SMALL_GRID.n_pixels)
    same(spectra, rs.from_specutils(there))


def test_errors_that_are_not_known_stay_so() -> None:
    spectra = make_spectra(2, SMALL_GRID)
    without = Spectra(spectra.wavelength, spectra.flux, None, spectra.bad, spectra.catalogue)
    assert without.to_specutils().uncertainty is None and without[1].to_specutils().uncertainty is None


def test_what_is_done_with_it_does_not_reach_back() -> None:
    spectra = make_spectra(1, SMALL_GRID)
    flux, bad = spectra.flux.copy(), spectra.bad.copy()
    there = spectra[0].to_specutils()
    there.flux.value[:] = 0
    there.mask[:] = True
    assert np.array_equal(spectra.flux, flux) and np.array_equal(spectra.bad, bad)


def test_without_specutils_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['specutils'] = None; import numpy as np\n"
        "from rarespec import Spectrum\n"
        "one = Spectrum('a', np.arange(3.0), np.ones(3), None, np.zeros(3, bool))\n"
        "try: one.to_specutils()\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "rarespec[specutils]" in done.stdout
