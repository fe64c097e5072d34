"""Q²: its models against transformers' own, its arithmetic against a scripted dialogue."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.encoders.tiny import tiny_answer_finder, tiny_pair_scorer, tiny_text_to_text

from trueground.encoders.base import EncoderOptions
from trueground.encoders.whole import AnswerFinder, QuestionWriter, TokenSpan
from trueground.errors import InputError, UsageError
from trueground.judges.comparing import Comparer
from trueground.judges.comparing.q2 import Q2
from trueground.types import ComparisonRequest, Status

LABELS = ("contradiction", "neutral", "entailment")
OPTIONS = EncoderOptions(device="cpu")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("q2")
    tiny_text_to_text(folder / "questions")
    tiny_answer_finder(folder / "answers")
    tiny_pair_scorer(folder / "nli", LABELS)
    return folder


def written(models: Path) -> str:
    return (
        f'q2(device=cpu,questions="{models / "questions"}",answers="{models / "answers"}",'
        f'nli="{models / "nli"}")'
    )


@pytest.fixture
def q2(models: Path) -> Iterator[Q2]:
    made = Comparer.make(written(models))
    assert isinstance(made, Q2)
    with closing(made):
        yield made


def test_questions_are_those_of_transformers(models: Path) -> None:
    import torch
    import transformers

    folder = models / "questions"
    model = transformers.T5ForConditionalGeneration.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = tokenizer("answer: river  context: the river is old .", return_tensors="pt").input_ids
    with torch.inference_mode():
        beams = model.generate(
            ids,
            max_length=128,
            num_beams=5,
            num_return_sequences=5,
            no_repeat_ngram_size=3,
            early_stopping=True,
        )
    expected = [tokenizer.decode(beam, skip_special_tokens=True).strip() for beam in beams]
    with closing(QuestionWriter(str(folder), OPTIONS)) as writer:
        assert writer.write("river", "the river is old .") == expected
        assert len(expected) == 5


@pytest.mark.parametrize("seed", range(6))
def test_answers_are_those_of_transformers(models: Path, seed: int, tmp_path: Path) -> None:
    import torch
    import transformers

    folder = tiny_answer_finder(tmp_path / "answers", seed=seed)
    model = transformers.BertForQuestionAnswering.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    question, text = "where is the city ?", "the city is in the old river by the capital ."
    given = tokenizer(question, text, return_tensors="pt", return_token_type_ids=True)
    with torch.inference_mode():
        output = model(**given)
    start, end = int(output.start_logits.argmax()), int(output.end_logits.argmax())
    with closing(AnswerFinder(str(folder), OPTIONS)) as finder:
        found = finder.find(question, text)
        if end < start:
            assert found.text == ""
        elif start == 0 or given.input_ids[0, start] in tokenizer.all_special_ids:
            assert found.text is None
        else:
            ids = given.input_ids[0, start : end + 1]
            assert found.text == tokenizer.decode(ids, skip_special_tokens=True).strip()
        logits = output.start_logits[0, start] + output.end_logits[0, end]
        null = output.start_logits[0, 0] + output.end_logits[0, 0]
        assert found.score == pytest.approx(float(logits - null), abs=1e-4)


class Writer:
    """Asks the scripted questions of a candidate."""

    def __init__(self, script: dict[str, list[str]]) -> None:
        self.script = script

    def write(self, answer: str, _text: str) -> list[str]:
        return self.script.get(answer, [])

    def close(self) -> None: ...


class Finder:
    """Answers by (question, text); texts are read in windows of one sentence."""

    def __init__(self, script: dict[tuple[str, str], TokenSpan]) -> None:
        self.script = script

    def free_tokens(self, questions: list[str]) -> list[int]:
        return [40 for _ in questions]

    def lengths(self, texts: list[str]) -> list[int]:
        return [10 * len(text.split()) for text in texts]

    def find(self, question: str, text: str) -> TokenSpan:
        return self.script.get((question, text), TokenSpan(None, -1.0))

    def close(self) -> None: ...


class Entails:
    problem = None

    def __init__(self, pairs: dict[tuple[str, str], str], whole: str | None = "neutral") -> None:
        self.pairs, self.whole = pairs, whole

    def of(self, premise: str, hypothesis: str) -> str | None:
        return self.pairs.get((premise, hypothesis))

    def best(self, _premise: str, _hypothesis: str) -> str | None:
        return self.whole

    def close(self) -> None: ...


RESPONSE = "Oslo has 709,037 people."
ASKED = {
    "Oslo": ["What is your city?", "Which city?"],
    "709,037": ["How large?", "How many?"],
}
OWN = {
    ("What is your city?", RESPONSE): TokenSpan("Oslo", 9.0),
    ("Which city?", RESPONSE): TokenSpan("oslo.", 5.0),
    ("How large?", RESPONSE): TokenSpan("Oslo", 5.0),
    ("How many?", RESPONSE): TokenSpan("709,037", 5.0),
}


def scripted(q2: Q2, knows: dict[tuple[str, str], TokenSpan], entails: Any) -> Q2:
    changed: Any = q2
    changed._writer, changed._finder = Writer(ASKED), Finder(OWN | knows)
    changed._entailment = entails
    return q2


def told(q2: Q2, *knowledge: str) -> tuple[float, float]:
    (found,) = q2.compare([ComparisonRequest(RESPONSE, knowledge)])
    assert found.status is Status.SCORED
    return found.values["f1"], found.values["nli"]


def test_f1_and_entailment_of_the_answers(q2: Q2) -> None:
    a, b = "Oslo is here now.", "Its people are many."
    knows = {
        ("Which city?", a): TokenSpan("Oslo", 1.0),
        ("Which city?", b): TokenSpan("nowhere", 0.5),  # a surer answer stands in the other window
        ("How many?", b): TokenSpan("709,037 people", 2.0),
    }
    asked = ("How many? 709,037 people.", "How many? 709,037.")
    for label, value in (("entailment", 1.0), ("neutral", 2 / 3), ("contradiction", 0.0)):
        found = told(scripted(q2, knows, Entails({asked: label})), a, b)
        assert found == pytest.approx(((1 + 2 / 3) / 2, (1 + value) / 2))


def test_a_span_that_ends_before_it_begins_is_no_answer_beside_another(q2: Q2) -> None:
    a, b = "Oslo is here now.", "Its people are many."
    knows = {
        ("Which city?", a): TokenSpan("Oslo", 1.0),
        ("Which city?", b): TokenSpan("", 9.0),
        ("How many?", b): TokenSpan("", 9.0),
    }
    assert told(scripted(q2, knows, Entails({})), a, b) == (0.5, 0.5)


def test_a_question_without_room_beside_it_is_not_asked(q2: Q2) -> None:
    changed: Any = scripted(q2, {}, Entails({}, "entailment"))
    changed._finder.free_tokens = lambda questions: [20 for _ in questions]
    assert told(q2, "Anything.") == (1.0, 1.0)


def test_q2_question_without_answer_in_knowledge_scores_0(q2: Q2) -> None:
    a = "Oslo is here now."
    scripted(q2, {("Which city?", a): TokenSpan("Oslo", 1.0)}, Entails({}))
    assert told(q2, a) == (0.5, 0.5)
    (found,) = q2.compare([ComparisonRequest(RESPONSE, (a,))])
    assert found.detail is not None
    assert [(one["question"], one["knowledge"]) for one in found.detail["questions"]] == [
        ("Which city?", "Oslo"),
        ("How many?", None),
    ]


@pytest.mark.parametrize(
    ("label", "value"), [("entailment", 1.0), ("neutral", 0.5), ("contradiction", 0.0)]
)
def test_without_questions_the_whole_response_is_entailed_or_not(
    q2: Q2, label: str, value: float
) -> None:
    changed: Any = q2
    changed._writer, changed._entailment = Writer({}), Entails({}, label)
    assert told(q2, "Anything.") == (value, value)
    changed._entailment = Entails({}, None)
    (found,) = q2.compare([ComparisonRequest(RESPONSE, ("Anything.",))])
    assert (found.status, found.values) == (Status.TOO_LONG, {})


def test_the_real_parts_together(q2: Q2) -> None:
    knowledge = "The city is old. " * 60  # beyond the windows
    requests = [
        ComparisonRequest("The river is in the city.", (knowledge,)),
        ComparisonRequest("the old song", ("the song is old .",)),
    ]
    found = q2.compare(requests)
    assert [one.status for one in found] == [Status.SCORED] * 2
    assert all(0 <= value <= 1 for one in found for value in one.values.values())
    assert q2.compare(requests[::-1]) == found[::-1]


def test_a_blank_response_says_nothing(q2: Q2) -> None:
    (found,) = q2.compare([ComparisonRequest(" ", ("The city is old.",))])
    assert (found.status, found.values) == (Status.NO_CLAIMS, {})


def test_models_of_other_kinds_are_refused(models: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no model that finds answers"):
        Comparer.make(written(models).replace(str(models / "answers"), str(models / "nli")))
    tiny_pair_scorer(tmp_path / "pairs")
    with pytest.raises(UsageError, match="expected entailment, neutral, contradiction"):
        Comparer.make(written(models).replace(str(models / "nli"), str(tmp_path / "pairs")))
    with pytest.raises(UsageError, match="unknown option"):
        Comparer.make("q2(question=x)")


def test_the_metrics_score_a_file(models: Path, tmp_path: Path) -> None:
    import trueground as tg

    options = ",".join(f"{part}={models / part}" for part in ("questions", "answers", "nli"))
    records = [
        {"id": "a", "response": "The city is old.", "contexts": ["The old city.", "A river."]},
        {"id": "b", "response": "The city is old.", "contexts": []},
    ]
    names = [f"q2_f1({options})", f"q2_nli({options})"]
    result = tg.score(records, metrics=names, out=tmp_path / "run")
    for key in result.summary:
        entry = result.summary[key]
        assert (entry.scored, entry.n) == (1, 2)
        assert entry.mean in (0.0, 0.5, 1.0)  # nothing can be asked: the whole response is judged
    manifest = (tmp_path / "run" / "manifest.json").read_text()
    assert "comparer:q2-1|" in manifest
