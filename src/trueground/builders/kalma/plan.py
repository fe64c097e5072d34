"""Options and material → the plan of `build kalma`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trueground.benchmarks.options import Value, parse_options
from trueground.builders.base import BuildPlan, BuiltDataset, Material
from trueground.builders.checks import need_languages
from trueground.builders.kalma import KalmaBuildOptions
from trueground.builders.kalma.choosing import (
    FactChooser,
    RelationCounter,
    read_counts,
    read_wording,
)
from trueground.builders.kalma.dataset import (
    ALIGNMENT,
    QUALITY,
    make_dataset,
    tasks_of,
    verdicts_of,
)
from trueground.builders.kalma.items import JudgedQuestion, QuestionRequest, skipped_properties
from trueground.builders.kalma.linking import GraphReach, linking_stage, read_relations
from trueground.builders.kalma.pairs import pairs_source
from trueground.builders.kalma.paragraphs import annotating_stage, extending_stage, saying_stage
from trueground.builders.kalma.questions import judging_stage, questions_stage, sorting_stage
from trueground.builders.people import PeopleLabels
from trueground.builders.rows import source_files
from trueground.models.base import CHARACTERS_PER_TOKEN
from trueground.models.prompts import Prompt
from trueground.records import FileInfo

_KNOWLEDGE = ("paragraph", "knowledge")


def prepare(texts: Mapping[str, Value], material: Material) -> BuildPlan:
    """The plan with its options settled. UsageError, InputError, GraphError, MissingExtraError."""
    from trueground.graph import open_graph
    from trueground.models.registry import make_scorer

    judge = "judge" in material.roles
    options = parse_options(KalmaBuildOptions, "build kalma", texts, judge=judge)
    if options.language == "check":
        need_languages()
    files = source_files(material.paths)
    people = PeopleLabels((QUALITY, ALIGNMENT), tasks_of, material.labels)
    scorer = None
    if options.weighs_fluency and options.perplexity is not None:
        scorer = make_scorer(options.perplexity, material.reached)
    relations = read_relations(options.relation_map, options.all_edges == "yes")
    counter = RelationCounter(None if options.counts is None else read_counts(options.counts))
    later = _stages(options, material, None if scorer is None else scorer.signature)
    reach = GraphReach()
    source = pairs_source(files, options.name_words, skip_bad=options.on_bad_row == "skip")
    # Files beside the sources that change what comes out; the graph says itself what it holds.
    beside = (options.relation_map, options.templates, options.counts, material.labels)
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
        verdicts = [one for item in items for one in verdicts_of(item).values()]
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
        source=reach.watch(source),
        stages=[
            linking_stage(graph, relations, types, reach),
            counter.stage(),
            *later,
            people.stage(JudgedQuestion if judge else QuestionRequest),
        ],
        finish=finish,
        tokens=lambda pair: len(pair.paragraph) / CHARACTERS_PER_TOKEN,
        notices=notices,
        scorer=scorer,
        close=close,
        people=people,
    )


def _stages(options: KalmaBuildOptions, material: Material, scorer: str | None) -> list[Any]:
    """What asks models, behind the count."""

    def prompt(name: str, *needed: str, optional: Sequence[str] = ()) -> Prompt:
        package = "trueground.builders.kalma"
        return material.prompt(package, f"{name}-1", needed, optional)

    skipped = skipped_properties(options.skip_properties)
    wording = read_wording(options.templates)
    scaled = options.coherence == "scaled"
    chooser = FactChooser(wording, options.alpha, scaled, options.candidates)
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
