"""The stream of questions: read and checked once, and searched for block by block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trueground.benchmarks.base import Question
from trueground.benchmarks.instruct_qa import QaOptions
from trueground.benchmarks.instruct_qa.history import query
from trueground.benchmarks.instruct_qa.items import Gold, QaQuestion
from trueground.benchmarks.instruct_qa.library import FoundPassages, PassageLibrary
from trueground.benchmarks.instruct_qa.prompting import QaPrompts
from trueground.benchmarks.instruct_qa.source import read_items
from trueground.benchmarks.instruct_qa.tally import QuestionTally
from trueground.errors import InputError
from trueground.retrieval.bm25.memory import words
from trueground.retrieval.gold import matches
from trueground.types import Passage, Record

_BLOCK = 256  # questions that are searched for at once
_SHOWN = 5
# What a run writes into `meta` of its own, by setting.
_WRITTEN = {
    "retrieved": ("gold_retrieved", "gold_rank"),
    "irrelevant": ("irrelevant_rank", "irrelevant_found"),
}


class QaQuestions:
    """Streams the questions. The first call reads and checks all of them.

    What was found for a block of them is kept, so that nothing is searched for twice, and nothing
    at all behind the last question that is wanted.
    """

    def __init__(
        self,
        settings: QaOptions,
        files: Sequence[Path],
        library: PassageLibrary | None,
        prompting: QaPrompts,
    ) -> None:
        self._settings, self._files = settings, files
        self._library, self._prompting = library, prompting
        self._items: list[QaQuestion] | None = None
        self._places: Mapping[Gold, frozenset[int]] = {}
        self._found: dict[int, list[FoundPassages]] = {}

    def __call__(self) -> Iterator[Question]:
        if self._items is None:
            self._items = self._checked(read_items(self._settings, self._files))
        items, tally = self._items, QuestionTally(self._settings)
        try:
            for start in range(0, len(items), _BLOCK):
                block = items[start : start + _BLOCK]
                for item, found in zip(block, self._search(start, block), strict=True):
                    if not tally.leaves_out(found):
                        yield self._question(item, found)
            tally.check_any(self._settings.corpus_path)
        finally:
            if self._library is not None:
                tally.tell(self._library.note)
                self._library.close()

    def _checked(self, items: list[QaQuestion]) -> list[QaQuestion]:
        """The items that can be asked; gold passages that are known by a name are looked up."""
        settings, library = self._settings, self._library
        for item in items:
            _check_meta(item, settings)
        if library is not None and (settings.task == "questions" or settings.setting == "gold"):
            self._places = library.look_up(items)
        if settings.setting != "gold":
            return items
        if nameless := [item.id for item in items if not all(map(self._has_text, item.gold))]:
            raise InputError(
                f"--setting gold: {_count(nameless)} have gold passages by their names only; add "
                "--corpus PATH, where their texts are"
                + "; --variant distractor has them too"
                * (settings.task == "hotpotqa")
            )
        asked = [item for item in items if item.gold]
        lacking = [item.id for item in items if not item.gold]
        if lacking and not ((settings.without_gold == "skip") and asked):
            raise InputError(_no_gold(settings, lacking, bool(asked)))
        return asked

    def _has_text(self, gold: Gold) -> bool:
        return gold.text is not None or gold in self._places

    def _search(self, start: int, block: Sequence[QaQuestion]) -> list[FoundPassages]:
        settings, library = self._settings, self._library
        if not settings.searches or library is None:
            return [FoundPassages(())] * len(block)
        if start not in self._found:
            plain = settings.task == "topiocqa"
            queries = [query(item, settings.retrieval_query, plain=plain) for item in block]
            self._found[start] = library.find(block, queries, settings)
        return self._found[start]

    def _question(self, item: QaQuestion, found: FoundPassages) -> Question:
        settings = self._settings
        answerable = item.answerable
        if settings.setting == "gold":
            contexts, more = self._gold(item), dict[str, Any]()
            answerable = item.answerable is not False
        elif settings.setting == "irrelevant":
            contexts = self._passages(found, [[]])
            more = {"irrelevant_rank": found.rank, "irrelevant_found": found.rank is not None}
            answerable = False
        elif settings.setting == "retrieved":
            contexts, more = self._retrieved(item, found)
            # A passage that is not gold may hold the answer too.
            if item.gold and item.answerable is not False:
                answerable = True if more["gold_retrieved"] else None
        else:
            contexts, more = [], {}
        record = Record(
            id=item.id,
            response="",
            question=item.question,
            history=list(item.history) or None,
            contexts=None if settings.closed_book else contexts,
            references=list(item.references) or None,
            answerable=answerable,
            group=item.group,
            meta={"dataset": settings.task, "setting": settings.setting, **item.meta, **more},
        )
        return Question(record, self._prompting.messages(item, contexts))

    def _retrieved(
        self, item: QaQuestion, found: FoundPassages
    ) -> tuple[list[Passage], dict[str, Any]]:
        """The passages in rank order, and when the gold ones that are needed had been found."""
        assert self._library is not None
        golds = matches(found.numbers, self._library.index.passages, item.gold)
        needed = len(item.gold) if self._settings.needs_all else min(1, len(item.gold))
        seen: set[int] = set()
        rank = None
        for place, which in enumerate(golds, start=1):
            seen.update(which)
            if rank is None and needed and len(seen) >= needed:
                rank = place
        known = bool(item.gold)
        told = {"gold_retrieved": rank is not None if known else None, "gold_rank": rank}
        return self._passages(found, golds, known=known), told

    def _passages(
        self, found: FoundPassages, golds: Sequence[Sequence[int]], *, known: bool = True
    ) -> list[Passage]:
        """The passages by their numbers; `gold` stays open where no gold passage is known."""
        assert self._library is not None
        passages = [self._library.index.passages[number] for number in found.numbers]
        for passage, which in zip(passages, golds, strict=False):
            passage.gold = bool(which) if known else None
        return passages

    def _gold(self, item: QaQuestion) -> list[Passage]:
        """The gold passages, each text once: as the corpus has it, where it was named there."""
        found: dict[str, tuple[bool, Passage]] = {}
        for gold in item.gold:
            named = gold.text is None
            for passage in self._made(gold):
                same = " ".join(words(passage.text)) or passage.text
                if same not in found or named > found[same][0]:
                    found[same] = named, passage
        return [passage for _, passage in found.values()]

    def _made(self, gold: Gold) -> list[Passage]:
        if gold.text is not None:
            return [Passage(gold.text, id=gold.id, title=gold.title, gold=True)]
        assert self._library is not None
        passages = [self._library.index.passages[n] for n in sorted(self._places[gold])]
        for passage in passages:
            passage.gold = True
        return passages


def _check_meta(item: QaQuestion, settings: QaOptions) -> None:
    """InputError where a row has a field of `meta` that says what the run found out."""
    for name in _WRITTEN.get(settings.setting, ()):
        if name in item.meta:
            raise InputError(
                f"{item.place}, field 'meta.{name}': found one, and a run with --setting "
                f"{settings.setting} writes what it finds under that name; rename the field, or "
                "leave it out"
            )


def _count(ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:_SHOWN]) + (", …" if len(ids) > _SHOWN else "")
    return f"{len(ids):,} questions ({shown})"


def _no_gold(settings: QaOptions, ids: Sequence[str], some: bool) -> str:
    where = {
        "nq": "--gold FILE names DPR's nq-test_gold_info.json",
        "questions": 'give each question a "gold" list of ids or titles of passages, or contexts '
        'with "gold": true',
    }.get(settings.task, "take a copy of the data that has them")
    skip = "; --without-gold skip asks the others" * some
    return f"--setting gold: {_count(ids)} have no gold passage; {where}{skip}"
