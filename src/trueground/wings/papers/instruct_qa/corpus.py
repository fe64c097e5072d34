"""The corpus of a task: ready to be searched, what its retriever finds, the gold that it holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import gcd
from pathlib import Path
from typing import NamedTuple

from trueground.benchmarks import Sources
from trueground.errors import InputError, UsageError
from trueground.text import draw_number
from trueground.types import Passage
from trueground.wings.papers.instruct_qa import QaOptions
from trueground.wings.papers.instruct_qa.source import QaQuestion
from trueground.wings.search import CorpusSession, GoldPassage, OpenedRetriever, words

# How many passages behind the wanted rank are looked at, where the first ones are gold.
_SPARE = 100


class FoundPassages(NamedTuple):
    """Passages of one question in rank order, by number.

    `rank` is that of an irrelevant one; None for one that the search did not find.
    """

    numbers: tuple[int, ...]
    rank: int | None = None


class QaCorpus:
    """A corpus that is ready to be searched; `close` gives the retriever's memory back.

    `note` tells a user what he should know, once a command. `signature` is the retriever's.
    """

    def __init__(self, source: Path, options: QaOptions, sources: Sources) -> None:
        """Builds the index where there is none; in a dry run only for its time.

        UsageError, InputError, MissingExtraError.
        """
        self._source, self._options, self.note = source, options, sources.note_once
        wanted = [options.retriever] if options.searches else []
        session = CorpusSession(
            cache=sources.cache,
            scratch=sources.scratch,
            shared=sources.shared,
            progress=sources.progress,
            note=sources.note,
            note_once=sources.note_once,
        )
        self._corpus = session.open(source, wanted)
        self._passages = self._corpus.passages
        self._searching: OpenedRetriever | None = None
        self.signature = None
        if options.searches:
            opened = self._corpus.open(options.retriever)
            self.signature = opened.retriever.signature
            opened.close()
        size, rank = len(self._passages), options.irrelevant_rank
        if options.setting == "irrelevant" and size <= rank:
            most = f"at most {size - 1:,}" if size > 1 else "a corpus with more"
            raise UsageError(
                f"--irrelevant-rank {rank}: the corpus {source} has {size:,} passages, so none "
                f"comes after that rank; expected {most}"
            )

    @property
    def sha256(self) -> str:
        """The checksum of all passages."""
        return self._passages.sha256

    def passage(self, number: int) -> Passage:
        """Return a passage by its number."""
        return self._passages[number]

    def match(self, numbers: Sequence[int], golds: Sequence[GoldPassage]) -> list[list[int]]:
        """Return for each of the passages which of the gold passages it is."""
        return [
            [i for i, gold in enumerate(golds) if gold.is_passage(self._passages, number)]
            for number in numbers
        ]

    def close(self) -> None:
        """Another search opens the retriever again."""
        if self._searching is not None:
            close, self._searching = self._searching.close, None
            close()
        # Once a command, though every task has a cache of its own.
        if problem := self._corpus.problem:
            self.note(problem)

    def find(self, items: Sequence[QaQuestion], queries: Sequence[str]) -> list[FoundPassages]:
        """What each item is asked with: retrieved passages, or an irrelevant one."""
        rank, retrieved = self._options.irrelevant_rank, self._options.setting == "retrieved"
        top = self._options.most_passages if retrieved else rank + _SPARE
        if self._searching is None:
            self._searching = self._corpus.open(self._options.retriever)
        hits = self._searching.retriever.search(queries, top)
        ranked = [tuple(hit.index for hit in found) for found in hits]
        if retrieved:
            return [FoundPassages(numbers) for numbers in ranked]
        pairs = zip(items, ranked, strict=True)
        return [self._find_irrelevant(item, numbers, rank) for item, numbers in pairs]

    def look_up(self, items: Iterable[QaQuestion]) -> dict[GoldPassage, frozenset[int]]:
        """The passages of each gold passage without a text. InputError: one that is not there."""
        named: dict[GoldPassage, QaQuestion] = {}
        for item in items:
            for gold in item.gold:
                if gold.text is None:
                    named.setdefault(gold, item)
        found = GoldPassage.find(self._passages, named)
        for gold, numbers in found.items():
            if not numbers:
                raise InputError(
                    f"{named[gold].place}: the gold passage {gold} is not in the corpus "
                    f"{self._source}; expected the id or the title of one of its "
                    f"{len(self._passages):,} passages"
                )
        return found

    def _find_irrelevant(self, item: QaQuestion, ranked: Sequence[int], rank: int) -> FoundPassages:
        """The first passage behind the rank that is not gold; else one that was not found.

        That one is not gold, and no reference answer stands in it or its title, word for word.
        Which one it is depends on the question's id and the size of the corpus. Without either
        there is none.
        """
        passages = self._passages

        def is_gold(number: int) -> bool:
            return any(gold.is_passage(passages, number) for gold in item.gold)

        for place, number in enumerate(ranked[rank:], start=rank + 1):
            if not is_gold(number):
                return FoundPassages((number,), place)
        found = set(ranked)
        answers = [_spaced(answer) for answer in item.references if words(answer)]
        for number in shuffled(item.id, len(passages)):
            if number not in found and not is_gold(number):
                text = _spaced(passages.searched[number])
                if not any(answer in text for answer in answers):
                    return FoundPassages((number,))
        return FoundPassages(())


def _spaced(text: str) -> str:
    return f" {' '.join(words(text))} "


def shuffled(seed: str, size: int) -> Iterator[int]:
    """Every number below `size` once, in an order that depends on the seed; no list is made."""
    high, low = divmod(draw_number(seed), 1 << 128)
    start, step = high % size, 1 + low % size
    while gcd(step, size) > 1:
        step += 1
    for i in range(size):
        yield (start + i * step) % size
