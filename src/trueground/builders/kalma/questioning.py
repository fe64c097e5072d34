"""What a question must be and must not tell, as far as it can be seen without a model."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trueground.builders.checks import says, share_kept, words_without
from trueground.builders.kalma.citing import bare
from trueground.builders.kalma.items import Draft
from trueground.builders.kalma.pool import name_of
from trueground.builders.rejected import Rejected
from trueground.graph.folding import name_key
from trueground.records.problems import shorten

REASONS = {
    "not_one_question": "the reply is no question, or several",
    "names_nobody": "the question names neither of the two entities",
    "no_question": "the question has fewer than 3 words besides the names",
    "gives_away": "the question tells the paragraph, or most values that are to be answered",
    "has_citations": "the question holds citations",
}
_LONGEST = 1_000  # characters
_ENDS = "?？؟"
_WORD = re.compile(r"\w+")
_SHORTEST = 3  # letters of a name's word by which it is known
_LEAST_WORDS = 3  # besides the names; no published question has fewer than 7
_MOST_TOLD, _LEAST_TOLD = 0.5, 3  # share and number of the gold values
_WHOLE = 0.9  # share of the paragraph's words: with so many it is told whole


def check_question(question: str, draft: Draft, paragraph: str) -> None:
    """One question about the two that does not answer itself. Rejected: one of REASONS."""
    text = question.strip()
    marks = sum(text.count(mark) for mark in _ENDS)
    shown = f'"{shorten(text, 120)}"'
    if marks != 1 or text[-1:] not in _ENDS or len(text) > _LONGEST or "\n" in text:
        raise Rejected("not_one_question", shown)
    if bare(text, draft.graphs) != " ".join(text.split()):
        raise Rejected("has_citations", shown)
    names = [draft.head, draft.tail, *map(name_of, draft.graphs)]
    if not _names_one(text, names):
        raise Rejected("names_nobody", shown)
    own = {word for name in names for word in words_without(name, ())}
    rest = sum(n for word, n in words_without(text, ()).items() if word not in own)
    if rest < _LEAST_WORDS:
        raise Rejected("no_question", f"{shown}: {rest} words besides the names")
    if problem := _given_away(text, draft, names, paragraph):
        raise Rejected("gives_away", f"{shown}: {problem}")


def _names_one(text: str, names: Sequence[str]) -> bool:
    words = set(_WORD.findall(name_key(text)))
    for name in names:
        for part in name_key(name).split():
            if len(part) >= _SHORTEST and any(word.startswith(part) for word in words):
                return True
        if name_key(name) in name_key(text):
            return True
    return False


def _given_away(text: str, draft: Draft, names: Sequence[str], paragraph: str) -> str | None:
    """What the question tells of its own answer, in words."""
    if share_kept(paragraph, text) >= _WHOLE:
        return "it holds the paragraph"
    known = {name_key(name) for name in names}
    values = {name_key(value): value for _, _, value in draft.facts if name_key(value) not in known}
    told = [value for value in values.values() if says(text, value)]
    if len(told) >= _LEAST_TOLD and len(told) > _MOST_TOLD * len(values):
        shown = shorten(", ".join(told), 120)
        return f"it tells {len(told)} of {len(values)} values: {shown}"
    return None
