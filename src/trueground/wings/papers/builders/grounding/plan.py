"""The plan of `build grounding`: its five steps in a row, and what they end in (A.9, A.2).

Step 5, distractors, stands here, with files as the published ones and the tasks for annotators.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import msgspec

from trueground.claims import get_decomposer
from trueground.components import ComponentSpec
from trueground.models import ChatRequest
from trueground.options import parse_options
from trueground.records import FileInfo
from trueground.types import Passage
from trueground.wings.labeling import AnnotationTask
from trueground.wings.papers.builders.base import (
    BatchStage,
    BuildPlan,
    BuiltDataset,
    OtherModel,
    Rejected,
)
from trueground.wings.papers.builders.grounding import GroundingBuildOptions
from trueground.wings.papers.builders.grounding.conflict import conflict_stage
from trueground.wings.papers.builders.grounding.documents import DocumentLibrary
from trueground.wings.papers.builders.grounding.facts import (
    DECOMPOSER,
    FACT_JUDGE,
    FactJudge,
    facts_stage,
    gold_stage,
)
from trueground.wings.papers.builders.grounding.items import (
    Context,
    Factual,
    GroundedPair,
    Instance,
    OriginalInstance,
    format_answer,
    format_answers,
)
from trueground.wings.papers.builders.grounding.questions import (
    best_stage,
    candidates_stage,
    classify_stage,
)
from trueground.wings.papers.builders.grounding.sets import sets_stage
from trueground.wings.papers.builders.people import REASONS, PeopleLabels
from trueground.wings.papers.builders.quality import BuiltItem
from trueground.wings.papers.builders.settings import Material
from trueground.wings.papers.truly_ground.distractors import make_counter
from trueground.wings.papers.truly_ground.mining import Gold, fill, mine
from trueground.wings.papers.truly_ground.source import (
    DISTRACTORS,
    META,
    TEXTS,
    TITLES,
    VERSIONS,
    format_context,
)
from trueground.wings.search import MemoryCorpus

BUDGET = 2_048  # tokens of all contexts together in the set 2k_distractor
CANDIDATE, GOLD, REVISION = KINDS = ("candidate", "gold-facts", "revision")
_BRACKETS = re.compile(r"\[(\S+)\]$")


def prepare(texts: Mapping[str, str | bool | None], material: Material) -> BuildPlan:
    """The plan. UsageError, InputError, MissingExtraError: before anything is asked."""
    options = parse_options(GroundingBuildOptions, "build grounding", texts)
    library = DocumentLibrary(material, options)
    words, top, both = options.context_words, options.distractors, options.conflict == "full"
    if top:
        check_retriever(options.retriever, try_it=not material.dry_run)
    people = PeopleLabels(KINDS, tasks_of, material.labels)
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
            part.close()

    others: dict[str, tuple[Any, str]] = {
        FACT_JUDGE: (facts.judge, options.fact_judge),
        DECOMPOSER: (decomposer, options.decomposer),
    }
    labels = [] if material.labels is None else [material.labels]
    original = BatchStage[OriginalInstance, Instance](
        name="original",
        doc="Keep the original version alone",
        output_type=Instance,
        work=lambda items: [Instance(item.id, item) for item in items],
    )
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
            *([labeled_stage(people)] if GOLD in people.labels else ()),
            gold_stage(material, facts, words),
            conflict_stage(material, facts, words) if both else original,
            people.stage(Instance),
            *([distractors_stage(library, options.retriever, top)] if top else ()),
        ],
        finish=finish,
        tokens=lambda document: len(document.text) / ChatRequest.CHARACTERS_PER_TOKEN,
        notices=notices,
        close=close,
        people=people,
        others={
            name: OtherModel(
                ComponentSpec.parse("model", written).model or written,
                part.signature,
                partial(getattr, part, "spent"),
            )
            for name, (part, written) in others.items()
            if part.spent is not None
        },
    )


# --- what people are asked


def tasks_of(item: Instance | Factual) -> Iterator[AnnotationTask]:
    """All tasks of an item, or those of one that was rejected by its gold facts."""
    one = item if isinstance(item, Factual) else item.original
    pair, asked = one.pair, _asked(one.pair)
    # Class, minimal contexts, span and answer forms of a pair.
    yield AnnotationTask.of(CANDIDATE, pair.id, asked)
    yield gold_task(Factual(one.id, pair, one.facts))
    if isinstance(item, Instance) and (new := item.conflict) is not None:
        revision = {
            "gold_facts": list(item.original.gold_texts),
            "new_question": new.question,
            "new_answer": format_answer(new.answer, new.answers),
            "new_contexts": _shown(new.contexts),
            "new_gold_facts": list(new.gold),
        }
        yield AnnotationTask.of(REVISION, item.original.id, asked | revision)


def gold_task(item: Factual) -> AnnotationTask:
    """Which facts does the answer need?"""
    facts = [fact.text for fact in item.facts]
    return AnnotationTask.of(GOLD, item.id, _asked(item.pair) | {"facts": facts})


def _asked(pair: GroundedPair) -> dict[str, Any]:
    answer = format_answer(pair.answer, pair.answers)
    return {"question": pair.question, "answer": answer, "contexts": _shown(pair.contexts)}


def _shown(contexts: Sequence[Context]) -> list[dict[str, str]]:
    return [{"title": context.title, "text": context.text} for context in contexts]


def judged(_item: Any, task: AnnotationTask) -> Mapping[str, str]:
    """What the judge model said of the same: it lets no pair and no revision through but by yes."""
    return {CANDIDATE: {"keep": "yes"}, REVISION: {"right": "yes"}}.get(task.kind, {})


def labeled_stage(people: PeopleLabels) -> BatchStage[Factual, Factual]:
    """Gives pairs the gold facts that people chose; numbers are shown to people from 1.

    A pair that people were not asked about keeps what models propose. A number that is none of the
    facts is no decision.
    """

    def labeled(item: Factual) -> Factual | Rejected:
        label = people.label(gold_task(item))
        if label is None:
            return item
        said = label.values.get("gold")
        shown = {"question": item.pair.question, "facts": [fact.text for fact in item.facts]}
        known = {str(n): n - 1 for n in range(1, len(item.facts) + 1)}
        chosen = [known.get(str(one)) for one in said] if isinstance(said, list) else [None]
        numbers = [one for one in chosen if one is not None]
        if len(numbers) < len(chosen):
            detail = f"{label.id}: gold is not decided"
            return Rejected("unlabeled", detail, shown, id=item.id)
        if not numbers:
            detail = f"{label.id}: gold is none of them"
            return Rejected("no_gold_facts", detail, shown, id=item.id)
        return msgspec.structs.replace(item, labeled=tuple(sorted(set(numbers))))

    def work(items: Sequence[Factual]) -> list[Factual | Rejected]:
        found = [labeled(item) for item in items]
        pairs = zip(items, found, strict=True)
        people.decided_before([item for item, one in pairs if isinstance(one, Rejected)])
        return found

    reasons = {
        "unlabeled": REASONS["unlabeled"],
        "no_gold_facts": "people chose no fact: the answer needs something else",
    }
    doc = "Take the gold facts that people chose"
    return BatchStage("labeled", doc, Factual, work, reasons)


# --- distractors


def check_retriever(written: str, *, try_it: bool) -> None:
    """See that the retriever can be had before anything is paid. UsageError, MissingExtraError."""
    two = MemoryCorpus.of_passages([Passage("a first passage"), Passage("a second one")])
    with closing(two.open(written)) as opened:
        if try_it:
            opened.retriever.search(["a passage"], 1)


def distractors_stage(
    library: DocumentLibrary, retriever: str, top: int
) -> BatchStage[Instance, Instance]:
    """Instances → the same with the ids of their nearest passages, alike in both versions.

    Passages of documents that hold a gold context are left out.
    """

    def gold(item: Instance) -> Gold:
        old = item.original.pair.contexts
        new = item.conflict.contexts if item.conflict is not None else ()
        pages = {name for one in old for name in (one.document, one.title) if name}
        return Gold(tuple(sorted(pages)), tuple(one.text for one in (*old, *new)))

    def work(items: Sequence[Instance]) -> list[Instance]:
        if not items:
            return []
        ids = list(library.passages)
        corpus = MemoryCorpus.of_passages(
            Passage(one.text, id=id_, title=_title(one), source=one.document)
            for id_, one in library.passages.items()
        )
        queries = [item.original.pair.question for item in items]
        with closing(corpus.open(retriever)) as opened:
            mined = mine(corpus, opened, queries, list(map(gold, items)), top)
        return [
            msgspec.structs.replace(item, distractors=tuple(ids[i] for i in found))
            for item, found in zip(items, mined, strict=True)
        ]

    doc = "Find near passages of other documents"
    return BatchStage(name="distractors", doc=doc, output_type=Instance, work=work)


def _title(context: Context) -> str:
    """The title as a file can hold it: a word in brackets at its end would be an address."""
    title = " ".join((context.title or context.document).split())
    return _BRACKETS.sub(r"(\1)", title)


def _format(context: Context) -> str:
    return format_context(Passage(context.text, title=_title(context)))


# --- the dataset


def make_dataset(
    items: Sequence[Instance],
    passages: Mapping[str, Context],
    people: PeopleLabels,
    *,
    distractors: bool,
) -> BuiltDataset:
    """The dataset of the instances that are left, in the published form.

    Questions are Q0, Q1, … in the order of the items. The conflicting version is there where items
    have one, the file of distractors where it is wanted.
    """
    named = {f"Q{number}": item for number, item in enumerate(items)}
    both = any(item.conflict is not None for item in items)
    contents: dict[str, Any] = {
        VERSIONS["original"]: {id_: _original(id_, item) for id_, item in named.items()},
        META: {
            id_: {
                "has_answer": item.original.pair.form == "definite",
                "has_multi": item.original.pair.documents == "multi",
                "pop": item.original.pair.popularity,
            }
            for id_, item in named.items()
        },
        TEXTS: {id_: one.text for id_, one in passages.items()},
        TITLES: {id_: f"Title: {_title(one)}\n" for id_, one in passages.items()},
    }
    if both:
        contents[VERSIONS["conflict"]] = {
            id_: _original(id_, item)
            if (new := item.conflict) is None
            else _entry(id_, new.question, new.answers, new.gold, new.contexts)
            for id_, item in named.items()
        }
    if distractors:
        contents[DISTRACTORS] = {
            id_: distractor_sets(item, passages) for id_, item in named.items()
        }
    task = "truly-ground" if both else "truly-ground/original-gold"
    return BuiltDataset(
        files={
            f"{name}.json": (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode()
            for name, content in contents.items()
        },
        quality=[_built_item(id_, item) for id_, item in named.items()],
        run=f"trueground run {task} --data {{dataset}} --model MODEL",
        factors=("popularity", "contexts", "answer"),
        tasks=people.tasks,
        human=people.account(judged),
    )


def _original(id_: str, item: Instance) -> dict[str, Any]:
    pair = item.original.pair
    return _entry(id_, pair.question, pair.answers, item.original.gold_texts, pair.contexts)


def _entry(
    id_: str,
    question: str,
    answers: Sequence[str],
    facts: Sequence[str],
    contexts: Sequence[Context],
) -> dict[str, Any]:
    return {
        "qId": id_,
        "qText": question,
        "answer": format_answers(answers),
        "atomic_texts": list(facts),
        "context_list": list(map(_format, contexts)),
    }


def distractor_sets(item: Instance, passages: Mapping[str, Context]) -> dict[str, list[str]]:
    """The sets of the file of distractors: those that fit into 2,048 tokens, and all of them.

    A token is taken as 4 characters, as `trueground run` does without a tokenizer. Counted with the
    contexts of the original, so that both versions get the same.
    """
    count = make_counter(None, None).count_tokens
    found = [_format(passages[id_]) for id_ in item.distractors]
    gold = count(list(map(_format, item.original.pair.contexts)))
    fitting = fill(range(len(found)), count(found), BUDGET - sum(gold))
    return {"2k_distractor": [found[number] for number in fitting], "all_distractor": found}


def _built_item(id_: str, item: Instance) -> BuiltItem:
    original, pair = item.original, item.original.pair
    return BuiltItem(
        id=id_,
        question=pair.question,
        contexts=original.context_texts,
        answers=pair.answers or (pair.answer,),
        factors={
            "popularity": pair.popularity,
            "contexts": pair.documents,
            "answer": pair.form,
        },
        numbers={
            "gold_facts": len(original.gold),
            "facts": len(original.facts),
            "contexts": len(pair.contexts),
            "changes": len(item.conflict.changes) if item.conflict is not None else 0,
            "distractors": len(item.distractors),
        },
        # The judge of the pairs lets none through whose answer does not stand in its contexts.
        answerable=True,
    )


def agreement(items: Sequence[Instance]) -> list[str]:
    """What both models say of all facts (gold or not), in words; nothing where one alone was asked.

    The study reports 0.82 between people (section 3.2).
    """
    from trueground.stats import TwoJudges

    pairs: list[tuple[bool, bool]] = []
    ids: list[str] = []
    for item in items:
        one = item.original
        if one.second is not None and one.proposed is not None:
            pairs += [(n in one.proposed, n in one.second) for n in range(len(one.facts))]
            ids += [item.id] * len(one.facts)
    found = TwoJudges.of(pairs, ids)
    if not found.n:
        return []
    value, bounds = found.kappa, found.kappa_ci
    said = "undefined" if value is None else f"{value:.2f}"
    between = "" if bounds is None else f" ({bounds[0]:.2f} to {bounds[1]:.2f})"
    return [
        f"Gold facts: Cohen's kappa of the two models is {said}{between} over {found.n:,} facts"
    ]
