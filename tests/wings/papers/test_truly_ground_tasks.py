"""Truly-Ground's tasks: the questions, their contexts, their metrics, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.wings.papers.truly_ground_files import ORLA, TARN, VARN, data_folder, url

from trueground.benchmarks.base import Question, Sources, Task, get_benchmark
from trueground.errors import InputError, UsageError
from trueground.models.base import Params
from trueground.types import Passage

GROUNDING = (
    "grounding_f1(scope=gold,abstain=zero)",
    "grounding_precision(scope=gold,abstain=zero)",
    "grounding_recall(abstain=zero)",
)
ANSWER = ("answer_accuracy(match=substring,parts=each)", "answer_accuracy(parts=each)")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return data_folder(tmp_path / "data")


def task(name: str, data: Path, prompt: Path | None = None, **options: Any) -> Task:
    given = {key.replace("_", "-"): value for key, value in options.items()}
    return get_benchmark("truly-ground").prepare(name, given, Sources(data, prompt))


def ask(name: str, data: Path, **options: Any) -> list[Question]:
    return list(task(name, data, **options).questions())


def text(question: Question) -> str:
    assert [message.role for message in question.messages] == ["user"]
    return question.messages[0].content


def test_original_gold(data: Path) -> None:
    made = task("original-gold", data)
    first, second, third = made.questions()
    assert first.record.id == first.record.group == "Q2"
    assert first.record.question == "Who built the lighthouse of Varn?"
    assert first.record.references == ["Ede Holm", "Holm"]
    assert first.record.gold_facts == [
        "Ede Holm built the lighthouse of Varn.",
        "It was built in 1871",
    ]
    assert first.record.contexts == [Passage(VARN, title="Varn", gold=True, source=url("Varn"))]
    assert first.record.meta == {
        "version": "original",
        "popularity": "high",
        "contexts": "single",
        "answer": "definite",
    }
    assert second.record.references == []
    assert [one.text for one in third.record.contexts or ()] == [ORLA, TARN]
    # The layout of Figure 12; braces in a context are its own.
    both = (
        f"Title: Orla Brandt [{url('Orla Brandt')}]\n\n{ORLA}\n\n"
        f"Title: Lake Tarn [{url('Lake Tarn')}]\n\n{TARN}"
    )
    assert f"Context:\n{both}\n\nQuestion:\nHow many boats" in text(third)
    assert text(third).endswith("Answer:")
    assert made.metrics == (*GROUNDING, *ANSWER, "context_entails(scope=gold,abstain=zero)")
    assert made.headline == GROUNDING[0]
    assert made.by == ("meta.popularity", "meta.contexts", "meta.answer")
    assert made.params == Params(temperature=0.0, max_tokens=2048)
    assert [prompt.id for prompt in made.prompts] == ["truly_ground/grounded-1"]
    assert made.options == {"preset": "greedy", "input-cap": "none"}
    assert [Path(file.path).name for file in made.files] == [
        "original_version.json",
        "qId2metaInfo.json",
    ]
    assert list(made.questions()) == [first, second, third]


def test_the_prompt_has_the_papers_elements(data: Path) -> None:
    said = text(ask("original-gold", data)[0])
    before, after = said.split("Context:")[0], said.split("Who built the lighthouse of Varn?")[1]
    for part in (before, after):
        for word in ("full sentences", "context", "information"):
            assert word in part
    assert "only information from that context" in before
    assert "take nothing from anywhere else" in after


def test_conflict_gold_asks_the_same_questions_of_changed_contexts(data: Path) -> None:
    original, conflict = ask("original-gold", data), ask("conflict-gold", data)
    assert [q.record.id for q in original] == [q.record.id for q in conflict]
    assert conflict[0].record.references == ["Una Falk"]
    assert [(q.record.meta or {})["version"] for q in conflict] == ["conflict"] * 3
    # The files write the two versions with different blank lines; the model sees one layout.
    assert text(conflict[0]) == text(original[0]).replace("Ede Holm", "Una Falk")
    assert [Path(file.path).name for file in task("conflict-gold", data).files] == [
        "revised_version.json",
        "qId2metaInfo.json",
    ]


def test_no_context(data: Path) -> None:
    made = task("no-context", data)
    (first, *_) = made.questions()
    assert first.record.contexts is None
    assert first.record.gold_facts
    assert VARN not in text(first)
    assert "context" not in text(first).lower()
    assert made.metrics == (*ANSWER, "grounding_recall(abstain=zero)")
    assert made.headline == ANSWER[0]
    assert [prompt.id for prompt in made.prompts] == ["truly_ground/closed-book-1"]


@pytest.mark.parametrize(
    ("preset", "params"),
    [
        ("greedy", Params(temperature=0.0, max_tokens=2048)),
        ("paper", Params(temperature=0.0, max_tokens=2048)),
        ("llama2", Params(temperature=1.0, top_k=10, max_tokens=2048)),
        ("vicuna", Params(temperature=1.0, top_k=10, max_tokens=2048)),
        ("falcon", Params(temperature=1.0, top_k=10, max_tokens=2048)),
        ("tulu", Params(temperature=0.6, max_tokens=2048)),
    ],
)
def test_presets_of_appendix_c(data: Path, preset: str, params: Params) -> None:
    made = task("original-gold", data, preset=preset)
    assert made.params == params
    assert made.options["preset"] == preset


def test_the_papers_preset_scores_as_its_code_does(data: Path) -> None:
    made = task("original-gold", data, preset="paper")
    how = "variant=reference-code,abstain=as_is"
    assert made.headline == f"grounding_f1(scope=gold,{how})"
    judged = [name for name in made.metrics if name not in ANSWER]
    assert all(how in name for name in judged)
    assert task("no-context", data, preset="paper").metrics[-1] == f"grounding_recall({how})"
    judge = get_benchmark("truly-ground").judge
    assert judge({"preset": "paper"}) == "cross-encoder"
    assert judge({"preset": "tulu"}) == judge({}) == "lexical"


def test_fluency_is_rated_where_asked(data: Path) -> None:
    assert task("original-gold", data, fluency=True).metrics[-1] == "fluency(items=free-form)"
    assert task("no-context", data, fluency=True).metrics[-1] == "fluency(items=free-form)"
    same = task("original-gold", data).options
    assert task("original-gold", data, fluency=True).options == same


def test_a_prompt_of_the_users_own(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("---system---\nBe brief.\n---user---\n{context}\n? {question}")
    (first, *_) = task("original-gold", data, path).questions()
    assert [m.role for m in first.messages] == ["system", "user"]
    assert first.messages[1].content.endswith(f"{VARN}\n? Who built the lighthouse of Varn?")
    with pytest.raises(UsageError, match=r"unknown placeholder \{context\}"):
        task("no-context", data, path)
    path.write_text("{question}")
    (first, *_) = task("no-context", data, path).questions()
    assert text(first) == "Who built the lighthouse of Varn?"
    with pytest.raises(UsageError, match=r"no placeholder \{context\}"):
        task("original-gold", data, path)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("original-dist", {"budget": "0"}, "--budget 0: expected a whole number, 1 or more"),
        ("original-gold", {"budget": "2k"}, "--budget 2k: expected a whole number"),
        ("original-dist", {"budget": "²"}, "expected a whole number"),
        ("original-dist", {"top": "-1"}, "--top -1"),
        ("original-dist", {"position-seed": "x"}, "--position-seed x: .* 0 or more"),
        ("original-dist", {"input-cap": "0"}, "--input-cap 0"),
        ("original-dist", {"gold-position": "start"}, "one of random, beginning, middle, end"),
        ("original-dist", {"preset": "gpt"}, "--preset gpt: expected one of greedy"),
        ("original-dist", {"distractors": "f.json", "retriever": "bm25"}, "only one of the two"),
        ("original-dist", {"distractors": "f.json", "corpus": "c"}, "--corpus is for mining"),
        ("original-dist", {"retriever": " "}, "--retriever is empty"),
        ("original-dist", {"retriever": "bm26"}, "unknown retriever 'bm26'.*'bm25'"),
        ("original-dist", {"retriever": "bm25:x"}, "takes no model"),
        ("original-dist", {"retriever": "bm25(steam=true)"}, "unknown option"),
        ("original-dist", {"retriever": "dense"}, "needs a model"),
        ("no-context", {"budget": "512"}, "--budget is for the tasks with distractors"),
        ("no-context", {"retriever": "bm25"}, "--retriever is for"),
    ],
)
def test_make_task_invalid_options_raise_usage_error(
    data: Path, name: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        get_benchmark("truly-ground").prepare(name, options, Sources(data))


def test_options_of_distractors_leave_the_gold_tasks_as_they_are(data: Path) -> None:
    """One command runs the four tasks, so the two kinds of task share their options."""
    made = task("original-gold", data, budget="512", retriever="bm25", gold_position="end")
    assert made.options == task("original-gold", data).options
    assert list(made.questions()) == ask("original-gold", data)


def test_prompt_beyond_input_cap_raises_before_requests(data: Path) -> None:
    longest = max(len(text(q)) for q in ask("original-gold", data))
    made = task("original-gold", data, input_cap=str(-(-longest // 4)))
    assert [q.record.id for q in made.questions()] == ["Q2", "Q3", "Q10"]
    assert made.options["input-cap"] == str(-(-longest // 4))
    assert made.options["tokenizer"] == "4 characters a token"
    with pytest.raises(UsageError, match=r"--input-cap 20: 3 prompts are longer .*\(Q2, Q3, Q10;"):
        ask("original-gold", data, input_cap="20")


def test_rows_are_checked_with_the_first_question(data: Path) -> None:
    made = task("original-gold", data)
    (data / "original_version.json").write_text('{"Q1": {"qId": "Q1"}}')
    with pytest.raises(InputError, match="qId 'Q1'"):
        next(made.questions())
