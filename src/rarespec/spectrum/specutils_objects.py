"""Spectra as `specutils` objects, for those who go on with the tools of astropy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rarespec.spectrum.spectra import Spectra, Spectrum

if TYPE_CHECKING:
    import specutils


def specutils_of(spectra: Spectrum | Spectra, unit: Any = "") -> specutils.Spectrum:
    """Flux (p,) or (n, p) in `unit`, inverse variance as uncertainty, bad pixels as mask, the catalogue as `meta`.

    An ivar of 0 stays 0: nothing is known of such a pixel, and it is masked. The redshift is `meta["z"]` and not that
    of the object, since only the survey knows whether its wavelengths are at rest already.
    """
    from astropy import units as u
    from astropy.nddata import InverseVariance

    flux_unit = u.Unit(unit)
    errors = None if spectra.ivar is None else InverseVariance(spectra.ivar, unit=flux_unit**-2)
    return _spectrum_class()(
        flux=spectra.flux * flux_unit,
        spectral_axis=spectra.wavelength * u.AA,
        uncertainty=errors,
        mask=spectra.bad.copy(),
        meta=_meta(spectra),
    )


def _meta(spectra: Spectrum | Spectra) -> dict[str, Any]:
    own = {"id": spectra.id} if isinstance(spectra, Spectrum) else {"id": list(spectra.ids)}
    return dict(spectra.catalogue) | own


def _spectrum_class() -> Any:
    """Version 2 of specutils renamed it."""
    try:
        import specutils
    except ImportError as error:
        raise ImportError("specutils is needed for this: pip install 'rarespec[specutils]'") from error
    return getattr(specutils, "Spectrum", None) or specutils.Spectrum1D
