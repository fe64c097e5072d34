"""Is a passage of the corpus a gold passage of a question? As everywhere: `retrieval.gold`."""

from __future__ import annotations

from trueground.retrieval.gold import is_gold, matches, same_text

__all__ = ["is_gold", "matches", "same_text"]
