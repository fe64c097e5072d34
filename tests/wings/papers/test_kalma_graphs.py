"""Which questions KaLMA asks, and with which graphs: asked for once, and not in a dry run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.commands import trueground
from tests.wings.papers.kalma_files import EDDA, IVAR, ORLA, PIM, data_folder, write

from trueground.benchmarks.base import Sources, Task, get_benchmark
from trueground.errors import GraphError, InputError, UsageError
from trueground.net.cache import ResponseCache
from trueground.wings.graphs.json_graph import JsonGraph

pytest.importorskip("pyoxigraph")
pytest.importorskip("ahocorasick")
from pyoxigraph import RdfFormat, Store
from tests.wings.graphs.endpoint.sparql_server import SparqlServer

TRIPLES = """
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix ex: <http://example.org/> .
ex:trade rdfs:label "occupation"@en .
ex:human rdfs:label "human"@en .
ex:ship rdfs:label "ship"@en .
wd:Q101 rdfs:label "Orla Venn"@en ; a ex:human ; ex:trade "botanist" .
wd:Q102 rdfs:label "Ivar Venn"@en ; a ex:human ; ex:trade "miller" .
wd:Q103 rdfs:label "Edda Holt"@en ; a ex:human ; ex:trade "astronomer" .
wd:Q104 rdfs:label "Pim Aster"@en ; a ex:human ; ex:trade "cellist" .
"""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))
    return data_folder(tmp_path / "clone")


def endpoint() -> SparqlServer:
    store = Store()
    store.load(TRIPLES.encode(), format=RdfFormat.TURTLE)
    return SparqlServer(store)


def prepared(sources: Sources, name: str = "specific", **options: str) -> Task:
    given = {key.replace("_", "-"): value for key, value in options.items()}
    return get_benchmark("kalma").prepare(name, given, sources)


def qids(task: Task) -> list[list[Any]]:
    return [[graph["qid"] for graph in q.record.knowledge or ()] for q in task.questions()]


def test_tasks_of_one_command_open_and_ask_once(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, int]] = []
    read, entities = JsonGraph.read.__func__, JsonGraph.entities  # type: ignore[attr-defined]

    def counted(cls: type[JsonGraph], path: Path) -> Any:
        calls.append(("read", 1))
        return read(cls, path)

    def asked(self: JsonGraph, wanted: Any) -> Any:
        calls.append(("entities", len(wanted)))
        return entities(self, wanted)

    monkeypatch.setattr(JsonGraph, "read", classmethod(counted))
    monkeypatch.setattr(JsonGraph, "entities", asked)
    graph = str(write(data / "graphs.json", [ORLA, IVAR, EDDA, PIM]))
    minimum = str(data / "minimum.json")
    sources = Sources(data, cache=False)
    tasks = [
        prepared(sources, name, graph=graph, minimum=minimum, remove=remove)
        for name in ("specific", "general")
        for remove in ("0", "1", "2")
    ]
    assert all(qids(task) == [["Q101", "Q102"], ["Q103"], ["Q104"]] for task in tasks)
    assert calls == [("read", 1), ("entities", 4)]
    calls.clear()
    sources = Sources(data, cache=False)
    linked = [
        prepared(sources, "specific", knowledge="linked", graph=graph, at_temperature=at)
        for at in ("0.1", "0.9")
    ]
    assert qids(linked[0]) == qids(linked[1]) == [["Q101", "Q102"], ["Q103"], [], ["Q104"]]
    assert calls == [("read", 1), ("entities", 4)]
    # What comes later, when the graph is closed already, is asked for as well.
    assert len(qids(prepared(sources, "general", knowledge="linked", graph=graph))) == 4


def test_with_a_limit_only_what_is_asked_is_looked_up(data: Path) -> None:
    minimum = str(data / "minimum.json")
    with endpoint() as server:
        graph = f"sparql:{server.url}"
        sources = Sources(data, limit=1, cache=False)
        task = prepared(sources, knowledge="gold", graph=graph, minimum=minimum)
        assert qids(task) == [["Q101", "Q102"]]
        asked = "\n".join(server.queries)
        assert "Q102" in asked
        assert "Q103" not in asked
        # A share of all graphs needs all of them.
        assert (
            len(qids(prepared(sources, graph=graph, minimum=minimum, retrieval_accuracy="50"))) == 3
        )


@pytest.mark.parametrize("kind", ["gold", "linked"])
def test_a_dry_run_asks_no_endpoint(data: Path, kind: str) -> None:
    words: list[object] = ["--synthetic-minimum", 2]
    told = "for the graphs of 2 entities, and the tokens are counted without them"
    if kind == "linked":
        spacy = pytest.importorskip("spacy")
        pipeline = spacy.blank("en")
        patterns = [{"label": "PERSON", "pattern": name} for name in ("Orla Venn", "Edda Holt")]
        pipeline.add_pipe("entity_ruler").add_patterns(patterns)
        pipeline.to_disk(data / "rules")
        words = ["--recognizer", f"spacy:{data / 'rules'}"]
        told = "for the names in 4 questions and the graphs of what bears them, and the tokens"
    with endpoint() as server:
        command = [
            *("run", "kalma", "--data", data, "--model", "fake:x", "--dry-run", *words),
            *("--limit", 2),
            *("--knowledge", kind, "--graph", f"sparql:{server.url}"),
        ]  # fmt: skip
        done = trueground(*command, cwd=data)
        assert done.returncode == 0, done.stderr
        assert not server.queries
    assert not ResponseCache.path_of("graphs").exists()
    assert done.stderr.count("a dry run asks no endpoint: a run asks sparql:http") == 1
    assert told in done.stderr
    assert "kalma/general" in done.stdout


def test_a_dry_run_reads_graphs_of_files(data: Path, tmp_path: Path) -> None:
    graph = str(write(data / "graphs.json", [ORLA, EDDA]))
    task = prepared(Sources(data, scratch=tmp_path), knowledge="linked", graph=graph)
    assert qids(task) == [["Q101"], ["Q103"], [], []]


def test_only_people_are_linked_to_published_questions(data: Path) -> None:
    ship = {"qid": "Q9", "name": "Edda Holt", "instance of": "ship", "home": "Oster", "n": "what"}
    graph = str(write(data / "graphs.json", [ORLA, ship]))
    linked = {"knowledge": "linked", "graph": graph}
    people = prepared(Sources(data), **linked)
    assert qids(people) == [["Q101"], [], [], []]
    assert people.options["types"] == "human,Q5"
    every = prepared(Sources(data), types="any", **linked)
    assert qids(every) == [["Q101"], ["Q9"], [], []]
    assert every.options["types"] == "any"
    ships = prepared(Sources(data), types=" ship , boat", **linked)
    assert qids(ships) == [[], ["Q9"], [], []]
    own = write(data / "own.jsonl", {"question": "Who was Edda Holt?"})
    assert qids(prepared(Sources(own), "questions", **linked)) == [["Q9"]]
    none = prepared(Sources(data), types="boat", **linked)
    with pytest.raises(GraphError, match=r"of type boat; its types: .*\. --types any links"):
        next(iter(none.questions()))
    with pytest.raises(UsageError, match="--types is for --knowledge linked"):
        prepared(Sources(data), types="human")
    with pytest.raises(UsageError, match="--types , ,: expected classes with commas between"):
        prepared(Sources(data), types=", ,", **linked)


def test_the_pipeline_belongs_to_the_run(data: Path) -> None:
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("entity_ruler")
    found = []
    for name in ("Orla Venn", "Edda Holt", "Edda Holt"):
        ruler.clear()
        ruler.add_patterns([{"label": "PERSON", "pattern": name}])
        pipeline.to_disk(data / "rules")
        recognizer = f"spacy:{data / 'rules'}"
        task = prepared(Sources(data), knowledge="linked", recognizer=recognizer)
        found.append((task.options["pipeline"], qids(task)))
    assert found[0][0] != found[1][0] == found[2][0]
    assert len(str(found[0][0])) == 64
    assert [own for _, own in found][:2] == [[["Q101"], [], [], []], [[], ["Q103"], [], []]]
    for name in ("__main__", "no_such_pipeline", str(data), "a\0b"):
        task = prepared(Sources(data), knowledge="linked", recognizer=f"spacy:{name}")
        assert "pipeline" not in task.options
        with pytest.raises(UsageError, match="spaCy pipeline"):
            next(iter(task.questions()))


def test_the_other_file_belongs_to_the_run_where_it_names_questions(data: Path) -> None:
    task = prepared(Sources(data), "general", minimum=str(data / "minimum.json"))
    names = [Path(file.path).name for file in task.files]
    assert names == ["simple_question_graph.json", "complex_question_graph.json", "minimum.json"]
    assert len(prepared(Sources(data), "general").files) == 1


def test_questions_without_a_minimum_set(data: Path) -> None:
    sets = json.loads((data / "minimum.json").read_bytes())
    minimum = str(write(data / "two.json", sets[:2]))
    task = prepared(Sources(data), minimum=minimum)
    assert [q.record.id for q in task.questions()] == ["0", "1"]
    assert task.notices == [
        "1 of 4 questions have no graph to show and are left out.",
        "1 of 4 questions have no minimum set and are left out.",
    ]
    linked = prepared(Sources(data), minimum=minimum, knowledge="linked")
    assert [q.record.id for q in linked.questions()] == ["0", "1"]
    assert linked.notices == ["2 of 4 questions have no minimum set and are left out."]
    own = write(data / "own.json", [["Who was Orla Venn?", [ORLA]], ["And Edda?", [EDDA]]])
    one = str(write(data / "one.json", [["And Edda?", sets[1][1]]]))
    task = prepared(Sources(own), "questions", minimum=one)
    assert [q.record.gold_knowledge for q in task.questions()] == [None, sets[1][1]]
    assert task.notices == [
        "1 of 2 questions have no minimum set and are asked without citation precision, recall "
        "and F1.",
    ]


def test_no_question_is_left(data: Path) -> None:
    bare = write(data / "bare" / "complex_question_graph.json", [["Who?", []], ["What?", []]])
    with pytest.raises(InputError, match=r"none of the 2 questions comes with a graph; .*--graph"):
        prepared(Sources(bare.parent))
    own = write(data / "own.json", [["Who?", []]])
    with pytest.raises(InputError, match="none of the 1 questions comes with a graph"):
        prepared(Sources(own), "questions")
    far = [[q, [["Q999", *rest] for _, *rest in triples]] for q, triples in _sets(data)]
    minimum = str(write(data / "far.json", far))
    with pytest.raises(InputError, match="none of the 4 questions has a graph to show: none comes"):
        prepared(Sources(data), minimum=minimum, remove="1")
    only = str(write(data / "only.json", [["Who was the nameless one?", []]]))
    with pytest.raises(InputError, match="has both a graph and a minimum set"):
        prepared(Sources(data), minimum=only)


def _sets(data: Path) -> list[Any]:
    found: list[Any] = json.loads((data / "minimum.json").read_bytes())
    return found


def test_the_rated_are_drawn_among_those_asked(data: Path) -> None:
    def sampled(limit: int | None, rated: str, seed: str) -> list[int]:
        task = prepared(Sources(data, limit=limit), rated=rated, rated_seed=seed)
        told = [word for word in task.notices if "rated" in word]
        asked = limit or 3
        assert told == (
            [
                f"Text quality is rated for the answers to all {asked} questions that are asked; "
                f"--rated {rated} would take more."
            ]
            if int(rated) > asked
            else []
        )
        metas = [q.record.meta or {} for q in task.questions()][:limit]
        return [i for i, meta in enumerate(metas) if meta["sampled"]]

    for seed in "0123456789":
        assert len(sampled(2, "1", seed)) == 1
        assert sampled(2, "2", seed) == sampled(2, "100", seed) == [0, 1]
        assert len(sampled(None, "2", seed)) == 2
    assert len({tuple(sampled(None, "1", seed)) for seed in "0123456789"}) > 1


def test_what_a_question_says_of_itself_stays(data: Path) -> None:
    meta = {"entry": "mine", "graphs": "many", "removed": True, "era": "old"}
    row = {"question": "Who was Orla Venn?", "knowledge": [ORLA], "meta": meta}
    own = write(data / "own.jsonl", row)
    (question,) = prepared(Sources(own), "questions", synthetic_minimum="2", remove="1").questions()
    assert question.record.meta == meta
    row = {**row, "meta": {"sampled": False, "first_round_knowledge": []}}
    write(own, row)
    assert prepared(Sources(own), "questions").options["knowledge"] == "given"
    with pytest.raises(InputError, match=r"found meta.sampled, which --rated writes"):
        prepared(Sources(own), "questions", rated="1")
