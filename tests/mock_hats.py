"""Small HATS catalogues of mock spectra in the layout of the Multimodal Universe."""

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
    import lsdb

    catalogue = lsdb.from_dataframe(
        frame_of(spectra), partition_rows=partition_rows, catalog_name="sky", margin_threshold=None
    )
    catalogue.write_catalog(path, catalog_name="sky", progress_bar=False, as_collection=False)
    return path


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
