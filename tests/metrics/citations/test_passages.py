"""Citations of passages by number: what is asked, what counts, and what is told."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import trueground as tg
from trueground.errors import UsageError
from trueground.evaluate.components import Components
from trueground.evaluate.plan import Plan
from trueground.evaluate.scorer import collect_results, new_results
from trueground.judges.base import Judge
from trueground.metrics.base import make_spec
from trueground.metrics.batch import Batch
from trueground.metrics.context import BatchContext
from trueground.metrics.registry import METRICS
from trueground.testing import FakeDecomposer
from trueground.types import JudgeRequest, Passage, Record, Status, Usage, Verdict

P, R, F = "passage_citation_precision", "passage_citation_recall", "passage_citation_f1"
RAIN = "The museum of salt opened in 1931."
SALT = "Its founder was the chemist Livia Corsi."
TOWER = "The tower of Arno is 80 metres tall."
CONTEXTS = [RAIN, SALT, TOWER]


class Words:
    """Supports a claim whose words all stand in the text; keeps what it was asked.

    Where the text holds the word `lost`, there is no verdict.
    """

    name = "words"
    threshold = 0.5
    signature = "words-1"

    def __init__(self, lost: str = "") -> None:
        self.asked: list[tuple[str, str]] = []
        self._lost = lost

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        self.asked += [(r.claim, *r.texts) for r in requests]
        return [self._verdict(r) for r in requests]

    def _verdict(self, r: JudgeRequest) -> Verdict:
        (text,) = r.texts
        if self._lost and self._lost in text.split():
            return Verdict(status=Status.ERROR, reasons=("it hung up",))
        return Verdict(set(r.claim.rstrip(".!?").split()) <= set(text.split()))


def score(
    rows: list[dict[str, Any]], judge: Any = "lexical", metrics: Sequence[str] = (P, R, F)
) -> tg.Result:
    rows = [{"id": str(i), **row} for i, row in enumerate(rows)]
    return tg.score(rows, metrics=list(metrics), judge=judge, resamples=10)


def items(result: tg.Result) -> list[SimpleNamespace]:
    return [SimpleNamespace(**line) for line in result.evidence]


def one(response: str, contexts: Sequence[Any] = ("a b", "c d", "a b c"), **of: Any) -> Any:
    result = score([{"response": response, "contexts": list(contexts)}], **{"judge": Words(), **of})
    (item,) = items(result)
    return item


def outcomes(item: Any) -> list[tuple[int, str | None]]:
    told = item.evidence[P]["passage_sentences"]
    return [(p["number"], p["outcome"]) for sentence in told for p in sentence["passages"]]


@pytest.mark.parametrize(
    ("response", "precision", "recall", "said"),
    [
        # one passage is enough
        ("a b [1].", (1, 1), (1, 1), [(1, "sufficient")]),
        # neither alone is enough, together they are
        ("a d [1][2].", (2, 2), (1, 1), [(1, "needed"), (2, "needed")]),
        # one of them is of no use
        ("a b [1, 2].", (1, 2), (1, 1), [(1, "sufficient"), (2, "not_needed")]),
        # both are enough by themselves
        ("a b [1][3].", (2, 2), (1, 1), [(1, "sufficient"), (3, "sufficient")]),
        # three: two needed, the third stands for nothing; the first for the third too
        ("b d [1-3].", (1, 3), (1, 1), [(1, "not_needed"), (2, "needed"), (3, "not_needed")]),
        ("a x [1].", (0, 1), (0, 1), [(1, "not_supporting")]),
        # numbers that no passage has
        ("a b [1][4].", (1, 2), (1, 1), [(1, "sufficient"), (4, "no_passage")]),
        ("a b [0].", (0, 1), (0, 1), [(0, "no_passage")]),
        # the same passage twice in one sentence counts once, in two it counts twice
        ("a b [1][1].", (1, 1), (1, 1), [(1, "sufficient")]),
        ("a b [1].\nc d! [1]", (1, 2), (1, 2), [(1, "sufficient"), (1, "not_supporting")]),
        # a sentence without citation is not supported
        ("a b [1].\nc d!\na b?", (1, 1), (1, 3), [(1, "sufficient")]),
        # nothing that could be supported
        ("[1]", (0, 1), None, [(1, "no_sentence")]),
    ],
)
def test_worked_examples(
    response: str,
    precision: tuple[int, int],
    recall: tuple[int, int] | None,
    said: list[tuple[int, str]],
) -> None:
    item = one(response)
    assert outcomes(item) == said
    assert item.scores[P] == precision[0] / precision[1]
    if recall is None:
        assert (item.scores[R], item.status[R]) == (None, "no_claims")
        assert (item.scores[F], item.status[F]) == (None, "no_claims")
        return
    p, r = item.scores[P], recall[0] / recall[1]
    assert item.scores[R] == r
    assert item.scores[F] == (2 * p * r / (p + r) if p + r else 0)


def test_without_citations_there_is_no_precision() -> None:
    item = one("a b.\nc d!")
    assert (item.scores[P], item.status[P]) == (None, "no_claims")
    assert (item.scores[R], item.scores[F]) == (0, 0)


def test_passage_metrics_without_score_give_a_status() -> None:
    for contexts in ([], [" "]):
        item = one("a b [1].", contexts)
        assert set(item.status.values()) == {"missing_field"}
        assert "passage_sentences" not in item.evidence.get(P, {})
    for response in ("", "!"):
        assert set(one(response).status.values()) == {"no_claims"}


def test_abstention() -> None:
    response = "I don't know."
    assert one(response).status == {P: "no_claims", R: "abstained", F: "abstained"}
    for policy, value in (("as_is", 0), ("zero", 0), ("one", 1)):
        name = f"{R}(abstain={policy})"
        row = {"response": response, "contexts": ["a b"]}
        cited = {"response": "a b [1].", "contexts": ["a b"]}
        result = score([row, cited], Words(), [name])
        assert items(result)[0].scores[name] == value
        micro = result.summary[f"{R}_micro(abstain={policy})"]
        assert micro.mean == (1 + value) / 2
    result = score([row, cited], Words(), [R])
    assert result.summary[f"{R}_micro"].mean == 1


@pytest.mark.parametrize(("policy", "value"), [("one", 1), ("zero", 0)])
@pytest.mark.parametrize("response", ["I don't know.", "I don't know what it is [1]."])
def test_a_run_of_answers_that_decline_is_worth_what_they_are(
    response: str, policy: str, value: int
) -> None:
    names = [f"{name}(abstain={policy})" for name in (P, R, F)]
    row = {"response": response, "contexts": ["a b"]}
    result = score([row, row], Words(), names)
    for item in items(result):
        assert list(item.scores.values()) == [value] * 3
        assert item.evidence[names[0]]["counts"] == [value, 1]
    assert {key: entry.mean for key, entry in result.summary.items()} == {
        f"{name}{micro}(abstain={policy})": value for name in (P, R, F) for micro in ("", "_micro")
    }
    # Beside an answer that cites, the precision of a run has both.
    cited = {"response": "a b [1].\nc d! [1]", "contexts": ["a b"]}
    found = score([row, cited], Words(), names).summary
    p, r = (value + 1 / 2) / 2, (value + 1 / 2) / 2
    assert found[names[0]].mean == p
    assert found[names[2]].mean == pytest.approx(2 * p * r / (p + r))


def test_as_it_is_an_answer_without_citations_has_no_precision() -> None:
    names = [f"{name}(abstain=as_is)" for name in (P, R, F)]
    result = score([{"response": "I don't know.", "contexts": ["a b"]}], Words(), names)
    assert [result.summary[name].mean for name in names] == [None, 0, 0]


class Counted(Batch):
    """Counts how often the passages of an item are gone through."""

    looked = 0

    def context_numbers(self, item: int, scope: str = "input") -> list[int]:
        self.looked += 1
        return super().context_numbers(item, scope)


def test_context_numbers_are_computed_once_per_item() -> None:
    """Not anew for each sentence or metric: that would grow with the square of their number."""
    n = 800
    response = "\n".join(f"word{i} stands here [{i}]." for i in range(1, n + 1))
    contexts = [Passage(f"word{i} stands here") for i in range(1, n + 1)]
    batch = Counted.of([Record(id="1", response=response, contexts=contexts)])
    assert isinstance(batch, Counted)
    specs = [make_spec(METRICS.resolve(name), {}) for name in (P, R, F)]
    plan = Plan(tuple(specs), Components((Judge.adapt(Words()),), FakeDecomposer()))
    evidence = BatchContext(batch, new_results(plan))
    collect_results(plan, evidence)
    values = [spec.column(evidence).values.tolist() for spec in specs]
    told = specs[0].column(evidence).details(evidence, 0)  # type: ignore[misc]
    assert values == [[1.0]] * 3
    assert len(told["passage_sentences"]) == n
    assert batch.looked <= 3


def test_a_judge_that_costs_is_not_asked_about_answers_that_decline() -> None:
    judge = Words()
    judge.spent = Usage()  # type: ignore[attr-defined]
    item = one("I don't know what the passage says [1].", judge=judge)
    assert (judge.asked, set(item.status.values())) == ([], {"abstained"})
    assert outcomes(item) == [(1, None)]
    one("I don't know what the passage says [1].", judge=judge, metrics=[f"{P}(abstain=as_is)"])
    assert len(judge.asked) == 1


def test_a_blank_passage_keeps_its_number_and_supports_nothing() -> None:
    item = one("a b [2][1].", [" ", "a b"])
    assert outcomes(item) == [(2, "sufficient"), (1, "no_passage")]


def test_equal_questions_are_asked_once_and_titles_are_shown() -> None:
    judge = Words()
    contexts = [{"text": "a b", "title": "T"}, "c d", {"text": "a", "title": ""}]
    one("a b [1].\nx [2][1]!\ny [3][2][1]?", contexts, judge=judge)
    assert judge.asked == [
        ("a b.", "T\na b"),
        ("x!", "T\na b\nc d"),
        ("x!", "T\na b"),
        ("x!", "c d"),
        ("y?", "T\na b\nc d\na"),
        ("y?", "T\na b"),
        ("y?", "c d"),
        ("y?", "a"),
        ("y?", "c d\na"),
        ("y?", "T\na b\na"),
        ("y?", "T\na b\nc d"),
    ]
    judge = Words()
    one("x [1][2].\nx [2][1].", ["a", "b"], judge=judge)
    assert judge.asked == [("x.", "a\nb"), ("x.", "a"), ("x.", "b")]


def test_a_missing_verdict_is_no_verdict() -> None:
    lost = one("a [1].", ["a zz"], judge=Words("zz"))
    assert set(lost.status.values()) == {"error"}
    assert outcomes(lost) == [(1, None)]
    assert lost.evidence[P]["passage_sentences"][0]["supported"] is None


def test_recall_stands_where_only_a_passage_by_itself_has_no_verdict() -> None:
    class Hasty(Words):
        def _verdict(self, r: JudgeRequest) -> Verdict:
            return Verdict(status=Status.TRUNCATED) if r.texts == ("b",) else Verdict(True)

    item = one("a [1][2].", ["a", "b"], judge=Hasty())
    assert (item.status[P], item.scores[R]) == ("truncated", 1)
    assert (item.scores[F], item.status[F]) == (None, "truncated")
    assert outcomes(item) == [(1, None), (2, None)]


def test_micro_and_macro_of_a_run() -> None:
    rows = [
        {"response": "a b [1].\nc d! [2]", "contexts": ["a b", "c d"]},  # 2/2, 2/2
        {"response": "a b [1].\nx [2]!\ny?\nz!", "contexts": ["a b", "c d"]},  # 1/2, 1/4
        {"response": "a b.", "contexts": ["a b"]},  # none, 0/1
        {"response": "a b [1].", "contexts": None},
    ]
    metrics = score(rows, Words()).summary
    assert metrics[P].mean == (1 + 1 / 2) / 2
    assert metrics[R].mean == pytest.approx((1 + 1 / 4 + 0) / 3)
    p, r = 3 / 4, 3 / 7
    assert metrics[f"{P}_micro"].mean == p
    assert metrics[f"{R}_micro"].mean == pytest.approx(r)
    assert metrics[f"{F}_micro"].mean == pytest.approx(2 * p * r / (p + r))
    p, r = metrics[P].mean, metrics[R].mean
    assert metrics[F].mean == pytest.approx(2 * p * r / (p + r))
    assert metrics[P].scored == 2


def test_with_the_lexical_judge() -> None:
    text = (
        "The museum of salt opened in 1931 [1]. Livia Corsi founded the museum of salt.[2][1] "
        "The tower of Arno is 80 metres tall [2]."
    )
    rows = [{"question": "What is in Arno?", "response": text, "contexts": CONTEXTS}]
    result = score(rows)
    (item,) = items(result)
    assert outcomes(item)[0] == (1, "sufficient")
    assert outcomes(item)[-1] == (2, "not_supporting")
    told = item.evidence[P]
    first, second, third = told["passage_sentences"]
    assert text[first["start"] : first["end"]].endswith("1931 [1].")
    assert (first["supported"], third["supported"]) == (True, False)
    assert second["text"] == "Livia Corsi founded the museum of salt."
    verdict = told["passages"][0]
    assert (verdict["text"], verdict["sentence"]) == ("The museum of salt opened in 1931.", 0)
    low, high = verdict["window"]
    assert "1931" in RAIN[low:high]
    assert item.evidence[R]["see"] == P
    right = text.replace("tall [2]", "tall [3]")
    better = items(score([{**rows[0], "response": right}]))[0]
    assert better.scores[P] > item.scores[P]
    assert better.scores[R] > item.scores[R]


def test_not_in_the_default_set() -> None:
    names = {
        spec.metric.name for spec in METRICS.default_specs(["contexts", "question", "references"])
    }
    assert not names & {P, R, F}
    assert all(METRICS.resolve(name).default_needs == ("contexts",) for name in (P, R, F))


def test_as_functions_with_verdicts_of_one_s_own() -> None:
    recall, precision = tg.metrics.passage_citation_recall, tg.metrics.passage_citation_precision
    given: dict[str, Any] = {"contexts": [["x", "y"], ["x"]], "supported": [[1, 0, 0], []]}
    responses = ["A b c [1][2].", "No citation."]
    assert recall(responses, **given).tolist() == [1, 0]
    values = precision(responses, **given)
    assert values[0] == 1
    assert math.isnan(values[1])
    with pytest.raises(UsageError, match=r"supported\[0\] has 1 verdicts; expected 3"):
        recall(responses, contexts=given["contexts"], supported=[[1], []])


def test_the_documented_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[3] / "docs" / "passage-citations.md"
    code = page.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(code, str(page), "exec"), names)
    item = items(names["result"])[0]
    told = [
        [(p["number"], p["outcome"]) for p in sentence["passages"]]
        for sentence in item.evidence[P]["passage_sentences"]
    ]
    assert told == [[(1, "sufficient")], [(1, "not_supporting")], []]
    assert (item.scores[P], item.scores[R]) == (0.5, pytest.approx(1 / 3))
