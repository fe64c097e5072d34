"""The paper's numbers as a data file: whole, and as consistent as PUBLISHED.md says."""

from __future__ import annotations

import pytest

from trueground.benchmarks.base import get_benchmark
from trueground.benchmarks.publications import PublishedScore, PublishedTable
from trueground.metrics.registry import METRICS
from trueground.studies.leaderboard.model_info import find_model
from trueground.wings.papers.kalma import BENCHMARK

PUBLISHED = get_benchmark("kalma").published
TABLES: dict[str, PublishedTable] = {table.id: table for table in PUBLISHED}
Place = tuple[str, str, str]
CHATGPT = "gpt-3.5-turbo"


def place(score: PublishedScore) -> Place:
    return score.model, score.task, " ".join(f"{k}={v}" for k, v in score.options.items())


def rows(table: str) -> dict[Place, dict[str, PublishedScore]]:
    found: dict[Place, dict[str, PublishedScore]] = {}
    for score in TABLES[table].scores:
        own = found.setdefault(place(score), {})
        assert score.metric not in own
        own[score.metric] = score
    return found


def test_every_table_is_there() -> None:
    assert {name: len(t.scores) + len(t.numbers) for name, t in TABLES.items()} == {
        "3": 48, "7": 36, "4": 32, "5": 16, "fig5": 2, "6": 6, "2": 8, "text": 16,
    }  # fmt: skip
    names = {option.name for option in BENCHMARK.declared}
    for table in TABLES.values():
        assert table.source.startswith("Li et al. 2024")
        assert table.place
        for score in table.scores:
            rated = "items=sampled" in score.metric
            assert (1 if rated else 0) < score.value <= (5 if rated else 1)
            assert score.task in ("specific", "general")
            assert set(score.options) <= names
            assert METRICS.parse(METRICS.macro_key(score.metric)).key == METRICS.macro_key(
                score.metric
            )
            info = find_model(score.model)
            assert info is not None
            assert info.name == score.model
            assert (info.size is None) == score.model.startswith("gpt")


def test_f1_is_the_harmonic_mean() -> None:
    checked = 0
    for table in ("3", "5", "7"):
        for own in rows(table).values():
            for tail in ("_micro", ""):
                if f"citation_f1{tail}" not in own:
                    continue
                p, r, f1 = (
                    100 * own[f"citation_{name}{tail}"].value
                    for name in ("precision", "recall", "f1")
                )
                assert abs(2 * p * r / (p + r) - f1) < 0.07, (table, own)
                checked += 1
    assert checked == 20


def test_tables_agree_where_they_print_the_same() -> None:
    seen: dict[tuple[Place, str], float] = {}
    twice = 0
    for table in ("3", "4", "6", "7"):
        for where, own in rows(table).items():
            for metric, score in own.items():
                if (where, metric) in seen:
                    twice += 1
                assert seen.setdefault((where, metric), score.value) == score.value
    assert twice == 2 * 9 + 2


@pytest.mark.parametrize(
    ("table", "where", "metric", "value", "sd"),
    [
        ("3", ("gpt-4", "specific", ""), "citation_precision", 0.407, 0.011),
        ("3", ("gpt-4", "specific", ""), "citation_recall_micro", 0.436, None),
        ("3", ("gpt-3.5-turbo", "specific", "at-temperature=0.1"), "citation_recall", 0.512, 0.003),
        ("3", ("llama-13b", "specific", ""), "alignment_micro", 0.621, 0.004),
        ("4", ("vicuna-13b", "specific", ""), "relevance(items=sampled,runs=3)", 3.64, None),
        ("5", (CHATGPT, "specific", "knowledge=gold remove=3"), "citation_f1_micro", 0.181, None),
        ("7", ("gpt-4", "general", ""), "citation_f1_micro", 0.356, None),
    ],
)  # fmt: skip
def test_numbers_as_printed(
    table: str, where: Place, metric: str, value: float, sd: float | None
) -> None:
    score = rows(table)[where][metric]
    assert score.value == pytest.approx(value)
    assert score.sd == (None if sd is None else pytest.approx(sd))


def test_what_the_text_says_of_the_tables() -> None:
    three = rows("3")
    low, high = (
        three[m, "specific", ""]["alignment_micro"].value for m in ("llama-7b", "llama-13b")
    )
    assert round(100 * (high - low), 1) == 14.3
    f1 = {
        name: [own[name].value for where, own in three.items() if where[0] == "gpt-3.5-turbo"]
        for name in ("citation_f1", "citation_f1_micro")
    }
    assert {name: round(100 * (max(v) - min(v)), 1) for name, v in f1.items()} == {
        "citation_f1": 1.2,
        "citation_f1_micro": 1.0,
    }
    recall = [score.value for score in TABLES["fig5"].scores]
    removed = [own["citation_recall_micro"].value for own in rows("5").values()]
    assert recall == removed[:2]
