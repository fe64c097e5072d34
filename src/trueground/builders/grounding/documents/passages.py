"""The passages of a document, and which of them is asked about."""

from __future__ import annotations

import regex

from trueground.builders.checks import says
from trueground.builders.grounding.documents.document import SourceDocument
from trueground.builders.grounding.items import Context
from trueground.retrieval.cutting import cut
from trueground.retrieval.documents import Document as Cut
from trueground.retrieval.documents import Section

PARAGRAPHS = "\n\n"
# In scripts without spaces every character counts as a word.
_WORD = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}]|[^\W_]+")


def word_count(text: str) -> int:
    """How many words the text has, roughly: checks.words would be slow where it is enormous."""
    return sum(1 for _ in _WORD.finditer(text))


def passages(document: SourceDocument, words: int) -> list[Context]:
    """All passages of a document, in order: whole sentences, about `words` words each."""
    sections = [Section(paragraphs=document.text.split(PARAGRAPHS))]
    return [
        Context(document.id, document.title, text)
        for _, text in cut(Cut(document.title, sections), document.title, words, 0)
    ]


def chosen_passage(document: SourceDocument, words: int, naming: str | None = None) -> Context:
    """The passage of a document that is asked about: its first one.

    With `naming`, the title of a document that it links to, the first passage that names that one,
    if any does.
    """
    found = passages(document, words)
    if naming is not None:
        return next((one for one in found if says(one.text, naming)), found[0])
    return found[0]
