"""How much the lexical judge does for a claim, counted in work: it grows with the lengths alone."""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.marks import mostly_long

import trueground as tg
from trueground.judges.lexical import judge
from trueground.judges.lexical.claim import ClaimView
from trueground.judges.lexical.judge import (
    MAX_COMPARISONS,
    LexicalJudge,
    count_comparisons,
    find_evidence,
    find_verbatim,
)
from trueground.judges.lexical.texts import ContextView, TextView
from trueground.metrics import cited_sentences, context as metrics_context
from trueground.metrics.context import MAX_CHARACTERS_COMPARED, MAX_TEXTS_COMPARED
from trueground.types import JudgeRequest

LABELED = Path(__file__).parents[4] / "shared" / "data" / "human"
NAMES = ["Ada", "Berta", "Carl", "Dora", "Emil", "Fritz", "Gerda", "Hugo"]
HEAD_ROOM = 10  # times what a labeled answer needs

SERIES: dict[str, Callable[[int], str]] = {
    "list markers": lambda _: "\n1. ",
    "numbers": lambda i: f"{7 * i + 11} ",
    "decimals": lambda i: f"{i}.{i % 97} kg, ",
    "one number": lambda _: "17 ",
    "dates": lambda i: f"{i % 28 + 1} May {1800 + i % 300}, ",
    "table": lambda i: f"| {3 * i} | {5 * i} |\n",
    "number sentences": lambda i: f"Unit {3 * i} has {13 * i} bolts. ",
    "names": lambda i: f"{NAMES[i % 8]}{i} ",
    "members": lambda i: f"{NAMES[i % 8]} cat{i}, ",
    "names in sentences": lambda i: f"{NAMES[i % 8]} met {NAMES[i % 7]} in {NAMES[i % 5]}{i}. ",
    "denials": lambda i: f"not word{i} ",
    "bounds": lambda i: f"at least {i} ",
    "opposites": lambda i: f"gain{i} loss gain un{i}happy ",
    "almost the same sentence": lambda i: (
        f"The tower in Paris was built in 1889 by {NAMES[i % 8]}{i}. "
    ),
    "stated with cautions": lambda i: f"If he ran {i}, he ran. ",
}


def calls_made(work: Callable[[], object]) -> int:
    """How many functions are called, those in C included."""
    calls = 0

    def profile(_frame: object, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def written(series: Callable[[int], str], length: int) -> str:
    pieces: list[str] = []
    size = 0
    while size < length:
        pieces.append(series(len(pieces)))
        size += len(pieces[-1])
    return "".join(pieces)


def shuffled(text: str) -> str:
    words = text.split(" ")
    random.Random(3).shuffle(words)
    return " ".join(words)


@pytest.mark.parametrize("name", mostly_long(3, SERIES))
def test_judge_doubled_claim_and_text_at_most_doubles_the_calls(name: str) -> None:
    def calls(length: int) -> int:
        claim = written(SERIES[name], length)
        requests = [JudgeRequest(claim, (shuffled(claim),))]
        LexicalJudge().judge(requests)  # words are looked up once in the life of a process
        return calls_made(lambda: LexicalJudge().judge(requests))

    assert calls(16_000) <= 2.5 * calls(8_000)


def test_judge_numbers_of_a_claim_in_a_long_table_need_few_calls() -> None:
    claim = " ".join(f"{7 * number}" for number in range(300))
    table = ", ".join(f"{7 * number + 3}" for number in range(4000))
    calls = calls_made(lambda: LexicalJudge().judge([JudgeRequest(claim, (table,))]))
    assert calls < 200_000  # 300 × 4,000 comparisons alone were 1.2 million


def test_judge_many_claims_about_many_texts_reads_each_text_once() -> None:
    texts = tuple(f"Passage {number} is about cats." for number in range(200))
    claims = [f"Cat {number} sleeps." for number in range(50)]

    def calls(some: list[str]) -> int:
        return calls_made(lambda: LexicalJudge().judge([JudgeRequest(c, texts) for c in some]))

    one, all_claims = calls(claims[:1]), calls(claims)
    assert all_claims - one < 50 * one / 4


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("If he left, he left. He left.", 21),
        ("he left except that he left", 20),
        ("Nobody knew. It is false that he left, he left.", None),
        ("(he left) he left unless ill", None),
        ("xhe left he left", 9),
    ],
)
def test_find_verbatim_skips_what_is_taken_back(text: str, offset: int | None) -> None:
    span = find_verbatim("he left", TextView(text))
    assert span == (None if offset is None else (offset, offset + len("he left")))


@pytest.mark.parametrize("seed", range(4))
def test_find_evidence_of_ranked_sentences_is_that_of_all_sentences(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = random.Random(seed)
    words = ["tower", "Paris", "built", "1889", "17", "cats", "gold", "never", "ship", "Ada", "red"]

    def sentence() -> str:
        text = " ".join(chosen.choices(words, k=chosen.randint(1, 6))).capitalize()
        return f"{text} x{chosen.randint(0, 30)}."

    texts = [" ".join(sentence() for _ in range(40)) for _ in range(2)]
    claims = [sentence() for _ in range(10)]

    def evidence() -> list[object]:
        context = ContextView([TextView(text) for text in texts])
        found = [find_evidence(ClaimView(claim), context) for claim in claims]
        return [(one.features.tolist(), one.place, one.doubts) for one in found]

    every_sentence = evidence()
    monkeypatch.setattr(judge, "MAX_RARE", 2 * seed)
    assert evidence() == every_sentence


@pytest.mark.parametrize(
    "name",
    mostly_long(2, ["almost the same sentence", "list markers", "numbers", "number sentences"]),
)
def test_score_doubled_answer_and_texts_at_most_doubles_the_calls(name: str) -> None:
    def calls(length: int) -> int:
        answer = written(SERIES[name], length)
        other = shuffled(answer)
        passages = [other[at : at + 80] for at in range(0, length, 80)]
        row = {"response": answer, "contexts": passages, "references": [other]}
        tg.score([row], metrics=["support", "correct_support"], judge="lexical")
        return calls_made(
            lambda: tg.score([row], metrics=["support", "correct_support"], judge="lexical")
        )

    assert calls(8_000) <= 2.5 * calls(4_000)


# The budgets.


def repeated(sentence: str) -> str:
    return " ".join(f"{sentence} in 1931." for _ in range(1100))


def test_score_repeated_number_on_both_sides_is_too_long_for_that_item_only() -> None:
    rows = [
        {"id": "long", "response": repeated("He ran"), "contexts": [repeated("She sang")]},
        {"id": "short", "response": "He ran in 1931.", "contexts": ["Bo ran there in 1931."]},
    ]
    result = tg.score(rows, metrics=["context_entails", "support"], judge="lexical")
    long, short = result.evidence
    assert long["status"] == {"context_entails": "too_long", "support": "scored"}
    assert long["scores"]["context_entails"] is None
    assert "the limit is 1,000,000" in json.dumps(long["evidence"])
    assert short["status"] == {"context_entails": "scored", "support": "scored"}


def test_score_claims_times_context_beyond_the_limit_is_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metrics_context, "MAX_CHARACTERS_COMPARED", 1_000)
    rows = [
        {"id": "at", "response": "He ran. She sang.", "contexts": ["x" * 500]},
        {"id": "above", "response": "He ran. She sang.", "contexts": ["x" * 501]},
    ]
    result = tg.score(rows, metrics=["support"], judge="lexical")
    at, above = result.evidence
    assert (at["status"], above["status"]) == ({"support": "scored"}, {"support": "too_long"})
    assert above["scores"] == {"support": None}
    assert "2 claims are compared with 1,002 characters" in json.dumps(above["evidence"])


def test_score_claims_times_texts_beyond_the_limit_is_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metrics_context, "MAX_TEXTS_COMPARED", 6)
    rows = [
        {"id": "at", "response": "He ran. She sang.", "contexts": ["x"] * 3},
        {"id": "above", "response": "He ran. She sang.", "contexts": ["x"] * 4},
    ]
    result = tg.score(rows, metrics=["support"], judge="lexical")
    at, above = result.evidence
    assert (at["status"], above["status"]) == ({"support": "scored"}, {"support": "too_long"})
    assert "2 claims are compared with 8 texts" in json.dumps(above["evidence"])


def test_score_passages_cited_beyond_the_limit_is_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cited_sentences, "MAX_CHARACTERS_CITED", 120)
    rows = [
        {"id": "at", "response": "He ran [1][2][3].", "contexts": ["x" * 10] * 3},
        {"id": "above", "response": "He ran [1][2][3].", "contexts": ["x" * 11] * 3},
    ]
    result = tg.score(rows, metrics=["passage_citation_precision"], judge="lexical")
    at, above = result.evidence
    assert at["status"] == {"passage_citation_precision": "scored"}
    assert above["status"] == {"passage_citation_precision": "too_long"}
    assert "compared with 132 characters" in json.dumps(above["evidence"])


def labeled_records() -> Iterator[dict[str, Any]]:
    for path in sorted(LABELED.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            yield from map(json.loads, file)


def comparisons_of(row: dict[str, Any]) -> int:
    """Those of the whole response as one claim: no claim of it needs more."""
    texts = [TextView(text) for text in row["contexts"] or row["references"]]
    return count_comparisons(ClaimView(row["response"]), ContextView(texts))


@pytest.mark.skipif(not LABELED.is_dir(), reason="needs the human-labeled sets")
def test_budgets_leave_room_for_the_largest_labeled_answers() -> None:
    rows = list(labeled_records())
    assert len(rows) > 20_000
    lengths = {id(row): sum(map(len, row["contexts"])) for row in rows}
    sentences = {id(row): row["response"].count(".") + 1 for row in rows}
    characters = max(3 * lengths[id(row)] * sentences[id(row)] for row in rows)
    assert HEAD_ROOM * characters < MAX_CHARACTERS_COMPARED
    texts = max(3 * len(row["contexts"]) * sentences[id(row)] for row in rows)
    assert HEAD_ROOM * texts < MAX_TEXTS_COMPARED
    rows.sort(key=lambda row: lengths[id(row)] * len(row["response"]))
    assert HEAD_ROOM * max(map(comparisons_of, rows[-40:])) < MAX_COMPARISONS


@pytest.mark.long
@pytest.mark.skipif(not LABELED.is_dir(), reason="needs the human-labeled sets")
def test_budgets_leave_room_for_every_labeled_answer() -> None:
    assert HEAD_ROOM * max(map(comparisons_of, labeled_records())) < MAX_COMPARISONS
