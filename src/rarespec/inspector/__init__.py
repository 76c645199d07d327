"""The inspector: a page in the browser to look at candidates and to label them, served to this machine alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rarespec.public_names import hand_out

if TYPE_CHECKING:
    from rarespec.inspector.page import InspectionPage as InspectionPage
    from rarespec.inspector.page import inspect_ranking as inspect_ranking

__getattr__, __dir__, __all__ = hand_out(__name__, {"InspectionPage": "page", "inspect_ranking": "page"})
