"""Options and material → the plan of `build kalma`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from trueground.annotation.base import Label
from trueground.annotation.labels import read_labels
from trueground.benchmarks.base import Value
from trueground.builders.base import Dataset, Material, Plan
from trueground.builders.kalma import annotate, extending, judging, people, questions
from trueground.builders.kalma.counting import make_counting
from trueground.builders.kalma.extending import Chooser
from trueground.builders.kalma.items import Asked, Judged, Pair
from trueground.builders.kalma.linking import make_linking
from trueground.builders.kalma.output import make_dataset
from trueground.builders.kalma.relations import read_relations
from trueground.builders.kalma.settings import Settings, read_settings
from trueground.builders.kalma.source import make_source, source_files
from trueground.builders.kalma.wording import read_wording
from trueground.errors import MissingExtraError, UsageError
from trueground.graph.base import KnowledgeGraph
from trueground.models.prompts import Prompt
from trueground.records import FileInfo

_PACKAGE = "trueground.builders.kalma"


class Opened:
    """The graph, open while it is asked."""

    def __init__(self, settings: Settings, material: Material) -> None:
        """Opens it once, to know what it holds. GraphError, MissingExtraError."""
        self._settings, self._material = settings, material
        self._graph: KnowledgeGraph | None = None
        graph = self.get()
        self.name, self.signature = graph.name, graph.signature
        if material.dry_run:
            self.close()

    def get(self) -> KnowledgeGraph:
        """The graph; opened anew where it was closed."""
        from trueground.graph.opening import open_graph

        if self._graph is None:
            material = self._material
            written = self._settings.graph
            self._graph = open_graph(written, cache=material.cache, progress=material.progress)
        return self._graph

    def close(self) -> None:
        """Nobody asks it any more."""
        if self._graph is not None:
            self._graph.close()
            if problem := getattr(self._graph, "problem", None):
                self._material.note(problem)
            self._graph = None


def prepare(options: Mapping[str, Value], material: Material) -> Plan:
    """The plan with its options settled. UsageError, InputError, GraphError, MissingExtraError."""
    settings = read_settings(options)
    if settings.language and find_spec("py3langid") is None:
        raise MissingExtraError("--language check (leave it out with --language any)", "build")
    if settings.require_authentic and "judge" not in material.roles:
        raise UsageError("--require-authentic yes needs --judge-model NAME: who judges")
    files = source_files(material.paths)
    labels: Mapping[str, Label] = {}
    if material.labels is not None:
        labels = read_labels(material.labels, people.QUALITY)
    asked: list[Asked] = []
    scorer = _scorer(settings, material)
    stages, graph = _stages(settings, material, labels, asked, scorer)
    read = [*files, *_given(settings), *([material.labels] if material.labels else ())]

    def finish(items: Sequence[Any]) -> Dataset:
        return make_dataset(items, asked, labels)

    return Plan(
        builder="kalma",
        options={
            **options,
            "minimum-rounds": str(settings.minimum_rounds),
            "graph-signature": graph.signature,
        },
        files=[FileInfo.of(str(file), file) for file in read],
        source=make_source(files, settings.name_words, material.limit),
        stages=stages,
        finish=finish,
        tokens=_tokens,
        notices=_notices(settings, material, graph),
        scorer=scorer,
    )


def _stages(
    settings: Settings,
    material: Material,
    labels: Mapping[str, Label],
    asked: list[Asked],
    scorer: Any,
) -> tuple[list[Any], Opened]:
    relations = read_relations(settings.relation_map, settings.all_edges)
    wording = read_wording(settings.templates)
    prompt = _prompts(material)
    chooser = Chooser(settings, wording, None if scorer is None else scorer.signature)
    extend = prompt("extend", extending.PLACES)
    graph = Opened(settings, material)
    identity = {
        "graph": graph.signature,
        "types": settings.types,
        "relations": sorted(relations.known.items()),
        "any_edge": relations.any_edge,
    }
    stages: list[Any] = [
        make_linking(graph.get, relations, settings.types, identity),
        make_counting(graph.close),
        annotate.make_annotating(prompt("annotate", annotate.PLACES), settings.skipped),
    ]
    numbers = range(2, settings.rounds + 1)
    stages += [extending.make_extending(number, extend, chooser) for number in numbers]
    general, specific = (prompt(name, questions.PLACES) for name in ("general", "specific"))
    stages.append(questions.make_questions(general, specific, settings))
    stages.append(questions.make_sorting())
    last: type[Any] = Asked
    if "judge" in material.roles:
        judge = prompt("judge", judging.PLACES)
        stages.append(judging.make_judging(judge, settings.require_authentic))
        last = Judged
    closing = [people.make_remembering(asked)]
    if material.labels is not None:
        closing.append(people.make_voting(labels))
    stages += [replace(stage, takes=last, gives=last) for stage in closing]
    return stages, graph


def _prompts(material: Material) -> Callable[[str, Sequence[str]], Prompt]:
    def prompt(name: str, places: Sequence[str]) -> Prompt:
        needed = [one for one in places if one != "citation"]
        optional = [one for one in places if one == "citation"]
        return material.prompt(_PACKAGE, f"{name}-1", needed, optional)

    return prompt


def _scorer(settings: Settings, material: Material) -> Any:
    if settings.perplexity is None:
        return None
    from trueground.models.perplexity import make_scorer

    return make_scorer(settings.perplexity, material.reached)


def _given(settings: Settings) -> list[Path]:
    """Files beside the sources that change what comes out; the graph says itself what it holds."""
    return [path for path in (settings.relation_map, settings.templates) if path is not None]


def _notices(settings: Settings, material: Material, graph: Opened) -> list[str]:
    notices = [
        f"Paragraphs and questions were written by the model {material.roles.get('writer')} from "
        f"the graph {graph.name}."
    ]
    if (settings.perplexity or "").startswith("fake:"):
        notices.append("Perplexities are made up: no language model chose the triples.")
    if settings.all_edges:
        notices.append("Any edge between two entities was accepted, whatever the relation.")
    judge = material.roles.get("judge")
    if judge is not None and judge == material.roles.get("writer"):
        notices.append(f"The judge {judge} is the model that wrote the questions.")
    if material.labels is None:
        notices.append("No people have labelled these questions.")
    return notices


def _tokens(pair: Pair) -> float:
    """About four characters to a token."""
    return len(pair.paragraph) / 4
