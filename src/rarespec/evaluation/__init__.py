"""How good a ranking is, and how good it would have been: metrics, differences, the hide-known protocol, tuning."""

from typing import TYPE_CHECKING, Any

from rarespec.evaluation.hiding import Hiding, hide_known
from rarespec.evaluation.metrics import (
    average_precision_at_k,
    precision_at_k,
    recall_at_k,
    relevance_in_order,
    roc_auc,
    roc_auc_of_scores,
    top_loss,
)
from rarespec.evaluation.places import PairedDifference, Places, paired_difference
from rarespec.evaluation.tuning import PAPER_GRIDS, paper_grid

if TYPE_CHECKING:
    from rarespec.evaluation.tuning import Tuned

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
    "top_loss",
]


def __getattr__(name: str) -> Any:
    """Tuned is imported on first use: scikit-learn's model selection takes long, and a search needs none."""
    if name != "Tuned":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rarespec.evaluation.tuning import Tuned

    globals()[name] = Tuned
    return Tuned
