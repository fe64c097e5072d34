"""The retriever that --retriever names, over passages in memory."""

from __future__ import annotations

from trueground.retrieval.base import Opened
from trueground.retrieval.kinds import open_over as open_retriever

__all__ = ["Opened", "open_retriever"]
