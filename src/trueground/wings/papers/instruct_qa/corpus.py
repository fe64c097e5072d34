"""Corpus of a task: retrieve passages, pick irrelevant ones, and look up gold passages."""

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

# Passages to retrieve beyond the requested rank, in case the first ones are gold.
_N_EXTRA_PASSAGES = 100


class FoundPassages(NamedTuple):
    """Passages of a question, as indices into the corpus in rank order.

    `rank` is the rank of an irrelevant passage. None: the search didn't return the passage.
    """

    numbers: tuple[int, ...]
    rank: int | None = None


class QaCorpus:
    """An indexed corpus.

    Attributes:
        note: Passes a message to the user, once per command.
        signature: The signature of the retriever. None without one.
    """

    def __init__(self, source: Path, options: QaOptions, sources: Sources) -> None:
        """Open a corpus, and build its index if needed. A dry run doesn't keep the index.

        Raises:
            InputError: The corpus can't be read.
            MissingExtraError: The retriever needs an extra of the package.
            UsageError: The corpus is too small for the rank of irrelevant passages.
        """
        self._source, self._options, self.note = source, options, sources.note_once
        retrievers = [options.retriever] if options.searches else []
        session = CorpusSession(
            cache=sources.cache,
            scratch=sources.scratch,
            shared=sources.shared,
            progress=sources.progress,
            note=sources.note,
            note_once=sources.note_once,
        )
        self._corpus = session.open(source, retrievers)
        self._passages = self._corpus.passages
        self._searching: OpenedRetriever | None = None
        self.signature = None
        if options.searches:
            opened = self._corpus.open(options.retriever)
            self.signature = opened.retriever.signature
            opened.close()
        size, rank = len(self._passages), options.irrelevant_rank
        if options.setting == "irrelevant" and size <= rank:
            expected = f"at most {size - 1:,}" if size > 1 else "a corpus with more passages"
            raise UsageError(
                f"--irrelevant-rank {rank}: the corpus {source} has {size:,} passages, so none "
                f"comes after that rank; expected {expected}"
            )

    @property
    def sha256(self) -> str:
        """The checksum of all passages."""
        return self._passages.sha256

    def passage(self, number: int) -> Passage:
        """Return a passage by its number."""
        return self._passages[number]

    def match(self, numbers: Sequence[int], golds: Sequence[GoldPassage]) -> list[list[int]]:
        """Return the indices of the matching gold passages for each passage."""
        return [self._matching_golds(number, golds) for number in numbers]

    def _matching_golds(self, number: int, golds: Sequence[GoldPassage]) -> list[int]:
        return [i for i, gold in enumerate(golds) if gold.is_passage(self._passages, number)]

    def close(self) -> None:
        """Free the memory of the retriever. The next search opens it again."""
        if self._searching is not None:
            close, self._searching = self._searching.close, None
            close()
        # `note` shows the problem once per command, although each task has its cache.
        if problem := self._corpus.problem:
            self.note(problem)

    def find(self, items: Sequence[QaQuestion], queries: Sequence[str]) -> list[FoundPassages]:
        """Return the retrieved passages, or an irrelevant passage, for each item."""
        rank, retrieved = self._options.irrelevant_rank, self._options.setting == "retrieved"
        top = self._options.most_passages if retrieved else rank + _N_EXTRA_PASSAGES
        if self._searching is None:
            self._searching = self._corpus.open(self._options.retriever)
        hits = self._searching.retriever.search(queries, top)
        ranked = [tuple(hit.index for hit in item_hits) for item_hits in hits]
        if retrieved:
            return [FoundPassages(numbers) for numbers in ranked]
        pairs = zip(items, ranked, strict=True)
        return [self._find_irrelevant(item, numbers, rank) for item, numbers in pairs]

    def look_up(self, items: Iterable[QaQuestion]) -> dict[GoldPassage, frozenset[int]]:
        """Return the indices of each gold passage that is given by a name.

        Raises:
            InputError: A gold passage isn't in the corpus.
        """
        named: dict[GoldPassage, QaQuestion] = {}
        for item in items:
            for gold in item.gold:
                if gold.text is None:
                    named.setdefault(gold, item)
        matches = GoldPassage.find(self._passages, named)
        for gold, numbers in matches.items():
            if not numbers:
                raise InputError(
                    f"{named[gold].place}: the gold passage {gold} is not in the corpus "
                    f"{self._source}; expected the id or the title of one of its "
                    f"{len(self._passages):,} passages"
                )
        return matches

    def _find_irrelevant(self, item: QaQuestion, ranked: Sequence[int], rank: int) -> FoundPassages:
        """Return the first passage after the rank that isn't gold.

        If there is none, return a passage that the search didn't return, that isn't gold, and that
        doesn't have a reference answer in its text or title. The choice depends on the question's
        id and the size of the corpus. If there is none either, return no passage.
        """
        passages = self._passages

        def is_gold(number: int) -> bool:
            return any(gold.is_passage(passages, number) for gold in item.gold)

        for passage_rank, number in enumerate(ranked[rank:], start=rank + 1):
            if not is_gold(number):
                return FoundPassages((number,), passage_rank)
        retrieved = set(ranked)
        answers = [_spaced(answer) for answer in item.references if words(answer)]
        for number in shuffled(item.id, len(passages)):
            if number not in retrieved and not is_gold(number):
                text = _spaced(passages.searched[number])
                if not any(answer in text for answer in answers):
                    return FoundPassages((number,))
        return FoundPassages(())


def _spaced(text: str) -> str:
    return f" {' '.join(words(text))} "


def shuffled(seed: str, size: int) -> Iterator[int]:
    """Yield every number below `size` once, in an order by the seed, without a list."""
    high, low = divmod(draw_number(seed), 1 << 128)
    start, step = high % size, 1 + low % size
    while gcd(step, size) > 1:
        step += 1
    for i in range(size):
        yield (start + i * step) % size
