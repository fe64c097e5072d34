"""The lexical judge."""

from __future__ import annotations

from trueground.judges.lexical.judge import LexicalJudge

__all__ = ["LexicalJudge"]
