"""specutils objects become stacks."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("specutils", reason="specutils is not installed")

import specutils
from astropy import units as u
from astropy.nddata import InverseVariance, StdDevUncertainty, VarianceUncertainty

from rarespec.formats.specutils_objects import from_specutils
from rarespec.spectrum import DefectError
from rarespec.spectrum.grid import air_to_vacuum

Spectrum = getattr(specutils, "Spectrum", None) or specutils.Spectrum1D  # the name before version 2
WAVELENGTH = np.linspace(4000, 5000, 11)
FLUX = np.arange(1.0, 12)


@pytest.mark.parametrize(
    "uncertainty",
    [
        StdDevUncertainty(np.full(11, 0.5)),
        VarianceUncertainty(np.full(11, 0.25)),
        InverseVariance(np.full(11, 4.0)),
        StdDevUncertainty(np.full(11, 500.0) * u.mJy),
    ],
)
def test_any_uncertainty_becomes_inverse_variance(uncertainty: object) -> None:
    spectrum = Spectrum(flux=FLUX * u.Jy, spectral_axis=WAVELENGTH * u.AA, uncertainty=uncertainty)
    spectra = from_specutils(spectrum, id="star")
    assert spectra.ids == ["star"]
    assert np.array_equal(spectra.flux, FLUX[np.newaxis])
    assert spectra.ivar is not None and np.allclose(spectra.ivar, 4.0, rtol=1e-14)
    assert not spectra.bad.any()


def test_useless_errors_are_bad_pixels() -> None:
    error = np.where(np.arange(11) == 2, 0.0, 1.0)
    spectrum = Spectrum(flux=FLUX * u.Jy, spectral_axis=WAVELENGTH * u.AA, uncertainty=StdDevUncertainty(error))
    assert np.flatnonzero(from_specutils(spectrum).bad[0]).tolist() == [2]


@pytest.mark.parametrize("axis", [WAVELENGTH / 10 * u.nm, (WAVELENGTH[::-1] * u.AA).to(u.THz, u.spectral())])
def test_the_axis_becomes_increasing_angstrom(axis: u.Quantity) -> None:
    flux = FLUX if axis.unit == u.nm else FLUX[::-1]
    spectra = from_specutils(Spectrum(flux=flux * u.Jy, spectral_axis=axis))
    assert np.allclose(spectra.wavelength, WAVELENGTH, rtol=1e-13)
    assert np.array_equal(spectra.flux[0], FLUX)


def test_rows_of_spectra_with_mask_and_metadata() -> None:
    flux = np.stack([FLUX, FLUX + 1, FLUX + 2])
    mask = np.zeros((3, 11), dtype=bool)
    mask[1, 4] = True
    meta = {"class": "STAR", "header": {}, "gaia": 2**53 + 1}
    spectrum = Spectrum(flux=flux * u.Jy, spectral_axis=WAVELENGTH * u.AA, mask=mask, meta=meta)
    spectra = from_specutils(spectrum)
    assert np.array_equal(spectra.flux, flux)
    assert np.array_equal(spectra.bad, mask)
    assert spectra.ivar is None
    assert spectra.ids == [f"spectrum-{i:06d}" for i in range(3)]
    assert spectra.catalogue["class"] == ["STAR"] * 3
    assert spectra.catalogue["gaia"] == [2**53 + 1] * 3
    assert from_specutils(spectrum, id=["a", "b", "c"]).ids == ["a", "b", "c"]


def test_redshift_and_air() -> None:
    spectrum = Spectrum(flux=FLUX * u.Jy, spectral_axis=WAVELENGTH * u.AA, redshift=0.25)
    assert from_specutils(spectrum).catalogue["z"] == [pytest.approx(0.25)]
    assert np.array_equal(from_specutils(spectrum, air=True).wavelength, air_to_vacuum(WAVELENGTH))
    said = Spectrum(flux=FLUX * u.Jy, spectral_axis=WAVELENGTH * u.AA, meta={"header": {"CTYPE1": "AWAV"}})
    assert np.array_equal(from_specutils(said).wavelength, air_to_vacuum(WAVELENGTH))


def test_a_cube_is_refused() -> None:
    cube = Spectrum(flux=np.ones((2, 3, 11)) * u.Jy, spectral_axis=WAVELENGTH * u.AA)
    with pytest.raises(DefectError, match="3 dimensions"):
        from_specutils(cube)
