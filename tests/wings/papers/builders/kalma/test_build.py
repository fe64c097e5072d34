"""`build kalma` from pairs of names to a dataset, against a scripted endpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.wings.papers.builders.kalma.making import (
    Rule,
    made,
    reasons,
    rows_of,
    said,
    summary,
    tree,
    unless,
)
from tests.wings.papers.builders.kalma.world import (
    GOOD,
    bad_rows,
    good_reply,
    graph_file,
    kind_of,
    part,
)
from tests.wings.papers.builders.scripted_server import last_text, scripted

import trueground as tg
from trueground.errors import InputError, UnreachableError, UsageError
from trueground.models.base import ChatRequest
from trueground.testing import FakeModel
from trueground.wings.graphs.operations import open_graph
from trueground.wings.papers.builders.api import build
from trueground.wings.papers.builders.build import BuildRequest, BuildSettings, estimate_build
from trueground.wings.papers.builders.registry import copy_example
from trueground.wings.papers.builders.settings import EndpointDefaults


def test_good_pairs_become_questions_with_their_minimum_set(tmp_path: Path) -> None:
    with scripted(unless({})) as server:
        found = made(tmp_path, server, judge=True)
    assert reasons(tmp_path) == {}
    specific, general = rows_of(tmp_path, "specific"), rows_of(tmp_path, "general")
    assert [row["id"] for row in specific] == ["quill", "lark", "mira"]
    assert found.items == 6  # two questions an entry
    quill, lark, mira = (row["gold_knowledge"] for row in specific)
    # Round 1 as annotated, then the rarest relations: N = 3, six graphs.
    assert quill == [
        ["Q10", "occupation", "poet"],
        ["Q10", "place of birth", "Inkford"],
        ["Q10", "spouse", "Anna Harrow"],
        ["Q11", "member of", "Guild of Lanterns"],  # one graph of the six has it
        ["Q10", "date of birth", "1661-03-09"],  # two have it, as others do; d is before n
    ]
    assert lark[:3] == [
        ["Q13", "occupation", "poet"],
        ["Q12", "occupation", "actress"],
        ["Q13", "influenced by", "Tobias Quill"],
    ]
    assert mira[:2] == [["Q14", "father", "Tobias Quill"], ["Q10", "occupation", "poet"]]
    assert [row["gold_knowledge"] for row in general] == [quill, lark, mira]
    # The actress is the other Anna Harrow.
    assert [graph["qid"] for graph in specific[1]["knowledge"]] == ["Q13", "Q12"]
    assert specific[0]["meta"]["rounds"] == 3
    assert "[" not in specific[0]["meta"]["paragraph"]
    assert specific[0]["meta"]["edge"] == "spouse"


def test_bad_rows_and_pairs_fall_with_their_reasons(tmp_path: Path) -> None:
    lost = [
        {**GOOD[0], "id": "nobody", "tail": "Zora Blank"},
        {**GOOD[0], "id": "apart", "head": "Mira Quill", "relation": "spouse"},
        {**GOOD[0], "id": "wrong-relation", "relation": "sibling"},
    ]
    with scripted(unless({})) as server:
        made(tmp_path, server, [*GOOD, *bad_rows(), *lost], on_bad_row="skip")
    assert reasons(tmp_path) == {
        "blank": "blank",
        "binary": "binary",
        "enormous": "enormous",
        "first-name": "incomplete_name",
        "missing": "missing",
        "itself": "same_names",
        "again": "duplicate",
        "quill": "duplicate_id",
        "cited": "has_citations",
        "nobody": "name_not_found",
        "apart": "other_relation",
        "wrong-relation": "other_relation",
    }
    assert [row["id"] for row in rows_of(tmp_path, "specific")] == ["quill", "lark", "mira"]


def test_rows_of_another_kind_end_the_build(tmp_path: Path) -> None:
    rows = [{"question": "Who?", "answer": "Nobody."}]
    with scripted(unless({})) as server:
        with pytest.raises(InputError, match=r"1 invalid row; .*--on-bad-row skip"):
            made(tmp_path, server, rows)
        with pytest.raises(InputError, match=r"no row that can be used.*1 missing"):
            made(tmp_path, server, rows, on_bad_row="skip")
        assert not server.calls
    assert not (tmp_path / "out").exists()


def test_a_limit_takes_the_first_good_rows_and_counts_the_rest(tmp_path: Path) -> None:
    with scripted(unless({})) as server:
        made(tmp_path, server, settings=BuildSettings(limit=2))
    assert [row["id"] for row in rows_of(tmp_path, "specific")] == ["quill", "lark"]
    assert summary(tmp_path)["left_out"] == 1


def test_the_graph_is_given_back_however_the_build_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_now: list[str] = []

    def watched(*given: Any, **more: Any) -> Any:
        graph = open_graph(*given, **more)
        close = graph.close
        open_now.append(graph.name)
        monkeypatch.setattr(graph, "close", lambda: (open_now.clear(), close()))
        return graph

    monkeypatch.setattr("trueground.wings.graphs.open_graph", watched)
    with scripted(unless({})) as server:
        made(tmp_path, server)
        assert not open_now
        with pytest.raises(InputError):
            made(tmp_path, server, [{}])
        assert not open_now
    once = BuildSettings(endpoint=EndpointDefaults(max_attempts=1))
    with pytest.raises(UnreachableError):  # the server is gone
        made(tmp_path, server, settings=once, rounds="2", skip_properties="occupation")
    assert not open_now


def extended(words: str) -> Rule:
    return lambda text: {"paragraph": f"{part(text, 'PARAGRAPH')} {words}"}


ADVERSARIAL: dict[str, tuple[str, Any]] = {
    "not_json": ("annotate", "Here is the paragraph, with citations."),
    "empty_reply": ("annotate", ""),
    "wrong_fields": ("annotate", {"text": "…"}),
    "paragraph_changed": ("annotate", {"paragraph": "Mira Quill wrote [Q14, occupation: poet]."}),
    "nothing_cited": ("annotate", lambda text: {"paragraph": part(text, "PARAGRAPH")}),
    "citation_not_in_pool": (
        "annotate",
        lambda text: {"paragraph": part(text, "PARAGRAPH")[:-1] + " [Q14, occupation: baker]."},
    ),
    "value_not_said": (
        "annotate",
        lambda text: {
            "paragraph": part(text, "PARAGRAPH")[:-1] + " [Q10, notable work: The Salt Road]."
        },
    ),
    "not_one_sentence": (
        "extend",
        lambda text: {
            "paragraph": f"{part(text, 'PARAGRAPH')} Look. This is it {part(text, 'CITATION')}."
        },
    ),
    "knowledge_not_cited": ("extend", extended("He was a poet [Q10, occupation: poet].")),
    "other_language": (
        "extend",
        lambda text: {
            "paragraph": f"{part(text, 'PARAGRAPH')} Кроме того, она много лет состояла в этом "
            f"старом и уважаемом обществе, {said(text)} {part(text, 'CITATION')}."
        },
    ),
    "not_one_question": ("general", {"question": "Tell me of Mira Quill."}),
    "names_nobody": ("general", {"question": "Who was her father?"}),
    "has_citations": ("general", {"question": "Who was Mira Quill [Q14, occupation: poet]?"}),
    "same_question": ("general", lambda text: good_reply(text.replace("a general", "a specific"))),
}


@pytest.mark.parametrize("reason", ADVERSARIAL)
def test_what_a_writer_does_wrong_falls_and_nothing_else(tmp_path: Path, reason: str) -> None:
    kind, reply = ADVERSARIAL[reason]
    with scripted(unless({(kind, "Mira Quill learned"): reply})) as server:
        made(tmp_path, server, [GOOD[0], GOOD[2]])
        assert reasons(tmp_path) == {"mira": reason}
        # It was told what was wrong, once.
        again = [text for text in map(last_text, server.calls) if "could not be used" in text]
    assert len(again) == (reason not in ("same_question",))
    assert [row["id"] for row in rows_of(tmp_path, "specific")] == ["quill"]


def test_other_new_knowledge_may_not_come_along(tmp_path: Path) -> None:
    def reply(text: str) -> dict[str, str]:
        own = "He, a glassblower [Q11, occupation: glassblower], knew it"
        return {
            "paragraph": f"{part(text, 'PARAGRAPH')} {own}, {said(text)} {part(text, 'CITATION')}."
        }

    with scripted(unless({("extend", "Tobias Quill, a poet"): reply})) as server:
        made(tmp_path, server, [GOOD[0], GOOD[2]])
    assert reasons(tmp_path) == {"quill": "other_knowledge"}


def test_a_slip_is_mended_when_it_is_told(tmp_path: Path) -> None:
    def answer(body: Any) -> Any:
        first = next(m["content"] for m in body["messages"] if m["role"] == "user")
        if kind_of(first) == "annotate" and len(body["messages"]) == 2:
            return {"paragraph": "Something else."}
        return good_reply(first)

    with scripted(answer) as server:
        made(tmp_path, server)
    assert reasons(tmp_path) == {}
    assert len(rows_of(tmp_path, "specific")) == 3


def test_too_few_rounds(tmp_path: Path) -> None:
    with scripted(unless({})) as server:
        made(tmp_path, server, [GOOD[1]], rounds="9")
        assert reasons(tmp_path) == {"lark": "too_few_rounds"}
        found = made(tmp_path, server, [GOOD[1]], rounds="9", minimum_rounds="2")
    assert found.items == 2
    (row,) = rows_of(tmp_path, "specific")
    assert 2 <= row["meta"]["rounds"] < 9


def test_a_judge_may_decide(tmp_path: Path) -> None:
    rules = {("judge", "Mira Quill learned"): {"reason": "no", "authentic": "no", "needed": []}}
    with scripted(unless(rules)) as server:
        made(tmp_path, server, judge=True)
        assert len(rows_of(tmp_path, "specific")) == 3  # noted only
        made(tmp_path, server, judge=True, require_authentic="yes")
    assert reasons(tmp_path) == {"mira": "not_authentic"}


def test_a_judge_that_names_knowledge_that_is_not_there_gives_no_verdict(tmp_path: Path) -> None:
    rules = {("judge", "Mira"): {"reason": "x", "authentic": "yes", "needed": [99]}}
    with scripted(unless(rules)) as server:
        made(tmp_path, server, judge=True)
        assert len(rows_of(tmp_path, "specific")) == 3
        made(tmp_path, server, judge=True, require_authentic="yes")
    assert reasons(tmp_path) == {"mira": "wrong_fields"}


def test_a_rerun_asks_nobody_and_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    with scripted(unless({})) as server:
        made(tmp_path, server, settings=BuildSettings(cache=False))
        before, calls = tree(tmp_path / "out"), len(server.calls)
        made(tmp_path, server, settings=BuildSettings(cache=False))
        assert len(server.calls) == calls
        assert tree(tmp_path / "out") == before
        found = estimate_build(
            BuildRequest(
                "kalma",
                tmp_path / "pairs.jsonl",
                tmp_path / "new",
                models={"writer": f"m(base_url={server.url})"},
                options={"graph": str(graph_file(tmp_path)), "alpha": "1"},
            )
        )
        assert len(server.calls) == calls
    assert not (tmp_path / "new").exists()
    assert found.items == 3
    assert [one.stage for one in found.stages] == [f"round-{n}" for n in range(1, 6)] + [
        "questions"
    ]


def test_the_built_files_run_and_score_as_expected(tmp_path: Path) -> None:
    with scripted(unless({})) as server:
        made(tmp_path, server)
    data = tmp_path / "out" / "dataset"
    rows = {v: rows_of(tmp_path, v) for v in ("specific", "general")}

    def answer(request: ChatRequest) -> str:
        asked = request.messages[-1].content.rpartition("Question: ")[2]
        row = next(r for some in rows.values() for r in some if r["question"] == asked)
        cited = (f"So it is [{q}, {name}: {value}]." for q, name, value in row["gold_knowledge"])
        return " ".join(cited)

    for task, source in (
        ("kalma/specific", data),
        ("kalma/general", data),
        ("kalma/questions", data / "specific.jsonl"),
    ):
        options = {} if task == "kalma/questions" else {"minimum": str(data / "minimum.json")}
        found = tg.run(
            task, model=FakeModel(answer), data=source, options=options, out=tmp_path / "run" / task
        )
        for name in ("citation_correctness", "citation_precision", "citation_recall"):
            assert found.summary[f"{name}_micro"].mean == 1.0, (task, name)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"graph": ""}, "--graph"),
        ({"alpha": "0.5"}, "needs --perplexity"),
        ({"alpha": "2"}, "--alpha 2"),
        ({"rounds": "2", "minimum_rounds": "3"}, "--minimum-rounds 3"),
        ({"require_authentic": "yes"}, "--judge-model"),
        ({"types": ","}, "--types"),
    ],
)
def test_options_that_cannot_be_meant(tmp_path: Path, options: dict[str, str], words: str) -> None:
    with scripted(unless({})) as server, pytest.raises(UsageError, match=words):
        made(tmp_path, server, **options)


def test_the_shipped_example_builds_as_its_readme_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "little"
    assert "pairs.jsonl" in copy_example("kalma", folder)
    monkeypatch.chdir(folder)
    model = "fake:@replies.jsonl"
    found = build(
        "kalma",
        "pairs.jsonl",
        "out",
        models={"writer": model, "judge": model},
        options={
            "graph": "graph.jsonl",
            "relation-map": "relations.json",
            "name-words": "2",
            "rounds": "4",
            "perplexity": "fake:words",
        },
    )
    assert found.items == 4
    assert reasons(folder) == {
        "short": "incomplete_name",
        "chess": "no_such_pair",
        "oram": "not_json",
    }
    assert [len(row["gold_knowledge"]) for row in rows_of(folder, "specific")] == [6, 5]
