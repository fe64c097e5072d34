"""Options and material → the plan of `build kalma`, and the dataset that it ends in.

Both questions of an item stand there in our own form and in that of the published files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from trueground.models import ChatRequest, Prompt
from trueground.options import parse_options
from trueground.records import FileInfo
from trueground.text import CitedText, GraphTriple, format_graph
from trueground.wings.labeling import AnnotationTask
from trueground.wings.papers.builders.base import BuildPlan, BuiltDataset
from trueground.wings.papers.builders.checks import require_languages
from trueground.wings.papers.builders.kalma import KalmaBuildOptions
from trueground.wings.papers.builders.kalma.choosing import (
    COUNTS_FILE,
    FactChooser,
    RelationCounter,
    RelationCounts,
    read_counts,
)
from trueground.wings.papers.builders.kalma.items import VERSIONS, QuestionRequest
from trueground.wings.papers.builders.kalma.knowledge import format_fact, skipped_properties
from trueground.wings.papers.builders.kalma.pairs import linking_stage, pairs_source, read_relations
from trueground.wings.papers.builders.kalma.paragraphs import (
    annotating_stage,
    extending_stage,
    saying_stage,
)
from trueground.wings.papers.builders.kalma.questions import (
    judging_stage,
    questions_stage,
    sorting_stage,
)
from trueground.wings.papers.builders.people import PeopleLabels
from trueground.wings.papers.builders.quality import BuiltItem
from trueground.wings.papers.builders.rows import source_files
from trueground.wings.papers.builders.settings import Material
from trueground.wings.papers.kalma.source import FILES

QUALITY, ALIGNMENT = "quality", "alignment"
_KNOWLEDGE = ("paragraph", "knowledge")
_JUDGED = "judged authentic"
_encode = msgspec.json.Encoder().encode


def prepare(texts: Mapping[str, str | bool | None], material: Material) -> BuildPlan:
    """The plan with its options settled. UsageError, InputError, GraphError, MissingExtraError."""
    from trueground.models import make_scorer
    from trueground.wings.graphs import open_graph

    judge = "judge" in material.roles
    options = parse_options(KalmaBuildOptions, "build kalma", texts, judge=judge)
    if options.language == "check":
        require_languages()
    files = source_files(material.paths)
    people = PeopleLabels((QUALITY, ALIGNMENT), tasks_of, material.labels)
    scorer = None
    if options.weighs_fluency and options.perplexity is not None:
        scorer = make_scorer(options.perplexity, material.reached)
    relations = read_relations(options.relation_map, options.all_edges == "yes")
    counter = RelationCounter(None if options.counts is None else read_counts(options.counts))
    later = _stages(options, material, None if scorer is None else scorer.signature)
    source = pairs_source(files, options.name_words, skip_bad=options.on_bad_row == "skip")
    # Files beside the sources that change what comes out; the graph says itself what it holds.
    beside = (options.relation_map, options.counts, material.labels)
    infos = [FileInfo.of(str(file), file) for file in (*files, *beside) if file is not None]
    # The last, so that nothing behind it leaves it open.
    graph = open_graph(str(options.graph), cache=material.cache, progress=material.progress)

    def close() -> None:
        graph.close()
        if problem := getattr(graph, "problem", None):
            material.note(problem)

    if material.dry_run:  # nobody asks it anything
        close()
    notices = [
        f"Paragraphs and questions were written by the model {material.roles.get('writer')} from "
        f"the graph {graph.name}."
    ]
    if scorer is not None and str(options.perplexity).startswith("fake:"):
        notices.append("Perplexities are made up: no language model chose the triples.")
    if not options.judges_sentences:
        notices.append("No model has checked that the sentences say what they cite.")
    if options.all_edges == "yes":
        notices.append("Any edge between two entities was accepted, whatever the relation.")

    def finish(items: Sequence[QuestionRequest]) -> BuiltDataset:
        verdicts = [one for item in items for one in item.verdicts.values()]
        if wrong := sum(not one.authentic for one in verdicts):
            were = "question was" if wrong == 1 else "questions were"
            found = f"{wrong:,} of {len(verdicts):,} {were}"
            notices.append(f"{found} found not authentic by the judge and kept.")
        return make_dataset(items, people, counter.counts)

    types = () if options.types == ("any",) else options.types
    return BuildPlan(
        builder="kalma",
        options={
            **texts,
            "minimum-rounds": str(options.least_rounds),
            "require-said": "yes" if options.judges_sentences else "no",
            "graph-signature": graph.signature,
        },
        files=infos,
        source=source,
        stages=[
            linking_stage(graph, relations, types),
            counter.stage(),
            *later,
            people.stage(QuestionRequest),
        ],
        finish=finish,
        tokens=lambda pair: len(pair.paragraph) / ChatRequest.CHARACTERS_PER_TOKEN,
        notices=notices,
        scorer=scorer,
        close=close,
        people=people,
    )


def _stages(options: KalmaBuildOptions, material: Material, scorer: str | None) -> list[Any]:
    """What asks models, behind the count."""

    def prompt(name: str, *needed: str, optional: Sequence[str] = ()) -> Prompt:
        return material.prompt(
            "trueground.wings.papers.builders.kalma", f"{name}-1", needed, optional
        )

    skipped = skipped_properties(options.skip_properties)
    chooser = FactChooser(options.alpha, options.coherence == "scaled", options.candidates)
    extend = prompt("extend", *_KNOWLEDGE, optional=("citation",))
    stages: list[Any] = [annotating_stage(prompt("annotate", *_KNOWLEDGE), skipped)]
    stages += [
        extending_stage(number, extend, options, skipped, chooser, scorer)
        for number in range(2, options.rounds + 1)
    ]
    if options.judges_sentences:
        stages.append(saying_stage(prompt("said", "paragraph", "sentences"), options.rounds))
    general, specific = prompt("general", "paragraph"), prompt("specific", "paragraph")
    stages += [questions_stage(general, specific, options), sorting_stage()]
    if "judge" in material.roles:
        asked = prompt("judge", "question", *_KNOWLEDGE)
        stages.append(judging_stage(asked, options.require_authentic == "yes"))
    return stages


def tasks_of(item: QuestionRequest) -> Iterator[AnnotationTask]:
    """What annotators are asked (C.1, C.2): the quality of both questions, and whether each
    sentence says what it cites."""
    knowledge = [format_fact(fact, item) for fact in item.facts]
    for version in VERSIONS:
        shown = {
            "question": item.question(version),
            "paragraph": item.bare,
            "knowledge": knowledge,
        }
        yield AnnotationTask.of(QUALITY, f"{item.id}/{version}", shown)
    numbers = {GraphTriple(*fact).key: n for n, fact in enumerate(item.facts, 1)}
    for sentence in CitedText(item.text, item.graphs).triple_sentences():
        for one in sentence.citations:
            number = numbers.pop(one.triple.key, None)
            if number is not None:
                shown = {"sentence": sentence.text, "citation": knowledge[number - 1]}
                yield AnnotationTask.of(ALIGNMENT, f"{item.id}/{number}", shown)


def _judged(item: QuestionRequest, task: AnnotationTask) -> dict[str, str]:
    """What the judge said of the same task, by field."""
    verdict = item.verdicts.get(task.item.removeprefix(f"{item.id}/"))
    return {} if verdict is None else {"authenticity": "yes" if verdict.authentic else "no"}


def make_dataset(
    items: Sequence[QuestionRequest], people: PeopleLabels, counts: RelationCounts
) -> BuiltDataset:
    """The files of the items that are left, and the tasks of all that came to the vote.

    specific.jsonl and general.jsonl are for `kalma/questions`; the others have the published form,
    where an item stands in both files at the same place. `counts` are those that chose triples.
    """
    files = {}
    for version in VERSIONS:
        rows = [_row(item, version) for item in items]
        files[f"{version}.jsonl"] = b"".join(_encode(row) + b"\n" for row in rows)
        files[f"{FILES[version]}.json"] = _array(
            [[item.question(version), list(item.graphs)] for item in items]
        )
    sets = [[item.question(v), list(item.facts)] for v in VERSIONS for item in items]
    files["minimum.json"] = _array(sets)
    files[COUNTS_FILE] = counts.encoded()
    factors = ["question", "relation", "rounds"]
    return BuiltDataset(
        files,
        [built for item in items for built in _built_items(item)],
        "trueground run kalma --data {dataset} --minimum {dataset}/minimum.json --model MODEL",
        factors=[*factors, _JUDGED] if any(item.verdicts for item in items) else factors,
        tasks=people.tasks,
        human=people.account(_judged),
    )


def _array(values: Sequence[Any]) -> bytes:
    """A JSON array with an entry a line."""
    return b"[\n" + b",\n".join(map(_encode, values)) + b"\n]\n"


def _row(item: QuestionRequest, version: str) -> dict[str, Any]:
    return {
        "id": item.id,
        "question": item.question(version),
        "knowledge": list(item.graphs),
        "gold_knowledge": list(item.facts),
        "group": "+".join(sorted(item.qids)),
        "meta": {
            "relation": item.relation,
            "edge": item.edge,
            "rounds": len(item.knowledge),
            "paragraph": item.bare,
            "annotated": item.text,
            "by_round": list(item.knowledge),
        },
    }


def _built_items(item: QuestionRequest) -> Iterator[BuiltItem]:
    rounds, facts = len(item.knowledge), len(item.facts)
    known = sum(1 for graph in item.graphs for _ in GraphTriple.of_graph(graph))
    for version in VERSIONS:
        factors = {"question": version, "relation": item.relation, "rounds": str(rounds)}
        numbers: dict[str, float] = {"gold_knowledge": facts, "knowledge": known, "rounds": rounds}
        if (verdict := item.verdicts.get(version)) is not None:
            factors[_JUDGED] = "yes" if verdict.authentic else "no"
            numbers["relevance_judged"] = len(verdict.needed) / facts
        yield BuiltItem(
            f"{item.id}/{version}",
            item.question(version),
            contexts=tuple(format_graph(graph) for graph in item.graphs),
            answers=(item.bare,),
            factors=factors,
            numbers=numbers,
        )
