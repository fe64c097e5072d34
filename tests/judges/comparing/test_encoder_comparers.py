"""BERTScore, BEM and FaithCritic against transformers called directly."""

# ruff: noqa: E402 - without the extras nothing below can be imported
from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the hf extra is not installed")
transformers = pytest.importorskip("transformers", reason="the hf extra is not installed")

from tests.encoders import tiny
from tests.encoders.tiny_roberta import WINDOW, tiny_roberta

from trueground.errors import InputError, UsageError
from trueground.judges.comparing import Comparer
from trueground.judges.windows import cut_windows
from trueground.types import Comparison, ComparisonRequest, Status

TWO = ("LABEL_0", "LABEL_1")
RESPONSE = "The city by the river is old."
QUESTION = "Which city is old?"
REFERENCES = ("the capital", "a city by the river, old", "Zürich")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    tiny_roberta(folder / "roberta")
    tiny_roberta(folder / "critic", TWO, seed=2)
    tiny.tiny_pair_scorer(folder / "bem", TWO)
    tiny.tiny_text_encoder(folder / "bert")
    return folder


def asked(written: str, *requests: ComparisonRequest) -> list[Comparison]:
    with closing(Comparer.make(written)) as comparer:
        return comparer.compare(requests)


def _matched(folder: Path, layer: int, lead: str) -> Callable[[str, str], list[float]]:
    """BERTScore of two texts, by its definition alone."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()

    def states(text: str) -> Any:
        with torch.inference_mode():
            given = tokenizer(lead + text, return_tensors="pt")
            found = model(**given, output_hidden_states=True).hidden_states[layer][0]
        return found / found.norm(dim=1, keepdim=True)

    def values(response: str, text: str) -> list[float]:
        cosines = states(response) @ states(text).T
        precision = float(cosines.max(dim=1).values[1:-1].mean())
        recall = float(cosines.max(dim=0).values[1:-1].mean())
        return [precision, recall, 2 * precision * recall / (precision + recall)]

    return values


@pytest.mark.parametrize("layer", [1, 3])
def test_bertscore_of_a_roberta(models: Path, layer: int) -> None:
    plain = _matched(models / "roberta", layer, " ")
    rows = [plain(RESPONSE, reference) for reference in REFERENCES]
    (found,) = asked(
        f"bertscore:{models / 'roberta'}(layer={layer})", ComparisonRequest(RESPONSE, REFERENCES)
    )
    best = [max(column) for column in zip(*rows, strict=True)]
    assert list(found.values.values()) == pytest.approx(best, abs=2e-6)
    assert list(found.values) == ["precision", "recall", "f1"]


def test_bertscore_of_a_bert_is_kept_on_disk(models: Path) -> None:
    written = f"bertscore:{models / 'bert'}(layer=2)"
    request = ComparisonRequest(RESPONSE, REFERENCES[:1])
    expected = _matched(models / "bert", 2, "")(RESPONSE, REFERENCES[0])
    with closing(Comparer.make(written)) as comparer:
        (found,) = comparer.compare([request])
    assert list(found.values.values()) == pytest.approx(expected, abs=2e-6)
    with closing(Comparer.make(written)) as comparer:
        encoder = comparer._encoder  # type: ignore[attr-defined]
        encoder.states = None  # would be called for what is not on disk
        assert comparer.compare([request]) == [found]


def test_bertscore_of_a_text_beyond_the_window(models: Path) -> None:
    """The same as its windows one by one: each token's best, and each token once."""
    text = "The old city is by the river. It was the capital. New towns are in the hills! " * 3
    folder = models / "roberta"
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    text = text.strip()
    spans = cut_windows(
        [(text, WINDOW - 2)],
        lambda texts: [len(tokenizer.tokenize(" " + part)) for part in texts],
    )[text, WINDOW - 2]
    assert len(spans) > 2

    def read(part: str) -> tuple[Any, list[int]]:
        given = tokenizer(" " + part, return_tensors="pt", return_offsets_mapping=True)
        ends = given.pop("offset_mapping")[0][:, 1].tolist()
        with torch.inference_mode():
            found = model(**given, output_hidden_states=True).hidden_states[2][0]
        return found / found.norm(dim=1, keepdim=True), [end - 1 for end in ends]

    left, _ = read(RESPONSE)
    best = torch.full((len(left),), -1.0)
    recalls: list[float] = []
    before = 0
    for start, end in spans:
        right, ends = read(text[start:end])
        cosines = left @ right.T
        best = torch.maximum(best, cosines.max(dim=1).values)
        most = cosines.max(dim=0).values.tolist()
        inner = list(zip(ends, most, strict=True))[1:-1]
        recalls += [m for e, m in inner if start + e > before or not start]
        before = end
    (found,) = asked(f"bertscore:{folder}(layer=2)", ComparisonRequest(RESPONSE, (text,)))
    assert found.values["precision"] == pytest.approx(float(best[1:-1].mean()), abs=2e-6)
    assert found.values["recall"] == pytest.approx(sum(recalls) / len(recalls), abs=2e-6)


def test_bertscore_needs_a_layer_for_a_model_without_a_published_one(models: Path) -> None:
    with pytest.raises(UsageError, match=r"layer=NUMBER.*FacebookAI/roberta-large"):
        Comparer.make(f"bertscore:{models / 'bert'}")
    with pytest.raises(UsageError, match="expected 1 to 2"):
        Comparer.make(f"bertscore:{models / 'bert'}(layer=17)")
    with pytest.raises(UsageError, match="layer='x'; expected a whole number"):
        Comparer.make(f"bertscore:{models / 'bert'}(layer=x)")


def _equivalence(folder: Path, response: str, reference: str, question: str) -> float:
    """As the card of the published conversion calls it."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    given = tokenizer(
        text=f"[CLS] {response} [SEP]",
        text_pair=f"{reference} [SEP] {question} [SEP]",
        add_special_tokens=False,
        return_token_type_ids=True,
        return_tensors="pt",
    )
    length, first = given["input_ids"].shape[1], len(tokenizer.tokenize(response)) + 2
    given["token_type_ids"] = torch.tensor([[0] * first + [1] * (length - first)])
    with torch.inference_mode():
        return float(model(**given).logits.softmax(-1)[0, 1])


@pytest.mark.parametrize("backend", ["torch", "onnx"])
def test_bem(models: Path, tmp_path: Path, backend: str) -> None:
    folder = models / "bem"
    if backend == "onnx":
        pytest.importorskip("onnxruntime", reason="the onnx extra is not installed")
        pytest.importorskip("onnx", reason="onnx, which exports the model, is not installed")
        folder = tiny.tiny_pair_scorer(tmp_path / "bem", TWO, onnx=True)
    plain = [_equivalence(folder, RESPONSE, reference, QUESTION) for reference in REFERENCES]
    alone = [ComparisonRequest(RESPONSE, (reference,), QUESTION) for reference in REFERENCES]
    together = ComparisonRequest(RESPONSE, ("", *REFERENCES), QUESTION)
    *each, best = asked(f"bem:{folder}(backend={backend})", *alone, together)
    assert [one.values["bem"] for one in each] == pytest.approx(plain, abs=2e-6)
    assert best.values["bem"] == max(one.values["bem"] for one in each)


def test_bem_cuts_nothing_off(models: Path) -> None:
    tokens = "river " * (tiny.WINDOW - 7)
    # [CLS] response [SEP] city [SEP] who ? [SEP]
    fits = ComparisonRequest(tokens, ("city",), "who ?")
    long = ComparisonRequest(tokens + "river", ("city",), "who ?")
    mixed = ComparisonRequest(tokens, ("city", "city city"), "who ?")
    found = asked(f"bem:{models / 'bem'}", fits, long, mixed)
    expected = _equivalence(models / "bem", tokens, "city", "who ?")
    assert found[0].values["bem"] == pytest.approx(expected, abs=2e-6)
    assert [one.status for one in found[1:]] == [Status.TOO_LONG] * 2
    assert f"window of {tiny.WINDOW} tokens" in (found[1].reason or "")


def test_bem_without_words(models: Path) -> None:
    found = asked(
        f"bem:{models / 'bem'}",
        ComparisonRequest(" ", ("city",), QUESTION),
        ComparisonRequest("city", ("", " "), QUESTION),
    )
    assert found[0] == Comparison({"bem": 0.0})
    assert found[1].status is Status.NOT_APPLICABLE


def _hallucinated(folder: Path, knowledge: str, response: str) -> float:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        logits = model(**tokenizer(knowledge, response, return_tensors="pt")).logits
    return float(logits.softmax(-1)[0, 1])


def test_faith_critic_reads_all_contexts_together(models: Path) -> None:
    folder = models / "critic"
    contexts = ("The city is old.", "It is by the river.", " ")
    (found,) = asked(f"faith-critic:{folder}", ComparisonRequest(RESPONSE, contexts))
    expected = _hallucinated(folder, "The city is old. It is by the river.", RESPONSE)
    assert found.values["hallucination"] == pytest.approx(expected, abs=2e-6)
    assert found.detail is None


def test_faith_critic_takes_the_window_that_fits_best(models: Path) -> None:
    folder = models / "critic"
    knowledge = "The old city is by the river. It was the capital. New towns are here! " * 4
    (found,) = asked(f"faith-critic:{folder}", ComparisonRequest(RESPONSE, (knowledge,)))
    assert found.detail is not None
    assert found.detail["windows"] > 2
    window = knowledge[found.detail["start"] : found.detail["end"]]
    expected = _hallucinated(folder, window, RESPONSE)
    assert found.values["hallucination"] == pytest.approx(expected, abs=2e-6)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    room = WINDOW - 4 - len(tokenizer.tokenize(RESPONSE))
    spans = cut_windows([(knowledge, room)], lambda ts: [len(tokenizer.tokenize(t)) for t in ts])
    each = [_hallucinated(folder, knowledge[a:b], RESPONSE) for a, b in spans[knowledge, room]]
    assert found.values["hallucination"] == pytest.approx(min(each), abs=2e-6)


def test_faith_critic_uses_the_window_to_its_last_token(models: Path) -> None:
    folder, context = models / "critic", "x" * 20
    fits = WINDOW - 4 - 20
    found = asked(
        f"faith-critic:{folder}",
        ComparisonRequest("y" * fits, (context,)),
        ComparisonRequest("y" * (fits + 5), (context,)),
        ComparisonRequest("", (context,)),
        ComparisonRequest("y", (" ",)),
        ComparisonRequest("y" * (fits + 1), (context,)),
    )
    expected = _hallucinated(folder, context, "y" * fits)
    assert found[0].values["hallucination"] == pytest.approx(expected, abs=2e-6)
    assert found[0].detail is None
    statuses = [one.status for one in found[1:4]]
    assert statuses == [Status.TOO_LONG, Status.NO_CLAIMS, Status.MISSING_FIELD]
    assert found[4].detail is not None  # 19 tokens are left, and 20 are read in pieces


def test_which_output_is_meant(models: Path, tmp_path: Path) -> None:
    named = tiny.tiny_pair_scorer(tmp_path / "named", ("not_equivalent", "Equivalent"))
    swapped = tiny.tiny_pair_scorer(tmp_path / "swapped", ("Equivalent", "other"))
    odd = tiny.tiny_pair_scorer(tmp_path / "odd", ("no", "yes"))
    request = ComparisonRequest(RESPONSE, REFERENCES, QUESTION)
    second = asked(f"bem:{models / 'bem'}", request)  # the same weights: all have one seed
    assert asked(f"bem:{named}", request) == second
    assert asked(f"bem:{odd}(label=YES)", request) == second
    alone = ComparisonRequest(RESPONSE, REFERENCES[:1], QUESTION)
    (first,), (other,) = asked(f"bem:{swapped}", alone), asked(f"bem:{named}", alone)
    assert first.values["bem"] + other.values["bem"] == pytest.approx(1.0)
    with pytest.raises(UsageError, match=r"outputs no, yes; expected .* label=NAME"):
        Comparer.make(f"bem:{odd}")
    with pytest.raises(UsageError, match="label='maybe'; expected one of no, yes"):
        Comparer.make(f"faith-critic:{odd}(label=maybe)")
    with pytest.raises(InputError, match="is no cross-encoder or classifier"):
        Comparer.make(f"bem:{models / 'bert'}")


def test_encoder_comparer_broken_weights_returns_error(models: Path, tmp_path: Path) -> None:
    for name, kind, written in (
        ("bert", transformers.BertModel, "bertscore:MODEL(layer=1)"),
        ("bem", transformers.BertForSequenceClassification, "bem:MODEL"),
        ("bem", transformers.BertForSequenceClassification, "faith-critic:MODEL"),
    ):
        more = {"add_pooling_layer": False} if name == "bert" else {}
        model = kind.from_pretrained(models / name, **more)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.fill_(float("nan"))
        folder = tmp_path / written.partition(":")[0]
        transformers.AutoTokenizer.from_pretrained(models / name).save_pretrained(folder)
        model.save_pretrained(folder)
        (found,) = asked(
            written.replace("MODEL", str(folder)), ComparisonRequest("a", ("b",), QUESTION)
        )
        assert found.status is Status.ERROR
        assert "broken" in (found.reason or "")
