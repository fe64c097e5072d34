"""A document's text as it is kept: paragraphs with a blank line between, nothing unprintable."""

from __future__ import annotations

from trueground.builders.grounding.documents.passages import PARAGRAPHS
from trueground.builders.rows import ODD
from trueground.retrieval.documents import split_paragraphs

_MOST_ODD = 0.02
_LONGEST_TITLE = 200  # characters; titles stand in prompts and above every context


class Binary(ValueError):  # noqa: N818 - becomes a reason, never reaches the user
    """What should be text is something else."""


def tidied(text: str) -> str:
    """The text's paragraphs; lines that were only wrapped are joined. Binary: it is no text."""
    return PARAGRAPHS.join(one for part in split_paragraphs(_seen(text)) if (one := part.strip()))


def tidy_title(title: str) -> str:
    """The title on one line, without what is unprintable; one that is very long is cut."""
    plain = " ".join(ODD.sub(" ", title).split())
    if len(plain) <= _LONGEST_TITLE:
        return plain
    return f"{plain[: _LONGEST_TITLE - 1].rstrip()}…"


def _seen(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    odd = len(ODD.findall(text))
    if odd > _MOST_ODD * len(text):
        raise Binary(f"found {odd} characters of {len(text)} that stand in no text")
    return ODD.sub(" ", text)
