"""Small HATS catalogues of mock spectra, in the layouts of the Multimodal Universe and of LSDB's import of DESI."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from rarespec.spectrum import Spectra

PADDING = 6
"""Pixels at the end of every other spectrum that hold nothing, as the Multimodal Universe has them."""
LISTS = [(name, pa.list_(pa.float32())) for name in ("flux", "ivar", "lsf_sigma")]
SPECTRUM = pa.struct([*LISTS, ("lambda", pa.list_(pa.float64())), ("mask", pa.list_(pa.bool_()))])


def write_catalogue(spectra: Spectra, path: Path, partition_rows: int = 80) -> Path:
    """These spectra as a HATS catalogue of several partitions."""
    return write_frame(frame_of(spectra), path, partition_rows)


def write_frame(frame: pd.DataFrame, path: Path, partition_rows: int = 80, prefix: str = "") -> Path:
    """The rows of this frame as a HATS catalogue of several partitions; their places are PREFIXra and PREFIXdec."""
    import lsdb

    ra, dec = (f"{prefix}ra", f"{prefix}dec") if not prefix.isupper() else (f"{prefix}RA", f"{prefix}DEC")
    catalogue = lsdb.from_dataframe(
        frame,
        ra_column=ra,
        dec_column=dec,
        partition_rows=partition_rows,
        catalog_name="sky",
        margin_threshold=None,
    )
    catalogue.write_catalog(path, catalog_name="sky", progress_bar=False, as_collection=False)
    return path


# ---- DESI as LSDB nests it (astronomy-commons/lsdb issue 1260): the rows of coadd files, a nested column for each arm.


ARMS = ("B", "R", "Z")


def frame_of_coadds(coadds: list[Path]) -> Any:
    """All rows of these DESI files, sky fibres too: TARGETID, TARGET_RA, ..., spectra_b, spectra_r, spectra_z."""
    return pd.concat([_frame_of_coadd(path) for path in coadds], ignore_index=True)


def _frame_of_coadd(path: Path) -> Any:
    import nested_pandas as npd
    from astropy.io import fits
    from astropy.table import Table

    with fits.open(path) as coadd, fits.open(path.with_name(path.name.replace("coadd-", "redrock-"))) as redrock:
        fibres = Table(coadd["FIBERMAP"].data)["TARGETID", "TARGET_RA", "TARGET_DEC", "OBJTYPE", "COADD_FIBERSTATUS"]
        redshifts = Table(redrock["REDSHIFTS"].data)["TARGETID", "Z", "ZERR", "SPECTYPE"]
        plain = _native(fibres.to_pandas()).merge(_native(redshifts.to_pandas()), on="TARGETID", how="left")
        frame = npd.NestedFrame(plain.set_index("TARGETID"))
        for arm in ARMS:
            pixels = pd.DataFrame(_pixels(coadd, arm), index=np.repeat(frame.index, coadd[f"{arm}_FLUX"].shape[1]))
            frame = frame.join_nested(pixels, f"spectra_{arm.lower()}")
    return frame.reset_index()


def _native(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype({name: frame[name].dtype.newbyteorder("=") for name in frame if frame[name].dtype.kind in "if"})


def _pixels(coadd: Any, arm: str) -> dict[str, Any]:
    flux = coadd[f"{arm}_FLUX"].data
    return {
        "wavelength": np.tile(coadd[f"{arm}_WAVELENGTH"].data.astype("f8"), len(flux)),
        "flux": flux.astype("f4").ravel(),
        "ivar": coadd[f"{arm}_IVAR"].data.astype("f4").ravel(),
        "mask": coadd[f"{arm}_MASK"].data.astype("i4").ravel(),
    }


def in_one_column(frame: Any, name: str = "spectrum", arm: str = "camera") -> Any:
    """The arms of each spectrum in one nested column, whose pixels name their arm."""
    columns = [f"spectra_{letter.lower()}" for letter in ARMS]
    parts = [frame[column].nest.to_flat().assign(**{arm: column[-1]}) for column in columns]
    return frame.drop(columns=columns).join_nested(pd.concat(parts), name)


def frame_of(spectra: Spectra) -> pd.DataFrame:
    rows = [_spectrum(spectra, i) for i in range(len(spectra))]
    columns: dict[str, Any] = {
        "object_id": spectra.ids,
        "ra": spectra.catalogue["ra"],
        "dec": spectra.catalogue["dec"],
        "Z": spectra.catalogue["z"],
        "CLASS": spectra.catalogue["class"],
        "n_visits": list(range(len(spectra))),
    }
    frame = pd.DataFrame(columns)
    frame["spectrum"] = pd.Series(pa.array(rows, SPECTRUM), dtype=pd.ArrowDtype(SPECTRUM))
    return frame


def _spectrum(spectra: Spectra, i: int) -> dict[str, list[Any]]:
    n = PADDING * (i % 2)
    flux, ivar, bad = spectra.flux[i], spectra.ivar[i], spectra.bad[i]
    return {
        "flux": [*flux.tolist(), *[float(flux[-1])] * n],
        "ivar": [*ivar.tolist(), *[0.0] * n],
        "lsf_sigma": [1.0] * (len(flux) + n),
        "lambda": [*spectra.wavelength.tolist(), *[-1.0] * n],
        "mask": [*bad.tolist(), *[True] * n],
    }


def partition_files(catalogue: Path) -> list[Path]:
    return sorted(catalogue.glob("dataset/Norder=*/Dir=*/Npix=*.parquet"))


def copy_of(catalogue: Path, to: Path) -> Path:
    return Path(shutil.copytree(catalogue, to))


def on_sky(n: int, seed: int = 0) -> dict[str, list[float]]:
    """Places all over the sky."""
    rng = np.random.default_rng(seed)
    return {"ra": rng.uniform(0, 360, n).tolist(), "dec": np.degrees(np.arcsin(rng.uniform(-1, 1, n))).tolist()}
