"""The variant `reference-code` of citations of passages against ALCE's rules, written out plainly.

The oracle here reads the published script's rules one sentence at a time. The answers are made so
that every sentence splitter agrees about them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import pytest

import trueground as tg
from trueground.types import JudgeRequest, Verdict

WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron"]
PRECISION = "passage_citation_precision(abstain=as_is,variant=reference-code)"
RECALL = "passage_citation_recall(abstain=as_is,variant=reference-code)"
F1 = "passage_citation_f1(abstain=as_is,variant=reference-code)"


def entails(passage: str, sentence: str) -> bool:
    """Return whether every word of the sentence is in the passage."""
    return set(re.findall(r"[a-z]+", sentence)) <= set(re.findall(r"[a-z]+", passage))


class WordJudge:
    """Supports a sentence whose words are all in the text."""

    name = "words"
    threshold = 0.5
    signature = "words-1"

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        return [Verdict(entails(request.texts[0], request.claim)) for request in requests]


def make_rows(n: int, seed: int) -> list[dict[str, Any]]:
    """Return answers of one to four sentences, with brackets of many kinds before the stop."""
    rng = random.Random(seed)
    rows = []
    for number in range(n):
        passages = [
            {"title": f"T{i}", "text": " ".join(rng.sample(WORDS, rng.randint(2, 5)))}
            for i in range(rng.randint(1, 5))
        ]
        sentences = []
        for _ in range(rng.randint(1, 4)):
            words = " ".join(rng.sample(WORDS, rng.randint(1, 3)))
            count = rng.choice([0, 1, 1, 2, 2, 3, 4])
            cited = [rng.randint(1, len(passages) + (rng.random() < 0.2)) for _ in range(count)]
            brackets = "".join(f"[{passage}]" for passage in cited)
            if cited and rng.random() < 0.1:
                brackets = rng.choice(["[1, 2]", "[0]", "[1-2]", "[1999]"])
            sentences.append(f"{words} {brackets}." if brackets else f"{words}.")
        response = " ".join(sentence.capitalize() for sentence in sentences)
        if rng.random() < 0.1:
            response += "\nA second line [1]."
        rows.append({"id": str(number), "response": response, "contexts": passages})
    return rows


def score_by_rules(row: dict[str, Any]) -> tuple[float, float]:
    """Return precision and recall of one answer by the script's rules."""
    documents = [f"Title: {p['title']}\n{p['text']}" for p in row["contexts"]]
    sentences = re.findall(r"[^.]+\.", row["response"].split("\n")[0])
    supported = right = counted = 0
    for sentence in sentences:
        numbers = [int(number) for number in re.findall(r"\[(\d+)", sentence)]
        if not numbers or max(numbers) > len(documents):
            continue
        cited = [documents[number - 1] for number in numbers[:3]]
        counted += len(cited)
        claim = re.sub(r"\[\d+|\]", "", sentence).strip().lower()
        if not entails("\n".join(cited), claim):
            continue
        supported += 1
        for position, passage in enumerate(cited):
            others = cited[:position] + cited[position + 1 :]
            alone = entails(passage, claim)
            right += alone or len(cited) == 1 or not entails("\n".join(others), claim)
    return right / counted if counted else 0.0, supported / len(sentences)


class LowerCaseJudge(WordJudge):
    """Reads the sentence in lower case, as the oracle does."""

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        return [Verdict(entails(r.texts[0], r.claim.lower())) for r in requests]


def test_reference_code_of_300_answers_equals_the_scripts_rules() -> None:
    rows = make_rows(300, seed=0)
    result = tg.score(rows, metrics=[PRECISION, RECALL], judge=LowerCaseJudge(), resamples=10)
    actual = [(line["scores"][PRECISION], line["scores"][RECALL]) for line in result.evidence]
    expected = [score_by_rules(row) for row in rows]
    assert actual == expected
    assert len({precision for precision, _ in expected}) > 5


def test_reference_code_differs_from_the_default_on_these_answers() -> None:
    rows = make_rows(300, seed=0)
    default = "passage_citation_precision(abstain=as_is)"
    result = tg.score(rows, metrics=[PRECISION, default], judge=LowerCaseJudge(), resamples=10)
    different = [line for line in result.evidence if len(set(line["scores"].values())) == 2]
    assert len(different) > 50


@pytest.mark.parametrize(
    ("response", "precision", "recall", "outcomes"),
    [
        pytest.param("amber [1][9].", 0, 0, [], id="out-of-range-rejects-the-sentence"),
        pytest.param("amber.", 0, 0, [], id="no-citation-has-precision-0"),
        pytest.param("cedar [0].", 1, 1, [(3, "sufficient")], id="zero-is-the-last-passage"),
        pytest.param("amber [1, 2].", 1, 1, [(1, "sufficient")], id="first-number-of-a-bracket"),
        pytest.param(
            "amber [1][2].", 0.5, 1, [(1, "sufficient"), (2, "not_needed")], id="one-not-needed"
        ),
        pytest.param(
            "amber [1][1].", 1, 1, [(1, "sufficient"), (1, "sufficient")], id="twice-counts-twice"
        ),
        pytest.param(
            "amber [2][2][3][1].",
            0,
            0,
            [(2, "not_supporting"), (2, "not_supporting"), (3, "not_supporting")],
            id="only-three-count",
        ),
        pytest.param("amber [1].\nbirch [1].", 1, 1, [(1, "sufficient")], id="first-line-only"),
    ],
)
def test_reference_code_of_one_answer(
    response: str, precision: float, recall: float, outcomes: list[tuple[int, str]]
) -> None:
    row = {"id": "1", "response": response, "contexts": ["amber", "birch", "cedar"]}
    result = tg.score([row], metrics=[PRECISION, RECALL, F1], judge=WordJudge(), resamples=10)
    (line,) = result.evidence
    sentences = line["evidence"][PRECISION]["passage_sentences"]
    passages = [passage for sentence in sentences for passage in sentence["passages"]]
    assert line["scores"][PRECISION] == precision
    assert line["scores"][RECALL] == recall
    assert [(passage["number"], passage["outcome"]) for passage in passages] == outcomes


def test_reference_code_and_default_in_one_run_have_their_own_evidence() -> None:
    row = {"id": "1", "response": "amber [1][9].", "contexts": ["amber"]}
    default = "passage_citation_precision"
    result = tg.score([row], metrics=[default, PRECISION], judge=WordJudge(), resamples=10)
    evidence = result.evidence[0]["evidence"]
    assert len(evidence[default]["passage_sentences"][0]["passages"]) == 2
    assert evidence[PRECISION]["passage_sentences"][0]["passages"] == []


def test_reference_code_without_a_verdict_has_no_value() -> None:
    class Silent(WordJudge):
        def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
            return [Verdict(status=tg.Status.ERROR) for _ in requests]

    row = {"id": "1", "response": "amber [1].", "contexts": ["amber"]}
    result = tg.score([row], metrics=[PRECISION, RECALL, F1], judge=Silent(), resamples=10)
    assert set(result.evidence[0]["status"].values()) == {"error"}
    assert set(result.evidence[0]["scores"].values()) == {None}
