"""What a ranking depends on, in values that every table format can carry."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rarespec.rankers.ranker import Ranker
from rarespec.rankers.rows import fingerprint_of_rows
from rarespec.searching.material import Material
from rarespec.versions import versions_with


def provenance_of(material: Material, ranker: Ranker, settings: dict[str, Any]) -> dict[str, Any]:
    features = material.features
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "survey": features.survey.path.name,
        "n_spectra": len(features),
        "recipe": repr(features.recipe),
        "recipe_fingerprint": features.recipe.fingerprint,
        "features_fingerprint": fingerprint_of_rows(material.X),
        "known_ids": material.ids,
        "ranker": repr(ranker),
        **settings,
        "versions": versions_with("numpy", "scipy", "scikit-learn", "faiss-cpu", "astropy"),
    }
