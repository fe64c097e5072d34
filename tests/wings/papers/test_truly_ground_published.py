"""The paper's numbers as a data file: whole, and as consistent as PUBLISHED.md says."""

from __future__ import annotations

from collections import defaultdict
from importlib.resources import files

import pytest

from trueground.benchmarks.base import get_benchmark
from trueground.benchmarks.publications import PublishedTable
from trueground.studies.leaderboard.model_info import find_model

PUBLISHED = get_benchmark("truly-ground").published
TABLES: dict[str, PublishedTable] = {table.id: table for table in PUBLISHED}
TASKS = {"8": "original-gold", "9": "conflict-gold", "10": "original-dist", "11": "conflict-dist"}
VERSIONS = ("original-gold", "original-dist", "conflict-gold", "conflict-dist")
F1 = "grounding_f1(scope=gold,variant=reference-code,abstain=as_is)"
# Share of the 480 questions: 256 high, 220 free-form, 400 single.
PARTS = {
    "meta.popularity": (("high", 256), ("low", 224)),
    "meta.answer": (("free-form", 220), ("definite", 260)),
    "meta.contexts": (("single", 400), ("multi", 80)),
}
NOT_THE_MEAN = {
    ("falcon-180B-chat", "conflict-gold", "meta.answer"),
    ("falcon-180B-chat", "conflict-gold", "meta.contexts"),
}
NOT_TABLE_1 = {
    ("tulu-2-13b", "original-gold"): (61.9, 62.29),
    ("tulu-2-70b", "original-gold"): (61.9, 59.61),
    ("tulu-2-70b", "original-dist"): (56.7, 53.43),
    ("tulu-2-70b", "conflict-gold"): (62.4, 59.93),
    ("tulu-2-70b", "conflict-dist"): (54.9, 52.38),
    ("tulu-2-13b", "conflict-gold"): (57.7, 61.9),
    ("vicuna-13b-v1.5", "original-dist"): (56.5, 57.46),
    ("Llama-2-70b-chat", "original-dist"): (55.8, 56.24),
}

Rows = dict[tuple[str, str], dict[tuple[str, str] | None, float]]


def detailed() -> Rows:
    """(Model, task) → part of the items, or None for all → percent."""
    found: Rows = defaultdict(dict)
    for table in TASKS:
        for score in TABLES[table].scores:
            part = next(iter(score.by.items()), None)
            assert part not in found[score.model, score.task]
            found[score.model, score.task][part] = 100 * score.value
    return found


def overall(table: str) -> dict[tuple[str, str], float]:
    return {(s.model, s.task): 100 * s.value for s in TABLES[table].scores if not s.by}


def test_every_table_is_there() -> None:
    assert {name: len(table.scores) for name, table in TABLES.items()} == {
        "8": 175, "9": 168, "10": 147, "11": 154, "12": 60, "13": 6, "text": 8, "1": 52, "3": 24,
        "a7": 0,
        "fig11": 0,
    }  # fmt: skip
    assert [name for name, table in TABLES.items() if table.rates] == ["3"]
    assert len(TABLES["3"].rates) == 12
    for name, table in TABLES.items():
        assert table.source.startswith("Lee et al. 2024")
        assert table.place
        assert not table.ranks
        top = 5 if name == "13" else 1
        assert all(0 < score.value <= top for score in table.scores)
        keys = [
            (s.model, s.task, s.metric, *sorted(s.by.items()), *sorted(s.options.items()))
            for s in table.scores
        ]
        assert len(set(keys)) == len(keys)
    for table, task in TASKS.items():
        assert {score.task for score in TABLES[table].scores} == {task}
        assert {score.metric for score in TABLES[table].scores} == {F1}


@pytest.mark.parametrize(
    ("table", "model", "task", "part", "value"),
    [
        ("8", "gpt-3.5-turbo-instruct", "original-gold", None, 65.69),
        ("8", "vicuna-33b-v1.3", "original-gold", ("meta.contexts", "multi"), 37.23),
        ("8", "tulu-65b", "original-gold", ("meta.answer", "free-form"), 53.11),
        ("8", "falcon-180B", "original-gold", ("meta.popularity", "high"), 28.38),
        ("9", "tulu-2-dpo-70b", "conflict-gold", ("meta.popularity", "low"), 60.04),
        ("9", "vicuna-33b-v1.3", "conflict-gold", None, 40.32),
        ("10", "Llama-2-13b-chat", "original-dist", None, 35.83),
        ("10", "Llama-2-70b-chat", "original-dist", ("meta.answer", "definite"), 63.3),
        ("11", "falcon-40b", "conflict-dist", ("meta.contexts", "single"), 12.56),
        ("11", "tulu-2-dpo-70b", "conflict-dist", ("meta.contexts", "multi"), 43.7),
        ("1", "Llama-2-70b-chat", "conflict-gold", None, 56.3),
        ("3", "tulu-2-7b", "original-gold", None, 56.2),
        ("12", "gpt-3.5-turbo", "no-context", None, 47.11),
        ("12", "falcon-40b-instruct", "conflict-dist", None, 60.1),
    ],
)
def test_numbers_as_printed(
    table: str, model: str, task: str, part: tuple[str, str] | None, value: float
) -> None:
    found = [
        score.value
        for score in TABLES[table].scores
        if (score.model, score.task, next(iter(score.by.items()), None)) == (model, task, part)
    ]
    assert found == [pytest.approx(value / 100)]


def test_fluency_stays_on_its_scale_and_in_no_version() -> None:
    values = {score.model: (score.task, score.value) for score in TABLES["13"].scores}
    assert values["Llama-2-13b"] == ("", 3.66)
    assert values["falcon-40b-instruct"] == ("", 4.97)


def test_positions_of_the_gold_contexts() -> None:
    scores = TABLES["text"].scores
    assert all(score.options["budget"] == "4096" for score in scores)
    values = {(s.task, s.options["gold-position"]): round(100 * s.value, 2) for s in scores}
    assert values["original-dist", "end"] == 43.37
    assert values["original-dist", "middle"] == values["original-dist", "beginning"] == 39.32
    assert values["conflict-dist", "middle"] == 38.3
    for task in ("original-dist", "conflict-dist"):
        assert max((v, k) for k, v in values.items() if k[0] == task)[1][1] == "end"


def test_overall_numbers_are_the_weighted_means_of_their_parts() -> None:
    """Which also shows that the copy of these tables was read rightly."""
    wrong = set()
    for (model, task), values in detailed().items():
        assert len(values) == 7
        for field, parts in PARTS.items():
            mean = sum(values[field, part] * count for part, count in parts) / 480
            if abs(mean - values[None]) > 0.015:
                wrong.add((model, task, field))
                assert mean == pytest.approx(values[None] - 1, abs=0.005)
    assert wrong == NOT_THE_MEAN


def test_rows_that_go_against_the_factors() -> None:
    against = defaultdict(list)
    for (model, task), values in detailed().items():
        pairs = {
            "popularity": values["meta.popularity", "high"] >= values["meta.popularity", "low"],
            "answer": values["meta.answer", "free-form"] >= values["meta.answer", "definite"],
            "contexts": values["meta.contexts", "multi"] >= values["meta.contexts", "single"],
        }
        for name, found in pairs.items():
            against[name] += [(model, task)] if found else []
    assert {name: len(rows) for name, rows in against.items()} == {
        "popularity": 8, "answer": 20, "contexts": 0,
    }  # fmt: skip


def test_table_1_differs_from_the_detailed_ones_where_the_notes_say() -> None:
    whole = {key: values[None] for key, values in detailed().items()}
    different = {
        key: (round(value, 2), round(whole[key], 2))
        for key, value in overall("1").items()
        if key in whole and abs(value - whole[key]) > 0.0501
    }
    assert different == NOT_TABLE_1
    assert overall("1").keys() - whole.keys() == {("Llama-2-70b-chat", "conflict-gold")}


def test_table_3_and_its_rates() -> None:
    whole = {key: values[None] for key, values in detailed().items()}
    scores = overall("3")
    different = {key for key, value in scores.items() if abs(value - whole[key]) > 0.0501}
    assert different == {("tulu-2-7b", "original-gold")}
    high = detailed()["tulu-2-7b", "original-gold"]["meta.popularity", "high"]
    assert round(high, 1) == 56.2
    rough = []
    for rate in TABLES["3"].rates:
        mine, base = (rate.model, rate.task), (rate.baseline, rate.task)
        before = high if base in different else whole[base]
        exact = 100 * (before - whole[mine]) / before
        assert abs(exact - 100 * rate.value) <= 0.05, rate
        if abs(100 * (scores[base] - scores[mine]) / scores[base] - 100 * rate.value) > 0.05:
            rough.append(rate)
    assert len(rough) == 6


@pytest.mark.parametrize(
    ("before", "after", "percent", "points"),
    [
        ("original-gold", "conflict-gold", 4.69, 2.65),
        ("original-gold", "original-dist", 10.71, 6.05),
        ("conflict-gold", "conflict-dist", 9.98, 5.28),
    ],
)
def test_the_drops_of_the_text_are_percent(
    before: str, after: str, percent: float, points: float
) -> None:
    table = overall("1")
    models = {model for model, _ in table}
    assert len(models) == 13
    pairs = [(table[model, before], table[model, after]) for model in models]
    assert sum(a - b for a, b in pairs) / 13 == pytest.approx(points, abs=0.005)
    assert sum(100 * (a - b) / a for a, b in pairs) / 13 == pytest.approx(percent, abs=0.005)


def test_losses_of_answer_accuracy() -> None:
    table = overall("12")
    models = {model for model, _ in table}
    assert len(models) == 12
    for kind, printed in (("original", 7.83), ("conflict", 12.45)):
        gold, dist = f"{kind}-gold", f"{kind}-dist"
        losses = [100 * (1 - table[model, dist] / table[model, gold]) for model in models]
        assert sum(losses) / 12 == pytest.approx(printed, abs=0.005)
    assert table["Llama-2-13b-chat", "conflict-dist"] == table["falcon-40b", "conflict-dist"]


def test_every_model_of_the_paper_is_in_the_models_table() -> None:
    names = {score.model for table in TABLES.values() for score in table.scores}
    names |= {name for rate in TABLES["3"].rates for name in (rate.model, rate.baseline)}
    assert len(names) == 26  # the 25 of the paper and vicuna-13b-v1.5-16k
    for name in names:
        info = find_model(name)
        assert info is not None, name
        assert info.name == name
        assert (info.size is None) == name.startswith("gpt")


@pytest.mark.parametrize(
    ("run_as", "name", "size"),
    [
        ("lmsys/vicuna-13b-v1.5", "vicuna-13b-v1.5", 13),
        ("hf:meta-llama/Llama-2-70b-chat-hf", "Llama-2-70b-chat", 70),
        ("allenai/tulu-2-dpo-70b", "tulu-2-dpo-70b", 70),
        ("tiiuae/falcon-180B-chat", "falcon-180B-chat", 180),
        ("gpt-3.5-turbo-0301", "gpt-3.5-turbo", None),
    ],
)
def test_models_are_found_under_the_names_they_run_by(
    run_as: str, name: str, size: float | None
) -> None:
    info = find_model(run_as)
    assert info is not None
    assert (info.name, info.size) == (name, size)


def test_the_notes_name_what_the_tests_found() -> None:
    notes = (files("trueground.wings.papers") / "truly_ground" / "PUBLISHED.md").read_text("utf-8")
    for printed, other in NOT_TABLE_1.values():
        assert f"| {printed} | {other:.2f} |" in notes
    for words in ("44.31", "4.69, 10.71 and 9.98", "2.65, 6.05 and 5.28", "7.83 and 12.45"):
        assert words in notes
