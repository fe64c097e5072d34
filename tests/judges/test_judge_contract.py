"""The laws that every judge keeps. A new judge joins by its line in BUILDERS."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st
from tests.judges.rule_endpoint import rule_endpoint

from trueground.errors import UsageError
from trueground.judges.base import Judge
from trueground.judges.registry import get_judge, judges
from trueground.text.sentences import split_sentences
from trueground.types import JudgeRequest, Status, Verdict

TEXTS = (
    "Ida Kowal was born in Warsaw in 1867 and died in Paris. She won two prizes.",
    "The council may ban fireworks. It has never banned bells, but it closed 3 halls (5%).",
    "Dr. Smith wrote: “No one has left.” In the U.S. 1.2 million people, or fewer, agreed!",
    "東京は日本の首都です。人口は約1400万人です。",
    "Größe: 12 m² – der Hund schläft nicht. Il n'est pas né à Paris.",
)
SOME_TEXTS = st.lists(
    st.sampled_from(TEXTS) | st.text(max_size=60), min_size=1, max_size=3, unique=True
)
CLAIMS = st.sampled_from(
    ["Ida Kowal died in Warsaw.", "It banned bells.", "1956", "Who?", "She won prizes.", "人口"]
) | st.text(max_size=40)


def _llm(stack: ExitStack, _folder: Path) -> str:
    server = stack.enter_context(rule_endpoint())
    return f"llm:rules(base_url={server.base_url})"


def _tiny(name: str, kind: str, *labels: str) -> Callable[[ExitStack, Path], str]:
    """A judge over a model with random weights."""

    def build(_stack: ExitStack, folder: Path) -> str:
        pytest.importorskip("torch", reason="the hf extra is not installed")
        pytest.importorskip("transformers", reason="the hf extra is not installed")
        from tests.encoders import tiny

        save = getattr(tiny, f"tiny_{kind}")
        return f"{name}:{save(folder, labels) if labels else save(folder)}"

    return build


def _stack(_stack: ExitStack, folder: Path) -> str:
    """The lexical judge beside a model with random weights."""
    pytest.importorskip("torch", reason="the hf extra is not installed")
    pytest.importorskip("transformers", reason="the hf extra is not installed")
    from tests.encoders import tiny

    from trueground.judges.stack import StackMember

    written = ("lexical", f"bi-encoder:{tiny.tiny_text_encoder(folder / 'model')}")
    members = [StackMember.open(text, text, get_judge, cache=False) for text in written]
    judges = [
        {"judge": text, "basis": member.basis, "weights": dict.fromkeys(member.names, 0.3)}
        for text, member in zip(written, members, strict=True)
    ]
    file = folder / "stack.json"
    fields = {"format": "trueground-stack-1", "intercept": -1.0, "threshold": 0.5}
    file.write_text(json.dumps(fields | {"judges": judges}), "utf-8")
    return str(file)


# From a judge's name to what a user writes for one. Servers are entered into the stack, which ends
# with the module; models are saved in the folder.
Builder = Callable[[ExitStack, Path], str]
BUILDERS: dict[str, Builder] = {
    "lexical": lambda _stack, _folder: "lexical",
    "bi-encoder": _tiny("bi-encoder", "text_encoder"),
    "cross-encoder": _tiny("cross-encoder", "pair_scorer", "LABEL_0"),
    "nli": _tiny("nli", "pair_scorer", "ENTAILMENT", "NEUTRAL", "CONTRADICTION"),
    "minicheck": _tiny("minicheck", "text_to_text"),
    "token-classifier": _tiny("token-classifier", "token_classifier"),
    "hhem": _tiny("hhem", "pair_scorer", "LABEL_0"),
    "llm": _llm,
    "stack": _stack,
}


# Models with random weights understand nothing.
UNDERSTANDING = ("lexical", "llm")


@pytest.fixture(params=sorted(BUILDERS), scope="module")
def text(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with ExitStack() as stack:
        yield BUILDERS[request.param](stack, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def judge(text: str) -> Iterator[Judge]:
    made = get_judge(text, cache=False)
    yield made
    if hasattr(made, "close"):
        made.close()


def one(judge: Judge, claim: str, texts: list[str]) -> Verdict:
    (verdict,) = judge.judge([JudgeRequest(claim, tuple(texts))])
    return verdict


def test_every_judge_is_built_here() -> None:
    assert set(BUILDERS) == set(judges)


def test_it_is_a_judge(judge: Judge, text: str) -> None:
    assert isinstance(judge, Judge)
    assert get_judge(text, cache=False).signature == judge.signature != ""


def test_no_request_gives_no_verdict(judge: Judge) -> None:
    assert judge.judge([]) == [] == judge.answer_once([])


@pytest.mark.parametrize("texts", [(), ("",), (" \n", "\t")])
def test_without_any_text_nothing_is_supported(judge: Judge, texts: tuple[str, ...]) -> None:
    verdict = one(judge, "Water is wet.", list(texts))
    assert verdict.supported is False
    assert verdict.probability in (0.0, None)
    assert verdict.reasons


@given(claim=CLAIMS, texts=SOME_TEXTS)
def test_verdicts_are_whole(judge: Judge, claim: str, texts: list[str]) -> None:
    verdict = one(judge, claim, texts)
    assert (verdict.supported is None) == (verdict.status is not Status.SCORED)
    if verdict.probability is not None:
        assert 0.0 <= verdict.probability <= 1.0
    if verdict.supported is False:
        assert verdict.reasons
    if verdict.score is not None:
        assert verdict.supported == (verdict.score > judge.threshold)
    if verdict.start is not None and verdict.end is not None:
        assert verdict.text is not None
        assert 0 <= verdict.start <= verdict.end <= len(texts[verdict.text])


@given(texts=SOME_TEXTS, pick=st.randoms(use_true_random=False))
def test_a_sentence_of_a_text_is_supported(judge: Judge, texts: list[str], pick: object) -> None:
    if judge.name not in UNDERSTANDING:
        return
    spans = [text[start:end] for text in texts for start, end in split_sentences(text)]
    for sentence in spans:
        assert one(judge, sentence, texts).supported, sentence


@example(claim="0\u3040", texts=["It was in 1867. She won.", "1"])
@given(claim=CLAIMS, texts=SOME_TEXTS)
def test_the_order_of_texts_does_not_matter(judge: Judge, claim: str, texts: list[str]) -> None:
    one_way, other_way = one(judge, claim, texts), one(judge, claim, texts[::-1])
    assert one_way.supported == other_way.supported
    assert one_way.probability == other_way.probability
    assert one_way.score == other_way.score


@given(claim=CLAIMS, texts=SOME_TEXTS, more=st.sampled_from(TEXTS))
def test_another_text_never_lowers(judge: Judge, claim: str, texts: list[str], more: str) -> None:
    if judge.name == "stack":
        return  # its encoder reads a few sentences of all texts: another text may take their room
    less, much = one(judge, claim, texts), one(judge, claim, [*texts, more])
    assert much.supported or not less.supported
    assert (much.probability or 0.0) >= (less.probability or 0.0)


@given(asked=st.lists(st.tuples(CLAIMS, st.sampled_from(TEXTS)), max_size=6))
def test_asking_together_or_alone_is_the_same(judge: Judge, asked: list[tuple[str, str]]) -> None:
    requests = [JudgeRequest(claim, (text,)) for claim, text in asked] * 2
    alone = [judge.judge([request])[0] for request in requests]
    assert judge.answer_once(requests) == judge.judge(requests) == alone


def test_equal_requests_are_judged_once() -> None:
    class Counting:
        name, threshold, signature = "counting", 0.5, "counting-1"
        seen = 0

        def judge(self, requests: list[JudgeRequest]) -> list[Verdict]:
            self.seen += len(requests)
            return [Verdict(True, reasons=(request.claim,)) for request in requests]

    counting = Counting()
    requests = [JudgeRequest(claim, ("t",)) for claim in "abacab"]
    assert [v.reasons[0] for v in Judge.adapt(counting).answer_once(requests)] == list("abacab")
    assert counting.seen == 3


def test_unknown_judges_are_named() -> None:
    with pytest.raises(UsageError, match="lexical"):
        get_judge("lexica")
