"""A document's text as it is kept: paragraphs with a blank line between, nothing unprintable."""

from __future__ import annotations

import re

from trueground.builders.grounding.documents.passages import PARAGRAPHS
from trueground.retrieval.corpora.documents.base import paragraphs

_ODD = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\ufffd]")
_MOST_ODD = 0.02


class Binary(ValueError):  # noqa: N818 - becomes a reason, never reaches the user
    """What should be text is something else."""


def tidied(text: str) -> str:
    """The text's paragraphs; lines that were only wrapped are joined. Binary: it is no text."""
    return PARAGRAPHS.join(one for part in paragraphs(_seen(text)) if (one := part.strip()))


def _seen(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    odd = len(_ODD.findall(text))
    if odd > _MOST_ODD * len(text):
        raise Binary(f"found {odd} characters of {len(text)} that stand in no text")
    return _ODD.sub(" ", text)
