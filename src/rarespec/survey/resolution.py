"""The resolution of the spectra of a survey: what was said at ingest, what their files say, or what is usual."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from rarespec.spectrum import Resolution
from rarespec.spectrum.resolution import COLUMNS, HIGHEST, LOWEST, RESOLUTION_OF

if TYPE_CHECKING:
    from rarespec.survey.store.manifest import Manifest
    from rarespec.survey.survey import Survey

MOST = 0.9
"""A survey has a resolution if at least so many of its spectra have the same."""


def resolution_given(manifest: Manifest) -> Resolution | None:
    """Find the resolution that a person gave at ingest."""
    given = [entry["resolution"] for entry in manifest.provenance if isinstance(entry.get("resolution"), str)]
    return Resolution.parse(given[-1]) if given else None


def resolution_of(survey: Survey) -> Resolution | None:
    """Find the resolution of a survey; None if it is not known or not one."""
    return resolution_given(survey.manifest) or _in_files(survey) or _usual(survey)


def _in_files(survey: Survey) -> Resolution | None:
    for name in COLUMNS:
        if name in survey.catalogue and survey.catalogue[name].dtype.kind in "if":
            values = survey.catalogue[name].astype(float)
            known = values[(values >= LOWEST) & (values <= HIGHEST)]
            if len(known) and len(known) >= MOST * len(values):
                middle = float(np.median(known))
                return Resolution(middle) if (np.abs(known / middle - 1) < 1 - MOST).mean() >= MOST else None
    return None


def _usual(survey: Survey) -> Resolution | None:
    import pyarrow.compute as pc

    if "survey" not in survey.catalogue:
        return None
    counts: Counter[Resolution | None] = Counter()
    for entry in pc.value_counts(survey.catalogue.arrow(["survey"]).column(0)).to_pylist():
        counts[RESOLUTION_OF.get(str(entry["values"] or "").upper())] += entry["counts"]
    resolution, n = counts.most_common(1)[0]
    return resolution if n >= MOST * len(survey) else None
