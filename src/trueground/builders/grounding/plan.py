"""The plan of `build grounding`: its options settled, its five steps in a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import Any

from trueground.benchmarks.base import Value
from trueground.benchmarks.values import number_of, text_of
from trueground.builders.base import Dataset, Material, Plan, Stage, Whole
from trueground.builders.grounding.conflict.conflict import conflict_stage, no_conflict
from trueground.builders.grounding.distractors import by_id, distractors_stage, see_retriever
from trueground.builders.grounding.documents.document import Document
from trueground.builders.grounding.documents.library import Library, open_library
from trueground.builders.grounding.documents.passages import passages
from trueground.builders.grounding.facts.facts import facts_stage
from trueground.builders.grounding.facts.gold import gold_stage
from trueground.builders.grounding.facts.supporting import FactJudge
from trueground.builders.grounding.instances import Instance, Original
from trueground.builders.grounding.items import Context
from trueground.builders.grounding.output import dataset_of, kappa
from trueground.builders.grounding.people import labelled_gold, voted
from trueground.builders.grounding.questions.best import best_stage
from trueground.builders.grounding.questions.candidates import candidates_stage
from trueground.builders.grounding.questions.classify import classify_stage
from trueground.builders.grounding.questions.sets import sets_stage
from trueground.builders.grounding.settings import settle
from trueground.claims import get_decomposer
from trueground.errors import MissingExtraError
from trueground.records import FileInfo

_CHARACTERS = 4  # to a token
AnyStage = Stage[Any, Any] | Whole[Any, Any]


class Corpus:
    """The passages of all documents, cut when they are first asked for."""

    def __init__(self, library: Library, words: int) -> None:
        self._library, self._words = library, words

    @cached_property
    def passages(self) -> Mapping[str, Context]:
        """By id."""
        documents = self._library.documents()
        return by_id(one for document in documents for one in passages(document, self._words))


def prepare(options: Mapping[str, Value], material: Material) -> Plan:
    """The plan. UsageError, InputError, MissingExtraError: before anything is asked."""
    library = open_library(material, options)
    facts = FactJudge(text_of(options, "fact-judge") or "lexical", cache=material.cache)
    decomposer = get_decomposer(text_of(options, "decomposer") or "rules", cache=material.cache)
    both = options["conflict"] == "full"
    top = number_of(options, "distractors", 0) or 0
    retriever = text_of(options, "retriever") or "bm25"
    if top:
        see_retriever(retriever, try_it=not material.dry_run)
    if both and find_spec("py3langid") is None:
        raise MissingExtraError("telling languages apart", "build")
    if material.dry_run and hasattr(decomposer, "spent"):
        material.note("the calls of --decomposer, one for each sentence, are not counted")
    corpus = Corpus(library, settle(options).context_words)
    stages: list[AnyStage | None] = [
        sets_stage(options, material.seed),
        candidates_stage(material, options),
        classify_stage(material, options),
        best_stage(options),
        facts_stage(decomposer),
        labelled_gold(material.labels),
        gold_stage(material, facts),
        conflict_stage(material, facts) if both else _bare(),
        voted(material.labels),
        distractors_stage(lambda: corpus.passages, retriever, top) if top else None,
    ]
    notices = _warnings(material, both)

    def finish(items: Sequence[Instance]) -> Dataset:
        facts.close()
        getattr(decomposer, "close", lambda: None)()
        notices[:] = _warnings(material, both) + _agreement(items)
        return dataset_of(items, corpus.passages, distractors=bool(top))

    return Plan(
        builder="grounding",
        options=dict(options) | {"fact-judge": facts.signature, "decomposer": decomposer.signature},
        files=[*library.files, *_labels(material)],
        source=library.source,
        stages=[stage for stage in stages if stage is not None],
        finish=finish,
        tokens=_tokens,
        notices=notices,
    )


def _bare() -> Whole[Original, Instance]:
    doc = "Keep the original version alone"
    return Whole(name="original", doc=doc, takes=Original, gives=Instance, work=no_conflict)


def _labels(material: Material) -> list[FileInfo]:
    return [FileInfo.of(str(material.labels), material.labels)] if material.labels else []


def _tokens(document: Document) -> float:
    return len(document.text) / _CHARACTERS


def _warnings(material: Material, both: bool) -> list[str]:
    writer, judge = material.roles.get("writer"), material.roles.get("judge")
    found = [f"The questions were written by the model {writer}."]
    if both:
        found.append("The conflicting version states what is false.")
    if judge == writer:
        found.append(f"The judge {judge} is the model that wrote them: it judges its own work.")
    if material.labels is None:
        found.append("No people have labelled these items; only models have judged them.")
    return found


def _agreement(items: Sequence[Instance]) -> list[str]:
    """Cohen's kappa of both models in words; nothing where no fact was judged by both."""
    value, facts = kappa(items)
    if not facts:
        return []
    said = "undefined" if value is None else f"{value:.2f}"
    return [f"Gold facts: Cohen's kappa of the two models is {said} over {facts:,} facts"]
