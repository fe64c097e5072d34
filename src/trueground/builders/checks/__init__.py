"""Checks of made texts that need no model: what a text says, what it kept, its language."""

from __future__ import annotations

from trueground.builders.checks.languages import need_languages, other_language
from trueground.builders.checks.phrases import (
    count,
    quoted,
    same_answer,
    same_text,
    says,
    says_all_words,
    share_kept,
    words,
    words_without,
)

__all__ = [
    "count",
    "need_languages",
    "other_language",
    "quoted",
    "same_answer",
    "same_text",
    "says",
    "says_all_words",
    "share_kept",
    "words",
    "words_without",
]
