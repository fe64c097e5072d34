"""Classifiers of others' forms, with random weights, beside plain transformers."""

# ruff: noqa: E402 - without the extras nothing below can be imported
from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the hf extra is not installed")
transformers = pytest.importorskip("transformers", reason="the hf extra is not installed")

from tests.encoders import tiny

from trueground.errors import UsageError
from trueground.judges.base import Judge
from trueground.judges.classifiers import FORMS, PROMPTS
from trueground.judges.registry import get_judge
from trueground.types import JudgeRequest, Status

CLAIMS = ("The city was old.", "Who won the song?", "It is 10 years.", "They wrote a film.")
TEXTS = (
    "The city of the river was old and new.",
    "A team won a song in the year 1. " * 12,
    "Not the president, no. It was a question of the year; the answer is yes.",
)
REQUESTS = [JudgeRequest(claim, texts) for claim in CLAIMS for texts in (TEXTS, TEXTS[::2])]
TYPED = ("Supported", "B-conflict", "B-baseless")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    top = tmp_path_factory.mktemp("classifiers")
    return {
        "tokens": tiny.tiny_token_classifier(top / "tokens"),
        "typed": tiny.tiny_token_classifier(top / "typed", TYPED, seed=1),
        "named": tiny.tiny_token_classifier(top / "named", ("good", "bad"), seed=2),
        "deberta": deberta(top / "deberta"),
        "pairs": tiny.tiny_pair_scorer(top / "pairs", ("ENTAILMENT", "NEUTRAL", "CONTRADICTION")),
    }


def deberta(folder: Path) -> Path:
    """A DeBERTa-v3 of two outputs without names, as FactCG's model is."""
    torch.manual_seed(3)
    tokenizer = tiny._wordpiece()
    config = transformers.DebertaV2Config(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=32, num_hidden_layers=2,
        num_attention_heads=4, intermediate_size=64, max_position_embeddings=tiny.WINDOW,
        relative_attention=True, position_biased_input=False, pos_att_type=["p2c", "c2p"],
        initializer_range=0.4, pad_token_id=0, num_labels=2, type_vocab_size=0,
    )  # fmt: skip
    tiny._save(transformers.DebertaV2ForSequenceClassification(config), folder, tokenizer)
    return folder


def made(text: str) -> Judge:
    return get_judge(text, cache=False)


def plain_shares(folder: Path, claim: str, window: str, form: str = "lettucedetect") -> Any:
    """Probabilities of the claim's tokens, as the model's library gives them."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForTokenClassification.from_pretrained(folder).eval()
    before, after = PROMPTS[form]
    given = tokenizer(f"{before}{window}{after}", claim, return_tensors="pt")
    given.pop("token_type_ids", None)
    with torch.inference_mode():
        shares = model(**given).logits[0].softmax(-1)
    n = len(tokenizer(claim, add_special_tokens=False)["input_ids"])
    return shares[-n - 1 : -1]


@pytest.mark.parametrize("form", PROMPTS)
def test_a_claim_is_as_sure_as_its_least_sure_token(form: str, folders: dict[str, Path]) -> None:
    folder = folders["tokens"]
    for request, verdict in zip(
        REQUESTS, made(f"token-classifier:{folder}(form={form})").judge(REQUESTS), strict=True
    ):
        assert verdict.text is not None
        window = request.texts[verdict.text][verdict.start : verdict.end]
        shares = plain_shares(folder, request.claim, window, form)
        assert verdict.score == pytest.approx(1 - float(shares[:, 1].max()), abs=2e-5)
        assert verdict.probability == verdict.score
        whole = [t for t in request.texts if len(t) < 60]
        others = [float(plain_shares(folder, request.claim, t, form)[:, 0].min()) for t in whole]
        assert verdict.score >= max(others) - 2e-5


def test_reasons_quote_the_words_and_their_kind(folders: dict[str, Path]) -> None:
    judge = made(f"token-classifier:{folders['typed']}")
    seen = set()
    for request, verdict in zip(REQUESTS, judge.judge(REQUESTS), strict=True):
        if verdict.supported:
            assert len(verdict.reasons) == 1
            continue
        window = request.texts[verdict.text][verdict.start : verdict.end]
        spans = judge.spans(request.claim, window)
        assert max(span.probability for span in spans) == pytest.approx(1 - verdict.score, abs=1e-6)
        surest = max(spans, key=lambda span: span.probability)
        assert verdict.reasons[1].startswith(
            f"not supported: {surest.text!r} ({surest.kind} {surest.probability:.2f})"
        )
        assert all(span.text in request.claim for span in spans)
        shares = plain_shares(folders["typed"], request.claim, window)
        doubted = [n for n in range(len(shares)) if float(shares[n, 0]) <= 0.5]
        assert sum(len(span.text.replace(" ", "")) for span in spans) >= len(doubted)
        seen |= {span.kind for span in spans}
    assert seen <= {"conflict", "baseless"}
    assert seen


def test_two_labels_have_no_kind(folders: dict[str, Path]) -> None:
    judge = made(f"token-classifier:{folders['tokens']}(threshold=0.99)")
    verdict = judge.judge(REQUESTS[:1])[0]
    assert verdict.supported is False
    assert verdict.reasons[1].startswith("not supported: '")
    assert "(0." in verdict.reasons[1] or "(1." in verdict.reasons[1]


def test_which_label_means_support(folders: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match=r"has the outputs good, bad.*label=NAME"):
        made(f"token-classifier:{folders['named']}")
    good, bad = (
        made(f"token-classifier:{folders['named']}(label={label})") for label in ("good", "bad")
    )
    assert good.signature != bad.signature
    assert good.judge(REQUESTS[:1]) != bad.judge(REQUESTS[:1])
    with pytest.raises(UsageError, match="form"):
        made(f"token-classifier:{folders['tokens']}(form=other)")


@pytest.mark.parametrize("written", ["token-classifier:{tokens}", "nli:{deberta}(form=factcg)"])
def test_company_changes_no_bit(written: str, folders: dict[str, Path]) -> None:
    text = written.format(**folders)
    together = made(text).judge(REQUESTS)
    assert {verdict.status for verdict in together} == {Status.SCORED}
    order = list(range(len(REQUESTS)))
    random.Random(0).shuffle(order)
    assert made(text).judge([REQUESTS[n] for n in order]) == [together[n] for n in order]
    fresh = made(text)
    assert [fresh.judge([request])[0] for request in REQUESTS] == together


def test_classifier_judge_long_pair_is_too_long_not_cut(folders: dict[str, Path]) -> None:
    judge = made(f"token-classifier:{folders['tokens']}")
    long = JudgeRequest("a city " * 40, TEXTS[:1])
    verdicts = judge.judge([long, JudgeRequest("a city " * 80, TEXTS[:1])])
    assert [verdict.status for verdict in verdicts] == [Status.TOO_LONG] * 2
    end = "The city was old. " * 100
    (verdict,) = judge.judge([JudgeRequest(CLAIMS[0], (end + "The song was new.",))])
    assert verdict.status is Status.SCORED
    assert verdict.end is not None


def test_onnx_gives_the_same_numbers(tmp_path: Path, folders: dict[str, Path]) -> None:
    pytest.importorskip("onnxruntime", reason="the onnx extra is not installed")
    pytest.importorskip("onnx", reason="onnx, which exports models, is not installed")
    folder = tiny.tiny_token_classifier(tmp_path / "onnx", onnx=True)
    onnx = made(f"token-classifier:{folder}(backend=onnx)")
    plain = made(f"token-classifier:{folder}(backend=torch)")
    for left, right in zip(onnx.judge(REQUESTS), plain.judge(REQUESTS), strict=True):
        assert left.score == pytest.approx(right.score, abs=1e-4)


def test_factcg_reads_one_text_in_its_template(folders: dict[str, Path]) -> None:
    folder = folders["deberta"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    template = FORMS["factcg"].template
    judge = made(f"nli:{folder}(form=factcg)")
    assert judge.encoder.window == 832
    for request, verdict in zip(REQUESTS, judge.judge(REQUESTS), strict=True):
        window = request.texts[verdict.text][verdict.start : verdict.end]
        text = template.replace("TEXT", window).replace("CLAIM", request.claim)
        given = tokenizer(text, return_tensors="pt")
        given.pop("token_type_ids", None)
        with torch.inference_mode():
            expected = float(model(**given).logits[0].softmax(0)[1])
        assert verdict.score == pytest.approx(expected, abs=2e-5)
    # Windows of the model's own size: what the template takes is left out of them.
    small = made(f"nli:{folder}(form=factcg,window=320)")
    (verdict,) = small.judge([JudgeRequest(CLAIMS[0], (TEXTS[1] * 6,))])
    assert verdict.status is Status.SCORED
    assert verdict.end - verdict.start < len(TEXTS[1]) * 6


def test_a_form_needs_two_outputs_and_a_known_name(folders: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match="a model with two outputs"):
        made(f"nli:{folders['pairs']}(form=factcg,window=64)")
    with pytest.raises(UsageError, match="factcg"):
        made(f"nli:{folders['deberta']}(form=other)")


def test_alignscore_as_docs_convert_it(tmp_path: Path) -> None:
    """Its head is a linear layer of three outputs over RoBERTa's pooled state, aligned first."""
    torch.manual_seed(5)
    tokenizer = tiny._wordpiece()
    config = transformers.RobertaConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=32, num_hidden_layers=2,
        num_attention_heads=4, intermediate_size=64, max_position_embeddings=tiny.WINDOW + 2,
        initializer_range=0.4, pad_token_id=0, type_vocab_size=2, num_labels=3,
        id2label={0: "ALIGNED", 1: "CONTRADICT", 2: "NEUTRAL"},
    )  # fmt: skip
    base = transformers.RobertaModel(config).eval()
    head = torch.nn.Linear(32, 3).eval()
    weights = {f"base_model.{name}": value for name, value in base.state_dict().items()}
    weights |= {f"tri_layer.{name}": value for name, value in head.state_dict().items()}
    # As docs/judges.md says.
    model = transformers.RobertaForSequenceClassification(config)
    places = {"base_model.pooler.dense": "classifier.dense", "tri_layer": "classifier.out_proj"}
    places["base_model"] = "roberta"
    renamed = {
        new + name.removeprefix(old): value
        for name, value in weights.items()
        for old, new in [next(item for item in places.items() if name.startswith(item[0] + "."))]
    }
    model.load_state_dict(renamed)
    tiny._save(model, tmp_path, tokenizer)
    judge = made(f"nli:{tmp_path}")
    reader = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for request, verdict in zip(REQUESTS, judge.judge(REQUESTS), strict=True):
        window = request.texts[verdict.text][verdict.start : verdict.end]
        given = reader(window, request.claim, return_tensors="pt", return_token_type_ids=True)
        with torch.inference_mode():
            expected = float(head(base(**given).pooler_output)[0].softmax(0)[0])
        assert verdict.score == pytest.approx(expected, abs=2e-5)


def test_a_non_commercial_license_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tiny.tiny_token_classifier(tmp_path / "card")
    (folder / "README.md").write_text("---\nlicense: cc-by-nc-4.0\n---\nA model.\n")
    for _ in range(2):
        made(f"token-classifier:{folder}")
    line = f"note: the license of {folder} is cc-by-nc-4.0: no commercial use"
    assert caplog.messages == [line]
    free = tiny.tiny_token_classifier(tmp_path / "free")
    (free / "README.md").write_text("---\nlicense: mit\n---\nnc\n")
    made(f"token-classifier:{free}")
    assert caplog.messages == [line]
