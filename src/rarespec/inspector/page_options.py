"""What may be chosen about the page, from the command line, from Python and on the start page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rarespec.inspector.cutouts import Cutouts
    from rarespec.inspector.entrance import Entrance
    from rarespec.searching.explain.spectral_features import SpectralFeature

RELEARN_EVERY = 10
"""Labels after which the page asks for the ranking to be learned again."""


@dataclass(frozen=True)
class PageOptions:
    """How the page behaves, and where it is shown.

    Parameters
    ----------
    lines : sequence of SpectralFeature
        The user's own, at rest.
    relearn_every : int
        Labels after which the ranking learns from them; 0 for only on request.
    blind : bool
        Whether the labels of others are hidden until this person has labelled the same spectrum, and not learned from.
    cutouts : Cutouts, optional
        Where pictures of the sky come from; by default there are none.
    entrance : Entrance, optional
        Another way to the page, through a proxy.
    """

    lines: Sequence[SpectralFeature] = ()
    relearn_every: int = RELEARN_EVERY
    blind: bool = False
    cutouts: Cutouts | None = None
    entrance: Entrance | None = None


USUAL = PageOptions()
