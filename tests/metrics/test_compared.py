"""Metrics of small models: what is asked, what becomes of it, and whole evaluations with them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.commands import trueground
from tests.metrics.answering import compared_columns

import trueground as tg
from trueground.components.specs import ComponentSpec
from trueground.errors import MissingExtraError, UsageError
from trueground.metrics import registry
from trueground.metrics.base import Spec
from trueground.metrics.compared import METRICS
from trueground.metrics.registry import make_spec
from trueground.types import Comparison, ComparisonRequest, Passage, Record, Status, Turn

RECORDS = [
    Record(
        id="a",
        response="In 1867.",
        question="When?",
        history=[Turn("Who was Ida?", "user"), Turn("A chemist.", "assistant")],
        contexts=[Passage("Born in 1867.", title="Ida"), Passage(" "), Passage("Died in 1934.")],
        references=["1867", "in the year 1867"],
    ),
    Record(id="b", response="I don't know.", question=" ", references=["Warsaw"]),
    Record(id="c", response="", contexts=[Passage("Because.")], references=[]),
    Record(id="d", response="I don't know.", contexts=[Passage("All of it.")]),
]
# Q²'s are in tests/judges/comparing/test_q2.py.
CHOSEN = [metric for metric in METRICS if not metric.name.startswith(("q2", "llm"))]
NAMES = [metric.name for metric in CHOSEN]


class Models:
    """Answers from a list, by the response; keeps what it was asked."""

    def __init__(self, **other: Comparison) -> None:
        self.asked: list[tuple[str, list[ComparisonRequest]]] = []
        self.other = other

    def __call__(self, written: str, requests: Sequence[ComparisonRequest]) -> list[Comparison]:
        self.asked.append((written, list(requests)))
        names = ("precision", "recall", "f1", "bem", "hallucination")
        known = Comparison({name: 0.2 + number / 10 for number, name in enumerate(names)})
        return [self.other.get(request.response, known) for request in requests]


def values(spec: Spec | str, models: Models) -> list[float | Status]:
    """The value of each record, or why there is none."""
    made = registry.METRICS.parse(spec) if isinstance(spec, str) else spec
    (column,) = compared_columns([made], RECORDS, models)
    return [
        round(value, 6) if code == 0 else list(Status)[code]
        for value, code in zip(column.values.tolist(), column.status.tolist(), strict=True)
    ]


MISSING = Status.MISSING_FIELD


def test_references_one_by_one_and_contexts_as_one_text() -> None:
    models = Models()
    assert values("bertscore_recall", models) == [0.3, 0.3, MISSING, MISSING]
    assert values("k_bertscore_f1", models) == [0.4, MISSING, 0.4, 0.4]
    assert values("faith_critic", models) == [0.4, MISSING, 0.4, 0.4]
    (matched, references), (_, contexts), (critic, judged) = models.asked
    assert (matched, critic) == (
        "bertscore:FacebookAI/roberta-large",
        "faith-critic:McGill-NLP/roberta-large-faithcritic",
    )
    assert references[0] == ComparisonRequest("In 1867.", ("1867", "in the year 1867"))
    assert len(references) == 2
    assert contexts[0] == ComparisonRequest("In 1867.", ("Born in 1867. Died in 1934.",))
    assert judged == contexts


def test_bem_is_shown_the_last_turn_only() -> None:
    models = Models()
    assert values("bem", models) == [0.5, MISSING, MISSING, MISSING]
    ((_, requests),) = models.asked
    assert requests == [ComparisonRequest("In 1867.", ("1867", "in the year 1867"), "When?")]


def test_metrics_of_one_comparer_share_what_it_says() -> None:
    models = Models()
    specs = [
        registry.METRICS.parse(f"{name}{options}")
        for name in NAMES
        for options in ("", "(device=cpu)")
    ]
    compared_columns(specs, RECORDS, models)
    written = [written for written, _ in models.asked]
    # References and contexts of bertscore, bem, faith-critic; each as it is and with an option.
    assert len(written) == 8
    assert written.count("bertscore:FacebookAI/roberta-large(device=cpu)") == 2


def test_declining_answers() -> None:
    for policy, expected in (("as_is", 0.2), ("one", 1.0), ("zero", 0.0)):
        spec = f"k_bertscore_precision(abstain={policy})"
        assert values(spec, Models()) == [0.2, MISSING, 0.2, expected]
    excluded = values("faith_critic(abstain=exclude)", Models())
    assert excluded == [0.4, MISSING, 0.4, Status.ABSTAINED]
    with pytest.raises(UsageError, match="has no option 'abstain'"):
        registry.METRICS.parse("bertscore_f1(abstain=zero)")


def test_reasons_and_details_are_evidence() -> None:
    long = Comparison(status=Status.TOO_LONG, reason="too much")
    told = Comparison({"hallucination": 0.25}, detail={"windows": 3})
    models = Models(**{"In 1867.": long, "": told})
    (column,) = compared_columns([registry.METRICS.parse("faith_critic")], RECORDS, models)
    assert column.notes == [{"reason": "too much"}, None, {"windows": 3}, None]
    assert list(Status)[column.status[0]] is Status.TOO_LONG
    assert column.values[2] == 0.75


def test_comparer_spec_has_only_changed_options() -> None:
    spec = registry.METRICS.parse("k_bertscore_f1(model=a b(1),layer=3,revision=main,abstain=zero)")
    assert spec.comparer == 'bertscore:"a b(1)"(layer=3,revision=main)'
    quoted = make_spec(spec.metric, {"model": 'the "big" one'})
    assert quoted.comparer == "bertscore:'the \"big\" one'"
    both = make_spec(spec.metric, {"model": "\"'"})
    assert ComponentSpec.parse("comparer", both.comparer or "").model == "\"'"


def test_none_is_in_the_default_set() -> None:
    fields = ("contexts", "references", "question", "response")
    assert not {spec.metric.name for spec in registry.METRICS.default_specs(fields)} & set(NAMES)
    assert {metric.requires.extra for metric in CHOSEN} == {"hf"}
    assert len(NAMES) == 8


def test_flat_functions_say_who_asks_models() -> None:
    with pytest.raises(UsageError, match=r"Use trueground\.score"):
        tg.metrics.bertscore_f1(["a"], references=[["b"]])


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed here")
@pytest.mark.parametrize("name", NAMES)
def test_without_the_extra_it_is_named(name: str) -> None:
    row = {"response": "a", "references": ["b"], "question": "c", "contexts": ["d"]}
    with pytest.raises(MissingExtraError, match=re.escape('pip install "trueground[hf]"')):
        tg.score([row], metrics=name)


ROWS = [
    {"id": "a", "response": "The city is old.", "question": "Which?", "references": ["old", "new"]},
    {"id": "b", "response": "I don't know.", "references": ["x"], "contexts": ["By the river."]},
    {"id": "c", "response": "", "contexts": ["By the river.", "The city is new."]},
]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch", reason="the hf extra is not installed")
    pytest.importorskip("transformers", reason="the hf extra is not installed")
    from tests.encoders.tiny_roberta import tiny_roberta

    folder = tmp_path_factory.mktemp("models")
    tiny_roberta(folder / "states")
    tiny_roberta(folder / "two", ("LABEL_0", "LABEL_1"), seed=1)
    return folder


def _metrics(models: Path) -> dict[str, str]:
    states, two = f"model={models / 'states'},layer=2", f"model={models / 'two'}"
    return {name: f"{name}({states if 'bertscore' in name else two})" for name in NAMES}


def test_a_whole_evaluation(models: Path, tmp_path: Path) -> None:
    keys = _metrics(models)
    out = tmp_path / "run"
    result = tg.score(ROWS, metrics=list(keys.values()), out=out)
    items = [json.loads(line) for line in (out / "items.jsonl").read_text().splitlines()]
    status = {item["id"]: item["status"] for item in items}
    assert status["a"] == {
        key: "scored" if "references" in registry.METRICS.resolve(name).default_needs else MISSING
        for name, key in keys.items()
    }
    assert items[2]["scores"][keys["k_bertscore_f1"]] == 0.0
    assert status["c"][keys["faith_critic"]] == "no_claims"
    assert items[2]["evidence"][keys["faith_critic"]] == {"reason": "the response has no words"}
    manifest = json.loads((out / "manifest.json").read_text())
    signatures = {c["name"]: c["signature"] for c in manifest["comparers"]}
    assert set(signatures) == {"bertscore", "bem", "faith-critic"}
    assert len(manifest["comparers"]) == 3
    for name, key in keys.items():
        comparer = {"bem": "bem", "faith_critic": "faith-critic"}.get(name, "bertscore")
        assert manifest["metrics"][key].endswith(f"|comparer:{signatures[comparer]}")
    again = tg.score(ROWS, metrics=list(keys.values()), out=tmp_path / "again", workers=2)
    assert again.evidence == result.evidence
    first, second = (folder / "items.jsonl" for folder in (out, tmp_path / "again"))
    assert first.read_bytes() == second.read_bytes()


def test_from_the_command_line(models: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    metric = _metrics(models)["bertscore_f1"]
    command = ["score", str(file), "--metrics", metric, "--format", "json", "--quiet"]
    command += ["--out", str(tmp_path / "run")]
    done = trueground(*command)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["metrics"][metric]["scored"] == 2
