"""`trueground index` as a user types it, with bm25 over a tiny corpus."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import typer
from tests.commands import trueground
from typer.testing import CliRunner, Result

from trueground.errors import InputError, OutputError, TruegroundError, UsageError
from trueground.wings.search.command import index

for library in ("bm25s", "Stemmer", "ir_measures"):
    pytest.importorskip(library, reason="the retrieval extra is not installed")

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.add_typer(index)

ROWS = [
    {"id": "ruck", "title": "Anna Ruck", "text": "Anna Ruck led the Brenta expedition."},
    {"id": "brenta", "title": "Brenta", "text": "The Brenta expedition set out from Korvik."},
    {"id": "korvik", "title": "Korvik", "text": "Korvik lies on the island of Ulm."},
    {"id": "bees", "title": "Bees", "text": "Bees make honey."},
]
QUESTIONS = [
    {"id": "q1", "question": "Who led the Brenta expedition?", "gold": ["ruck"]},
    {"id": "q2", "question": "Where is Korvik?", "gold": [{"title": "korvik"}]},
    {
        "id": "q3",
        "question": "What do bees make?",
        "contexts": [{"text": "bees  make Honey.", "gold": True}, {"text": "Noise."}],
    },
    {"id": "q4", "question": "Who is the king of Ulm?"},
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return lines(tmp_path / "passages.jsonl", ROWS)


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return lines(tmp_path / "questions.jsonl", QUESTIONS)


@pytest.fixture
def built(corpus: Path, tmp_path: Path) -> Path:
    assert run("build", corpus, "--out", tmp_path / "index").exit_code == 0
    return tmp_path / "index"


def lines(path: Path, rows: list[dict[str, object]] | list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["index", *map(str, words)])


def refused(kind: type[TruegroundError], *words: object) -> str:
    done = run(*words)
    assert isinstance(done.exception, kind), done.exception or done.output
    assert done.exception.exit_code == 2
    assert done.stdout == ""
    return str(done.exception)


def test_build_says_what_it_made(corpus: Path, tmp_path: Path) -> None:
    done = run("build", corpus, "--out", tmp_path / "i")
    assert done.stdout.splitlines() == [str(tmp_path / "i"), "4 passages; bm25"]
    # An index can be named in place of its corpus, to add to it.
    done = run("build", tmp_path / "i", "--retriever", "bm25(stem=false)", "--format", "json")
    shown = json.loads(done.stdout)
    assert shown["retrievers"] == ["bm25", "bm25(stem=false)"]
    assert (shown["index"], shown["passages"]) == (str(tmp_path / "i"), 4)
    assert run("build", corpus, "--out", tmp_path / "i", "--quiet").stdout == ""


def test_without_out_it_lies_under_home(corpus: Path, home: Path) -> None:
    place = Path(run("build", corpus).stdout.splitlines()[0])
    assert place.parent == home / "indexes"
    assert run("build", corpus).stdout.splitlines()[0] == str(place)


def test_documents_are_cut_as_asked(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# Bees\n\n" + "Bees make honey all day. " * 40)
    (folder / "empty.txt").write_text(" ")
    done = run("build", folder, "--passage-words", 20, "--format", "json")
    assert json.loads(done.stdout)["passages"] >= 5
    assert "empty.txt has no text" in done.stderr
    words = refused(UsageError, "build", json.loads(done.stdout)["index"], "--passage-words", 20)
    assert "is an index, but --rebuild" in words


def test_search_prints_rank_score_title_and_text(built: Path) -> None:
    done = run("search", built, "Who was Anna Ruck?", "--top", 2)
    first = done.stdout.splitlines()[0].split(maxsplit=2)
    assert first[0] == "1"
    assert float(first[1]) > 0
    assert first[2].split("  ") == ["Anna Ruck", "Anna Ruck led the Brenta expedition."]
    both = run("search", built, "honey", "xyzzy").stdout.splitlines()
    assert both[0] == "honey"
    assert both[-2:] == ["xyzzy", "nothing found"]


def test_search_in_json_has_a_line_for_each_query(
    built: Path, questions: Path, tmp_path: Path
) -> None:
    done = run("search", built, "--queries", questions, "--top", 1, "--format", "json")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["id"] for one in found] == ["q1", "q2", "q3", "q4"]
    assert [one["hits"][0]["id"] for one in found[1:3]] == ["korvik", "bees"]
    assert found[2]["hits"][0] | {"score": 0} == {
        "rank": 1,
        "score": 0,
        "id": "bees",
        "title": "Bees",
        "text": "Bees make honey.",
        "source": "Bees",
    }
    (tmp_path / "q.txt").write_text("Where is Korvik?\n\nhoney\n")
    done = run("search", built, "--queries", tmp_path / "q.txt", "--format", "json")
    assert [json.loads(line)["query"] for line in done.stdout.splitlines()] == [
        "Where is Korvik?",
        "honey",
    ]


TALK = ["Who led it?", "Anna Ruck.", "When?", "In May.", "With whom?", "Alone.", "Why?", "For fun."]


@pytest.fixture
def talk(tmp_path: Path) -> tuple[Path, Path]:
    """An index in which "Sep" stands, and a question that is nothing without its eight turns."""
    dates = [{"id": f"d{n}", "text": f"Sep 2021, page {n} of the diary. Sep!"} for n in range(5)]
    corpus = lines(tmp_path / "talk.jsonl", [*ROWS, *dates])
    assert run("build", corpus, "--out", tmp_path / "talk").exit_code == 0
    row = {"question": "And then?", "history": TALK, "gold": "ruck", "id": "t"}
    turns = [{"role": "user", "content": text} for text in TALK]
    rows = [
        row,
        {**row, "id": "u", "history": turns},
        {**row, "id": "v", "history": None, "retrieval_query": "Anna Ruck"},
    ]
    return tmp_path / "talk", lines(tmp_path / "talks.jsonl", rows)


def test_a_history_is_searched_for_as_it_was_said(talk: tuple[Path, Path]) -> None:
    index, questions = talk
    command = ("--queries", questions, "--format", "json")
    found = [json.loads(line) for line in run("search", index, *command).stdout.splitlines()]
    assert found[0]["query"] == " ".join([*TALK, "And then?"])
    assert [one["hits"][0]["id"] for one in found] == ["ruck"] * 3
    assert not any(hit["id"].startswith("d") for one in found for hit in one["hits"])

    def success(form: str) -> float:
        done = run("evaluate", index, *command, "-k", 1, "--retrieval-query", form)
        [result] = json.loads(done.stdout)["retrievers"].values()
        return float(result["metrics"]["success@1"]["mean"])

    # Without history "v" has nothing but its own query, and "last" is for all the bare question.
    assert [success(form) for form in ("auto", "all", "last")] == [1.0, 2 / 3, 0.0]
    assert run("evaluate", index, *command, "--retrieval-query", "some").exit_code == 2


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"history": "Who?"}, "field 'history': found str .Who.*; expected a list"),
        ({"history": ["Who?", 3]}, "field 'history\\[1\\]': found int 3"),
        ({"retrieval_query": " "}, "field 'retrieval_query': found str \" \"; expected"),
        ({"retrieval_query": ["Who?"]}, "field 'retrieval_query': found list"),
    ],
)
def test_what_is_no_history(
    row: dict[str, object], words: str, built: Path, tmp_path: Path
) -> None:
    file = lines(tmp_path / "odd.jsonl", [{"question": "And?", "gold": "ruck", **row}])
    assert re.search(f"line 1, {words}", refused(InputError, "evaluate", built, "--queries", file))


def test_links_out_of_a_corpus(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.txt").write_text("A text.")
    (tmp_path / "b.txt").write_text("Another text.")
    (docs / "b.txt").symlink_to(tmp_path / "b.txt")
    done = run("build", docs, "--out", tmp_path / "i")
    assert "\n1 passages" in done.stdout
    assert "links that lead out of" in done.stderr
    # What lies behind such a link is no part of the corpus: it may change.
    (tmp_path / "b.txt").write_text("Something else.")
    assert run("search", tmp_path / "i", "text").exit_code == 0
    done = run("build", docs, "--out", tmp_path / "j", "--follow-links")
    assert "\n2 passages" in done.stdout
    assert done.stderr == ""
    assert run("search", tmp_path / "j", "text").exit_code == 0
    (tmp_path / "b.txt").write_text("Something else again.")
    assert "b.txt has changed" in refused(InputError, "search", tmp_path / "j", "text")


def test_results_that_were_found_elsewhere(built: Path, questions: Path, tmp_path: Path) -> None:
    """A TREC run goes by the questions' ids, DPR's results by their words."""
    trec = "q1 Q0 ruck 1 9 x\nq2 Q0 bees 1 9 x\nq2 Q0 korvik 2 8 x\nq3 Q0 korvik 1 1 x\n"
    (tmp_path / "run.trec").write_text(trec)
    found = {"q1": ["ruck"], "q2": ["bees", "korvik"], "q3": ["korvik"], "q4": []}
    dpr = [{"question": row["question"], "ctxs": [{"id": id_} for id_ in found[str(row["id"])]]}
           for row in QUESTIONS]  # fmt: skip
    (tmp_path / "dpr.json").write_text(json.dumps(dpr))
    written = [f"file:{tmp_path / name}" for name in ("run.trec", "dpr.json")]
    written.append(f'hybrid:"{written[0]} + {written[1]}"')
    command = ("--queries", questions, "-k", 1, "-k", 2, "--format", "json")
    for retriever in written:
        done = run("evaluate", built, *command, "--retriever", retriever)
        [result] = json.loads(done.stdout)["retrievers"].values()
        means = {
            name: result["metrics"][name]["mean"] for name in ("success@1", "success@2", "mrr@2")
        }
        assert means == {"success@1": 1 / 3, "success@2": 2 / 3, "mrr@2": 0.5}
        assert result["signature"].startswith(("file:", "hybrid:"))
    words = refused(InputError, "search", built, "Who?", "--retriever", written[0])
    assert "no results for the question 'Who?'" in words


def test_retrievers_that_are_put_together_need_no_files_of_their_own(built: Path) -> None:
    done = run(
        "search", built, "Anna Ruck", "--top", 2, "--retriever", 'multi-hop:"bm25"', "--format=json"
    )
    assert [hit["id"] for hit in json.loads(done.stdout)["hits"]] == ["ruck", "brenta"]


def test_evaluate(built: Path, questions: Path) -> None:
    done = run("evaluate", built, "--queries", questions, "-k", 1, "-k", 4, "--format", "json")
    shown = json.loads(done.stdout)
    metrics = shown["retrievers"]["bm25"]["metrics"]
    assert list(metrics) == [
        f"{name}@{k}" for name in ("recall", "success", "mrr", "ndcg") for k in (1, 4)
    ]
    assert metrics["recall@4"]["mean"] == 1.0
    assert metrics["recall@4"]["unscored"] == {"missing_field": 1}
    assert (metrics["mrr@4"]["n"], metrics["mrr@4"]["scored"], shown["n"]) == (4, 3, 4)
    text = run("evaluate", built, "--queries", questions, "-k", 4, "--retriever", "bm25")
    assert text.stdout.splitlines()[0] == "bm25"
    row = text.stdout.splitlines()[2].split()
    assert row == ["recall@4", "1.0000", "1.0000", "…", "1.0000", "3", "4"]


def test_gold_passages_that_are_not_in_the_index_are_told(built: Path, tmp_path: Path) -> None:
    rows = [QUESTIONS[0], {"question": "What?", "gold": ["ruck", "nobody"]}]
    file = lines(tmp_path / "some.jsonl", rows)
    done = run("evaluate", built, "--queries", file, "--format", "json")
    assert "1 of the questions are not measured" in done.stderr
    assert "line 2: id or title 'nobody'" in done.stderr
    metric = json.loads(done.stdout)["retrievers"]["bm25"]["metrics"]["recall@1"]
    assert (metric["scored"], metric["unscored"]) == (1, {"not_applicable": 1})
    file = lines(tmp_path / "none.jsonl", rows[1:])
    words = refused(InputError, "evaluate", built, "--queries", file)
    assert "none of the gold passages is in the index" in words
    file = lines(tmp_path / "bare.jsonl", [{"question": "What?"}])
    assert "has no gold passages" in refused(InputError, "evaluate", built, "--queries", file)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"gold": ["ruck"]}, "field 'question': found no such field in object"),
        ({"question": "  "}, "found str"),
        ({"query": 3}, "field 'query': found int 3"),
        ({"question": "q", "gold": 1.5}, "field 'gold': found float 1.5; expected a passage"),
        ({"question": "q", "gold": [{}]}, r"field 'gold[0]': found object {}; expected a passage"),
        ({"question": "q", "id": 1.5}, "field 'id': found float 1.5"),
    ],
)
def test_wrong_questions_are_named(
    row: dict[str, object], words: str, built: Path, tmp_path: Path
) -> None:
    file = lines(tmp_path / "wrong.jsonl", [row])
    assert words in refused(InputError, "evaluate", built, "--queries", file)


def test_what_cannot_be_meant(built: Path, corpus: Path, questions: Path, tmp_path: Path) -> None:
    assert "expected queries after INDEX" in refused(UsageError, "search", built)
    both = refused(UsageError, "search", built, "x", "--queries", questions)
    assert "expected queries after INDEX" in both
    assert "isn't an index" in refused(InputError, "search", tmp_path, "x")
    words = refused(InputError, "search", built, "x", "--retriever", "bm25(stem=false)")
    assert f"trueground index build {built} --retriever 'bm25(stem=false)'" in words
    words = refused(UsageError, "build", corpus, "--retriever", "bm52")
    assert "Did you mean 'bm25'" in words
    words = refused(UsageError, "evaluate", built, "--queries", questions, "-k", 9, "--top", 8)
    assert "expected each k from 1 to top" in words
    assert "contains files but no index" in refused(OutputError, "build", corpus, "--out", tmp_path)
    corpus.write_text(json.dumps(ROWS[0]) + "\n")
    assert "passages.jsonl has changed" in refused(InputError, "search", built, "x")
    assert run("build", corpus, "--out", built, "--rebuild").stdout.endswith("1 passages; bm25\n")


def test_files_that_are_gone_are_built_again(built: Path, corpus: Path) -> None:
    assert run("build", built, "--retriever", "bm25(stem=false)").exit_code == 0
    for words in (("build", built, "--retriever", "bm25"), ("build", corpus, "--out", built)):
        shutil.rmtree(built / "retrievers" / "bm25")
        assert "build it again" in refused(InputError, "search", built, "bees", "--no-cache")
        other = run("build", built, "--retriever", "bm25(stem=false)", "--format", "json")
        assert json.loads(other.stdout)["retrievers"] == ["bm25(stem=false)"]
        assert "bm25 are damaged or missing; rebuild them with: trueg" in other.stderr
        done = run(*words)
        assert done.stderr == ""
        assert done.stdout.splitlines()[1] == "4 passages; bm25, bm25(stem=false)"
        assert "Bees make honey." in run("search", built, "bees", "--no-cache").stdout


def test_messages_name_what_is_wrong(built: Path, corpus: Path, tmp_path: Path) -> None:
    other = lines(tmp_path / "other.jsonl", ROWS[:1])
    words = refused(InputError, "build", other, "--out", built)
    assert f"was made from {corpus}, and {other} is a different corpus. Rebuild it" in words
    words = refused(UsageError, "build", built, "--out", tmp_path / "new")
    assert f"{built} is an index, not a corpus. Leave out --out" in words
    words = refused(InputError, "search", built, "--queries", tmp_path / "none.txt")
    assert "none.txt does not exist" in words
    other.write_text("[1]\n")
    for made in (("build", other), ("evaluate", built, "--queries", other)):
        words = refused(InputError, *made)
        assert "line 1: found list of 1; expected one JSON object; a file that" in words


def test_from_a_shell(built: Path) -> None:
    done = trueground("index", "search", built, "honey", "--top", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Bees make honey." in done.stdout
    wrong = trueground("index", "search", built)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("trueground: expected queries after INDEX")
