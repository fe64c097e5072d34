"""Where a search finds less than it was asked for: what is shown then, and what a user is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.wings.papers.instruct_qa_files import CHEESES, QUESTIONS, jsonl, world
from typer.testing import CliRunner

from trueground.benchmarks.base import Question, Sources, Task, get_benchmark
from trueground.cli.app import app
from trueground.errors import InputError, UsageError
from trueground.judges.comparing import Comparer
from trueground.studies.sweeps import prepare_variants
from trueground.types import Record
from trueground.wings.papers.instruct_qa.corpus import shuffled
from trueground.wings.search.search_words import words


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def prepare(data: Path, told: list[str], cache: bool = True, **options: str | bool | None) -> Task:
    given = {key.replace("_", "-"): value for key, value in options.items()}
    sources = Sources(data, note=told.append, cache=cache)
    return get_benchmark("instruct-qa").prepare("questions", given, sources)


def ask(data: Path, told: list[str], **options: str | bool | None) -> dict[str, Question]:
    return {one.record.id: one for one in prepare(data, told, **options).questions()}


def titles(record: Record) -> list[str | None]:
    return [one.title for one in record.contexts or ()]


def few(folder: Path) -> Path:
    """One question that finds the twelve cheeses, and one that finds nothing."""
    asked = [f"{CHEESES[0]} cheese?", "Xyzzy?"]
    rows = [{"question": one, "references": ["3"], "gold": CHEESES[0]} for one in asked]
    return jsonl(folder / "few.jsonl", rows)


def test_the_prompt_says_that_nothing_was_found(tmp_path: Path) -> None:
    _, corpus = world(tmp_path)
    told: list[str] = []
    asked = ask(few(tmp_path), told, corpus=str(corpus), passages="100")
    assert sorted(map(str, titles(asked["0"].record))) == sorted(CHEESES)
    assert asked["1"].record.contexts == []
    assert (asked["1"].record.meta or {})["gold_retrieved"] is False
    prompt = asked["1"].messages[0].content
    assert prompt.endswith("\n\n(The search found no passage.)\n\nQuestion: Xyzzy?\nAnswer:")
    assert told == [
        "--setting retrieved, bm25: 1 of 2 questions: the search found no passage. They are asked "
        "anyway, and the prompt says so"
    ]


@pytest.mark.parametrize("rank", ["1", "11", "12", "150"])
def test_nothing_before_the_rank_is_irrelevant(tmp_path: Path, rank: str) -> None:
    """Of twelve that are found, the first is gold, and what comes after the rank may be shown."""
    _, corpus = world(tmp_path)
    data, told = few(tmp_path), list[str]()
    order = titles(ask(data, [], corpus=str(corpus), passages="100")["0"].record)
    options = {"corpus": str(corpus), "setting": "irrelevant", "irrelevant_rank": rank}
    asked = ask(data, told, **options)
    behind = int(rank) < len(order)
    for id_, known in (("0", order), ("1", [])):
        record = asked[id_].record
        meta, [title] = record.meta or {}, titles(record)
        assert record.answerable is False
        if id_ == "0" and behind:
            assert (meta["irrelevant_rank"], meta["irrelevant_found"]) == (int(rank) + 1, True)
            assert title == order[int(rank)]
        else:
            assert (meta["irrelevant_rank"], meta["irrelevant_found"]) == (None, False)
            assert title not in [*known, CHEESES[0]]
            [passage] = record.contexts or ()
            assert "3" not in words(f"{title} {passage.text}")
    [line] = told
    assert line.startswith(f"--setting irrelevant, bm25: {1 if behind else 2} of 2 questions: ")
    assert "irrelevant_found" in line
    assert ask(data, [], **options) == asked


def test_different_questions_get_different_passages(tmp_path: Path) -> None:
    _, corpus = world(tmp_path)
    data = jsonl(tmp_path / "q.jsonl", [{"question": "Xyzzy?"} for _ in range(30)])
    options = {"setting": "irrelevant", "irrelevant_rank": "1"}
    asked = ask(data, [], corpus=str(corpus), **options)
    assert len({titles(one.record)[0] for one in asked.values()}) > 20
    for size in (1, 2, 12, 97):
        for seed in ("", "a", "17", "\ud800"):
            assert sorted(shuffled(seed, size)) == list(range(size))


ROWS = [
    {"id": "bees", "title": "Bees", "text": "Bees make honey."},
    {"id": "wax", "title": "Wax", "text": "They also make wax, and HONEY-cakes."},
    {"id": "pie", "title": "Honey", "text": "A pie."},
    {"id": "owl", "title": "Owls", "text": "Honeyed owls fly at night."},
]


def test_a_passage_with_an_answer_is_not_irrelevant(tmp_path: Path) -> None:
    """Word for word, in text or title; of "Bees honey?" the search finds the first at rank 1."""
    corpus = jsonl(tmp_path / "corpus.jsonl", ROWS)
    row = {"question": "Bees?", "references": ["Honey"]}
    options = {"corpus": str(corpus), "setting": "irrelevant", "irrelevant_rank": "3"}
    rows = [{**row, "id": str(i)} for i in range(12)]
    asked = ask(jsonl(tmp_path / "q.jsonl", rows), [], **options)
    assert [titles(one.record) for one in asked.values()] == [["Owls"]] * 12
    told: list[str] = []
    some = [{**row, "id": "a", "gold": ["owl"]}, {**row, "id": "b"}]
    made = prepare(jsonl(tmp_path / "some.jsonl", some), told, **options)
    for _ in range(2):
        assert [one.record.id for one in made.questions()] == ["b"]
    assert [line.partition(": ")[2].partition(":")[0] for line in told] == ["1 of 2 questions"] * 2
    assert any("left out" in line for line in told)
    none = prepare(jsonl(tmp_path / "none.jsonl", some[:1]), told, **options)
    with pytest.raises(InputError, match=r"no irrelevant passage for any of the 1 questions"):
        list(none.questions())


def test_a_limit_counts_what_is_asked(tmp_path: Path) -> None:
    _, corpus = world(tmp_path)
    rows = [{"question": "Xyzzy?"} for _ in range(5)]
    data = jsonl(tmp_path / "q.jsonl", rows)
    words_ = ["run", "instruct-qa", "--data", str(data), "--corpus", str(corpus), "--model"]
    words_ += ["fake:echo", "--limit", "3", "--instruction", "v1", "--instruction", "v2"]
    done = CliRunner().invoke(app, [*words_, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert done.stderr.count("3 of 3 questions: the search found no passage") == 1


def test_without_the_cache_no_hits_are_read_or_kept(tmp_path: Path, home: Path) -> None:
    data, corpus = world(tmp_path)
    words_ = ["run", "instruct-qa", "--data", str(data), "--corpus", str(corpus), "--model"]
    words_ += ["fake:echo", "--quiet", "--no-cache", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, words_)
    assert done.exit_code == 0, done.output
    assert (home / "indexes").is_dir()
    assert not [*home.glob("*.sqlite*")]
    told: list[str] = []
    home.joinpath("searches.sqlite").write_bytes(b"no database" * 100)
    kept = ask(data, told, corpus=str(corpus))
    assert len(kept) == len(QUESTIONS)
    [line] = told
    assert line.startswith("search results can't be cached: ")
    assert "searches.sqlite is damaged" in line
    plain: list[str] = []
    made = prepare(data, plain, cache=False, corpus=str(corpus))
    assert {one.record.id: one for one in made.questions()} == kept
    assert plain == []


def test_parts_without_a_say_are_checked_all_the_same(tmp_path: Path) -> None:
    data, _ = world(tmp_path)
    with pytest.raises(UsageError, match=r"unknown retriever 'bm26'"):
        prepare(data, [], setting="closed-book", retriever="bm26")
    with pytest.raises(InputError, match=r"--corpus .*nope does not exist"):
        prepare(data, [], setting="closed-book", corpus=str(tmp_path / "nope"))


EQUAL: list[tuple[dict[str, Any], list[str]]] = [
    (
        {"retriever": ["bm25", "bm25(k1=1.5)"]},
        ["--retriever: bm25 and bm25(k1=1.5) give the same requests; they share one run"],
    ),
    ({"retriever": ["bm25", "bm25(k1=0.7)"]}, []),
    ({"retriever": ["bm25", "bm25(k1=0.7)"], "setting": ["gold", "retrieved"]}, []),
    (
        {"retriever": ["bm25", "bm25(k1=0.7)"], "setting": ["gold"]},
        ["--retriever: bm25 and bm25(k1=0.7) give the same requests; they share one run"],
    ),
    (
        {"retriever": "bm25(k1=0.7)", "setting": "closed-book", "passages": "3"},
        ["without effect on what is asked here: --retriever, --corpus, --passages"],
    ),
    ({"retriever": "bm25(k1=0.7)", "setting": ["closed-book", "retrieved"]}, []),
    ({"setting": "gold", "irrelevant-rank": "1000"}, []),
]


@pytest.mark.parametrize(("options", "expected"), EQUAL)
def test_options_without_effect_are_reported(
    tmp_path: Path, options: dict[str, Any], expected: list[str]
) -> None:
    data, corpus = world(tmp_path)
    told: list[str] = []
    sources = Sources(data, note=told.append)
    given = {"corpus": str(corpus), **options}
    prepare_variants(get_benchmark("instruct-qa"), ("questions",), given, sources)
    assert told == expected


def test_a_comparer_is_called_as_its_metric() -> None:
    with pytest.raises(UsageError, match="llm_correctness asks a language model"):
        Comparer.make("llm-correctness")
