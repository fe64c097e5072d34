"""FaithEval's tasks: the questions, their keys, their metrics, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.wings.papers.faitheval_files import (
    ARC,
    COUNTERFACTUAL,
    INCONSISTENT,
    MRQA,
    NEW,
    OLD,
    UNANSWERABLE,
    data_folder,
    jsonl,
    parquet,
)

import trueground as tg
from trueground.benchmarks.base import Question, Sources, Task, get_benchmark
from trueground.benchmarks.data import fetch_data
from trueground.benchmarks.datasets import get_dataset
from trueground.errors import InputError, UsageError
from trueground.metrics.registry import METRICS
from trueground.models.base import Params
from trueground.studies.leaderboard.study import leaderboard_data
from trueground.types import Choice, Passage

SUBSTRING = "answer_accuracy(normalizer=faitheval,match=substring)"
CHOICE = ("choice_accuracy", "choice_accuracy(variant=mentions)")
WORD = "answer_accuracy(normalizer=faitheval)"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return data_folder(tmp_path / "data")


@pytest.fixture
def mrqa(tmp_path: Path) -> str:
    return str(jsonl(tmp_path / "mrqa.jsonl.gz", MRQA))


@pytest.fixture
def arc(tmp_path: Path) -> str:
    return str(jsonl(tmp_path / "arc.jsonl", ARC))


def task(name: str, data: Path, prompt: Path | None = None, **options: Any) -> Task:
    return get_benchmark("faitheval").prepare(name, options, Sources(data, prompt))


def ask(name: str, data: Path, **options: Any) -> list[Question]:
    return list(task(name, data, **options).questions())


def text(question: Question) -> str:
    assert [message.role for message in question.messages] == ["user"]
    return question.messages[0].content


def test_unanswerable(data: Path) -> None:
    made = task("unanswerable", data)
    first, second = made.questions()
    assert first.record.id == "u1"
    assert first.record.contexts == [Passage(UNANSWERABLE[0]["context"])]
    assert (first.record.answerable, first.record.references) == (False, None)
    assert first.record.meta == {"dataset": "SQuAD", "task": "unanswerable"}
    assert second.record.meta == {"dataset": "NQ", "task": "unanswerable"}
    # Braces in the context are the context's own.
    assert "{It} is {question} tall." in text(first)
    assert text(first).endswith("Question: Who built the lighthouse of Varn?\n\nAnswer:")
    assert '"unknown"' in text(first)
    assert made.metrics == (
        "phrase_match_strict",
        "phrase_match",
        "phrase_match_word",
        "p_ir",
    )
    assert (made.headline, made.by) == ("phrase_match_strict", ("meta.dataset",))
    assert made.params == Params(temperature=0.0)
    assert [prompt.id for prompt in made.prompts] == ["faitheval/direct-1", "faitheval/unknown-1"]
    assert made.options == {"scheme": "direct", "task-instruction": "on"}
    assert [Path(file.path).name for file in made.files] == ["test-00000-of-00001.jsonl"]
    assert list(made.questions()) == [first, second]


def test_inconsistent_with_both_documents(data: Path) -> None:
    made = task("inconsistent", data)
    first, second = made.questions()
    assert first.record.contexts == [Passage(NEW), Passage(OLD)]
    assert second.record.contexts == [
        Passage("The mill is in Ulm."),
        Passage("The mill is in Bonn."),
    ]
    assert (first.record.answerable, first.record.references) == (None, None)
    assert [q.record.meta["dataset"] for q in (first, second) if q.record.meta] == [
        "TriviaQA",
        "DROP",
    ]
    assert INCONSISTENT[0]["context"] in text(first)
    assert '"conflict"' in text(first)
    assert made.headline == "phrase_match_strict(task=inconsistent)"
    assert [prompt.id for prompt in made.prompts] == ["faitheval/direct-1", "faitheval/conflict-1"]


@pytest.mark.parametrize("with_original", [False, True])
@pytest.mark.parametrize(
    ("which", "texts", "answers"),
    [
        ("original", [OLD, "The mill is in Ulm."], (["Rex"], ["Ulm"])),
        ("new", [NEW, "The mill is in Bonn."], (["Max"], ["Bonn"])),
    ],
)
def test_one_document_is_scored_against_its_own_answer(
    which: str, texts: list[str], answers: Any, with_original: bool, data: Path, mrqa: str
) -> None:
    original = {"original": mrqa} if with_original else {}
    made = task("inconsistent", data, documents=which, **original)
    questions = list(made.questions())
    assert [q.record.contexts for q in questions] == [[Passage(t)] for t in texts]
    if with_original and which == "original":
        answers = (["rex", "Rex"], ["Ulm"])
    assert tuple(q.record.references for q in questions) == answers
    assert all(context in text(q) for context, q in zip(texts, questions, strict=True))
    assert "Document" not in text(questions[0])
    assert '"conflict"' not in text(questions[0])
    assert made.metrics == (SUBSTRING, WORD)
    assert made.options["documents"] == which


def test_single_document_ambiguous_raises_input_error(tmp_path: Path) -> None:
    alike = {**INCONSISTENT[1], "context": "Document:\nA mill.\nDocument:\nThe mill."}
    path = jsonl(tmp_path / "inconsistent.jsonl", [INCONSISTENT[0], alike])
    with pytest.raises(InputError, match=r"1 questions have two documents that can't.*'i2'.*MRQA"):
        ask("inconsistent", path, documents="new")
    one = {**INCONSISTENT[1], "context": "The mill is in Ulm."}
    path = jsonl(tmp_path / "inconsistent.jsonl", [one])
    with pytest.raises(InputError, match="don't have two documents"):
        ask("inconsistent", path, documents="original")
    assert ask("inconsistent", path)[0].record.contexts == [Passage("The mill is in Ulm.")]
    path = jsonl(tmp_path / "inconsistent.jsonl", [{**INCONSISTENT[1], "answers": ["Ulm"]}])
    with pytest.raises(InputError, match="name no new answer"):
        ask("inconsistent", path, documents="new")
    path = jsonl(tmp_path / "inconsistent.jsonl", [{**INCONSISTENT[1], "answers": ["a", "b"]}])
    mrqa = str(jsonl(tmp_path / "mrqa.jsonl", MRQA))
    with pytest.raises(InputError, match=r"don't name an answer of their original: 'i2'"):
        ask("inconsistent", path, documents="new", original=mrqa)


def test_the_original_tells_documents_apart_where_answers_do_not(tmp_path: Path) -> None:
    row = {**INCONSISTENT[1], "context": "Document: One in Bonn, Ulm.\nDocument: One in Ulm, Bonn."}
    path = jsonl(tmp_path / "inconsistent.jsonl", [row])
    source = {"id": "i2", "question": row["question"], "context": "One in Ulm, Bonn."}
    flat = parquet(tmp_path / "flat.parquet", [{**source, "answers": ["Ulm"]}])
    (question,) = ask("inconsistent", path, documents="new", original=str(flat))
    assert question.record.contexts == [Passage("One in Bonn, Ulm.")]


def test_counterfactual(data: Path) -> None:
    made = task("counterfactual", data)
    first, second, _ = made.questions()
    assert first.record.choices == [
        Choice("A", "water"),
        Choice("B", "sand"),
        Choice("C", "the sun"),
    ]
    assert first.record.references == ["sand"]
    assert second.record.references == ["cold grey stones"]
    assert first.record.meta == {"dataset": "ARC-Challenge", "task": "counterfactual"}
    assert "Which of these is wet?\nA. water\nB. sand\nC. the sun\n\nAnswer:" in text(first)
    assert "1. grass" in text(second)
    assert "unknown" not in text(first)
    assert (made.metrics, made.headline, made.by) == (CHOICE, "choice_accuracy", ())


def test_appendix_b_keeps_items_by_phrase_or_by_words(data: Path, tmp_path: Path) -> None:
    def ids(rule: str) -> list[str]:
        return [q.record.id for q in ask("counterfactual", data, only_phrase_filtered=rule)]

    assert ids("phrase") == ["c1"]
    assert ids("words") == ["c1", "c2"]
    assert ids("off") == ["c1", "c2", "c3"]
    lonely = jsonl(tmp_path / "counterfactual.jsonl", COUNTERFACTUAL[2:])
    with pytest.raises(InputError, match="passes --only-phrase-filtered words"):
        ask("counterfactual", lonely, only_phrase_filtered="words")


def test_original_contexts_with_original_answers(data: Path, mrqa: str) -> None:
    made = task("original", data, original=mrqa)
    first, second = made.questions()
    assert first.record.contexts == [Passage("Varn has a lighthouse, built by Ede Holm.")]
    assert (first.record.references, first.record.answerable) == (["Ede Holm", "Holm"], True)
    assert second.record.references == ["4"]
    assert first.record.meta == {"dataset": "SQuAD", "task": "original"}
    assert "built by Ede Holm" in text(first)
    assert "unknown" not in text(first)
    assert (made.metrics, made.headline) == ((SUBSTRING, WORD), SUBSTRING)
    assert made.options == {
        "scheme": "direct",
        "task-instruction": "off",
        "of": "unanswerable",
        "closed-book": False,
    }
    assert len(made.files) == 2


@pytest.mark.parametrize(
    ("of", "word", "metric"),
    [
        ("unanswerable", "unknown", "phrase_match_strict"),
        ("inconsistent", "conflict", "phrase_match_strict(task=inconsistent)"),
    ],
)
def test_sycophancy_asks_normal_contexts_with_the_instruction(
    of: str, word: str, metric: str, data: Path, mrqa: str
) -> None:
    made = task("original", data, of=of, original=mrqa, task_instruction="on")
    assert f'"{word}"' in text(next(made.questions()))
    assert made.metrics == (SUBSTRING, WORD, metric)


def test_closed_book_asks_with_the_original_key_only(data: Path, arc: str) -> None:
    made = task("original", data, of="counterfactual", closed_book=True, original=arc)
    first, second, _ = made.questions()
    assert (first.record.references, second.record.references) == (["water"], ["grass"])
    assert (first.record.contexts, first.record.answerable) == (None, None)
    assert "sand is wet" not in text(first)
    assert "context" not in text(first).lower()
    assert "A. water" in text(first)
    assert (made.metrics, made.by) == (CHOICE, ())
    assert [prompt.id for prompt in made.prompts] == ["faitheval/closed-book-1"]


def test_closed_book_reads_the_flat_layout_too(data: Path, tmp_path: Path) -> None:
    rows = [
        {**{k: row[k] for k in ("id", "question", "choices")}, "answerKey": key}
        for row, key in zip(COUNTERFACTUAL, "A1A", strict=True)
    ]
    arc = str(parquet(tmp_path / "arc.parquet", rows))
    questions = ask("original", data, of="counterfactual", closed_book=True, original=arc)
    assert [q.record.references for q in questions] == [["water"], ["grass"], ["stars"]]


def test_a_question_without_its_original_is_an_error(data: Path, tmp_path: Path, mrqa: str) -> None:
    some = str(jsonl(tmp_path / "some.jsonl", MRQA[:2]))
    with pytest.raises(InputError, match=r"1 questions have no original context in .*: 'u2'\. Add"):
        ask("original", data, original=some)
    other = [{**MRQA[1], "qas": [{**MRQA[1]["qas"][0], "question": "Else?"}]}, MRQA[2]]
    path = str(jsonl(tmp_path / "other.jsonl", other))
    with pytest.raises(InputError, match=r"1 questions have another text in .*: 'u1'"):
        ask("original", data, original=path)
    again = [*MRQA, {**MRQA[1], "context": "Something else."}]
    path = str(jsonl(tmp_path / "again.jsonl", again))
    with pytest.raises(InputError, match=r"line 6 \(id 'u1'\): found a second, different original"):
        ask("original", data, original=path)
    with pytest.raises(InputError, match=r"3 questions have no ARC-Challenge question"):
        ask("original", data, of="counterfactual", closed_book=True, original=str(parquet(
            tmp_path / "arc.parquet",
            [{**COUNTERFACTUAL[0], "id": "z"}],
        )))  # fmt: skip


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("original", {}, "Add --original PATH with the files of MRQA"),
        ("original", {"of": "counterfactual"}, "ARC-Challenge, which has no original"),
        (
            "original",
            {"of": "counterfactual", "closed_book": True},
            "Add --original PATH with the files of ARC",
        ),
        ("original", {"closed_book": True}, "--closed-book is for --of counterfactual"),
        ("counterfactual", {"closed_book": True}, "--closed-book is for the task original"),
        ("counterfactual", {"task_instruction": "on"}, "no task instruction for counterfactual"),
        ("unanswerable", {"documents": "new"}, "--documents is for the task inconsistent"),
        ("unanswerable", {"of": "inconsistent"}, "--of is for the task original"),
        ("unanswerable", {"original": "x"}, "--original is for the task original"),
        ("inconsistent", {"original": "x"}, "--documents original or new"),
        (
            "inconsistent",
            {"only_phrase_filtered": "words"},
            "--only-phrase-filtered is for the task counterfactual",
        ),
        ("unanswerable", {"scheme": "cto"}, "--scheme cto: expected one of direct, cot, sampling"),
        ("unanswerable", {"schema": "cot"}, "unknown option of faitheval 'schema'.*'scheme'"),
        ("answerable", {}, "unknown task of faitheval 'answerable'.*'unanswerable'"),
    ],
)
def test_make_task_invalid_options_raise_usage_error(
    name: str, options: dict[str, Any], message: str, data: Path
) -> None:
    with pytest.raises(UsageError, match=message):
        task(name, data, **options)


def test_make_task_scheme_sets_params_and_prompt(data: Path, arc: str) -> None:
    made = task("unanswerable", data, scheme="sampling")
    assert made.params == Params(temperature=0.3, top_p=0.9)
    assert made.prompts[0].id == "faitheval/direct-1"
    made = task("unanswerable", data, scheme="cot", task_instruction="off")
    assert made.params == Params(temperature=0.0)
    assert [prompt.id for prompt in made.prompts] == ["faitheval/cot-1"]
    sent = text(next(made.questions()))
    assert sent.index("brief answer") < sent.index("reasoning")
    assert "unknown" not in sent
    made = task("original", data, scheme="cot", of="counterfactual", closed_book=True, original=arc)
    assert [prompt.id for prompt in made.prompts] == ["faitheval/closed-book-cot-1"]


def test_replies_with_their_reasons_are_scored_by_the_answer_and_whole(
    data: Path, mrqa: str, tmp_path: Path
) -> None:
    made = task("inconsistent", data, scheme="cot")
    names = ("phrase_match_strict", "phrase_match", "phrase_match_word")
    of_answer = [f"{name}(task=inconsistent,read=answer)" for name in names]
    whole = [f"{name}(task=inconsistent)" for name in names]
    assert made.metrics == (*of_answer, *whole)
    assert made.headline == of_answer[0]
    assert task("counterfactual", data, scheme="cot").metrics == CHOICE
    made = task("original", data, of="inconsistent", original=mrqa, scheme="cot")
    assert made.headline == "answer_accuracy(normalizer=faitheval,match=substring,read=answer)"
    said = "Paris\n\nIt could be unknown, but the context says Paris."
    done = tg.run(
        "faitheval/unanswerable", f"fake:{said}", data=data, out=tmp_path / "run",
        options={"scheme": "cot"},
    )  # fmt: skip
    assert done.summary["phrase_match_strict(read=answer)"].mean == 0
    assert done.summary["phrase_match_strict"].mean == 1
    told = leaderboard_data([tmp_path / "run"])
    assert told["studies"][0]["rows"][0]["cells"][0][0]["mean"] == 0


def test_metrics_are_given_by_their_keys(data: Path, mrqa: str) -> None:
    for made in (
        task("unanswerable", data, scheme="cot"),
        task("inconsistent", data, scheme="cot"),
        task("original", data, of="inconsistent", original=mrqa, scheme="cot"),
        task("unanswerable", data),
        task("inconsistent", data),
        task("counterfactual", data),
        task("original", data, of="inconsistent", original=mrqa, task_instruction="on"),
    ):
        assert [METRICS.parse(metric).key for metric in made.metrics] == list(made.metrics)
        assert made.headline == made.metrics[0]


def test_every_row_is_checked_before_the_first_question(tmp_path: Path) -> None:
    rows = [*UNANSWERABLE, {**UNANSWERABLE[0], "qid": "u3", "question": " "}]
    made = task("unanswerable", jsonl(tmp_path / "a.jsonl", rows))
    with pytest.raises(InputError, match=r"line 3 \(id 'u3'\), field 'question': found str"):
        next(made.questions())


def test_a_prompt_of_the_users_own(data: Path, tmp_path: Path, arc: str) -> None:
    prompt = tmp_path / "mine.txt"
    prompt.write_text("---system---\nBe brief. {instruction}\n---user---\n{context}\nQ: {question}")
    first = next(task("unanswerable", data, prompt).questions())
    assert [message.role for message in first.messages] == ["system", "user"]
    assert '"unknown"' in first.messages[0].content
    assert first.messages[1].content.endswith("tall.\nQ: Who built the lighthouse of Varn?")
    prompt.write_text("Q: {question}\n{options}")
    with pytest.raises(UsageError, match=r"has no placeholder \{context\}"):
        task("unanswerable", data, prompt)
    made = task("original", data, prompt, of="counterfactual", closed_book=True, original=arc)
    assert text(next(made.questions())).startswith("Q: Which of these is wet?\nA. water\n")
    assert made.prompts[0].id == "mine.txt"


def test_a_prompt_that_leaves_out_what_matters(data: Path, tmp_path: Path) -> None:
    prompt = tmp_path / "mine.txt"
    prompt.write_text("Q: {question}\nC: {context}")
    with pytest.raises(UsageError, match=r"has no placeholder \{options\}"):
        task("counterfactual", data, prompt)
    made = task("unanswerable", data, prompt)
    assert [p.id for p in made.prompts] == ["mine.txt"]  # the instruction is not sent
    assert made.options["task-instruction"] == "none but what the prompt says"
    prompt.write_text("{instruction}\nQ: {question}\nC: {context}")
    made = task("unanswerable", data, prompt)
    assert [p.id for p in made.prompts] == ["mine.txt", "faitheval/unknown-1"]
    assert made.options["task-instruction"] == "on"


def test_fetched_originals_are_found(data: Path, mrqa: str, arc: str, tmp_path: Path) -> None:
    """What `data fetch mrqa --from` and `data fetch arc-challenge --from` keep is taken."""
    for name, files in (("mrqa", mrqa), ("arc-challenge", arc)):
        split = get_dataset(name).files[-1].name
        source = tmp_path / "copies" / name / f"{split}{''.join(Path(files).suffixes)}"
        source.parent.mkdir(parents=True)
        source.write_bytes(Path(files).read_bytes())
        fetch_data(name, from_path=source.parent)
    (first, *_rest) = ask("original", data)
    assert first.record.references == ["Ede Holm", "Holm"]
    (first, *_rest) = ask("original", data, of="counterfactual", closed_book=True)
    assert first.record.references == [COUNTERFACTUAL[0]["choices"]["text"][0]]
