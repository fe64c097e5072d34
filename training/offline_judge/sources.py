"""The texts that perturbed claims are made from: clean sentences, names, values, claims."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from training.offline_judge import sets
from training.offline_judge.names import Name, names
from trueground.judges.lexical.values import Value, find_values
from trueground.text.sentences import split_sentences

_LOOKS = 12  # names or texts that are tried
_LENGTHS = range(6, 41)  # words of a sentence that is taken
_PAGE = re.compile(
    r"cookie|subscrib|click|copyright|newsletter|sign up|log ?in|http|www\.|@|\bmeta data\b|"
    r"privacy|read more|archived from|all rights|javascript|browser|[|©#{}<>\[\]*_=~\"“”]|"
    r"\bposted\b|this entry|filed under|members online|last updated|sign in\b|"
    r"^[A-Z][\w ]{0,25} ?: |"
    r"\b(?:Ms|Mr|Mrs|Dr|St|No|Jr|vs|Inc|Sept?|Oct|Nov|Dec|Jan|Feb|Aug|[A-Z]) ?\.$|"
    r"(?:^|\s)['‘`]|\.\.\.|…",
    re.I,
)
_SENTENCE = re.compile(r"[A-Z][^?!]*[a-z0-9)%][^?!]*\.")
_CONTENT = re.compile(r"[^\W\d_]{4,}")
_PLAIN = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class Source:
    """One text with what is known to be true of it: its own sentences and claims."""

    set: str
    group: str
    contexts: tuple[str, ...]
    claims: tuple[str, ...] = ()

    @cached_property
    def text(self) -> str:
        """All passages, one under the other."""
        return "\n".join(self.contexts)

    @cached_property
    def runs(self) -> tuple[tuple[str, ...], ...]:
        """The sentences of each passage that are whole and no part of a page's furniture; a
        passage is cut where a sentence is left out, so that neighbors are neighbors."""
        found: list[tuple[str, ...]] = []
        for passage in self.contexts:
            run: list[str] = []
            for start, end in split_sentences(passage):
                if is_clean(passage[start:end]):
                    run.append(passage[start:end])
                else:
                    found, run = [*found, tuple(run)], []
            found.append(tuple(run))
        return tuple(run for run in found if run)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """All clean sentences, each once."""
        return tuple(dict.fromkeys(sentence for run in self.runs for sentence in run))

    @cached_property
    def names(self) -> tuple[Name, ...]:
        """The names of known kinds in the text."""
        return tuple(names(self.text))

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """The numbers and dates in the text."""
        return tuple(find_values(self.text))

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of at least four letters, in lower case."""
        return frozenset(content(self.text))

    @cached_property
    def plain(self) -> str:
        """The text without case and punctuation, between spaces."""
        return f" {plain(self.text)} "

    def says(self, claim: str) -> bool:
        """Whether the claim occurs in the text, case and punctuation apart."""
        return f" {plain(claim)} " in self.plain


class Pool:
    """All texts together, for what is taken from another text."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self._whole: dict[str, list[Source]] = {}
        self._by_word: dict[str, list[int]] = defaultdict(list)
        self._names: dict[str, list[tuple[Source, str]]] = defaultdict(list)
        for at, source in enumerate(sources):
            for word in sorted(source.words):
                self._by_word[word].append(at)
            for spelling, kind in sorted({(n.spelling, n.kind) for n in source.names}):
                self._names[kind].append((source, spelling))

    def foreign_name(self, source: Source, kind: str, rng: random.Random) -> str | None:
        """A name of the kind from another text that no part of `source` has; None without one."""
        known = self._names[kind]
        for other, name in rng.sample(known, min(_LOOKS, len(known))):
            if other.group != source.group and not set(content(name)) & source.words:
                return name
        return None

    def with_sentences(self, name: str) -> list[Source]:
        """The texts of a set that have clean sentences."""
        if name not in self._whole:
            self._whole[name] = [s for s in self.sources if s.set == name and s.sentences]
        return self._whole[name]

    def related(self, source: Source) -> list[Source]:
        """Other texts that share rather rare words with `source`, the most alike first."""
        shared: dict[int, float] = defaultdict(float)
        for word in sorted(source.words):
            others = self._by_word[word]
            if 1 < len(others) <= max(4, len(self.sources) // 20):
                for other in others:
                    shared[other] += 1 / len(others)
        best = sorted(shared, key=lambda at: (-shared[at], at))
        alike = (self.sources[at] for at in best)
        return [
            other
            for other in alike
            if other.group != source.group and other.contexts != source.contexts
        ][:_LOOKS]


def plain(text: str) -> str:
    """Lower case, one space between words, no punctuation."""
    return _PLAIN.sub(" ", text.lower()).strip()


def content(text: str) -> list[str]:
    """The words of at least four letters, in lower case."""
    return [word.lower() for word in _CONTENT.findall(text)]


def is_clean(sentence: str) -> bool:
    """Whether it is a whole plain statement: no quotation, no question, no line of a page."""
    words = sentence.split()
    if len(words) not in _LENGTHS or not _SENTENCE.fullmatch(sentence) or _PAGE.search(sentence):
        return False
    capitals = sum(word[0].isupper() for word in words)
    balanced = sentence.count("(") == sentence.count(")")
    return balanced and capitals * 2 < len(words) and sentence.count(",") < 6


def sources(folder: Path, name: str) -> list[Source]:
    """The texts of one set, each once, with the claims that people found supported by it.

    Raises InputError where the set cannot be read.
    """
    claims: dict[tuple[str, ...], list[str]] = defaultdict(list)
    groups: dict[tuple[str, ...], str] = {}
    for example in sets.read(folder, name):
        groups.setdefault(example.contexts, example.group)
        if example.label:
            claims[example.contexts] += _claims(example.response)
    return [
        Source(name, group, contexts, tuple(dict.fromkeys(claims[contexts])))
        for contexts, group in groups.items()
        if contexts
    ]


def _claims(response: str) -> Iterable[str]:
    """The sentences of a supported response that are plain statements."""
    for start, end in split_sentences(response):
        if is_clean(response[start:end]):
            yield response[start:end]
