"""The plan of `build grounding`: its options settled, its five steps in a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from trueground.benchmarks.options import Value, parse_options
from trueground.builders.base import BatchStage, BuildPlan, BuiltDataset, Material, OtherModel
from trueground.builders.grounding import GroundingBuildOptions
from trueground.builders.grounding.conflict import conflict_stage
from trueground.builders.grounding.dataset import (
    GOLD,
    agreement,
    check_retriever,
    distractors_stage,
    labelled_stage,
    make_dataset,
    people_of,
)
from trueground.builders.grounding.documents import DocumentLibrary
from trueground.builders.grounding.facts import (
    DECOMPOSER,
    FACT_JUDGE,
    FactJudge,
    facts_stage,
    gold_stage,
)
from trueground.builders.grounding.items import Instance, OriginalInstance
from trueground.builders.grounding.questions import (
    best_stage,
    candidates_stage,
    classify_stage,
)
from trueground.builders.grounding.sets import sets_stage
from trueground.claims import get_decomposer
from trueground.models.base import CHARACTERS_PER_TOKEN
from trueground.plugins import parse_part
from trueground.records import FileInfo


def prepare(texts: Mapping[str, Value], material: Material) -> BuildPlan:
    """The plan. UsageError, InputError, MissingExtraError: before anything is asked."""
    options = parse_options(GroundingBuildOptions, "build grounding", texts)
    library = DocumentLibrary(material, options)
    words, top, both = options.context_words, options.distractors, options.conflict == "full"
    if top:
        check_retriever(options.retriever, try_it=not material.dry_run)
    people = people_of(material.labels)
    facts = FactJudge(options.fact_judge, cache=material.cache)
    decomposer = get_decomposer(options.decomposer, cache=material.cache)
    notices = [f"The questions were written by the model {material.roles.get('writer')}."]
    if both:
        notices.append("The conflicting version states what is false.")
    said = len(notices)

    def finish(items: Sequence[Instance]) -> BuiltDataset:
        notices[said:] = agreement(items)
        return make_dataset(items, library.passages, people, distractors=bool(top))

    def close() -> None:
        for part in (facts.judge, decomposer):
            getattr(part, "close", lambda: None)()

    others: dict[str, tuple[Any, str]] = {
        FACT_JUDGE: (facts.judge, options.fact_judge),
        DECOMPOSER: (decomposer, options.decomposer),
    }
    labels = [] if material.labels is None else [material.labels]
    return BuildPlan(
        builder="grounding",
        options={**texts, **{name: part.signature for name, (part, _) in others.items()}},
        files=[*library.files, *(FileInfo.of(str(file), file) for file in labels)],
        source=library.source,
        stages=[
            sets_stage(options, material.seed),
            candidates_stage(material, options),
            classify_stage(material, options),
            best_stage(options),
            facts_stage(decomposer, words),
            *([labelled_stage(people)] if GOLD in people.labels else ()),
            gold_stage(material, facts, words),
            conflict_stage(material, facts, words) if both else _original_stage(),
            people.stage(Instance),
            *([distractors_stage(lambda: library.passages, options.retriever, top)] if top else ()),
        ],
        finish=finish,
        tokens=lambda document: len(document.text) / CHARACTERS_PER_TOKEN,
        notices=notices,
        close=close,
        people=people,
        others={
            name: OtherModel(
                parse_part("model", written).model or written,
                part.signature,
                partial(getattr, part, "spent"),
            )
            for name, (part, written) in others.items()
            if hasattr(part, "spent")
        },
    )


def _original_stage() -> BatchStage[OriginalInstance, Instance]:
    return BatchStage(
        name="original",
        doc="Keep the original version alone",
        gives=Instance,
        work=lambda items: [Instance(item.id, item) for item in items],
    )
