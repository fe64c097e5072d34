"""The QA benchmark asked and scored: every setting, a local server, the command line, the Hub."""

from __future__ import annotations

import io
import json
import os
import re
import sqlite3
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests import commands
from tests.chaos import KEY, ChaosServer
from tests.net.loopback_hub import Repo, loopback_hub
from tests.wings.papers.instruct_qa_files import (
    NQ,
    PEOPLE,
    QUESTIONS,
    TOWNS,
    documents,
    founder,
    hotpot,
    jsonl,
    single,
    topiocqa,
    whole,
    world,
)

import trueground as tg
from trueground.benchmarks.base import Sources, get_benchmark
from trueground.benchmarks.data import count_data, fetch_data
from trueground.errors import InputError, UsageError
from trueground.models.options import ModelOptions
from trueground.studies.sweeps import prepare_variants

V2 = "k_precision(abstention_passage=true)"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return tmp_path / "home"


def reader(prompt: str) -> str:
    """Answers from the passages in the prompt alone, and says so where they do not tell."""
    question = prompt.rpartition("\n")[0].rpartition("\n")[2]
    said = re.findall(r"^Agent: (\w+ \w+)$", prompt, re.MULTILINE)
    rules = (
        (r"Who founded the town of (\w+)\?", r"\b{0} is a market town.*? by (\w+ \w+),"),
        (r"How long is the (\w+)", r"The {0} is a river.*?It is (\d+ km)"),
        (r"What was (this person)'s craft\?", rf"{said[-1] if said else '!'} was a (\w+)"),
    )
    for asked, told in rules:
        if name := re.search(asked, question):
            found = re.search(told.format(name[1]), prompt)
            return f"It is {found[1]}." if found else "I don't know."
    return "What?"


def run(out: Path, data: Path, **options: Any) -> Any:
    """A run with the server whose model reads the passages."""
    given = {key.replace("_", "-"): value for key, value in options.items()}
    with ChaosServer(answer=reader) as server:
        return tg.run(
            "instruct_qa/questions",
            "reader",
            data=data,
            out=out,
            options=given,
            model_options=ModelOptions(base_url=server.base_url),
            cache=False,
        )


def records(out: Path) -> list[dict[str, Any]]:
    rows = pl.read_ndjson(io.BytesIO(_unpacked(out / "records.jsonl.zst")))
    return rows.to_dicts()


def _unpacked(path: Path) -> bytes:
    import zstandard

    with path.open("rb") as file:
        return zstandard.ZstdDecompressor().stream_reader(file).read()


@pytest.mark.parametrize("instruction", ["v1", "v2"])
def test_gold_passages_are_read(tmp_path: Path, instruction: str) -> None:
    data, corpus = world(tmp_path)
    options = {"corpus": str(corpus), "setting": "gold", "instruction": instruction}
    found = run(tmp_path / "run", data, **options).summary
    assert found["recall"].mean == 1.0
    assert found["recall_strict"].mean == 1.0
    assert found["exact_match"].mean == 0.0
    assert found["p_g"].mean == 0.0
    assert found["p_g"].scored == len(QUESTIONS)
    assert found["abstained"].mean == 0.0
    # "It is" is not in every passage.
    assert 0.5 < found.raw["metrics"]["k_precision"]["mean"] < 1.0
    assert (V2 in found) is (instruction == "v2")


def test_retrieved_passages_are_read(tmp_path: Path) -> None:
    """Correct where the gold passages were found; who declines there is counted by P_G."""
    data, corpus = world(tmp_path)
    out = tmp_path / "run"
    options = {"corpus": str(corpus), "passages": "2", "gold_needed": "all", "instruction": "v2"}
    found = run(out, data, **options).summary
    got = [row["meta"]["gold_retrieved"] for row in records(out)]
    assert True in got
    assert found["p_g"].scored == sum(got)
    assert found["p_g"].mean == 0.0
    by = found.raw["by"]["meta.gold_retrieved"]
    assert by["true"]["recall"]["mean"] == 1.0
    assert by["true"]["recall"]["n"] == sum(got)
    raw = found.raw["metrics"]
    declined = raw["abstained"]["mean"]
    # "I don't know." stands in no passage; as a passage of its own it does.
    assert raw[V2]["mean"] == pytest.approx(raw["k_precision"]["mean"] + declined)
    manifest = json.loads((out / "manifest.json").read_bytes())["benchmark"]
    assert manifest["name"] == "instruct-qa"
    assert manifest["options"]["gold-needed"] == "all"
    assert (out / "report.html").is_file()


def test_an_irrelevant_passage_is_declined(tmp_path: Path) -> None:
    data, corpus = world(tmp_path)
    options = {"corpus": str(corpus), "setting": "irrelevant", "irrelevant_rank": "30"}
    found = run(tmp_path / "run", data, instruction="v2", **options)
    assert found.summary["p_ir"].mean == 1.0
    assert found.summary["p_ir"].scored == len(QUESTIONS)
    assert found.summary["recall"].mean == 0.0
    talker = tg.run(
        "instruct-qa/questions",
        "fake:It was Ada.",
        data=data,
        out=tmp_path / "talker",
        options={name.replace("_", "-"): value for name, value in options.items()},
    )
    assert talker.summary["p_ir"].mean == 0.0


def test_closed_book(tmp_path: Path) -> None:
    data, _ = world(tmp_path)
    found = run(tmp_path / "run", data, setting="closed-book").summary
    assert found["abstained"].mean == 1.0
    assert found["recall"].mean == 0.0
    assert "k_precision" not in found


def test_no_gold_passage_is_known(tmp_path: Path) -> None:
    """Then nothing is said of what was retrieved, and P_G has no item."""
    _, corpus = world(tmp_path)
    data = jsonl(tmp_path / "mine.jsonl", [{**single(3), "gold": []}])
    found = run(tmp_path / "run", data, corpus=str(corpus)).summary
    assert found["recall"].mean == 1.0
    assert found["p_g"].mean is None
    assert found["p_g"].unscored == {"missing_field": 1}


def test_hits_that_can_no_longer_be_kept_are_told_of_once(tmp_path: Path, home: Path) -> None:
    """The file of kept hits takes nothing more, which shows while it is written; all goes on."""
    data, corpus = world(tmp_path)
    told: list[str] = []
    options = {"corpus": str(corpus), "retriever": ["bm25", "bm25(k1=0.9)"]}
    sources = Sources(data, note=told.append)
    found = prepare_variants(get_benchmark("instruct-qa"), ("questions",), options, sources)
    with sqlite3.connect(home / "searches.sqlite") as connection:
        full = "BEGIN SELECT RAISE(ABORT, 'no room'); END"
        connection.execute(f"CREATE TRIGGER full BEFORE INSERT ON reply {full}")
    for _ in range(2):
        for one in found:
            assert len(list(one.task.questions())) == len(QUESTIONS)
    assert len(told) == 1
    assert "searches.sqlite" in told[0]
    assert "no room" in told[0]


def test_only_what_is_trimmed_is_scored(tmp_path: Path) -> None:
    data, corpus = world(tmp_path)
    reply = f"fake:{PEOPLE[founder(0)]}\nQuestion: Who founded it?\nAnswer: nobody"
    for how, strict in (("off", 0.0), ("turns", 1.0), ("first-line", 1.0)):
        out = tmp_path / how
        done = tg.run(
            "instruct-qa/questions",
            reply,
            data=data,
            out=out,
            limit=1,
            options={"corpus": str(corpus), "post-process": how, "passages": "1"},
        )
        assert done.summary["exact_match"].mean == strict
        logged = json.loads((out / "responses.jsonl").read_text().splitlines()[0])
        assert "Question:" in logged["response"]


def test_the_same_run_from_the_command_line(tmp_path: Path) -> None:
    """A user's own documents, and the two names of the benchmark."""
    folder = documents(tmp_path / "docs")
    rows = [{**single(i), "gold": f"{TOWNS[i]}.md"} for i in (0, 5)]
    data = jsonl(tmp_path / "questions.jsonl", rows)

    def trueground(*words: object, code: int = 0) -> str:
        env = {**os.environ, "TRUEGROUND_HOME": str(tmp_path / "home")}
        done = commands.trueground(*words, cwd=tmp_path, env=env)
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    shared = ("--data", data, "--corpus", folder, "--passages", 2, "--format", "json")
    answer = f"fake:{PEOPLE[founder(0)]}"
    told = trueground("run", "instruct_qa", "--model", answer, *shared, "--out", "one")
    found = json.loads(told)
    assert found["benchmark"]["name"] == "instruct-qa"
    assert found["metrics"]["recall"]["mean"] == 0.5
    assert found["by"]["meta.gold_retrieved"]["true"]["recall"]["n"] == 2
    told = trueground("run", "instruct-qa/questions", "--model", answer, *shared, "--out", "two")
    assert json.loads(told)["metrics"] == found["metrics"]
    told = trueground("run", "instruct_qa", "--model", answer, code=2)
    assert "--data FILE" in told
    assert "instruct-qa/nq" in told
    told = trueground("data", "stats", data, "--corpus", folder, "--format", "json")
    [numbers] = json.loads(told)
    assert numbers["counts"]["questions"] == 2
    assert numbers["counts"]["passages"] == len(list(folder.iterdir()))
    assert "--irrelevant-rank" in trueground("run", "instruct_qa", "--help")


def hub_files(fullwiki: bool = False) -> bytes:
    rows = [hotpot(town, publisher=False, fullwiki=fullwiki) for town in (2, 9)]
    return packed(rows)


def packed(rows: list[dict[str, Any]]) -> bytes:
    out = io.BytesIO()
    pl.DataFrame(rows).write_parquet(out)
    return out.getvalue()


def test_the_three_datasets_from_their_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, corpus = world(tmp_path)
    lines = "".join(json.dumps(row) + "\n" for row in topiocqa(publisher=False)).encode()
    with loopback_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.hub_url)
        hub.repos = {
            "google-research-datasets/nq_open": Repo(
                "a" * 40,
                {
                    "README.md": b"#",
                    "nq_open/train-00000-of-00001.parquet": b"",
                    "nq_open/validation-00000-of-00001.parquet": packed(NQ),
                },
            ),
            "hotpotqa/hotpot_qa": Repo(
                "b" * 40,
                {
                    "distractor/train-00000-of-00002.parquet": b"",
                    "distractor/validation-00000-of-00001.parquet": hub_files(),
                    "fullwiki/validation-00000-of-00001.parquet": hub_files(fullwiki=True),
                    "fullwiki/test-00000-of-00001.parquet": b"",
                },
            ),
            "McGill-NLP/TopiOCQA": Repo(
                "c" * 40, {"data/topiocqa_train.jsonl": b"", "data/topiocqa_valid.jsonl": lines}
            ),
        }
        for name in ("nq-open", "hotpotqa", "topiocqa"):
            assert fetch_data(name).missing == ()
    recall = {}
    for name, more in (("nq", {}), ("hotpotqa", {"variant": "fullwiki"}), ("topiocqa", {})):
        done = tg.run(
            f"instruct-qa/{name}",
            "fake:echo",
            out=tmp_path / name,
            options={"corpus": str(corpus), **more},
        )
        recall[name] = done.summary["recall"].mean
        by = done.summary.raw["by"]
        assert ("meta.type" in by) is (name == "hotpotqa")
        assert set(by.get("meta.gold_retrieved", {"true": 0})) == {"true"}
        assert done.summary.raw["clusters"] == (2 if name == "topiocqa" else None)
    # Whoever repeats all passages has the answer where it was among them.
    assert recall == {"nq": 1.0, "hotpotqa": 1.0, "topiocqa": 1.0}
    kinds = {one.name: one for name in ("nq-open", "hotpotqa") for one in count_data(name)}
    assert set(kinds) == {"nq-open (validation)", "hotpotqa (distractor)", "hotpotqa (fullwiki)"}
    assert kinds["nq-open (validation)"].published["questions"] == 3610
    assert kinds["hotpotqa (fullwiki)"].counts["questions"] == 2


def all_of_nq(folder: Path) -> Path:
    """A file with as many questions as Natural Questions open has."""
    return jsonl(folder / "all.jsonl", [NQ[0]] * 3610)


def test_statistics_of_any_data(tmp_path: Path) -> None:
    """Table 1: the words of answers over all that differ, and over the first ones."""
    nq = jsonl(tmp_path / "nq.jsonl", NQ)
    [found] = count_data(str(nq))
    assert (found.counts["questions"], found.means["references"]) == (3, 2.0)
    assert (found.means["answer_words"], found.means["first_answer_words"]) == (2.0, 2.0)
    # Many files have a question and an answer; the paper's has as many rows as this one.
    assert found.published == {}
    [found] = count_data(str(all_of_nq(tmp_path)))
    assert found.published == {"questions": 3610, "answer_words": 2.16}
    rows = topiocqa(publisher=True)
    rows[0]["Additional_answers"] = [{"Answer": rows[0]["Answer"]}] * 2
    talks = whole(tmp_path / "topiocqa_dev.json", rows)
    twice = jsonl(tmp_path / "twice.jsonl", [{"question": "q", "references": ["a b", "c", "c"]}])
    [found] = count_data(str(twice))
    assert (found.means["references"], found.means["answer_words"]) == (2.0, 1.5)
    [found] = count_data(str(talks))
    assert found.means["references"] == pytest.approx(5 / 3)
    assert found.counts == {"questions": 3, "groups": 2, "with_gold": 3}
    assert found.means["turns"] == pytest.approx(2 / 3)
    data, corpus = world(tmp_path / "world")
    [found] = count_data(str(data), corpus=corpus)
    assert found.published == {}
    assert found.counts == {"questions": 7, "groups": 2, "with_gold": 7, "passages": 228}
    # Three single ones, two of two references of two words each, two crafts of one word.
    assert found.means["answer_words"] == pytest.approx((3 * 2 + 2 * 2 * 2 + 2 * 1) / 9)
    assert found.means["first_answer_words"] == pytest.approx((3 * 2 + 2 * 2 + 2 * 1) / 7)
    bare = jsonl(tmp_path / "bare.jsonl", [{"question": "Why?"}])
    [found] = count_data(str(bare))
    assert found.means == {"question_words": 1.0, "turns": 0.0}
    with pytest.raises(UsageError, match=r"unknown dataset 'nothing'.*Or name a file of quest"):
        count_data("nothing")
    with pytest.raises(UsageError, match="mrqa isn't a dataset of questions with references"):
        count_data("mrqa")
    with pytest.raises(
        InputError,
        match=r"nq-open is not fetched yet\. Fetch it with: trueground data fetch nq-open",
    ):
        count_data("nq-open")


def test_statistics_as_text(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from trueground.cli.app import app

    told = CliRunner().invoke(app, ["data", "stats", str(all_of_nq(tmp_path))])
    assert told.exit_code == 0, told.output
    lines = [" ".join(line.split()) for line in told.output.splitlines()]
    assert "questions 3,610 3,610" in lines
    assert "words of a question 3.00" in lines
    assert "words of an answer (distinct answers) 2.00 2.16" in lines
