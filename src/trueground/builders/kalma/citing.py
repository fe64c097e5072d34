"""What a model wrote, read and checked: paragraphs with citations. Nothing of it is trusted."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence

from trueground.builders.kalma.items import Fact
from trueground.builders.rejected import Rejected
from trueground.records.problems import shorten
from trueground.text.citations import Sentence, read_triples, remove_brackets
from trueground.text.triple_brackets import triple_brackets
from trueground.text.triples import format_citation, plain, plain_property, triple_key
from trueground.types import Graph

_PART = re.compile(r"\d+|[^\W\d_]+")
_STEM = 4  # letters that two forms of a word have in common: Italy, Italian
_SMALL = 3  # words of fewer letters say little, unless a value has no others
_SPACE = re.compile(r"\s+")


def bare(text: str, graphs: Sequence[Graph]) -> str:
    """The text without the triples that it cites, on one line."""
    composed = unicodedata.normalize("NFC", text)
    return plain(remove_brackets(composed, triple_brackets(composed, graphs)))


def check_same_words(changed: str, original: str, graphs: Sequence[Graph]) -> None:
    """An annotated paragraph is the original with brackets in it. Rejected: paragraph_changed."""
    if _letters(bare(changed, graphs)) != _letters(original):
        place = _differs(bare(changed, graphs), original)
        raise Rejected(
            "paragraph_changed", f"without its citations the paragraph differs at {place}"
        )


def facts_of(
    sentences: Sequence[Sentence], pool: Sequence[Fact], graphs: Sequence[Graph]
) -> list[Fact]:
    """The facts that are cited, each once, as the pool spells them; names do not count.

    Rejected: citation_not_in_pool; value_not_said where a sentence does not speak of what it cites.
    """
    known = {triple_key(fact): fact for fact in pool}
    names = {(plain(str(graph["qid"])), plain(str(graph.get("name", "")))) for graph in graphs}
    found: dict[Fact, None] = {}
    for sentence in sentences:
        if sentence.missing:
            raise Rejected("citation_not_in_pool", "[NA] cites nothing")
        for one in sentence.citations:
            if plain_property(one.property).lower() == "name":
                if (plain(one.qid), plain(one.value)) not in names:
                    raise Rejected("citation_not_in_pool", _written(one.qid, "name", one.value))
                continue
            fact = known.get(triple_key((one.qid, one.property, one.value)))
            if fact is None:
                raise Rejected("citation_not_in_pool", _written(one.qid, one.property, one.value))
            if not speaks_of(sentence.text, fact[2]):
                words = f'{_written(*fact)} behind "{shorten(sentence.text)}"'
                raise Rejected("value_not_said", words)
            found[fact] = None
    return list(found)


def added(changed: str, before: str, graphs: Sequence[Graph]) -> str:
    """What stands behind the old paragraph. Rejected: paragraph_changed, not_one_sentence."""
    new, old = plain(changed), plain(before)
    if not new.startswith(old):
        raise Rejected("paragraph_changed", f"the old paragraph differs at {_differs(new, old)}")
    rest = new[len(old) :].strip()
    if rest.startswith("["):  # behind the full stop it belongs to what stands before
        words = "the citation stands before the new sentence, and so counts for the old one"
        raise Rejected("not_one_sentence", words)
    said = [one for one in read_triples(rest, graphs) if one.text.strip()]
    if len(said) != 1:
        raise Rejected("not_one_sentence", f"found {len(said)} sentences behind the old paragraph")
    return rest


def check_cited(found: Collection[Fact], wanted: Fact, before: Collection[Fact]) -> None:
    """Of new knowledge just the wanted is cited. Rejected: knowledge_not_cited, other_knowledge."""
    if wanted not in found:
        raise Rejected("knowledge_not_cited", f"{_written(*wanted)} is not cited")
    others = [fact for fact in found if fact != wanted and fact not in before]
    if others:
        raise Rejected("other_knowledge", f"{_written(*others[0])} was not to be added")


def speaks_of(sentence: str, value: str) -> bool:
    """Does the sentence name the value, in whatever form? Any of its words will do.

    Words match that begin alike (Italy, Italian), numbers that are equal (1871-11-01, in 1871).
    What is sure to be wrong is told by this, and not that a sentence is right.
    """
    words = _parts(sentence)
    parts = _parts(value)
    telling = [one for one in parts if one.isdecimal() or len(one) > _SMALL] or parts
    if not telling:
        return True  # a value without a word, such as a sign
    if any(_like(part, word) for part in telling for word in words):
        return True
    return plain(value).casefold() in plain(sentence).casefold()


def _parts(text: str) -> list[str]:
    plain_letters = unicodedata.normalize("NFKD", text)
    kept = "".join(c for c in plain_letters if not unicodedata.combining(c))
    return [one.lstrip("0") or one for one in _PART.findall(kept.casefold())]


def _like(part: str, word: str) -> bool:
    if part.isdecimal() or word.isdecimal():
        return part == word
    return part[:_STEM] == word[:_STEM] if len(part) >= _STEM else part == word


def _letters(text: str) -> str:
    return _SPACE.sub("", unicodedata.normalize("NFC", text))


def _differs(new: str, old: str) -> str:
    """Where the new text first differs from the old, in words."""
    place = next((i for i, (a, b) in enumerate(zip(new, old, strict=False)) if a != b), None)
    at = min(len(new), len(old)) if place is None else place
    return f'"{shorten(new[max(at - 15, 0) : at + 25], 40)}"'


def _written(qid: str, name: str, value: str) -> str:
    return shorten(format_citation(qid, [(name, value)]), 120)
