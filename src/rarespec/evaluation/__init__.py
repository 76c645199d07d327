"""How good a ranking is, and how good it would have been: metrics, differences, the hide-known protocol, tuning."""

from rarespec.evaluation.hiding import Hiding, hide_known
from rarespec.evaluation.metrics import (
    average_precision_at_k,
    precision_at_k,
    recall_at_k,
    relevance_in_order,
    roc_auc,
    roc_auc_of_scores,
)
from rarespec.evaluation.paired import PairedDifference, paired_difference
from rarespec.evaluation.paper_grids import PAPER_GRIDS, paper_grid
from rarespec.evaluation.places import Places
from rarespec.evaluation.tuned import Tuned

__all__ = [
    "PAPER_GRIDS",
    "Hiding",
    "PairedDifference",
    "Places",
    "Tuned",
    "average_precision_at_k",
    "hide_known",
    "paired_difference",
    "paper_grid",
    "precision_at_k",
    "recall_at_k",
    "relevance_in_order",
    "roc_auc",
    "roc_auc_of_scores",
]
