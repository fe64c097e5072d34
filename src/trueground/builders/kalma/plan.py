"""Options and material → the plan of `build kalma`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from trueground.benchmarks.base import Value
from trueground.builders.base import BuildPlan, BuiltDataset, Material
from trueground.builders.checks import need_languages
from trueground.builders.kalma import annotate, extending, judging, questions, saying
from trueground.builders.kalma.counting import Counting, read_counts
from trueground.builders.kalma.extending import Chooser
from trueground.builders.kalma.items import JudgedQuestion, QuestionRequest, SourcePair
from trueground.builders.kalma.linking import make_linking
from trueground.builders.kalma.output import make_dataset
from trueground.builders.kalma.people import KINDS, tasks_of
from trueground.builders.kalma.reaching import Reach
from trueground.builders.kalma.relations import read_relations
from trueground.builders.kalma.settings import KalmaBuildSettings, read_settings
from trueground.builders.kalma.source import make_source
from trueground.builders.kalma.wording import read_wording
from trueground.builders.people import PeopleLabels
from trueground.builders.rows import source_files
from trueground.graph.base import KnowledgeGraph
from trueground.models.base import CHARACTERS_PER_TOKEN
from trueground.models.prompts import Prompt
from trueground.records import FileInfo

_PACKAGE = "trueground.builders.kalma"


def prepare(options: Mapping[str, Value], material: Material) -> BuildPlan:
    """The plan with its options settled. UsageError, InputError, GraphError, MissingExtraError."""
    settings = read_settings(options, judge="judge" in material.roles)
    if settings.language:
        need_languages()
    files = source_files(material.paths)
    people = PeopleLabels(KINDS, tasks_of, material.labels)
    scorer = _scorer(settings, material)
    relations = read_relations(settings.relation_map, settings.all_edges)
    counting = Counting(None if settings.counts is None else read_counts(settings.counts))
    later = _stages(settings, material, people, scorer)
    reach = Reach()
    source = make_source(files, settings.name_words, skip_bad=settings.skip_bad)
    read = [*files, *_given(settings), *([material.labels] if material.labels else ())]
    infos = [FileInfo.of(str(file), file) for file in read]
    graph = _opened(settings, material)  # the last, so that nothing behind it leaves it open
    notices = _notices(settings, material, graph)

    def finish(items: Sequence[Any]) -> BuiltDataset:
        wanting = judging.found_wanting(items)
        notices.extend([wanting] if wanting else [])
        return make_dataset(items, people, counting.used)

    return BuildPlan(
        builder="kalma",
        options={
            **options,
            "minimum-rounds": str(settings.minimum_rounds),
            "require-said": "yes" if settings.require_said else "no",
            "graph-signature": graph.signature,
        },
        files=infos,
        source=reach.watched(source),
        stages=[
            make_linking(graph, relations, settings.types, reach),
            counting.stage(),
            *later,
        ],
        finish=finish,
        tokens=_tokens,
        notices=notices,
        scorer=scorer,
        close=lambda: _close(graph, material),
        people=people,
    )


def _opened(settings: KalmaBuildSettings, material: Material) -> KnowledgeGraph:
    """The graph; for a dry run closed again, as nobody asks it anything."""
    from trueground.graph.opening import open_graph

    graph = open_graph(settings.graph, cache=material.cache, progress=material.progress)
    if material.dry_run:
        _close(graph, material)
    return graph


def _close(graph: KnowledgeGraph, material: Material) -> None:
    graph.close()
    if problem := getattr(graph, "problem", None):
        material.note(problem)


def _stages(
    settings: KalmaBuildSettings, material: Material, people: PeopleLabels, scorer: Any
) -> list[Any]:
    """All behind the count."""
    wording = read_wording(settings.templates)
    prompt = _prompts(material)
    chooser = Chooser(settings, wording, None if scorer is None else scorer.signature)
    extend = prompt("extend", extending.PLACES)
    stages: list[Any] = [
        annotate.make_annotating(prompt("annotate", annotate.PLACES), settings.skipped),
    ]
    numbers = range(2, settings.rounds + 1)
    stages += [extending.make_extending(number, extend, chooser) for number in numbers]
    if settings.require_said and settings.rounds > 1:
        stages.append(saying.make_saying(prompt("said", saying.PLACES), settings.rounds))
    general, specific = (prompt(name, questions.PLACES) for name in ("general", "specific"))
    stages.append(questions.make_questions(general, specific, settings))
    stages.append(questions.make_sorting())
    last: type[Any] = QuestionRequest
    if "judge" in material.roles:
        judge = prompt("judge", judging.PLACES)
        stages.append(judging.make_judging(judge, settings.require_authentic))
        last = JudgedQuestion
    stages.append(people.stage(last))
    return stages


def _prompts(material: Material) -> Callable[[str, Sequence[str]], Prompt]:
    def prompt(name: str, places: Sequence[str]) -> Prompt:
        needed = [one for one in places if one != "citation"]
        optional = [one for one in places if one == "citation"]
        return material.prompt(_PACKAGE, f"{name}-1", needed, optional)

    return prompt


def _scorer(settings: KalmaBuildSettings, material: Material) -> Any:
    if settings.perplexity is None:
        return None
    from trueground.models.registry import make_scorer

    return make_scorer(settings.perplexity, material.reached)


def _given(settings: KalmaBuildSettings) -> list[Path]:
    """Files beside the sources that change what comes out; the graph says itself what it holds."""
    files = (settings.relation_map, settings.templates, settings.counts)
    return [path for path in files if path is not None]


def _notices(settings: KalmaBuildSettings, material: Material, graph: KnowledgeGraph) -> list[str]:
    notices = [
        f"Paragraphs and questions were written by the model {material.roles.get('writer')} from "
        f"the graph {graph.name}."
    ]
    if (settings.perplexity or "").startswith("fake:"):
        notices.append("Perplexities are made up: no language model chose the triples.")
    if not (settings.require_said and settings.rounds > 1):
        notices.append(saying.NOBODY)
    if settings.all_edges:
        notices.append("Any edge between two entities was accepted, whatever the relation.")
    return notices


def _tokens(pair: SourcePair) -> float:
    return len(pair.paragraph) / CHARACTERS_PER_TOKEN
