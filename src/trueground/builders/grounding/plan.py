"""The plan of `build grounding`: its options settled, its five steps in a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from trueground.benchmarks.base import Value
from trueground.benchmarks.values import text_of, whole_of
from trueground.builders.asking.others import told
from trueground.builders.base import BatchStage, BuildPlan, BuiltDataset, Material, Stage
from trueground.builders.grounding.conflict.conflict import conflict_stage, no_conflict
from trueground.builders.grounding.distractors import by_id, check_retriever, distractors_stage
from trueground.builders.grounding.documents.document import SourceDocument
from trueground.builders.grounding.documents.library import DocumentLibrary, open_library
from trueground.builders.grounding.documents.passages import passages
from trueground.builders.grounding.facts.facts import DECOMPOSER, facts_stage
from trueground.builders.grounding.facts.gold import gold_stage
from trueground.builders.grounding.facts.supporting import FACT_JUDGE, FactJudge
from trueground.builders.grounding.instances import Instance, OriginalInstance
from trueground.builders.grounding.items import Context
from trueground.builders.grounding.output import agreement, dataset_of
from trueground.builders.grounding.people import labelled_gold, people_of
from trueground.builders.grounding.questions.best import best_stage
from trueground.builders.grounding.questions.candidates import candidates_stage
from trueground.builders.grounding.questions.classify import classify_stage
from trueground.builders.grounding.questions.sets import sets_stage
from trueground.builders.grounding.settings import settle
from trueground.builders.people import PeopleLabels
from trueground.claims import Decomposer, get_decomposer
from trueground.models.base import CHARACTERS_PER_TOKEN
from trueground.plugins import parse_part
from trueground.records import FileInfo

AnyStage = Stage[Any, Any] | BatchStage[Any, Any]


class DocumentPassages:
    """The passages of all documents, cut when they are first asked for."""

    def __init__(self, library: DocumentLibrary, words: int) -> None:
        self._library, self._words = library, words

    @cached_property
    def passages(self) -> Mapping[str, Context]:
        """By id."""
        documents = self._library.documents()
        return by_id(one for document in documents for one in passages(document, self._words))


class _Parts:
    """What the stages share: judge of facts, decomposer, passages, people; and the settings."""

    def __init__(self, options: Mapping[str, Value], material: Material) -> None:
        """UsageError, InputError, MissingExtraError: before anything is asked."""
        self.library = open_library(material, options)
        self.words = settle(options).context_words
        self.corpus = DocumentPassages(self.library, self.words)
        self.both = options["conflict"] == "full"
        self.top = whole_of(options, "distractors", 0)
        self.retriever = text_of(options, "retriever") or "bm25"
        if self.top:
            check_retriever(self.retriever, try_it=not material.dry_run)
        self.people: PeopleLabels = people_of(material.labels)
        self._judge = text_of(options, FACT_JUDGE) or "lexical"
        self.facts = FactJudge(self._judge, cache=material.cache)
        self._decomposer = text_of(options, DECOMPOSER) or "rules"
        self.decomposer: Decomposer = get_decomposer(self._decomposer, cache=material.cache)

    @property
    def others(self) -> dict[str, Callable[[], Mapping[str, Any]]]:
        """The models that are asked without a role."""
        asked: dict[str, tuple[Any, str]] = {
            FACT_JUDGE: (self.facts.judge, self._judge),
            DECOMPOSER: (self.decomposer, self._decomposer),
        }
        return {name: _told(*one) for name, one in asked.items() if hasattr(one[0], "spent")}

    def close(self) -> None:
        """Close the models that were opened."""
        self.facts.close()
        getattr(self.decomposer, "close", lambda: None)()


def prepare(options: Mapping[str, Value], material: Material) -> BuildPlan:
    """The plan. UsageError, InputError, MissingExtraError: before anything is asked."""
    parts = _Parts(options, material)
    notices = [f"The questions were written by the model {material.roles.get('writer')}."]
    if parts.both:
        notices.append("The conflicting version states what is false.")
    said = len(notices)

    def finish(items: Sequence[Instance]) -> BuiltDataset:
        notices[said:] = agreement(items)
        found = parts.corpus.passages
        return dataset_of(items, found, parts.people, distractors=bool(parts.top))

    signatures = {FACT_JUDGE: parts.facts.signature, DECOMPOSER: parts.decomposer.signature}
    return BuildPlan(
        builder="grounding",
        options=dict(options) | signatures,
        files=[*parts.library.files, *_labels(material)],
        source=parts.library.source,
        stages=_stages(options, material, parts),
        finish=finish,
        tokens=_tokens,
        notices=notices,
        close=parts.close,
        people=parts.people,
        others=parts.others,
    )


def _stages(options: Mapping[str, Value], material: Material, parts: _Parts) -> list[AnyStage]:
    facts, words, people = parts.facts, parts.words, parts.people
    stages: list[AnyStage | None] = [
        sets_stage(options, material.seed),
        candidates_stage(material, options),
        classify_stage(material, options),
        best_stage(options),
        facts_stage(parts.decomposer, words),
        labelled_gold(people),
        gold_stage(material, facts, words),
        conflict_stage(material, facts, words) if parts.both else _bare(),
        people.stage(Instance),
    ]
    if parts.top:
        stages.append(distractors_stage(lambda: parts.corpus.passages, parts.retriever, parts.top))
    return [stage for stage in stages if stage is not None]


def _bare() -> BatchStage[OriginalInstance, Instance]:
    doc = "Keep the original version alone"
    return BatchStage(
        name="original", doc=doc, takes=OriginalInstance, gives=Instance, work=no_conflict
    )


def _told(part: Any, written: str) -> Callable[[], Mapping[str, Any]]:
    name = parse_part("model", written).model or written
    return told(name, part.signature, lambda: part.spent)


def _labels(material: Material) -> list[FileInfo]:
    return [FileInfo.of(str(material.labels), material.labels)] if material.labels else []


def _tokens(document: SourceDocument) -> float:
    return len(document.text) / CHARACTERS_PER_TOKEN
