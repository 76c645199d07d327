"""Small survey files, written by astropy, in the layouts of the real ones."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
from astropy.io import fits

N_PIXELS = 60
PLATE, MJD, FIBER = 355, 51788, 579
CATALOGID = 63050395075696130
TARGETS = [39633300968442591, 39633297352951412, -1695072, 39633300968442592]


def as_bytes(hdus: fits.HDUList, checksum: bool = False) -> bytes:
    stream = io.BytesIO()
    hdus.writeto(stream, checksum=checksum, output_verify="silentfix")
    return stream.getvalue()


def table(name: str, /, **columns: tuple[str, Any]) -> fits.BinTableHDU:
    """Columns as name=(format, values)."""
    made = [fits.Column(column, form, array=values) for column, (form, values) in columns.items()]
    return fits.BinTableHDU.from_columns(made, name=name or None)


def numbers(n: int = N_PIXELS, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(10, 2, n).astype("f4")


def coadd_columns(upper: bool = False, n: int = N_PIXELS) -> dict[str, tuple[str, Any]]:
    ivar = np.ones(n, "f4")
    ivar[3] = 0
    mask = np.zeros(n, "i4")
    mask[5], mask[6] = 1 << 24, 1 << 4
    columns = {
        "flux": ("E", numbers(n)),
        "loglam": ("E", (3.58 + 1e-4 * np.arange(n)).astype("f4")),
        "ivar": ("E", ivar),
        "and_mask": ("J", mask),
        "or_mask": ("J", mask),
        "wdisp": ("E", ivar),
        "sky": ("E", ivar),
        "model": ("E", numbers(n, 1)),
    }
    return {name.upper(): column for name, column in columns.items()} if upper else columns


def object_columns() -> dict[str, tuple[str, Any]]:
    return {
        "SURVEY": ("6A", ["segue1"]),
        "INSTRUMENT": ("4A", ["SDSS"]),
        "SPECOBJID": ("22A", ["    305127427560990720"]),
        "PLATE": ("J", [PLATE]),
        "MJD": ("J", [MJD]),
        "FIBERID": ("J", [FIBER]),
        "PLUG_RA": ("D", [155.44024]),
        "PLUG_DEC": ("D", [-0.18141384]),
        "CLASS": ("6A", ["STAR"]),
        "SUBCLASS": ("21A", [" F9"]),
        "Z": ("E", [1.25e-5]),
        "Z_ERR": ("E", [np.nan]),
        "THETA": ("10E", [np.arange(10)]),
        "SN_MEDIAN_ALL": ("E", [25.5]),
        "BIG": ("K", [2**62 + 1]),
    }


def sdss_spec(coadd: dict | None = None, row: dict | None = None, **header: Any) -> fits.HDUList:
    primary = fits.PrimaryHDU()
    primary.header.update({"RA": 154.2, "DEC": 0.02, "VACUUM": True, "BUNIT": "1E-17 erg/cm^2/s/Ang", **header})
    return fits.HDUList(
        [
            primary,
            table("COADD", **(coadd or coadd_columns())),
            table("SPECOBJ", **(row or object_columns())),
            table("SPZLINE", LINENAME=("13A", ["Ly_alpha", "CIV"])),
        ]
    )


def sdss_v(spall: bool = True) -> fits.HDUList:
    columns = coadd_columns(upper=True)
    columns["WRESL"] = columns.pop("MODEL")
    primary = fits.PrimaryHDU()
    primary.header.update({"MJD": 59191, "PLATEID": 15004, "FIELDID": "015004"})
    row: dict[str, tuple[str, Any]] = {"FIELD": ("J", [0]), "RACAT": ("D", [3.25]), "DECCAT": ("D", [26.5])}
    row["CATALOGID"] = ("K", [CATALOGID]) if spall else ("19A", [f"  {CATALOGID}"])
    if spall:
        row |= {"FIELD": ("J", [16200]), "MJD": ("J", [59635]), "CLASS": ("6A", ["QSO"]), "Z": ("E", [2.5])}
        row |= {"SN_MEDIAN_ALL": ("E", [7.5])}
    return fits.HDUList([primary, table("COADD", **columns), table("SPALL" if spall else "PLUGMAP", **row)])


def spplate(n: int = 6) -> fits.HDUList:
    flux = np.random.default_rng(1).normal(5, 1, (n, N_PIXELS)).astype("f4")
    primary = fits.PrimaryHDU(flux)
    primary.header.update({"PLATEID": 10123, "MJD": 57000, "CRVAL1": 3.55, "CD1_1": 1e-4, "CRPIX1": 1})
    mask = np.zeros(flux.shape, "i4")
    mask[0, 0] = 1 << 20
    extensions = [fits.ImageHDU(np.ones_like(flux), name="IVAR"), fits.ImageHDU(mask, name="ANDMASK")]
    extensions += [fits.ImageHDU(mask, name="ORMASK"), fits.ImageHDU(np.ones_like(flux), name="WAVEDISP")]
    plugmap = table(
        "PLUGMAP",
        FIBERID=("J", np.arange(1, n + 1)),
        RA=("D", np.linspace(0, 1, n)),
        DEC=("D", np.linspace(2, 3, n)),
        OBJTYPE=("16A", ["SKY"] + ["STAR"] * (n - 1)),
    )
    return fits.HDUList([primary, *extensions, plugmap, fits.ImageHDU(np.ones_like(flux), name="SKY")])


def spspec() -> fits.HDUList:
    sigma = np.full(N_PIXELS, 0.5, "f4")
    sigma[2] = 0
    mask = np.zeros(N_PIXELS, "f4")
    mask[4] = 1 << 22
    primary = fits.PrimaryHDU(np.stack([numbers(), numbers(seed=1), sigma, mask]).astype("f4"))
    primary.header.update({"PLATEID": 266, "MJD": 51602, "FIBERID": 1, "COEFF0": 3.58, "COEFF1": 1e-4})
    primary.header.update({"RAOBJ": 146.5, "DECOBJ": -1.25, "Z": 0.021, "SPEC_CLN": 2, "VACUUM": 1})
    return fits.HDUList([primary])


def lamost_cards(obsid: int | None = 101001) -> dict[str, Any]:
    cards: dict[str, Any] = {"OBSID": obsid} if obsid else {}
    cards |= {"LMJD": 55859, "MJD": 55858, "PLANID": "F5902", "SPID": 1, "FIBERID": 7, "RA": 332.202274, "DEC": -2.05}
    cards |= {"COEFF0": 3.5682, "COEFF1": 0.0001, "CRVAL1": 3.5682, "CD1_1": 0.0001, "DC-FLAG": 1, "VACUUM": True}
    return cards | {"CLASS": "STAR", "SUBCLASS": "G7", "Z": -0.0001387, "SNRG": 12.22, "OBJNAME": "1237679997693591573"}


def lamost_image(obsid: int | None = 101001) -> fits.HDUList:
    andmask = np.zeros(N_PIXELS, "f4")
    andmask[7] = 1
    rows = [numbers(), np.ones(N_PIXELS), np.full(N_PIXELS, 1.0), andmask, andmask]
    primary = fits.PrimaryHDU(np.stack(rows).astype("f4"))
    primary.header.update(lamost_cards(obsid))
    return fits.HDUList([primary])


def lamost_table() -> fits.HDUList:
    primary = fits.PrimaryHDU()
    primary.header.update(lamost_cards())
    form = f"{N_PIXELS}E"
    zeros, ones = np.zeros((1, N_PIXELS)), np.ones((1, N_PIXELS))
    vectors = {"FLUX": numbers()[None], "IVAR": ones, "WAVELENGTH": ones, "ANDMASK": zeros, "ORMASK": zeros}
    return fits.HDUList([primary, table("COADD", **{name: (form, values) for name, values in vectors.items()})])


def desi_fibermap() -> dict[str, tuple[str, Any]]:
    n = len(TARGETS)
    return {
        "TARGETID": ("K", TARGETS),
        "TARGET_RA": ("D", np.linspace(10, 11, n)),
        "TARGET_DEC": ("D", np.linspace(20, 21, n)),
        "OBJTYPE": ("3A", ["TGT", "TGT", "SKY", "TGT"]),
        "COADD_FIBERSTATUS": ("J", [0, 8, 0, 0]),
        "EBV": ("E", [0.1, 0.2, 0.3, np.nan]),
    }


def desi_coadd(fibermap: dict | None = None) -> fits.HDUList:
    """Three cameras of 20 pixels at 0.8 A that share 4 and 5 pixels."""
    rng = np.random.default_rng(2)
    hdus = [fits.PrimaryHDU(), table("FIBERMAP", **(fibermap or desi_fibermap()))]
    for camera, start in (("B", 3600.0), ("R", 3612.8), ("Z", 3624.8)):
        shape = (len(TARGETS), 20)
        mask = np.zeros(shape, "u4")
        mask[0, 1] = 1
        hdus += [
            fits.ImageHDU(start + 0.8 * np.arange(20), name=f"{camera}_WAVELENGTH"),
            fits.ImageHDU(rng.normal(5, 1, shape).astype("f4"), name=f"{camera}_FLUX"),
            fits.ImageHDU(rng.uniform(0.5, 2, shape).astype("f4"), name=f"{camera}_IVAR"),
            fits.ImageHDU(mask, name=f"{camera}_MASK"),
            fits.ImageHDU(np.ones((len(TARGETS), 3, 20), "f4"), name=f"{camera}_RESOLUTION"),
        ]
    return fits.HDUList([*hdus, table("SCORES", TARGETID=("K", TARGETS))])


def redrock(targets: list[int] | None = None) -> fits.HDUList:
    targets = TARGETS[::-1] if targets is None else targets
    n = len(targets)
    redshifts = table(
        "REDSHIFTS",
        TARGETID=("K", targets),
        Z=("D", np.arange(n) / 4),
        ZWARN=("K", [4] * n),
        SPECTYPE=("6A", ["STAR"] * n),
        SUBTYPE=("20A", ["M"] * n),
        COEFF=("10D", np.ones((n, 10))),
    )
    fibermap = table("FIBERMAP", TARGETID=("K", targets), TARGET_RA=("D", np.arange(n)), TARGET_DEC=("D", np.arange(n)))
    return fits.HDUList([fits.PrimaryHDU(), redshifts, fibermap])


def wcs_image(n: int = 1, **cards: Any) -> fits.HDUList:
    flux = np.random.default_rng(3).normal(5, 1, (n, N_PIXELS)).astype("f4")
    primary = fits.PrimaryHDU(flux[0] if n == 1 else flux)
    primary.header.update({"CRVAL1": 4000.0, "CDELT1": 1.5, "CRPIX1": 1, **cards})
    return fits.HDUList([primary])


def generic_pixels() -> fits.HDUList:
    wavelength = np.linspace(400, 500, N_PIXELS)
    hdu = table("", WAVE=("D", wavelength), Flux=("D", numbers()), ERR=("E", np.full(N_PIXELS, 2.0)))
    hdu.columns["WAVE"].unit = "nm"
    return fits.HDUList([fits.PrimaryHDU(), hdu])


def generic_rows(n: int = 4) -> fits.HDUList:
    flux = np.random.default_rng(4).normal(5, 1, (n, N_PIXELS))
    rows = table("SPECTRA", ID=("K", 2**60 + np.arange(n)), FLUX=(f"{N_PIXELS}D", flux), RA=("D", np.arange(n)))
    return fits.HDUList([fits.PrimaryHDU(), rows, fits.ImageHDU(np.linspace(4000, 5000, N_PIXELS), name="WAVELENGTH")])


ALL = {
    "sdss-spec": sdss_spec,
    "sdss-v": sdss_v,
    "sdss-spplate": spplate,
    "sdss-spspec": spspec,
    "lamost-image": lamost_image,
    "lamost-table": lamost_table,
    "desi-coadd": desi_coadd,
    "fits-table": generic_pixels,
    "fits-wcs1d": wcs_image,
}
"""Name of a reader -> a small file for it."""


def write(path: Path, hdus: fits.HDUList, checksum: bool = False) -> Path:
    content = as_bytes(hdus, checksum)
    path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)
    return path
