"""Contexts as the files write them, as passages, and as the model reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from trueground.types import Passage

_HEADED = re.compile(
    r"Title: (?P<title>[^\n]*?)(?:[ \t]+\[(?P<source>\S+)\])?[ \t]*(?:\n|\Z)(?P<text>.*)", re.DOTALL
)


def passage(context: str, gold: bool) -> Passage | None:
    """`Title: X [url]`, then the text, as a passage; None if there is no text.

    A context without such a line is a text without a title.
    """
    head = _HEADED.fullmatch(context.strip())
    text = (head["text"] if head else context).strip()
    if not text:
        return None
    if head is None:
        return Passage(text, gold=gold)
    return Passage(text, title=head["title"].strip() or None, gold=gold, source=head["source"])


def shown(passage: Passage) -> str:
    """One context in the layout of Figure 12: its title with the address, a free line, the text."""
    if passage.title is None:
        return passage.text
    source = f" [{passage.source}]" if passage.source else ""
    return f"Title: {passage.title}{source}\n\n{passage.text}"


def together(passages: Sequence[Passage]) -> str:
    """All contexts as the model reads them."""
    return "\n\n".join(map(shown, passages))


def pages(passages: Iterable[Passage]) -> set[str]:
    """By what the pages of the passages are known: their addresses and their titles."""
    return {name for one in passages for name in (one.source, one.title) if name}
