"""The paper's numbers as a data file: whole, and as consistent as PUBLISHED.md says."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from importlib.resources import files

import pytest

from trueground.benchmarks.base import get_benchmark
from trueground.benchmarks.publications import PublishedTable
from trueground.metrics.registry import METRICS
from trueground.studies.leaderboard.model_info import find_model

PUBLISHED = get_benchmark("instruct-qa").published
TABLES: dict[str, PublishedTable] = {table.id: table for table in PUBLISHED}
TASKS = ("nq", "hotpotqa", "topiocqa")
RIGHT, WRONG = 961, 239
WITH_PASSAGE = "k_precision(abstention_passage=true)"
SHARES = (63.77, 60.81, 15.47, 10.81, 4.66, 7.84)
# Metrics that only a model can compute; the others are in the registry.
JUDGED = {
    "bertscore_f1", "bertscore_recall", "bertscore_precision", "bem", "llm_correctness",
    "k_bertscore_f1", "k_bertscore_precision", "k_bertscore_recall", "faith_critic", "q2_f1",
    "q2_nli", "llm_faithfulness",
}  # fmt: skip


def percent(
    table: str, metric: str, setting: str, instruction: str
) -> dict[tuple[str, str], float]:
    """(Model, task) → the printed number."""
    wanted = {"setting": setting, "instruction": instruction}
    return {
        (s.model, s.task): round(100 * s.value, 4)
        for s in TABLES[table].scores
        if s.metric == metric and s.options == wanted
    }


def numbers(table: str) -> dict[tuple[str, str], float]:
    return {(n.name, n.task): n.value for n in TABLES[table].numbers}


def counts(shown: float, whole: int, digits: int = 2) -> list[int]:
    """The counts whose share of `whole` is printed as `shown` percent."""
    middle = round(shown * whole / 100)
    near = range(max(0, middle - 2), middle + 3)
    return [k for k in near if round(100 * k / whole, digits) == shown]


def phi(a: int, b: int, c: int, d: int) -> float:
    """Spearman and Kendall of two columns of zeros and ones."""
    return (a * d - b * c) / math.sqrt((a + b) * (c + d) * (a + c) * (b + d))


def rounded_to(shown: float, whole: int) -> list[int]:
    return [k for k in range(whole + 1) if round(k / whole, 2) == shown]


def test_every_table_is_there() -> None:
    assert {t: len(TABLES[t].scores) for t in TABLES if TABLES[t].scores} == {
        "4": 45, "6": 36, "7": 72,
    }  # fmt: skip
    assert {t: len(TABLES[t].correlations) for t in ("3", "5")} == {"3": 13, "5": 13}
    assert len(TABLES["2"].distributions) == 8
    assert {t: len(TABLES[t].numbers) for t in ("1", "7", "fig3", "text")} == {
        "1": 9, "7": 3, "fig3": 6, "text": 24,
    }  # fmt: skip
    for table in TABLES.values():
        assert table.source.startswith("Adlakha et al. 2023")
        assert table.place
        assert all(0 <= score.value <= 1 for score in table.scores)
        keys = [(s.model, s.task, s.metric, *sorted(s.options.items())) for s in table.scores]
        assert len(set(keys)) == len(keys)
        assert {s.task for s in table.scores} <= set(TASKS)


def test_metrics_are_spelled_as_runs_spell_them() -> None:
    named = {s.metric for t in TABLES.values() for s in t.scores}
    named |= {c.metric for t in TABLES.values() for c in (*t.correlations, *t.distributions)}
    for metric in named - JUDGED:
        assert METRICS.parse(metric).key == metric
    judged = {c.metric: c.judge for c in TABLES["3"].correlations if c.judge}
    assert set(judged) == {"llm_correctness"}


@pytest.mark.parametrize(
    ("table", "metric", "setting", "instruction", "model", "task", "value"),
    [
        ("4", "exact_match", "retrieved", "v1", "fid-base", "nq", 46.57),
        ("4", "f1", "retrieved", "v1", "alpaca-7b", "nq", 19.5),
        ("4", "recall", "retrieved", "v1", "Llama-2-7b-chat", "topiocqa", 61.4),
        ("6", "k_precision", "gold", "v1", "flan-t5-xxl", "hotpotqa", 92.1),
        ("6", "p_ir", "irrelevant", "v2", "gpt-3.5-turbo", "topiocqa", 88.2),
        ("6", "p_g", "gold", "v2", "Llama-2-7b-chat", "hotpotqa", 61.5),
        ("7", WITH_PASSAGE, "retrieved", "v2", "flan-t5-xxl", "nq", 98.88),
        ("7", "p_g", "retrieved", "v2", "gpt-3.5-turbo", "hotpotqa", 41.17),
    ],
)  # fmt: skip
def test_numbers_as_printed(
    table: str, metric: str, setting: str, instruction: str, model: str, task: str, value: float
) -> None:
    assert percent(table, metric, setting, instruction)[model, task] == value


def test_recall_under_v1_is_that_of_table_4() -> None:
    four = percent("4", "recall", "retrieved", "v1")
    seven = percent("7", "recall", "retrieved", "v1")
    assert len(seven) == 12
    assert seven.items() <= four.items()


def test_gains_over_fid_are_relative() -> None:
    recall = percent("4", "recall", "retrieved", "v1")
    for task in TASKS:
        ours, fid = recall["gpt-3.5-turbo", task], recall["fid-base", task]
        printed = numbers("text")["recall_gain.gpt-3.5-turbo.fid-base", task]
        assert round(ours / fid - 1, 4) == printed
        assert ours - fid < 100 * printed


@pytest.mark.parametrize(
    ("name", "before", "after", "model", "value", "points"),
    [
        ("recall_loss.v1.v2.gpt-3.5-turbo", "recall", "recall", "gpt-3.5-turbo", 37.2575, 23.73),
        ("recall_loss.v1.v2.Llama-2-7b-chat", "recall", "recall", "Llama-2-7b-chat", 29.3751,
         18.74),
        ("k_precision_loss.v1.v2.Llama-2-7b-chat", "k_precision",
         "k_precision(abstention_passage=true)", "Llama-2-7b-chat", 12.3265, 10.04),
    ],
)  # fmt: skip
def test_losses_are_means_of_relative_losses(
    name: str, before: str, after: str, model: str, value: float, points: float
) -> None:
    v1, v2 = percent("7", before, "retrieved", "v1"), percent("7", after, "retrieved", "v2")
    pairs = [(v1[model, task], v2[model, task]) for task in TASKS]
    mean = sum(100 * (a - b) / a for a, b in pairs) / 3
    assert mean == pytest.approx(value, abs=5e-5)
    assert abs(mean - 100 * numbers("text")[name, ""]) < 0.006
    assert sum(a - b for a, b in pairs) / 3 == pytest.approx(points, abs=0.005)


def test_abstention_with_retrieved_gold_is_of_whole_questions() -> None:
    """Which also shows that the P_G columns and the shares were read rightly."""
    found = {}
    seen = 0
    for task in TASKS:
        questions = int(numbers("1")["questions", task])
        share = round(100 * numbers("7")["gold_retrieved", task], 2)
        (found[task],) = counts(share, questions)
        for instruction in ("v1", "v2"):
            for (_, of), rate in percent("7", "p_g", "retrieved", instruction).items():
                if of == task and rate:
                    seen += 1
                    assert counts(rate, found[task]), (task, rate)
    assert found == {"nq": 1328, "hotpotqa": 5871, "topiocqa": 1565}
    assert seen == 19


def test_agreement_and_labels_are_counts() -> None:
    text = {name: value for (name, task), value in numbers("text").items() if not task}
    assert text["correctness.correct"] + text["correctness.incorrect"] == 1200
    assert counts(92.42, 1200) == [1109]
    assert counts(86.33, 600) == [518]
    kept = [counts(round(100 * text[f"faithfulness.{k}"], 1), 544, 1)
            for k in ("fully", "partially", "not_at_all")]  # fmt: skip
    assert kept == [[464], [49], [31]]
    assert counts(0.4, WRONG, 1) == [1]
    assert counts(3.8, WRONG, 1) == [9]


def test_the_kinds_of_failure_are_shares_of_472() -> None:
    fits: dict[int, int] = {
        whole: sum(bool(counts(s, whole)) for s in SHARES) for whole in range(200, RIGHT + 1)
    }
    assert [whole for whole, number in fits.items() if number == 6] == [472, 944]
    assert fits[448] == 0
    assert [counts(s, 472)[0] for s in SHARES] == [301, 287, 73, 51, 22, 37]
    assert sorted(round(100 * v, 2) for v in numbers("fig3").values()) == sorted(SHARES)


def test_39_percent_is_the_accuracy_of_f1() -> None:
    text = {name: value for (name, _), value in numbers("text").items()}
    assert text["correctness.false_negatives.f1"] == text["correctness.accuracy_on_correct.f1"]
    assert text["correctness.low_f1"] / RIGHT > text["correctness.false_negatives.f1"]


def test_table_3_does_not_follow_from_table_2() -> None:
    means = {(d.metric, d.label): d.mean for d in TABLES["2"].distributions}
    spearman = {(c.metric, c.judge): c.spearman for c in TABLES["3"].correlations}
    exact = rounded_to(means["exact_match", 1], RIGHT)
    reached = [phi(a, RIGHT - a, c, WRONG - c) for a in exact for c in (0, 1)]
    assert max(reached) < 0.234 < spearman["exact_match", None]
    judged = [
        phi(a, RIGHT - a, c, WRONG - c)
        for a in rounded_to(means["llm_correctness", 1], RIGHT)
        for c in rounded_to(means["llm_correctness", 0], WRONG)
    ]
    assert min(judged) > 0.68 > spearman["llm_correctness", "gpt-4"]


def test_correlations() -> None:
    for table in ("3", "5"):
        for found in TABLES[table].correlations:
            assert abs(found.kendall) <= abs(found.spearman) <= 1
            binary = found.judge or found.metric in ("exact_match", "recall_strict")
            assert (found.kendall == found.spearman) == bool(binary), found
    three = {c.printed: c.spearman for c in TABLES["3"].correlations}
    assert max(three, key=lambda name: three[name]) == "GPT4-Eval"
    own = {k: v for k, v in three.items() if k and not k.startswith("GPT")}
    assert max(own, key=lambda name: own[name]) == "Recall"
    five = {c.printed: c.spearman for c in TABLES["5"].correlations}
    assert sorted(five, key=lambda name: -five[name])[:2] == ["LLMCritic (GPT-4)", "K-Precision"]


def best(table: dict[tuple[str, str], float], task: str, models: Iterable[str] = ()) -> str:
    own = {m: v for (m, t), v in table.items() if t == task and (not models or m in models)}
    return max(own, key=lambda model: own[model])


def test_statements_of_section_5_4() -> None:
    precision = percent("6", "k_precision", "gold", "v1")
    worst: dict[str, str] = {}
    p_g = defaultdict(list)
    for task in TASKS:
        own = {m: v for (m, t), v in precision.items() if t == task}
        worst[task] = min(own, key=lambda model: own[model])
        assert best(precision, task) == "flan-t5-xxl"
        for (model, of), rate in percent("6", "p_g", "gold", "v2").items():
            p_g[model] += [rate] if of == task else []
    assert worst == {
        "nq": "gpt-3.5-turbo", "hotpotqa": "Llama-2-7b-chat", "topiocqa": "Llama-2-7b-chat",
    }  # fmt: skip
    assert min(p_g["Llama-2-7b-chat"]) > 50
    # Against the text: on HotpotQA Flan-T5 has the highest recall.
    recall = percent("4", "recall", "retrieved", "v1")
    assert best(recall, "hotpotqa") == "flan-t5-xxl"


def test_every_model_of_the_paper_is_in_the_models_table() -> None:
    names = {s.model for t in TABLES.values() for s in t.scores}
    assert len(names) == 5
    for name in names:
        info = find_model(name)
        assert info is not None, name
        assert info.name == name
    for run_as, name in (
        ("hf:google/flan-t5-xxl", "flan-t5-xxl"),
        ("meta-llama/Llama-2-7b-chat-hf", "Llama-2-7b-chat"),
        ("FiD", "fid-base"),
    ):
        info = find_model(run_as)
        assert info is not None
        assert info.name == name


def test_the_notes_name_what_the_tests_found() -> None:
    notes = (files("trueground.wings.papers") / "instruct_qa" / "PUBLISHED.md").read_text("utf-8")
    for words in (
        "448 or 472", "301, 287, 73, 51, 22 and 37", "1,328, 5,871 and 1,565", "Figure 6",
        "0.223 to 0.229", "23.73, 18.74 and 10.04",
    ):  # fmt: skip
        assert words in notes
