"""Texts as the judge reads them, indexed once for all claims that are compared with them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import NamedTuple

from trueground.judges.lexical.lexicon import (
    NUMERIC,
    OppositeWords,
    Token,
    has_sign,
    is_common,
    is_telling,
    keys,
)
from trueground.judges.lexical.nearest import NearestValues
from trueground.judges.lexical.reading import (
    ARTICLES,
    is_spaceless,
    read,
    spaceless_keys,
    spellings,
    split_words,
    without_citations,
)
from trueground.judges.lexical.value_index import ValueIndex
from trueground.judges.lexical.values import Value, find_values
from trueground.text import split_sentences

_MAX_SENTENCE = 2000  # characters
_TAKEN_BACK = re.compile(  # what may stand before a quoted claim; May is a month
    r"\b(?:not|never|no|without|(?-i:may|MAY)|might|false|unlikely|if|whether|unless|almost|nearly"
    r"|insufficient|rumou?rs?|rumou?red|believes?|believed|claims?|claimed|allege[sd]?|denie[sd]"
    r"|denies)\b|n['’]t\b",
    re.I,
)
_LIMITED = re.compile(r"\b(?:unless|except|provided that|false|untrue|rumou?rs?|myth)\b", re.I)

Postings = Mapping[str, Sequence[int]]
# What identifies a word or value of a claim, and its weight.
WeighedItem = tuple[tuple[object, ...], float]
Ranking = list[tuple[int, float]]
_MAX_RANKINGS = 64


class Cautions(NamedTuple):
    """Offsets in a sentence that tell whether it only mentions a claim that it has word for word.

    Behind `first_end` a claim is taken back ("It is not true that …"), before `last_start` it is
    limited ("…, unless"). `stop` is where the next sentence begins.
    """

    first_end: int
    last_start: int
    stop: int


class PartWords(NamedTuple):
    """The words of a part of a sentence.

    `keys` are those of all tokens, `content` is how many different words say something, `names`
    are the positions in the sentence of what is spelled as a name.
    """

    keys: frozenset[str]
    content: int
    names: list[int]


class SentenceView:
    """The tokens of one sentence, and where it has which word or value."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens

    @cached_property
    def telling(self) -> list[Token]:
        """The tokens that say something."""
        return [token for token in self.tokens if is_telling(token)]

    @cached_property
    def telling_numbers(self) -> dict[int, int]:
        """Position of a token → its number among those that say something."""
        positions = (i for i, token in enumerate(self.tokens) if is_telling(token))
        return {position: number for number, position in enumerate(positions)}

    @cached_property
    def by_key(self) -> dict[str, list[int]]:
        """Key of a word → positions of its tokens."""
        positions: dict[str, list[int]] = defaultdict(list)
        for position, token in enumerate(self.tokens):
            positions[token.key].append(position)
        return dict(positions)

    @cached_property
    def values(self) -> ValueIndex:
        """The values by the positions of their tokens."""
        return ValueIndex((i, t.value) for i, t in enumerate(self.tokens) if t.value)

    @cached_property
    def positions(self) -> dict[int, int]:
        """The `id` of a token → where it is among the tokens."""
        return {id(token): position for position, token in enumerate(self.tokens)}

    @cached_property
    def opposites(self) -> OppositeWords:
        """The words that say something, to be searched for opposites."""
        return OppositeWords(token.word.lower for token in self.telling)

    @cached_property
    def parts(self) -> list[tuple[int, int]]:
        """Where the parts between marks and joining words begin and end."""
        ends = [i for i, token in enumerate(self.tokens) if _separates(token)]
        return [(a + 1, b) for a, b in pairwise([-1, *ends, len(self.tokens)])]

    @cached_property
    def part_words(self) -> list[PartWords]:
        """The words of each part."""
        return [_read_part(self.tokens, *part) for part in self.parts]

    def part_of(self, position: int) -> int | None:
        """Return the number of the part that has a token; None for what separates parts."""
        number = bisect_right(self.parts, position, key=itemgetter(0)) - 1
        return number if position < self.parts[number][1] else None

    def find(self, key: str, value: Value | None = None, about: bool = False) -> Sequence[int]:
        """Return the positions of the tokens with this key, or with a value that supports one."""
        return self.by_key.get(key, ()) if value is None else self.values.positions(value, about)


def _read_part(tokens: Sequence[Token], begin: int, end: int) -> PartWords:
    content = set()
    names = []
    for position in range(begin, end):
        token = tokens[position]
        if token.word.content and not token.value:
            content.add(token.key)
            if token.word.capital and (position > begin or not is_common(token.key)):
                names.append(position)
    keys = frozenset(token.key for token in tokens[begin:end])
    return PartWords(keys, len(content), names)


def _separates(token: Token) -> bool:
    return (token.word.role == "mark" and not token.value) or has_sign(token, "joins")


class TextView:
    """One text: the spans of its sentences, and an index from word keys to sentences.

    Everything is read when it is asked for, and kept: most texts are not looked at closely.
    """

    def __init__(self, text: str) -> None:
        self.text = without_citations(text)
        self._original = text
        self._values: dict[int, list[Value]] = {}
        self._sentence_views: dict[int, SentenceView] = {}
        self._cautions: dict[int, Cautions] = {}

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Where the sentences begin and end."""
        text = self._original
        return [piece for span in split_sentences(text) for piece in _pieces(text, *span)]

    @cached_property
    def sentences(self) -> list[list[str]]:
        """The keys of each sentence in their order, without articles."""
        if is_spaceless(self.text):
            return [spaceless_keys(self.text[start:end]) for start, end in self.spans]
        return [
            [key for key in map(keys.__getitem__, words) if key not in ARTICLES]
            for words in split_words(self.text, self.spans)
        ]

    @cached_property
    def index(self) -> Postings:
        """Key of a word → the sentences that have it, ascending."""
        return _index(self.sentences)

    @cached_property
    def spellings(self) -> Counter[str]:
        """The words of the text in lower case, and how often each occurs."""
        return spellings(self.text)

    @cached_property
    def neighbors(self) -> set[tuple[str, str | None]]:
        """Pairs of keys that follow each other in a sentence."""
        return {pair for sentence in self.sentences for pair in pairwise(sentence)}

    @cached_property
    def nearest(self) -> NearestValues:
        """The numbers and dates of all sentences by their distance."""
        numeric = self.index.get(NUMERIC, ())
        return NearestValues((v for number in numeric for v in self.values(number)), self.text)

    @cached_property
    def starts(self) -> list[int]:
        """Where the sentences begin."""
        return [start for start, _ in self.spans]

    def sentence(self, number: int) -> SentenceView:
        """One sentence for a closer look; offsets of values count from the start of the text."""
        view = self._sentence_views.get(number)
        if view is None:
            tokens = read(self.text, *self.spans[number], self.values(number))
            view = self._sentence_views[number] = SentenceView(tokens)
        return view

    def cautions(self, number: int) -> Cautions:
        """What takes back or limits the claims of a sentence; -1 is what precedes the first."""
        cautions = self._cautions.get(number)
        if cautions is None:
            begin, end = self.spans[number] if number >= 0 else (0, 0)
            stop = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.text)
            first = _TAKEN_BACK.search(self.text, begin, stop)
            limits = [match.start() for match in _LIMITED.finditer(self.text, begin, end)]
            cautions = Cautions(first.end() if first else stop, limits[-1] if limits else -1, stop)
            self._cautions[number] = cautions
        return cautions

    def values(self, number: int) -> list[Value]:
        """The numbers and dates of one sentence; offsets count from the start of the text."""
        if number not in self._values:
            numeric = NUMERIC in self.sentences[number]
            self._values[number] = find_values(self.text, *self.spans[number]) if numeric else []
        return self._values[number]

    def value_kinds(self, numbers: Iterable[int]) -> set[tuple[str, str | None]]:
        """Return kind and unit of all numbers and dates of these sentences."""
        return {(value.kind, value.unit) for number in numbers for value in self.values(number)}


class ContextView:
    """The texts of a request, read as one: sentences are counted through all of them."""

    def __init__(self, texts: Sequence[TextView]) -> None:
        self.texts = texts
        self._rankings: dict[tuple[WeighedItem, ...], Ranking] = {}

    def rank(
        self,
        weighed: tuple[WeighedItem, ...],
        compute: Callable[[Sequence[WeighedItem]], Ranking],
    ) -> Ranking:
        """Return what is computed from these items, once for all claims that have them."""
        ranking = self._rankings.get(weighed)
        if ranking is None:
            if len(self._rankings) >= _MAX_RANKINGS:
                self._rankings.clear()
            ranking = self._rankings[weighed] = compute(weighed)
        return ranking

    @cached_property
    def starts(self) -> list[int]:
        """The number of the first sentence of each text; at the end, how many there are."""
        return [0, *accumulate(len(text.spans) for text in self.texts)]

    @cached_property
    def index(self) -> Postings:
        """Key of a word → the sentences that have it, ascending."""
        if len(self.texts) == 1:
            return self.texts[0].index
        return _index(sentence for text in self.texts for sentence in text.sentences)

    @cached_property
    def spellings(self) -> Mapping[str, int]:
        """The words of the texts in lower case, and how often each occurs."""
        if len(self.texts) == 1:
            return self.texts[0].spellings
        counts: dict[str, int] = defaultdict(int)
        for text in self.texts:
            for word, count in text.spellings.items():
                counts[word] += count
        return counts

    @cached_property
    def values(self) -> ValueIndex:
        """The numbers and dates by the sentences that have them."""
        return ValueIndex(self._numbered_values())

    @cached_property
    def first_value_kinds(self) -> set[tuple[str, str | None]]:
        """Kind and unit of the numbers and dates in the first sentence of each text."""
        kinds: set[tuple[str, str | None]] = set()
        for text in self.texts:
            if text.spans:
                kinds |= text.value_kinds([0])
        return kinds

    def _numbered_values(self) -> Iterator[tuple[int, Value]]:
        for number in self.index.get(NUMERIC, ()):
            text, sentence = self.locate(number)
            for value in self.texts[text].values(sentence):
                yield number, value

    @cached_property
    def _joined(self) -> str:
        return "\n".join(text.text for text in self.texts)

    @cached_property
    def _offsets(self) -> list[int]:
        """Where each text begins in all of them joined; at the end, behind the last."""
        return [0, *accumulate(len(text.text) + 1 for text in self.texts)]

    def texts_with(self, phrases: Sequence[str]) -> list[int]:
        """Return the numbers of the texts that may have one of the phrases, ascending."""
        if len(self.texts) == 1:
            return [0]
        numbers: set[int] = set()
        for phrase in phrases:
            at = self._joined.find(phrase)
            while at >= 0:
                number = bisect_right(self._offsets, at) - 1
                numbers.add(number)
                at = self._joined.find(phrase, self._offsets[number + 1])
        return sorted(numbers)

    def text_of(self, number: int) -> int:
        """Return which text has the sentence with this number."""
        return bisect_right(self.starts, number) - 1

    def locate(self, number: int) -> tuple[int, int]:
        """Return the text that has the sentence, and the number of the sentence there."""
        text = self.text_of(number)
        return text, number - self.starts[text]


def _index(sentences: Iterator[list[str]] | list[list[str]]) -> Postings:
    postings: dict[str, list[int]] = defaultdict(list)
    for number, sentence in enumerate(sentences):
        for key in set(sentence):
            postings[key].append(number)
    return dict(postings)


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut what is too long for a sentence (tables, logs, texts without full stops) at spaces."""
    while end - start > _MAX_SENTENCE:
        space = text.rfind(" ", start + 1, start + _MAX_SENTENCE)
        stop = space if space > start else start + _MAX_SENTENCE
        yield start, stop
        start = stop
    yield start, end
