"""Small files of surveys and instruments, built from their published data models; no original was at hand.

Each function takes spectra on the wavelengths below, or on the first of them, and gives the HDUs of a file.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from astropy.io import fits
from astropy.table import Table
from numpy.typing import NDArray

from formats.small_fits import table
from rarespec.spectrum import Spectra
from rarespec.spectrum.grid import air_to_vacuum

# --- wavelengths, vacuum Angstrom as they are read


def linear(start: float, step: float, n: int = 600) -> NDArray[np.float64]:
    return start + step * np.arange(n)


START = {"6df": 3932.253, "galah": 4713.0, "weave": 5800.0, "muse": 4750.0}
STEP = {"6df": 1.633849, "galah": 0.046, "weave": 0.5, "muse": 1.25}
IN_AIR = {name: air_to_vacuum(linear(START[name], STEP[name])) for name in START}
MANGA_WAVELENGTH = 10 ** (3.5589 + 1e-4 * np.arange(600))
FOUR_MOST_WAVELENGTH = linear(3700.0, 0.25)
GAIA_WAVELENGTH = linear(3360.0, 20.0, 343)
BLUE = 10 ** (np.log10(4950.0) + 1e-5 * np.arange(300))
RED = 10 ** (np.log10(6300.0) + 1e-5 * np.arange(300))
GAP = np.array([2 * BLUE[-1] - BLUE[-2], 2 * RED[0] - RED[1]])
MEDIUM_WAVELENGTH = np.concatenate([BLUE, GAP, RED])
"""The bad pixels at the ends of the gap are not in the file."""
ERG = "erg/(s*cm^2*Angstrom)"


def wcs(layout: str, **more: Any) -> dict[str, Any]:
    return {"CRVAL1": START[layout], "CDELT1": STEP[layout], "CRPIX1": 1.0, **more}


def sky() -> dict[str, Any]:
    """Half an arcsecond for each pixel, north up; the pixel 1, 1 lies at 150.1, 2.2."""
    step = 0.5 / 3600
    cards = {"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRVAL1": 150.1, "CRVAL2": 2.2, "CRPIX1": 1.0, "CRPIX2": 1.0}
    return cards | {"CD1_1": -step, "CD1_2": 0.0, "CD2_1": 0.0, "CD2_2": step}


def ivar_of(spectra: Spectra) -> NDArray[Any]:
    assert spectra.ivar is not None
    return spectra.ivar


# --- LAMOST medium resolution


def arm_tables(spectra: Spectra, row: int, names: tuple[str, str], by_vectors: bool) -> list[fits.BinTableHDU]:
    parts = [slice(0, len(BLUE)), slice(len(BLUE) + len(GAP), None)]
    tables = []
    for name, part in zip(names, parts, strict=True):
        wavelength = spectra.wavelength[part]
        if len(wavelength) < 2:
            continue
        bad = spectra.bad[row, part].astype("i2")
        columns = {"FLUX": ("E", spectra.flux[row, part]), "IVAR": ("E", ivar_of(spectra)[row, part])}
        masks = ("ANDMASK", "ORMASK") if name.startswith("COADD") else ("PIXMASK",)
        columns |= dict.fromkeys(masks, ("I", bad))
        if by_vectors:
            columns["WAVELENGTH"] = ("D", wavelength)
            columns = {key: (f"{len(wavelength)}{form}", values[None]) for key, (form, values) in columns.items()}
        else:
            columns["LOGLAM"] = ("D", np.log10(wavelength))
        hdu = table(name, **columns)
        hdu.header["SNR"] = 40.5
        tables.append(hdu)
    return tables


def lamost_medium(spectra: Spectra, by_vectors: bool = True, coadds: bool = True) -> fits.HDUList:
    """The coadd of the first spectrum, and each spectrum as an exposure."""
    primary = fits.PrimaryHDU()
    primary.header.update({"OBSID": 600813205, "LMJD": 58149, "PLANID": "NT081N39V01", "SPID": 3, "FIBERID": 205})
    primary.header.update({"RA": 120.5, "DEC": 39.25, "VACUUM": True, "OBJNAME": "J080200.0+391500.0"})
    hdus = arm_tables(spectra, 0, ("COADD_B", "COADD_R"), by_vectors) if coadds else []
    for row in range(len(spectra)):
        number = 83732000 + 10 * row
        hdus += arm_tables(spectra, row, (f"B-{number}", f"R-{number}"), by_vectors)
    return fits.HDUList([primary, *hdus])


# --- 6dF, GALAH


def sixdf_cards() -> dict[str, Any]:
    cards = {"OBSRA": 10.5, "OBSDEC": -30.25, "Z": 0.0501, "Z_HELIO": 0.05, "QUALITY": 4}
    return cards | wcs("6df", CTYPE1="LINEAR", CUNIT1="Angstroms")


def sixdf_rows(spectra: Spectra, n_rows: int) -> NDArray[Any]:
    ivar = ivar_of(spectra)[0]
    variance = np.divide(1, ivar, out=np.zeros_like(ivar), where=ivar > 0)
    rows = [spectra.flux[0], variance, np.ones_like(ivar), spectra.wavelength]
    return np.stack(rows[:n_rows]).astype("f4")


def sixdf(spectra: Spectra, n_observations: int = 1) -> fits.HDUList:
    """The file of a target: five thumbnails, then V, R and VR of each observation."""
    thumbnail = np.ones((4, 4), "f4")
    hdus: list[Any] = [fits.PrimaryHDU(thumbnail), *(fits.ImageHDU(thumbnail) for _ in range(4))]
    for hdu in hdus:
        hdu.header.update(sky())
    hdus[0].header["TARGET"] = "g0042000-301500"
    for _ in range(n_observations):
        for name, n_rows in (("SPECTRUM V", 3), ("SPECTRUM R", 3), ("SPECTRUM VR", 4)):
            hdu = fits.ImageHDU(sixdf_rows(spectra, n_rows), name=name)
            hdu.header.update(sixdf_cards())
            hdus.append(hdu)
    return fits.HDUList(hdus)


def galah(spectra: Spectra, relative: bool = True) -> fits.HDUList:
    """DR3, or the older layout with absolute errors."""
    flux, ivar = spectra.flux[0], ivar_of(spectra)[0]
    error = np.divide(1, np.sqrt(ivar), out=np.zeros_like(ivar), where=ivar > 0)
    primary = fits.PrimaryHDU(flux)
    primary.header.update({"ORIGIN": "GALAH", "RA": 30.5, "DEC": -40.5, "FIBRE": 205} | wcs("galah"))
    images = {"input_sigma": error / flux if relative else error}
    names = ("no_sky_spectrum", "no_sky_sigma", "normalised_spectrum")
    images |= dict.fromkeys(names if relative else ("normalised_spectrum", "normalised_sigma", "CCF"), flux)
    return fits.HDUList([primary, *(fits.ImageHDU(image, name=name) for name, image in images.items())])


# --- WEAVE, 4MOST


def weave(spectra: Spectra, sensitivity: float = 1e-17, prefix: str = "RED_") -> fits.HDUList:
    """Counts of each spectrum, then of a fibre on the sky."""
    n, p = spectra.flux.shape
    counts = np.vstack([spectra.flux / (sensitivity * 1e17), np.ones((1, p))]).astype("f4")
    ivar = np.vstack([ivar_of(spectra) * (sensitivity * 1e17) ** 2, np.ones((1, p))]).astype("f4")
    data = "DATA" if prefix else "FLUX"
    images = {data: counts, "IVAR": ivar, f"{data}_NOSS": counts + 1, "IVAR_NOSS": ivar}
    images["SENSFUNC"] = np.full_like(counts, sensitivity)
    hdus = [fits.ImageHDU(image, name=f"{prefix}{name}") for name, image in images.items()]
    for hdu in hdus:
        hdu.header.update(wcs("weave", CTYPE1="AWAV", CUNIT1="Angstrom"))
    fibres = table(
        "FIBTABLE",
        FIBREID=("J", np.arange(1, n + 2)),
        CNAME=("20A", [f"WVE_1046180{row}+5755400" for row in range(n)] + [""]),
        TARGUSE=("1A", ["T"] * n + ["S"]),
        TARGRA=("D", np.linspace(10, 11, n + 1)),
        TARGDEC=("D", np.linspace(20, 21, n + 1)),
    )
    primary = fits.PrimaryHDU()
    primary.header.update({"RUN": 1002081, "CAMERA": "WEAVERED", "OBSMODE": "MOS"})
    return fits.HDUList([primary, *hdus, fibres])


def four_most(spectra: Spectra, unit: str = ERG, error: str = "ERR_FLUX") -> fits.HDUList:
    scale = 1e-17 if "erg" in unit else 1.0
    ivar = ivar_of(spectra)[0].astype("f8")
    sigma = np.divide(1, np.sqrt(ivar), out=np.full_like(ivar, np.nan), where=ivar > 0)
    flux, form = spectra.flux[0].astype("f8") * scale, f"{spectra.flux.shape[1]}E"
    errors = sigma * scale if error == "ERR_FLUX" else ivar
    vectors = {"WAVE": spectra.wavelength, "FLUX": flux, error: errors, "QUAL": spectra.bad[0].astype("f4")}
    vectors |= {"FLUX_NOSS": flux, "ERR_FLUX_NOSS": errors}
    hdu = table("PHASE3SPECTRUM", **{name: (form, values[None]) for name, values in vectors.items()})
    for number, name in enumerate(vectors, 1):
        hdu.header[f"TUNIT{number}"] = "Angstrom" if name == "WAVE" else unit
    hdu.header["TUCD1"] = "em.wl"
    primary = fits.PrimaryHDU()
    primary.header.update({"RA": 12.5, "DEC": -35.0, "SNR": 20.5, "CNAME": "00500000-3500000", "SPECUID": 77010203})
    return fits.HDUList([primary, hdu])


# --- cubes: the spectra in the first spaxels of two rows, the others empty


def in_cube(rows: NDArray[Any], fill: float) -> NDArray[Any]:
    n, p = rows.shape
    spaxels = np.full((p, 2 * -(-(n + 1) // 2)), fill, rows.dtype)
    spaxels[:, :n] = rows.T
    return spaxels.reshape(p, 2, -1)


def manga(spectra: Spectra) -> fits.HDUList:
    primary = fits.PrimaryHDU()
    primary.header.update({"PLATEIFU": "8485-1901", "MANGAID": "1-209232", "TELESCOP": "SDSS 2.5-M"})
    mask = in_cube(np.where(spectra.bad, 1 << 10, 0).astype("i4"), 1)
    mask[0, 0, 0] |= 1 << 3  # a foreground star: good
    images = {"FLUX": in_cube(spectra.flux, 0), "IVAR": in_cube(ivar_of(spectra), 0), "MASK": mask}
    hdus = [fits.ImageHDU(image, name=name) for name, image in images.items()]
    for hdu in hdus:
        hdu.header.update(sky() | {"CTYPE3": "WAVE-LOG", "CUNIT3": "Angstrom"})
    return fits.HDUList([primary, *hdus, fits.ImageHDU(spectra.wavelength, name="WAVE")])


def muse(spectra: Spectra) -> fits.HDUList:
    ivar = ivar_of(spectra)
    variance = np.divide(1, ivar, out=np.full_like(ivar, np.nan), where=ivar > 0)
    primary = fits.PrimaryHDU()
    primary.header["OBJECT"] = "NGC 1068"
    images = {"DATA": in_cube(spectra.flux, np.nan), "STAT": in_cube(variance, np.nan)}
    hdus = [fits.ImageHDU(image, name=name) for name, image in images.items()]
    for hdu in hdus:
        hdu.header.update(sky() | {"CTYPE3": "AWAV", "CUNIT3": "Angstrom", "CRPIX3": 1.0})
        hdu.header.update({"CRVAL3": START["muse"], "CD3_3": STEP["muse"]})
    return fits.HDUList([primary, *hdus])


# --- Gaia


def gaia_columns(spectra: Spectra, flux: str = "flux") -> dict[str, Any]:
    """W/m2/nm, as the archive has it."""
    ivar = ivar_of(spectra).astype("f8")
    error = np.divide(1, np.sqrt(ivar), out=np.full_like(ivar, np.nan), where=ivar > 0)
    ids = 5_853_498_713_190_525_696 + np.arange(len(spectra))
    scalars = {"source_id": ids, "ra": np.linspace(1, 2, len(ids))}
    return scalars | {flux: spectra.flux * 1e-19, "flux_error": error * 1e-19}


def gaia_sampling(spectra: Spectra) -> str | None:
    """What the file must say: nothing about the usual wavelengths."""
    nanometres = spectra.wavelength / 10
    return None if len(nanometres) == len(GAIA_WAVELENGTH) else str(tuple(nanometres.tolist()))


def gaia_fits(spectra: Spectra, flux: str = "flux") -> fits.HDUList:
    hdu = fits.BinTableHDU(Table(gaia_columns(spectra, flux)))
    if sampling := gaia_sampling(spectra):
        hdu.header["SAMPLING"] = sampling
    return fits.HDUList([fits.PrimaryHDU(), hdu])


def gaia_csv(spectra: Spectra, flux: str = "flux", brackets: str = "()") -> str:
    columns = gaia_columns(spectra, flux)
    sampling = gaia_sampling(spectra)
    lines = [f"# sampling: {sampling}"] if sampling else []
    lines.append(",".join(columns))
    for row in zip(*columns.values(), strict=True):
        arrays = (", ".join(map(repr, value.tolist())) for value in row if np.ndim(value))
        cells = [f'"{brackets[0]}{array}{brackets[1]}"' for array in arrays]
        lines.append(",".join([*(str(value) for value in row if not np.ndim(value)), *cells]))
    return "\n".join(lines).replace("nan", "NaN") + "\n"
