"""What the results of an experiment depend on, and with what they were made."""

from __future__ import annotations

from typing import Any

import numpy as np

from rarespec._version import __version__
from rarespec.evaluation.experiment.ground import Ground
from rarespec.evaluation.experiment.setting import Setting
from rarespec.rankers.rows import fingerprint_of_rows
from rarespec.survey import Survey
from rarespec.versions import versions_with


def identity(ground: Ground, setting: Setting) -> dict[str, Any]:
    """What must be the same for outcomes of several runs to belong together."""
    return cheap_identity(ground.survey, setting) | {
        "features": fingerprint_of_rows(ground.X),
        "rare": fingerprint_of_rows(np.flatnonzero(ground.rare)[:, None].astype(np.float64)),
    }


def cheap_identity(survey: Survey, setting: Setting) -> dict[str, Any]:
    """The part of the identity that is known before any features are."""
    return {"survey": survey.path.name, "seed": setting.seed, "version of rarespec": __version__}


def provenance(ground: Ground, setting: Setting) -> dict[str, Any]:
    """For the metadata of files and for the page."""
    return {
        "identity": identity(ground, setting),
        "setting": setting.as_dict(),
        "recipe": str(ground.features.recipe),
        "rare class": ground.matched_by,
        "versions": versions_with("numpy", "scipy", "scikit-learn", "faiss-cpu"),
    }
