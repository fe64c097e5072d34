"""BM25 as a ranker of the demonstrations in a prompt, registered as `trueground.rankers`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trueground.claims import ranker

if TYPE_CHECKING:
    from trueground.wings.search.bm25 import BM25


@ranker("bm25")
def rank_by_bm25(texts: Sequence[str]) -> BM25:
    """Shared words, weighted by how rare they are (BM25)."""
    from trueground.wings.search.bm25 import BM25

    return BM25(texts)
