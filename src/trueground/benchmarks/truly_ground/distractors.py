"""Distractors in the order of their rank: from the publisher's file, or mined from a corpus.

Source: Lee et al. 2024, section 3.2 (step 5) and appendix A.9.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from trueground.benchmarks.base import Value
from trueground.benchmarks.truly_ground import DISTRACTOR_SET, TrulyGroundOptions
from trueground.benchmarks.truly_ground.contexts import pages
from trueground.benchmarks.truly_ground.jsonfile import read_object
from trueground.benchmarks.truly_ground.source import (
    DISTRACTORS,
    META,
    TEXTS,
    TITLES,
    VERSIONS,
    VersionFields,
    VersionQuestion,
    find_file,
    look_for,
    read_items,
)
from trueground.errors import InputError, UsageError
from trueground.records.files import data_files
from trueground.retrieval.corpora.corpus import Corpus, read_corpus, read_published
from trueground.retrieval.distractors import Gold, mine
from trueground.retrieval.kinds import open_over
from trueground.types import Passage

MINED_BUDGET = 2048
Ranked = list[Sequence[Passage]]


class Distractors(Protocol):
    """Where distractors come from; options and files are part of the run's identity."""

    @property
    def options(self) -> dict[str, Value]:
        """The options that fix the distractors, with the values settled."""
        ...

    @property
    def files(self) -> tuple[Path, ...]:
        """What they are read from."""
        ...

    @property
    def budget(self) -> int | None:
        """Tokens of all contexts together; None: all distractors are shown."""
        ...

    def ranked(self, items: Sequence[VersionQuestion]) -> Ranked:
        """For each question its distractors, the nearest first. InputError."""
        ...


def make_distractors(settings: TrulyGroundOptions, data: Path | None) -> Distractors:
    """As the options say; without a word the data's own file, or else mined by bm25."""
    path = settings.distractors
    if path is None and settings.retriever is None and settings.corpus is None:
        path = look_for(DISTRACTORS, data)
    if path is not None:
        return Published(path, settings)
    if settings.distractor_set != DISTRACTOR_SET:
        raise UsageError(
            f"--distractor-set {settings.distractor_set}: it names a set of a file of distractors, "
            "and there is none; add --distractors FILE, or leave it out"
        )
    return Mined(settings, data)


class Published:
    """The file {qId: {SET: [context, …]}}; all of a set, unless there is a budget."""

    def __init__(self, path: Path, settings: TrulyGroundOptions) -> None:
        self.options: dict[str, Value] = {
            "distractors": settings.distractor_set,
            "retriever": None,
        }
        self.files: tuple[Path, ...] = (path,)
        self.budget = settings.budget
        self._path, self._set = path, settings.distractor_set
        if not path.is_file():
            what = "is no file" if path.exists() else "does not exist"
            raise InputError(f"--distractors {path} {what}; name a file as the publisher's")

    def ranked(self, items: Sequence[VersionQuestion]) -> Ranked:
        """Without doubles, and without a text that is a gold context too."""
        entries = read_object(self._path)
        found: Ranked = []
        for item in items:
            fields = VersionFields(self._path, item.id, entries.get(item.id))
            if self._set not in fields.entry:
                sets = ", ".join(fields.entry) or "none"
                raise fields.wrong(self._set, f"no such set; there are: {sets}", "a list of str")
            gold = {one.text for one in item.gold}
            others = fields.passages(self._set, gold=False)
            found.append([one for one in others if one.text not in gold])
        return found


class Mined:
    """The nearest passages of a corpus, without those of pages that hold a gold context."""

    def __init__(self, settings: TrulyGroundOptions, data: Path | None) -> None:
        self._corpus, self.files = _read(settings.corpus, data)
        self._opened = open_over(settings.retriever or "bm25", self._corpus)
        self._top = settings.top
        self._originals = None
        if settings.version != "original":
            self._originals = (find_file(VERSIONS["original"], data), find_file(META, data))
            self.files += self._originals[:1]
        self.budget = settings.budget or MINED_BUDGET
        self.options: dict[str, Value] = {
            "distractors": "mined",
            "retriever": self._opened.retriever.signature,
            "top": str(settings.top),
        }

    def ranked(self, items: Sequence[VersionQuestion]) -> Ranked:
        """The same for both versions of a question: pages are those of either version."""
        originals = {one.id: one for one in read_items(*self._originals)} if self._originals else {}
        gold = [_gold(item, originals.get(item.id)) for item in items]
        queries = [item.question for item in items]
        try:
            mined = mine(self._corpus, self._opened.retriever, queries, gold, self._top)
        finally:
            self._opened.close()
        wanted = {index for indices in mined for index in indices}
        passages = {index: _other(self._corpus[index]) for index in wanted}
        return [[passages[index] for index in indices] for indices in mined]


def _gold(item: VersionQuestion, original: VersionQuestion | None) -> Gold:
    contexts = (*item.gold, *(original.gold if original else ()))
    return Gold(tuple(sorted(pages(contexts))), tuple(one.text for one in contexts))


def _other(passage: Passage) -> Passage:
    """A passage of the corpus as a distractor; a page that has no address is named by its title."""
    source = passage.source if passage.source != passage.title else None
    return Passage(passage.text, title=passage.title, gold=False, source=source)


def _read(path: Path | None, data: Path | None) -> tuple[Corpus, tuple[Path, ...]]:
    """The corpus and its files: the published ones, or what the user names."""
    if path is not None and look_for(TEXTS, path) is None:
        return read_corpus(path), tuple(data_files(path))
    folder = path or data
    files = (find_file(TEXTS, folder), find_file(TITLES, folder))
    return read_published(*files), files
