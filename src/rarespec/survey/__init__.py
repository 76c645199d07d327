"""Spectra on disk: open, read, append, ingest, verify."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rarespec.public_names import hand_out

if TYPE_CHECKING:
    from rarespec.survey.export import Exported as Exported
    from rarespec.survey.features.computing import features_of as features_of
    from rarespec.survey.features.feature_set import FeatureSet as FeatureSet
    from rarespec.survey.features.neighbours import graph_of as graph_of
    from rarespec.survey.store.accounts import IngestReport as IngestReport
    from rarespec.survey.store.catalogue import Catalogue as Catalogue
    from rarespec.survey.store.precision import Precision as Precision
    from rarespec.survey.survey import Block as Block
    from rarespec.survey.survey import Survey as Survey
    from rarespec.survey.verify import Verification as Verification

__getattr__, __dir__, __all__ = hand_out(
    __name__,
    {
        "Block": "survey",
        "Catalogue": "store.catalogue",
        "Exported": "export",
        "FeatureSet": "features.feature_set",
        "IngestReport": "store.accounts",
        "Precision": "store.precision",
        "Survey": "survey",
        "Verification": "verify",
        "features_of": "features.computing",
        "graph_of": "features.neighbours",
    },
)
