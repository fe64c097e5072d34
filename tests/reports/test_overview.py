"""What is seen first of a run: in a terminal, in Python, in a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.cells import cell_len
from tests.texts import overview_text

import trueground as tg
from trueground.metrics.registry import METRICS
from trueground.reports.overview import QUESTIONS, headline_keys
from trueground.reports.text import clip
from trueground.testing import FakeJudge, synthetic_records
from trueground.text.wording import percent

EXAMPLES = Path(__file__).parents[2] / "examples" / "answers.jsonl"


@pytest.fixture(scope="module")
def result() -> tg.Result:
    return tg.score(EXAMPLES)


def test_the_first_lines_say_how_grounded_the_answers_are(result: tg.Result) -> None:
    shown = overview_text(result.summary.raw, Path("runs/x"), result.worst_items(5))
    words = " ".join(shown.replace("│", " ").split())
    assert "Of 64 answers 38 % are grounded. grounded 38 % 24 answers, 26 to 49 % " in words
    assert "not judged 5 % 3 answers, 0 to 12 % " in words
    assert (
        "On 5 labeled sets with questions, as here, answers called not grounded were uns" in words
    )
    assert words.endswith("page runs/x/report.html")
    assert all(cell_len(line) <= 80 for line in shown.splitlines())
    assert "\x1b" not in shown


def test_the_box_is_as_wide_for_any_numbers() -> None:
    rows = [{"id": i, "response": "It is old.", "contexts": ["c"]} for i in range(1200)]
    judge = FakeJudge({}, default=0.9)
    shown = overview_text(tg.score(rows, metrics="support", judge=judge).summary.raw, None)
    box = shown.partition("\n\n1,200 items")[0].splitlines()
    assert {len(line) for line in box} == {80}
    assert "Of 1,200 answers 100 % are grounded." in box[1]
    assert box[5].startswith("│ declined to answer    0 %  0 answers")
    assert "wasn't measured for this judge" in " ".join(shown.replace("│", " ").split())


def test_the_sets_are_those_most_like_the_answers() -> None:
    claims = [{"response": "It is old.", "contexts": ["c"], "question": " "}] * 3
    words = " ".join(repr(tg.score(claims, metrics="support")).split())
    assert "On 9 labeled sets without questions, as here, answers called not grounded" in words


def test_a_threshold_of_ones_own_is_named_where_nothing_was_measured() -> None:
    rows = [{"response": "It is old.", "contexts": ["c"]}]
    text = repr(tg.score(rows, metrics="support", judge="lexical(threshold=0.6)"))
    words = " ".join(text.replace("│", " ").split())
    assert "wasn't measured for this judge (lexical with the threshold 0.6). To measure it" in words
    assert "run `trueground validate`" in words


def test_at_most_six_metrics_the_best_of_each_question_first(result: tg.Result) -> None:
    metrics: dict[str, Any] = {
        name: {"scored": 1} for names in QUESTIONS.values() for name in reversed(names)
    }
    assert [key for _, key in headline_keys(metrics)] == [
        *("support", "grounding_f1", "correct_support", "recall"),
        *("p_ir", "citation_f1"),
    ]
    assert {q for q, _ in headline_keys(metrics)} == set(QUESTIONS)
    metrics["support"] = {"scored": 0}  # what was scored nowhere tells nothing
    assert "support" not in dict(map(reversed, headline_keys(metrics)))  # type: ignore[arg-type]
    assert headline_keys({"rouge_1": {"scored": 1}}) == [("", "rouge_1")]
    assert {name for names in QUESTIONS.values() for name in names} <= METRICS.load().keys()


def test_breakdowns_are_of_the_metrics_that_are_shown() -> None:
    raw = tg.score(EXAMPLES, by="model").summary.raw
    table = overview_text(raw, None).partition("by model")[2]
    first = ("items", "support", "recall", "p_ir")  # of each question
    assert [line.split()[0] for line in table.splitlines()[1:5]] == list(first)
    assert "grounding_f1" not in table
    assert "rouge_1" not in table
    assert "rouge_1" in overview_text(raw, None, shows_all=True).partition("by model")[2]


def test_worst_answers_show_what_is_wrong(result: tg.Result) -> None:
    shown = overview_text(result.summary.raw, None, result.worst_items(3))
    head = "worst 3 of 64: not grounded first, then partly grounded, each by lowest support\n"
    block = shown.partition(head)[2]
    assert block.count("    answer: ") == 3
    assert "      – not in the context: " in block


def test_worst_answers_in_brief_have_three_lines_each(result: tg.Result) -> None:
    text = overview_text(result.summary.raw, None, result.worst_items(5), is_brief=True)
    block = text.partition("worst 5 of 64")[2].partition("\n\n")[0].splitlines()[1:]
    assert len(block) == 15
    assert [line[:5] for line in block[1::3]] == ["    ✗"] * 5
    assert all(line.startswith("      – ") for line in block[2::3])
    assert "      – not in the context: 45 kW (nearest number 45 W) (and 1 more claim)" in block
    assert "the worst answers in full: --worst 20" in text


def rows(n: int, **fields: Any) -> list[dict[str, Any]]:
    return [{"question": "Where?", "contexts": ["In Rome."]} | fields for _ in range(n)]


def shown(records: list[dict[str, Any]], **options: Any) -> str:
    result = tg.score(records, **options)
    text = overview_text(result.summary.raw, None, result.worst_items(5))
    return " ".join(text.replace("│", " ").split())


def test_result_reports_answers_without_claims() -> None:
    text = shown(rows(3, response=""))
    assert "No answer had anything to check, so none is called grounded or not. All are" in text
    assert "Of 3 answers" not in text
    assert "k_precision 0.0000" in text  # as defined


def test_a_run_without_contexts_says_that_grounding_was_not_scored(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = shown(rows(3, contexts=None, response="In Rome."))
    told = "No record has contexts: whether the answers are grounded in anything cannot be scored."
    assert told in text
    assert told[1:] in " ".join(capsys.readouterr().err.split())
    assert "worst" not in text  # that an answer declines does not make it worse
    assert "No record" not in shown(rows(3, response="In Rome."), metrics="rouge_1")


def test_answers_that_decline_are_not_the_worst() -> None:
    texts = ("I don't know.", "In Pisa.", "I do not know.", "It is in Rome.")
    records = [row | {"response": t} for row, t in zip(rows(4), texts, strict=True)]
    records = [row | {"references": ["In Rome."]} for row in records]
    result = tg.score(records, metrics="f1")
    assert [item.response for item in result.worst_items(4)] == [texts[k] for k in (1, 3, 0, 2)]
    text = shown(records, metrics="f1")
    assert "In Pisa." in text
    assert "know" not in text
    asked = tg.score([row | {"answerable": True} for row in records], metrics="p_g")
    assert "know" in str(asked.worst_items(1)[0].response)


def test_hostile_and_wide_texts_stay_within_the_lines() -> None:
    row = {"id": "\x1b[31m" * 30, "question": "問" * 200, "contexts": ["c"]}
    row["response"] = "答え\n\n" + "長" * 300
    result = tg.score([row], metrics="support")
    shown = overview_text(result.summary.raw, None, result.worst_items(5))
    assert "\x1b" not in shown
    assert all(cell_len(line) <= 80 for line in shown.splitlines())


def test_small_shares_are_not_nothing() -> None:
    assert [percent(x) for x in (None, 0.0, 0.001, 0.5, 1.0)] == [
        "–",
        "0 %",
        "<1 %",
        "50 %",
        "100 %",
    ]
    assert clip("x" * 81) == "x" * 79 + "…"
    assert clip("x" * 80) == "x" * 80


def test_python_shows_a_few_lines_however_much_there_is(result: tg.Result) -> None:
    many = tg.score(synthetic_records(300))
    for shown in (repr(result), repr(many), repr(result.summary)):
        assert len(shown.splitlines()) <= 25
        assert len(shown) < 3_000
    assert "Of 64 answers" in repr(result)
    assert len(repr(many)) < len(repr(result)) + 500


def test_notebooks_show_an_escaped_table() -> None:
    result = tg.score([{"response": "x", "references": ["x"]}], metrics="f1", mapping=None)
    html = result._repr_html_()
    assert html.startswith("<div><table><caption>1 item</caption>")
    assert "<td>f1</td><td>1.0000</td>" in html
    raw = {**result.summary.raw, "metrics": {"<script>": result.summary.raw["metrics"]["f1"]}}
    assert "<script>" not in msgspec.convert(raw, tg.Summary)._repr_html_()
    assert len(tg.score(EXAMPLES)._repr_html_()) < 4_000
