"""Rated qualities: which items are rated, what the rater is shown, and what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.chaos import ChaosServer
from tests.judges.rule_endpoint import shown
from tests.metrics.answering import rated_column

import trueground as tg
from trueground.errors import InputError, UsageError
from trueground.metrics import registry
from trueground.metrics.base import Spec
from trueground.metrics.batch import Column
from trueground.metrics.ratings import METRICS
from trueground.metrics.registry import make_spec
from trueground.text.citations import CitedText
from trueground.types import Passage, Rating, RatingRequest, Record, Status, Turn

RECORDS = [
    Record(
        id="a",
        response="In 1867 [Q1, born: 1867].[NA]",
        question="When?",
        contexts=[Passage("Born in 1867."), Passage(" "), Passage("Died in 1934.")],
        references=["1867"],
    ),
    Record(id="b", response="In Warsaw.", question="Where?", history=[Turn("When?", "user")]),
    Record(id="c", response=" \n", question="Why?", contexts=[Passage("Because.")]),
    Record(id="d", response="A summary [1, 2].", contexts=[Passage("All of it.")]),
]


class Raters:
    """Rates by the length of the response, at most 5; keeps what it was asked."""

    def __init__(self, **other: Rating) -> None:
        self.asked: list[RatingRequest] = []
        self.other = other

    def __call__(self, requests: Sequence[RatingRequest]) -> list[Rating]:
        self.asked += requests
        return [
            self.other.get(r.question, Rating(float(min(5, len(r.response))))) for r in requests
        ]


def column(spec: Spec | str, rate: Raters) -> Column:
    made = registry.METRICS.parse(spec) if isinstance(spec, str) else spec
    return rated_column(made, RECORDS, rate)


def statuses(made: Column) -> list[Status]:
    return [list(Status)[code] for code in made.status]


SCORED, EMPTY, MISSING = Status.SCORED, Status.NO_CLAIMS, Status.MISSING_FIELD


def test_fluency_shows_the_response_as_it_is() -> None:
    rate = Raters()
    made = column("fluency", rate)
    assert statuses(made) == [SCORED, SCORED, EMPTY, SCORED]
    assert made.values[:2].tolist() == [5.0, 5.0]
    assert rate.asked == [RatingRequest("fluency", RECORDS[i].response) for i in (0, 1, 3)]


def test_with_the_question_brackets_are_removed() -> None:
    for name in ("fluency(shown=question)", "coherence", "relevance"):
        rate = Raters()
        assert statuses(column(name, rate)) == [SCORED, SCORED, EMPTY, MISSING]
        rubric = name.partition("(")[0]
        assert rate.asked == [
            RatingRequest(rubric, "In 1867.", "When?", (), "question"),
            RatingRequest(rubric, "In Warsaw.", "user: When?\nWhere?", (), "question"),
        ]


def test_consistency_shows_the_contexts_too() -> None:
    rate = Raters()
    assert statuses(column("consistency", rate)) == [SCORED, MISSING, EMPTY, MISSING]
    texts = ("Born in 1867.", "Died in 1934.")
    assert rate.asked == [RatingRequest("consistency", "In 1867.", "When?", texts, "knowledge")]


def test_only_free_form_items() -> None:
    rate = Raters()
    made = column("fluency(items=free-form)", rate)
    assert statuses(made) == [Status.NOT_APPLICABLE, SCORED, EMPTY, SCORED]
    assert [request.response for request in rate.asked] == ["In Warsaw.", "A summary [1, 2]."]


def test_weighted_scoring_and_its_samples() -> None:
    rate = Raters()
    column("relevance(scoring=weighted)", rate)
    column("relevance(scoring=weighted,samples=5)", rate)
    assert [(r.scoring, r.samples) for r in rate.asked[::2]] == [("weighted", 20), ("weighted", 5)]
    for samples in ("0", "1", "many", "-2", "2.5", "²", "1001", "9" * 5_000, "0020"):
        spec = registry.METRICS.parse(f"fluency(scoring=weighted,samples={samples})")
        with pytest.raises(UsageError, match="expected a whole number from 2 to 1,000"):
            spec.metric.requires.check(spec.options)
    spec = registry.METRICS.parse("fluency(samples=5)")
    with pytest.raises(UsageError, match="samples=5 works only with scoring=weighted"):
        spec.metric.requires.check(spec.options)


def test_rating_that_failed_keeps_its_status_and_reason() -> None:
    lost = Rating(status=Status.UNPARSEABLE, reply="4 or 5", reason="no score")
    few = Rating(3.5, reason="3 of 4 samples hold a score")
    made = column("relevance", Raters(**{"When?": lost, "user: When?\nWhere?": few}))
    assert statuses(made)[:2] == [Status.UNPARSEABLE, SCORED]
    assert made.notes is not None
    assert made.notes[:2] == [
        {"reply": "4 or 5", "reason": "no score"},
        {"reason": "3 of 4 samples hold a score"},
    ]
    assert [str(value) for value in made.values[:2]] == ["nan", "3.5"]


def test_a_rubric_of_the_users_own_shows_what_it_has_places_for(tmp_path: Path) -> None:
    own = tmp_path / "polite.txt"
    both = ("Born in 1867.", "Died in 1934.")
    cases = {
        "{response}": [(RECORDS[i].response, "", (), "response") for i in (0, 1, 3)],
        "{question} {response}": [
            (RECORDS[0].response, "When?", (), "question"),
            ("In Warsaw.", "user: When?\nWhere?", (), "question"),
        ],
        "{knowledge} {response} {{question}}": [
            (RECORDS[0].response, "", both, "knowledge"),
            (RECORDS[3].response, "", ("All of it.",), "knowledge"),
        ],
    }
    for words, asked in cases.items():
        path = own.with_stem(str(len(words)))
        path.write_text(words)
        rate = Raters()
        made = column(f"rated(rubric={path})", rate)
        assert [(r.response, r.question, r.knowledge, r.shown) for r in rate.asked] == asked
        assert {r.rubric for r in rate.asked} == {str(path)}
        assert statuses(made).count(SCORED) == len(asked)


def test_rated_rejects_unusable_rubric(tmp_path: Path) -> None:
    own = tmp_path / "bad.txt"
    own.write_text("Rate {question}.")
    for text, kind, words in (
        ("rated", UsageError, r"Write rated\(rubric=FILE\)"),
        (f"rated(rubric={own})", UsageError, r"has no \{response\}"),
        (f"rated(rubric={tmp_path / 'none'})", InputError, "can.t be read"),
    ):
        spec = registry.METRICS.parse(text)
        with pytest.raises(kind, match=words):
            spec.metric.requires.check(spec.options)


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("Born in 1867 [Q1, date of birth: 1867].", "Born in 1867."),
        (
            "Born. [Q1, born: 1867, died: 1934][qid: Q2, name: Ida] Then [NA] more.",
            "Born. Then more.",
        ),
        ("So [1][2] it [3, 4] is [5-7].", "So it is."),
        ("He said [sic] that [it] is [2 of 3].", "He said [sic] that [it] is [2 of 3]."),
        ("[NA]", ""),
        ("No brackets, [unclosed", "No brackets, [unclosed"),
    ],
)
def test_brackets_of_citations(text: str, bare: str) -> None:
    assert CitedText(text).without_citations() == bare


def test_as_functions_they_ask_for_a_rater() -> None:
    with pytest.raises(UsageError, match=r"language model as rater.*rater="):
        tg.metrics.fluency(["In Warsaw."])
    with pytest.raises(UsageError, match="rated needs a rubric"):
        tg.metrics.rated(["In Warsaw."])
    with pytest.raises(UsageError, match="relevance needs questions"):
        tg.metrics.relevance(["In Warsaw."])


def test_declarations() -> None:
    names = [metric.name for metric in METRICS]
    assert names == ["fluency", "coherence", "consistency", "relevance", "rated"]
    fields = ("question", "contexts", "references", "gold_facts", "answerable", "choices")
    assert not {spec.metric.name for spec in registry.METRICS.default_specs(fields)} & set(names)
    for metric in METRICS:
        assert metric.is_asked
        assert metric.higher_is_better
        assert metric.source
        assert make_spec(metric, {}).key == metric.name
    weighted = registry.METRICS.parse("fluency(scoring=weighted)")
    assert weighted.signature == (
        "fluency|v:1|shown:response|scoring:weighted|samples:20|items:all|runs:1"
    )


def test_from_records_to_summary() -> None:

    def answer(prompt: str) -> str:
        (response,) = shown(prompt)["RESPONSE"]
        return {"Well said.": "Fluency: 5", "bad say": "2"}.get(response, "4 or 5")

    rows = [{"response": text} for text in ("Well said.", "bad say", "odd", "")]
    with ChaosServer(answer=answer) as server:
        rater = f"llm:m(base_url={server.base_url})"
        result = tg.score(rows, metrics="fluency", rater=rater)
        assert tg.score(rows, metrics="fluency", rater=rater).evidence == result.evidence
        assert sum(server.calls.values()) == 3
    assert [item["scores"]["fluency"] for item in result.evidence] == [5.0, 2.0, None, None]
    told = [item["status"]["fluency"] for item in result.evidence]
    assert told == ["scored", "scored", "unparseable", "no_claims"]
    assert result.evidence[2]["evidence"]["fluency"]["reply"] == "4 or 5"
    assert result.summary["fluency"].mean == 3.5
    with pytest.raises(UsageError, match="rater"):
        tg.score(rows, metrics="fluency")


def test_a_rubric_is_read_as_it_is_now(tmp_path: Path) -> None:
    """Edited in a notebook's session; {{question}} is text, as in all prompts."""
    rubric = tmp_path / "rubric.txt"
    for text, fields in (
        ("Rate {response}.", set()),
        ("Rate {response} for {question}.", {"question"}),
        ("Rate {response}, not {{question}}.", set()),
    ):
        rubric.write_text(text)
        raters = Raters()
        made = column(f"rated(rubric={rubric})", raters)
        asked = {request.shown for request in raters.asked}
        assert asked == ({"question"} if fields else {"response"})
        assert (Status.MISSING_FIELD in statuses(made)) is bool(fields)
    rubric.write_text("Rate it.")
    with pytest.raises(UsageError, match=r"has no \{response\}"):
        column(f"rated(rubric={rubric})", Raters())
