"""What the judges over small models have in common; their encoders have no weights here."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.judges.small import WordAnswers, WordPairs, WordVectors, tokens

from trueground.components.specs import ComponentSpec
from trueground.judges.base import Judge
from trueground.judges.calibrated import CalibrationFile
from trueground.judges.classifiers import ClassifierJudge
from trueground.judges.encoder import (
    MIN_EVIDENCE_TOKENS,
    MINICHECK,
    TRUE,
    BiEncoderJudge,
    CrossEncoderJudge,
    PromptedJudge,
    WindowedJudge,
)
from trueground.studies.calibration.study import calibrate
from trueground.types import JudgeRequest, Status, Verdict

NLI_LABELS = ("contradiction", "neutral", "entailment")
LONG = " ".join(f"Sentence number {n} speaks of thing {n * n}." for n in range(30))
SENTENCES = [f"The {what} is {how}." for what in ("sea", "sky", "dog") for how in ("big", "old")]


def part(name: str = "x", **options: object) -> ComponentSpec:
    return ComponentSpec(
        "judge", name, options={name: str(value) for name, value in options.items()}
    )


MAKERS: dict[str, Callable[..., WindowedJudge]] = {
    "bi-encoder": lambda **o: BiEncoderJudge(part("bi-encoder", **o), WordVectors(), 0.4),
    "cross-encoder": lambda **o: CrossEncoderJudge(part("cross-encoder", **o), WordPairs(), 6.0),
    "nli": lambda **o: ClassifierJudge(part("nli", **o), WordPairs(NLI_LABELS), "entailment"),
    "true": lambda **o: PromptedJudge(part("nli", **o), WordAnswers(), TRUE),
    "minicheck": lambda **o: PromptedJudge(
        part("minicheck", **o), WordAnswers(between="</s>"), MINICHECK
    ),
    "hhem": lambda **o: ClassifierJudge(part("hhem", **o), WordPairs(), "label_0"),
}
KINDS = sorted(MAKERS)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def judge(kind: str) -> WindowedJudge:
    return MAKERS[kind]()


def one(judge: Judge, claim: str, *texts: str, variant: str = "") -> Verdict:
    (verdict,) = judge.judge([JudgeRequest(claim, texts, variant=variant)])
    return verdict


def test_windowed_judge_supported_claim_has_evidence_span(judge: WindowedJudge) -> None:
    verdict = one(judge, "Thing 400 is in sentence 20.", "The sea is old.", LONG)
    assert verdict.supported is True
    assert verdict.text == 1
    assert verdict.start is not None
    window = LONG[verdict.start : verdict.end]
    assert "Sentence number 20 speaks of thing 400." in window
    assert 10 < len(tokens(window)) <= 62
    assert verdict.score is not None
    assert verdict.score > judge.threshold
    (reason,) = verdict.reasons
    assert f"{verdict.score:.2f}" in reason
    assert reason.endswith(f", above {judge.threshold:g}")


def test_windowed_judge_unstated_claim_is_not_supported(judge: WindowedJudge) -> None:
    verdict = one(judge, "Kings play chess", "The sea was old.", "Nobody wrote poems.")
    assert verdict.supported is False
    assert verdict.reasons[0].endswith(f", not above {judge.threshold:g}")


def test_thresholds_are_strict(judge: WindowedJudge) -> None:
    score = one(judge, "The sea is big.", "The sea is old.").score
    assert score is not None
    assert float(np.float32(score)) == score
    judge.threshold = score
    assert not one(judge, "The sea is big.", "The sea is old.").supported
    judge.threshold = math.nextafter(score, -math.inf)
    assert one(judge, "The sea is big.", "The sea is old.").supported


def test_a_claim_that_leaves_no_room_is_too_long(judge: WindowedJudge) -> None:
    room = judge.free_tokens(["a " * n for n in range(1, 70)])
    fits = sum(tokens_left >= MIN_EVIDENCE_TOKENS for tokens_left in room)
    verdict = one(judge, "a " * fits, "The sea is old.")
    assert verdict.status is Status.SCORED
    verdict = one(judge, "a " * (fits + 1), "The sea is old.")
    assert verdict.status is Status.TOO_LONG
    assert verdict.supported is verdict.score is verdict.probability is None
    assert "64 tokens" in verdict.reasons[0]


def test_probabilities(kind: str, judge: WindowedJudge, tmp_path: Path) -> None:
    verdict = one(judge, "The sea is big.", "The sea is old.")
    if judge.name in ("bi-encoder", "cross-encoder"):
        assert verdict.probability is None
    else:
        assert verdict.probability == verdict.score
    fields = {"format": CalibrationFile.FORMAT, "judge": judge.name, "threshold": 0.3}
    fields["signature"] = judge.basis
    file = tmp_path / "c.json"
    file.write_text(json.dumps(fields | {"slope": 2.0, "intercept": -1.0}))
    again = MAKERS[kind](calibration=file)
    calibrated = one(again, "The sea is big.", "The sea is old.")
    assert verdict.score is not None
    assert calibrated.probability == pytest.approx(1 / (1 + math.exp(1 - 2 * verdict.score)))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    assert again.signature == f"{judge.basis}|threshold:0.3|calibration:{digest}"
    assert one(again, "Sea", " ").probability == 0.0


def test_signatures_name_what_counts(judge: WindowedJudge) -> None:
    assert judge.basis.startswith(f"{judge.name}-1|windows-1|words/64")
    assert judge.signature == f"{judge.basis}|threshold:{judge.threshold}"


@pytest.mark.parametrize("kind", KINDS)
@given(
    asked=st.lists(
        st.builds(
            JudgeRequest,
            st.sampled_from(SENTENCES),
            st.lists(st.sampled_from([*SENTENCES, LONG, ""]), max_size=4).map(tuple),
            variant=st.sampled_from(["", "reference-code"]),
        ),
        min_size=1,
        max_size=6,
    ),
    order=st.randoms(use_true_random=False),
)
def test_company_and_order_change_nothing(kind: str, asked: list[JudgeRequest], order) -> None:
    judge = MAKERS[kind]()
    together = judge.judge(asked)
    shuffled = asked.copy()
    order.shuffle(shuffled)
    assert dict(zip(shuffled, judge.judge(shuffled), strict=True)) == dict(
        zip(asked, together, strict=True)
    )
    assert [judge.judge([request])[0] for request in asked] == together


def test_nothing_is_read_twice(judge: WindowedJudge) -> None:
    # The encoders themselves fail on what is asked twice in one call.
    requests = [
        JudgeRequest(claim, texts)
        for claim in SENTENCES
        for texts in ((LONG,), (LONG, SENTENCES[0]), (SENTENCES[0],), tuple(SENTENCES))
    ]
    judge.answer_once(requests * 2)
    asked = judge.encoder.asked
    assert len(asked) == len(set(asked))
    if judge.name == "bi-encoder":
        windows = len(asked) - len(SENTENCES)
        assert 4 < windows < 12


def test_as_the_published_code_reads_them() -> None:
    late = "Thing 400 is in sentence 20."
    for kind, make in MAKERS.items():
        judge = make()
        verdict = one(judge, late, LONG, variant="reference-code")
        assert verdict.text == 0
        cut_off = judge.joins_texts or verdict.end < LONG.index("Sentence number 20")
        assert cut_off
        assert verdict.score < one(judge, late, LONG).score, kind
        both = one(
            judge, "The sea is old.", "The sky is big.", "The sea is old.", variant="reference-code"
        )
        # All texts as one, or any of them.
        assert both.text == (None if judge.joins_texts else 1)
        assert both.reasons[0].count("together") == judge.joins_texts


def test_a_broken_model_supports_nothing() -> None:
    class Broken(WordPairs):
        def scores(self, pairs):
            return np.full((len(pairs), len(self.labels)), np.inf, np.float32)

    for judge in (
        CrossEncoderJudge(part(), Broken()),
        ClassifierJudge(part(), Broken(NLI_LABELS), "entailment"),
    ):
        verdict = one(judge, "The sea is big.", "The sea is old.")
        assert verdict.supported is None
        assert verdict.status is Status.ERROR


def test_places_are_filled_once_and_the_parts_kept_apart() -> None:
    encoder = WordAnswers(between="</s>")
    judge = PromptedJudge(part("minicheck"), encoder, MINICHECK)
    one(judge, "Kings play TEXT.", "Nothing.</s>CLAIM")
    assert encoder.asked == [("predict: Nothing.</s>CLAIM", "Kings play TEXT.")]


def test_a_prompt_beyond_the_window_is_never_cut_off() -> None:
    """Where a window takes more tokens beside the claim than it does alone."""

    class Swelling(WordAnswers):
        def prompt_lengths(self, prompts):
            lengths = super().prompt_lengths(prompts)
            swollen = ["swell" in "".join(prompt) for prompt in prompts]
            return [n + 40 * more for n, more in zip(lengths, swollen, strict=True)]

    judge = PromptedJudge(part("nli"), Swelling(), TRUE)
    request = JudgeRequest("The sea is old.", ("The sea is old.", f"{LONG} They swell."))
    lost, kept = judge.judge([request, JudgeRequest("The sea is old.", request.texts[:1])])
    assert lost.status is Status.TOO_LONG
    assert lost.supported is lost.score is None
    assert "together exceed the model's window of 64 tokens" in lost.reasons[0]
    assert kept.supported is True


def test_pairs_are_in_the_order_that_each_model_learned() -> None:
    cross, classifier = WordPairs(), WordPairs(NLI_LABELS)
    one(CrossEncoderJudge(part(), cross, 6.0), "claim", "text")
    one(ClassifierJudge(part(), classifier, "entailment"), "claim", "text")
    assert cross.asked == [("claim", "text")]
    assert classifier.asked == [("text", "claim")]
    answers = WordAnswers()
    one(PromptedJudge(part(), answers, TRUE), "claim", "text")
    assert answers.asked == [("premise: text hypothesis: claim",)]


def test_closing_closes_the_model(judge: WindowedJudge) -> None:
    judge.close()
    assert judge.encoder.closed == 1


def test_a_problem_of_the_cache_is_handed_on(judge: WindowedJudge) -> None:
    assert judge.problem is None
    judge.encoder.problem = "the disk is full"
    assert judge.problem == "the disk is full"


@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_from_labels_to_probabilities(
    kind: str, judge: WindowedJudge, method: str, tmp_path: Path
) -> None:
    """Labels, `calibrate`, its file, and the judge with it, for every kind of small model."""
    texts = [f"Thing {n} is {word}." for n in range(30) for word in ("red", "old")]
    kinds = [n % 3 > 0 for n in range(len(texts))]
    rows = [
        {"response": t, "contexts": [t if yes else "The sea is big."], "human": {"f": yes}}
        for t, yes in zip(texts, kinds, strict=True)
    ]
    found = calibrate(rows, judge, method=method, resamples=1)
    path = tmp_path / "c.json"
    found.write(path)
    again = MAKERS[kind](calibration=path)
    assert again.threshold == found.threshold
    requests = [JudgeRequest(r["response"], tuple(r["contexts"])) for r in rows]
    supported, unsupported = [], []
    for yes, before, after in zip(
        kinds, judge.answer_once(requests), again.answer_once(requests), strict=True
    ):
        assert after.score == before.score
        assert after.score is not None
        assert after.supported == (after.score > found.threshold)
        assert after.probability is not None
        (supported if yes else unsupported).append(after.probability)
    assert np.mean(supported) > 0.6 + np.mean(unsupported) / 2
