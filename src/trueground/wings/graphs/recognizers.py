"""Recognizers: who finds names in questions.

`dictionary` knows the names of a graph, looked for all at once (Aho and Corasick 1975); `spacy`
asks a pipeline with named-entity recognition (KaLMA, section 3.1).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec
import regex

from trueground.components import ComponentSpec
from trueground.errors import GraphError, MissingExtraError, UsageError
from trueground.text import NO_SPACES
from trueground.wings.graphs.base import KnowledgeGraph, Listed, NamedEntity
from trueground.wings.graphs.names import APOSTROPHES, fold, name_key

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Span

RECOGNIZERS = ("dictionary", "spacy")
# What a label of named-entity recognition says of the entity's class (KaLMA, section 3.1).
LABEL_TYPES = {"PERSON": ("human", "Q5"), "PER": ("human", "Q5")}
_BATCH = 256  # questions that go through a pipeline together
_EDGES = regex.compile(r"^[\s\"“”„«»\\]+|(?:['’]s?|[\s\"“”„«»\\])+$", regex.IGNORECASE)
_ARTICLE = regex.compile(r"^the\s+(?=\S)", regex.IGNORECASE)
_JOINING = "\u002d\u2010\u2011"
_POSSESSIVE = regex.compile(rf"[{APOSTROPHES}]s?(?!\w)", regex.IGNORECASE)
# Scripts in which words are not set apart.
_NO_SPACES = regex.compile(rf"[{NO_SPACES}]")
_LOWER_LETTERS = 6  # a name that stands in lower case has two words and as many letters
# English words that are no name by themselves, also where they begin a sentence.
_WORDS = """
    a an the this that these those such same other another each every either neither both all any
    some many much more most few several no none not only one ones own
    i me my mine you your yours he him his she her hers it its we us our ours they them their
    theirs who whom whose which what when where why how whether
    and or but nor so yet if because while although though since until unless than as
    of in on at by for from to into onto with without within about above across after against along
    among around before behind below beneath beside besides between beyond despite down during
    except inside like near off out outside over past per through throughout till toward towards
    under up upon via
    is are was were be been being am do does did done has have had having can could will would
    shall should may might must
    also just even then there here too very again once ever never
    tell name list give describe explain discuss compare identify provide outline question answer
"""
_FUNCTION_WORDS = frozenset(_WORDS.split())


class Mention(msgspec.Struct, frozen=True):
    """A name in a question: what stands there, from `start` to `end` of the question in NFC.

    `names` are what to look for in the graph; `known` are its entities where the recognizer has
    them already. `types` are names or ids of classes, and empty where it says nothing of them.
    """

    text: str
    start: int
    end: int
    names: tuple[str, ...]
    types: tuple[str, ...] = ()
    known: tuple[NamedEntity, ...] | None = None


@runtime_checkable
class Recognizer(Protocol):
    """Finds names in questions. `name` is how a user writes it."""

    @property
    def name(self) -> str:
        """As a user writes it."""
        ...

    def mentions(self, questions: Sequence[str]) -> list[list[Mention]]:
        """For each question (in NFC) its names, in order, none inside another."""
        ...


def get_recognizer(written: str, graph: KnowledgeGraph, types: Sequence[str] = ()) -> Recognizer:
    """`dictionary`, or `spacy:MODEL` with the folder or the package of a pipeline.

    Raises UsageError for another name, or no model; besides what the recognizers raise.
    """
    given = ComponentSpec.parse("recognizer", written)
    if given.name not in RECOGNIZERS:
        raise UsageError.unknown_name("recognizer", given.name, RECOGNIZERS)
    if given.name == "dictionary":
        given.check((), model=False)
        return Dictionary(graph, types)
    given.check(())
    if not given.model:
        raise UsageError(
            "the recognizer spacy needs a pipeline; write spacy:FOLDER, or spacy:PACKAGE such as "
            "spacy:en_core_web_sm"
        )
    return SpacyRecognizer(given.model)


class Dictionary:
    """A recognizer that knows the names and aliases of a graph's entities.

    With `types` only those of entities of these classes. Of names that overlap, the one that begins
    first is taken, of those the longest. Made once, it holds every name in memory.

    Raises UsageError: the graph cannot list its names. GraphError: it has none, or none of these
    types. MissingExtraError.
    """

    name = "dictionary"

    def __init__(self, graph: KnowledgeGraph, types: Sequence[str] = ()) -> None:
        if not isinstance(graph, Listed):
            raise UsageError(
                f"{graph.name} can't list the names of its entities, which the recognizer "
                "dictionary needs; use the recognizer spacy:MODEL, or a graph in a file or a "
                "folder"
            )
        try:
            import ahocorasick
        except ImportError as error:
            raise MissingExtraError("the recognizer dictionary", "graph") from error
        by_name: dict[str, list[NamedEntity]] = {}
        for one in graph.names():
            if (not types or has_type(one, types)) and (key := name_key(one.text)):
                by_name.setdefault(key, []).append(one)
        if not by_name:
            raise GraphError(_no_names(graph, graph.name, types))
        # Folded name → (its length, the entities that have it).
        self._names: Any = ahocorasick.Automaton()
        while by_name:  # what went into the automaton is let go at once: there may be millions
            key, entities = by_name.popitem()
            self._names.add_word(key, (len(key), tuple(entities)))
        self._names.make_automaton()

    def mentions(self, questions: Sequence[str]) -> list[list[Mention]]:
        """For each question (in NFC) the names of the graph in it."""
        return [self._mentions(question) for question in questions]

    def _mentions(self, question: str) -> list[Mention]:
        folded = fold(question)
        places: list[tuple[int, int, tuple[NamedEntity, ...]]] = []
        for last, (length, known) in self._names.iter(folded.text):
            place = folded.place(last + 1 - length, last + 1)
            if place and stands_alone(question, *place) and is_meant(question, *place):
                places.append((*place, known))
        places.sort(key=lambda place: (place[0], -place[1]))
        found: list[Mention] = []
        for start, end, known in places:
            if not found or start >= found[-1].end:
                names = tuple(dict.fromkeys(one.text for one in known))
                found.append(Mention(question[start:end], start, end, names, known=known))
        return found


def _no_names(graph: Listed, where: str, types: Sequence[str]) -> str:
    if not types:
        return f"{where} has no entity with a name; expected labels of entities. Load some"
    known = sorted({kind for one in graph.names() for kind in one.types})
    shown = ", ".join(known[:20]) + (" …" if len(known) > 20 else "") or "none"
    return (
        f"{where} has no entity with a name of type {' or '.join(types)}; its types: {shown}. "
        "Name one of them, or leave the types out"
    )


class SpacyRecognizer:
    """A recognizer that asks a pipeline from a folder or an installed package.

    `labels` maps its labels to classes that an entity must have; of other labels it may be
    anything. Quotation marks and the possessive `'s` are cut off; a name is looked for with and
    without "the". Raises UsageError: no such pipeline, or none that finds names. MissingExtraError.
    """

    def __init__(self, model: str, labels: Mapping[str, tuple[str, ...]] = LABEL_TYPES) -> None:
        self.name = f"spacy:{model}"
        self._labels = labels
        self._pipeline = _load_pipeline(model)

    def mentions(self, questions: Sequence[str]) -> list[list[Mention]]:
        """For each question (in NFC) its names, in order."""
        docs = self._pipeline.pipe(questions, batch_size=_BATCH)
        return [[m for span in doc.ents if (m := self._mention(span))] for doc in docs]

    def _mention(self, span: Span) -> Mention | None:
        text = span.text
        opening = _EDGES.match(text)
        start = opening.end() if opening else 0
        closing = _EDGES.search(text, start)
        text = text[start : closing.start() if closing else None]
        if not any(c.isalpha() for c in text):
            return None
        names = tuple(dict.fromkeys((text, _ARTICLE.sub("", text))))
        begin = span.start_char + start
        return Mention(text, begin, begin + len(text), names, self._labels.get(span.label_, ()))


def _load_pipeline(model: str) -> Language:
    try:
        import spacy
    except ImportError as error:
        raise MissingExtraError("the recognizer spacy", "ner") from error
    try:
        pipeline = spacy.load(model)
    except Exception as error:  # its loader lets through whatever the files' readers raise
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        if Path(model).exists():
            raise UsageError(
                f"{model} isn't a spaCy pipeline: {reason}. Name a folder with config.cfg and "
                "meta.json, written by spaCy"
            ) from error
        raise UsageError(
            f"no spaCy pipeline {model!r}: neither a folder nor an installed package ({reason}). "
            f"Install it with: python -m spacy download {model}"
        ) from error
    if not any("doc.ents" in pipeline.get_pipe_meta(part).assigns for part in pipeline.pipe_names):
        parts = ", ".join(pipeline.pipe_names) or "none"
        raise UsageError(
            f"the spaCy pipeline {model} finds no names: its components are {parts}; expected one "
            "with ner or an entity ruler. Name another pipeline"
        )
    return pipeline


def has_type(named: NamedEntity, types: Sequence[str]) -> bool:
    """Whether one of its classes, by name or id, is among `types`; case does not count."""
    wanted = {one.casefold() for one in types}
    return any(own.casefold() in wanted for own in named.types)


def stands_alone(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] begins and ends where words do.

    A hyphen or an apostrophe between two letters joins them into one word, but `'s` and `'` of a
    possessive end it. In scripts without spaces every character is a word.
    """
    if start and _is_joined(text, start - 1, start, start - 2):
        return False
    if end == len(text) or (text[end] in APOSTROPHES and _POSSESSIVE.match(text, end)):
        return True
    return not _is_joined(text, end, end - 1, end + 1)


def _is_joined(text: str, outer: int, inner: int, beyond: int) -> bool:
    """Whether the character outside an edge makes one word with that inside; or that beyond it."""
    sign = text[outer]
    if sign in _JOINING or sign in APOSTROPHES:
        return 0 <= beyond < len(text) and _is_word(text[beyond])
    apart = _NO_SPACES.match(sign) or _NO_SPACES.match(text[inner])
    return _is_word(sign) and not apart


def _is_word(char: str) -> bool:
    """A letter, a digit, `_` or a mark on a letter."""
    return char.isalnum() or char == "_" or unicodedata.combining(char) > 0


def is_meant(question: str, start: int, end: int) -> bool:
    """Whether question[start:end], which equals a name but for case, is that name.

    A graph has names such as "He", "Art" and "The Who"; read without regard to case they would be
    found in most questions. A name has a letter and more than one character. A function word by
    itself is none, except an abbreviation in capitals ("WHO", "US") in a question that has small
    letters too. Without a capital it needs two words, one of them no function word, and six
    letters. In scripts without capitals nothing more is asked.
    """
    text = question[start:end]
    letters = [c for c in text if c.isalpha()]
    if not letters or len(text) < 2:
        return False
    words = name_key(text).split()
    plain = all(word.strip(".,'") in _FUNCTION_WORDS for word in words)
    if plain and len(words) == 1:
        return text.isupper() and any(c.islower() for c in question)
    if any(not c.islower() for c in letters):  # a capital, or a letter that has none
        return True
    return not plain and len(words) > 1 and len(letters) >= _LOWER_LETTERS
