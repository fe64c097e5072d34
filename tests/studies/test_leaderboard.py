"""The leaderboard as data and as a file: what it compares, what it says, what it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.reports.leaderboard_fixture import (
    DATASETS,
    MODELS,
    benchmark_run,
    put,
    score_run,
    sweep,
)
from tests.reports.payload import blocks, payload, words
from tests.texts import leaderboard_text

from trueground.errors import InputError, OutputError, UsageError
from trueground.studies.leaderboard.study import (
    leaderboard_data,
    write_leaderboard,
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sweep(tmp_path_factory.mktemp("sweep") / "out")


@pytest.fixture(scope="module")
def data(runs: Path) -> dict[str, Any]:
    return leaderboard_data([runs])


def column_of(data: dict[str, Any], task: str, **options: Any) -> dict[str, Any]:
    found = [
        column
        for column in data["columns"]
        if column["task"] == task and column["options"].items() >= options.items()
    ]
    assert len(found) == 1
    return found[0]


def studies_of(data: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [table for table in data["studies"] if table["id"] == name]


def row_of(data: dict[str, Any], name: str, source: str | None = None) -> dict[str, Any]:
    found = [r for r in data["rows"] if r["name"] == name and bool(r["source"]) == bool(source)]
    assert len(found) == 1
    return found[0]


def test_a_folder_of_runs_gives_a_row_for_each_model_and_a_column_for_each_task(
    data: dict[str, Any],
) -> None:
    assert {row["name"] for row in data["rows"]} == set(MODELS)
    tasks = [column["task"] for column in data["columns"]]
    assert tasks == ["unanswerable", "inconsistent", "counterfactual", "original", "original"]
    assert data["warnings"] == []
    assert len(data["runs"]) == 5 * len(MODELS)
    assert json.loads(json.dumps(data)) == data


def test_the_cell_is_the_average_over_datasets_where_there_is_one(
    data: dict[str, Any], runs: Path
) -> None:
    summary = json.loads((runs / "unanswerable" / "gpt-4o" / "summary.json").read_text())
    average = summary["averages"]["meta.dataset"]["phrase_match_strict"]
    whole = summary["metrics"]["phrase_match_strict"]
    cell = row_of(data, "gpt-4o")["cells"][column_of(data, "unanswerable")["id"]]
    assert average["mean"] != whole["mean"]
    assert (cell["mean"], cell["ci"], cell["averaged_over"]) == (
        average["mean"],
        average["ci"],
        10,
    )
    assert (cell["scored"], cell["n"], cell["ci_level"]) == (1000, 1000, 0.95)
    single = row_of(data, "gpt-4o")["cells"][column_of(data, "counterfactual")["id"]]
    assert (single["mean"], single["averaged_over"]) == (0.475, None)


def test_unscored_answers_are_counted_with_their_reasons(data: dict[str, Any], runs: Path) -> None:
    cell = row_of(data, "gpt-4o-mini")["cells"][column_of(data, "unanswerable")["id"]]
    assert (cell["scored"], cell["unscored"]) == (997, {"truncated": 2, "error": 1})


def test_a_mean_over_fewer_items_is_not_ranked_as_if_over_all(tmp_path: Path) -> None:
    declined = {"abstained": 600}
    benchmark_run(tmp_path / "a", "some", "counterfactual", 0.9, unscored=declined)
    benchmark_run(tmp_path / "b", "all", "counterfactual", 0.6)
    benchmark_run(tmp_path / "c", "few", "counterfactual", 0.95, n=100)
    benchmark_run(tmp_path / "d", "part", "counterfactual", 0.7, unscored={"not_applicable": 900})
    found = leaderboard_data([tmp_path])
    text = leaderboard_text(found)
    # One over fewer questions is below those that can be ranked.
    assert [row["name"] for row in found["rows"]] == ["all", "some", "part", "few"]
    cells = [row["cells"]["c1"] for row in found["rows"]]
    assert [cell["asked"] for cell in cells] == [None, 1000, 1000, 1000]
    assert [cell["placed_by"] for cell in cells] == [None, *map(pytest.approx, (0.36, 0.07)), None]
    why = "over 100 questions, other runs are over 1,000"
    assert [row["apart"] for row in found["rows"]] == [{}, {}, {}, {"c1": why}]
    assert f"few: not ranked: {why}: counterfactual" in " ".join(text.split())
    assert [row["best"] for row in found["rows"]] == [["c1"], [], [], []]
    assert json.loads(json.dumps(leaderboard_data([tmp_path])))["rows"][1]["cells"]["c1"]["asked"]
    some = next(line for line in text.splitlines() if line.startswith("some"))
    assert some.endswith("† 400 of 1,000 asked: ranked by 0.3600")
    assert "† over fewer items than were asked" in text
    page = write_leaderboard([tmp_path], tmp_path / "page.html").read_text()
    table = blocks(page, "table")[0]
    shown = {row["cells"][0][0]: (row["tone"], row["cells"][1]) for row in table["rows"]}
    assert {name: tone for name, (tone, _) in shown.items()} == {
        "all": "own", "some": "own", "part": "own", "few": "apart",
    }  # fmt: skip
    assert shown["some"][1]["rank"] == pytest.approx(0.36)
    assert shown["some"][1]["note"] == "† 400 of 1,000 asked: ranked by 0.3600"
    assert why in table["rows"][-1]["title"]
    shutil.rmtree(tmp_path / "a")
    shutil.rmtree(tmp_path / "c")
    shutil.rmtree(tmp_path / "d")
    assert "†" not in leaderboard_text(leaderboard_data([tmp_path]))


def test_what_a_metric_is_not_about_is_not_missing(tmp_path: Path) -> None:
    """And three answers to each question are no more questions."""
    for name, mean, more in (("a", 0.5, {}), ("b", 0.6, {"repeats": 3})):
        n = 300 if more else 100
        benchmark_run(
            tmp_path / name, name, "counterfactual", mean, n=n,
            unscored={"not_applicable": 45 * n // 100}, **more,
        )  # fmt: skip
    assert "†" not in leaderboard_text(leaderboard_data([tmp_path]))


def test_best_of_each_column_follows_the_metrics_direction(tmp_path: Path) -> None:
    score_run(tmp_path / "a", {"f1": 0.4, "p_g": 0.2, "not_a_metric": 0.1})
    score_run(tmp_path / "b", {"f1": 0.5, "p_g": 0.3, "not_a_metric": 0.2})
    found = leaderboard_data([tmp_path / "a", tmp_path / "b"])
    metric = {column["id"]: column["metric"] for column in found["columns"]}
    best = {row["name"]: [metric[key] for key in row["best"]] for row in found["rows"]}
    assert best == {"a": ["p_g"], "b": ["f1"]}
    directions = {column["metric"]: column["higher_is_better"] for column in found["columns"]}
    assert directions == {"f1": True, "p_g": False, "not_a_metric": None}
    # An average over a breakdown that the user asked for is no average over datasets.
    assert row_of(found, "b")["cells"][found["columns"][0]["id"]]["mean"] == 0.5


def test_the_order_of_the_arguments_does_not_matter(runs: Path, tmp_path: Path) -> None:
    folders = sorted(runs.glob("*/*/"))
    first = write_leaderboard(folders, tmp_path / "one.html").read_bytes()
    again = write_leaderboard([*reversed(folders), folders[0]], tmp_path / "two.html").read_bytes()
    assert first == again
    assert write_leaderboard(folders, tmp_path / "one.html").read_bytes() == first


def test_schemes_are_columns_of_their_own(tmp_path: Path) -> None:
    benchmark_run(tmp_path / "a", "m", "unanswerable", 0.4)
    benchmark_run(tmp_path / "b", "m", "unanswerable", 0.6, options={"scheme": "cot"})
    found = leaderboard_data([tmp_path])
    titles = [column["title"] for column in found["columns"]]
    assert titles == ["unanswerable (scheme=cot)", "unanswerable (scheme=direct)"]
    assert len(found["rows"]) == 1
    assert found["warnings"] == []


def test_combined_score_is_a_third_of_each_task_for_the_best_of_each_organization(
    data: dict[str, Any],
) -> None:
    (combined,) = studies_of(data, "combined")
    ids = [column_of(data, task)["id"] for task in combined["places"]]
    expected = {}
    for row in data["rows"]:
        parts = [row["cells"][key]["mean"] for key in ids]
        expected[row["name"]] = sum(parts) / 3
    organizations = {row["organization"]: row for row in combined["rows"]}
    assert set(organizations) == {"OpenAI", "Meta", "Google", None}
    assert organizations["OpenAI"]["name"] == "gpt-4o"
    assert organizations[None]["name"] == "our-own-model"
    for row in combined["rows"]:
        assert row["score"] == pytest.approx(expected[row["name"]])
    meta = [expected[name] for name in expected if "Llama" in name]
    assert organizations["Meta"]["score"] == pytest.approx(max(meta))
    scores = [row["score"] for row in combined["rows"]]
    assert scores == sorted(scores, reverse=True)


def test_combined_score_needs_all_three_tasks_as_the_paper_has_them(tmp_path: Path) -> None:
    sweep(tmp_path / "out", {"gpt-4o": (0.6, 0.9, 0.5), "gpt-4-turbo": (0.5, 0.8, 0.4)})
    shutil.rmtree(tmp_path / "out" / "inconsistent" / "gpt-4-turbo")
    (combined,) = studies_of(leaderboard_data([tmp_path / "out"]), "combined")
    assert [row["name"] for row in combined["rows"]] == ["gpt-4o"]
    assert combined["missing"] == ["gpt-4-turbo"]
    shutil.rmtree(tmp_path / "out" / "inconsistent")
    options = {"documents": "new"}
    benchmark_run(tmp_path / "x", "gpt-4o", "inconsistent", 0.9, options=options)
    found = leaderboard_data([tmp_path / "out", tmp_path / "x"])
    assert studies_of(found, "combined") == []


def test_an_own_models_table_gives_size_and_organization(runs: Path, tmp_path: Path) -> None:
    table = tmp_path / "models.json"
    known = {"name": "our-own-model", "family": "Own", "organization": "Meta", "size": 13}
    table.write_text(json.dumps([known]))
    found = leaderboard_data([runs], models=table)
    facts = row_of(found, "our-own-model")["facts"]
    assert (facts["size"], facts["family"], facts["organization"]) == (13, "Own", "Meta")
    (combined,) = studies_of(found, "combined")
    best = {row["organization"]: row["name"] for row in combined["rows"]}
    assert best["Meta"] == "our-own-model"
    table.write_text("{")
    with pytest.raises(InputError, match="models table"):
        leaderboard_data([runs], models=table)


def test_original_and_new_context_with_shared_ranks(tmp_path: Path) -> None:
    means = {"a": (0.8, 0.3), "b": (0.8, 0.5), "c": (0.7, 0.5), "d": (0.6, 0.2)}
    for name, (before, after) in means.items():
        benchmark_run(tmp_path / "new" / name, name, "counterfactual", after)
        options = {"of": "counterfactual"}
        benchmark_run(tmp_path / "old" / name, name, "original", before, options=options)
    benchmark_run(tmp_path / "new" / "e", "e", "counterfactual", 0.9)
    (changes,) = studies_of(leaderboard_data([tmp_path]), "changes")
    rows = {row["name"]: row["ranks"] for row in changes["rows"]}
    assert rows == {"a": [1, 3, -2], "b": [1, 1, 0], "c": [3, 1, 2], "d": [4, 4, 0]}
    differences = {row["name"]: row["changes"][0][0]["difference"] for row in changes["rows"]}
    assert differences["a"] == pytest.approx(-0.5)


def test_ranks_over_fewer_items_are_marked(tmp_path: Path) -> None:
    for name, original, new, left in (("x", 0.7, 0.9, 700), ("y", 0.6, 0.5, 0)):
        benchmark_run(tmp_path / f"{name}o", name, "original", original)
        unscored = {"abstained": left} if left else {}
        benchmark_run(tmp_path / f"{name}n", name, "unanswerable", new, unscored=unscored)
    rows = studies_of(leaderboard_data([tmp_path]), "changes")[0]["rows"]
    assert [(r["name"], r["ranks"][:2]) for r in rows] == [("x", [1, 2]), ("y", [2, 1])]
    fewer = [cell["placed_by"] is not None for cell in rows[0]["cells"][0]]
    assert fewer == [False, True]
    page = write_leaderboard([tmp_path], tmp_path / "page.html").read_text()
    assert "† 300 of 1,000 asked: ranked by 0." in words(page)


def test_a_run_over_other_items_has_no_rank(tmp_path: Path) -> None:
    for name, n in (("x", 1000), ("y", 1000), ("z", 10)):
        benchmark_run(tmp_path / f"{name}o", name, "original", 0.6)
        benchmark_run(tmp_path / f"{name}n", name, "unanswerable", 0.9, n=n)
    (table,) = studies_of(leaderboard_data([tmp_path]), "changes")
    ranks = [(row["name"], row["ranks"], bool(row["apart"])) for row in table["rows"]]
    assert [(name, apart) for name, _, apart in ranks] == [("x", False), ("y", False), ("z", True)]
    assert ranks[-1][1] is None


def test_originals_stand_beside_their_own_task_only(data: dict[str, Any]) -> None:
    pairs = {tuple(changes["places"]) for changes in studies_of(data, "changes")}
    assert pairs == {("original", "unanswerable"), ("original", "counterfactual")}


def test_three_rules_of_matching_with_their_variants(data: dict[str, Any]) -> None:
    matches = {found["group"]: found["rows"] for found in studies_of(data, "matches")}
    assert set(matches) == {"unanswerable", "inconsistent"}
    for rows in matches.values():
        assert len(rows) == len(MODELS)
        for row in rows:
            strict, loose, word = (line[0]["mean"] for line in row["cells"])
            assert strict <= word <= loose
            assert row["changes"][0][0]["difference"] == pytest.approx(loose - strict)


def test_dataset_by_dataset(data: dict[str, Any], runs: Path) -> None:
    splits = {split["title"]: split for split in data["datasets"]}
    assert set(splits) == {"unanswerable", "inconsistent", "original (of=unanswerable)"}
    split = splits["unanswerable"]
    assert split["parts"] == sorted(DATASETS, key=str.casefold)
    summary = json.loads((runs / "unanswerable" / "gpt-4o" / "summary.json").read_text())
    by = summary["by"]["meta.dataset"]
    row = next(row for row in split["rows"] if row["name"] == "gpt-4o")
    expected = [by[name]["phrase_match_strict"]["mean"] for name in split["parts"]]
    assert row["means"] == expected
    assert row["average"] == pytest.approx(sum(expected) / 10)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"limit": 50}, "the runs differ in limit: 50 in b; none in a."),
        ({"prompts": [{"id": "p", "sha256": "e" * 64}]}, "; p eeeeeeeeeeee in b."),
        ({"input": [{"path": "x", "sha256": "d" * 64}]}, "differ in data (sha256): aaaaaaaaaaaa"),
        ({"metrics": {"choice_accuracy": "other|v:9"}}, "differ in metric signature"),
        ({"repeats": 3}, "differ in answers to each question: 1 in a; 3 in b"),
    ],
)
def test_differences_within_a_column_are_named(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    benchmark_run(tmp_path / "a", "one", "counterfactual", 0.5)
    benchmark_run(tmp_path / "b", "two", "counterfactual", 0.6, **change)
    (warning,) = leaderboard_data([tmp_path])["warnings"]
    assert told in warning
    page = write_leaderboard([tmp_path], tmp_path / "page.html").read_text()
    assert warning in words(page)


def test_a_model_that_was_run_twice_has_two_rows(tmp_path: Path) -> None:
    benchmark_run(tmp_path / "a", "m", "counterfactual", 0.9, limit=10, n=10)
    benchmark_run(tmp_path / "b", "m", "counterfactual", 0.5)
    benchmark_run(tmp_path / "c", "m", "unanswerable", 0.5)
    found = leaderboard_data([tmp_path])
    assert {row["name"] for row in found["rows"]} == {"m", "m (2)"}
    assert len(row_of(found, "m")["cells"]) == 2  # the whole runs stand together
    assert any("m was run 2 times (b, a)" in warning for warning in found["warnings"])


def test_two_models_of_one_name_are_told_apart(tmp_path: Path) -> None:
    benchmark_run(tmp_path / "a", "m", "counterfactual", 0.9)
    model = {"name": "m", "signature": "hf/m/abc"}
    benchmark_run(tmp_path / "b", "m", "counterfactual", 0.5, changes={"model": model})
    names = {row["name"] for row in leaderboard_data([tmp_path])["rows"]}
    assert names == {"m [chat/m]", "m [hf/m/abc]"}


def test_published_models_stand_among_ours(runs: Path, tmp_path: Path) -> None:
    found = leaderboard_data([runs], with_published=True)
    key = column_of(found, "unanswerable")["id"]
    paper = row_of(found, "gpt-4o", "paper")
    assert "Ming et al. 2024" in paper["source"]
    cell = paper["cells"][key]
    assert (cell["mean"], cell["ci"], cell["averaged_over"], cell["n"]) == (0.597, None, 10, None)
    assert "Table 4" in cell["place"]
    assert paper["cells"][column_of(found, "inconsistent")["id"]]["mean"] == 0.932
    published = [row for row in found["rows"] if row["source"] and key in row["cells"]]
    assert len(published) == 18
    matches = next(m for m in studies_of(found, "matches") if m["group"] == "unanswerable")
    phi = next(m for m in matches["rows"] if m["name"] == "Phi-3-medium-128k-instruct")
    assert [line[0] and line[0]["mean"] for line in phi["cells"]] == [0.074, 0.253, None]
    heat = next(d for d in found["datasets"] if d["title"] == "unanswerable")
    gemma = next(r for r in heat["rows"] if r["name"] == "gemma-2-27b-it" and r["source"])
    assert gemma["means"][heat["parts"].index("BioASQ")] == 0.712
    ranks = {table["task"]: table for table in found["paper_ranks"]}
    assert set(ranks) == {"unanswerable", "counterfactual"}
    assert [r["difference"] for r in ranks["counterfactual"]["rows"][:2]] == [-16, -16]
    text = write_leaderboard([runs], tmp_path / "p.html", with_published=True).read_text()
    rows = [row for table in blocks(text, "table") for row in table["rows"]]
    assert sum(row.get("tone") == "published" for row in rows) > 36
    assert "appendix C, Table 4" in words(text)


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("unanswerable", {"scheme": "cot"}),
        ("unanswerable", {"task-instruction": "off"}),
        ("counterfactual", {"only-phrase-filtered": "phrase"}),
    ],
)
def test_published_numbers_stay_out_of_other_settings(
    tmp_path: Path, task: str, options: dict[str, Any]
) -> None:
    benchmark_run(tmp_path / "a", "m", task, 0.5, options=options)
    with pytest.raises(UsageError, match="no published number belongs to these runs"):
        leaderboard_data([tmp_path], with_published=True)


def test_published_sycophancy_needs_the_same_instruction(tmp_path: Path) -> None:
    for setting in ("on", "off"):
        options = {"of": "inconsistent", "task-instruction": setting}
        benchmark_run(tmp_path / setting, "m", "original", 0.8, options=options)
    found = leaderboard_data([tmp_path], with_published=True)
    paper = row_of(found, "gpt-4o", "paper")["cells"]
    ids = {c["options"]["task-instruction"]: c["id"] for c in found["columns"]}
    assert paper[ids["off"]]["mean"] > paper[ids["on"]]["mean"]


def test_published_numbers_beside_a_limited_run_are_warned_about(tmp_path: Path) -> None:
    benchmark_run(tmp_path / "a", "m", "unanswerable", 0.5, limit=20, n=20)
    found = leaderboard_data([tmp_path], with_published=True)
    assert found["warnings"] == [
        "unanswerable: a ran with a limit; the published numbers are over the whole task."
    ]


def test_scoring_runs_are_named_by_their_folders(tmp_path: Path) -> None:
    score_run(tmp_path / "x" / "run", {"f1": 0.4})
    score_run(tmp_path / "y" / "run", {"f1": 0.6})
    found = leaderboard_data([tmp_path / "x", tmp_path / "y" / "run"])
    assert [row["name"] for row in found["rows"]] == ["y/run", "x/run"]
    assert found["warnings"] == []
    assert found["studies"] == found["datasets"] == []


def test_scatter_has_known_sizes_and_the_table_the_others(runs: Path, tmp_path: Path) -> None:
    page = write_leaderboard([runs], tmp_path / "l.html", with_published=True).read_text()
    (section,) = [one for one in blocks(page, "section") if one.get("id") == "sizes"]
    charts = blocks(section, "chart")
    assert len(charts) == 5
    assert all(chart["x"]["log"] for chart in charts)
    first = {one["name"]: one for one in charts[0]["series"]}
    own = first["meta-llama/Llama-3.1-70B-Instruct"]
    assert (own["x"], own["y"]) == ([70], [pytest.approx(0.48, abs=0.1)])
    assert own["low"][0] < own["y"][0] < own["high"][0]
    assert first["published"]["dashed"]
    assert len(first["published"]["x"]) == len(first["published"]["labels"]) > 5
    (table,) = blocks(section, "table")
    sizes = [row["cells"][1] for row in table["rows"] if row["cells"][1] is not None]
    assert sizes == sorted(sizes)
    unknown = {row["cells"][0][0] for row in table["rows"] if row["cells"][1] is None}
    assert {"our-own-model", "gpt-4o"} <= unknown


def test_one_file_without_names_of_folders(runs: Path, tmp_path: Path) -> None:
    text = write_leaderboard([runs], tmp_path / "l.html", with_published=True).read_text()
    assert "default-src 'none'" in text
    data = json.dumps(payload(text))
    for word in ("http://", "https://", "/secret", "2031-01", str(tmp_path)):
        assert word not in data


def test_every_part_of_the_page_has_its_numbers(runs: Path, tmp_path: Path) -> None:
    page = write_leaderboard([runs], tmp_path / "l.html", with_published=True).read_text()
    titles = [(one["id"], one["title"]) for one in blocks(page, "section")]
    assert titles == [
        ("board", "Scores"),
        ("sizes", "Score and model size"),
        ("combined", "Best model of each organization"),
        ("changes", "Original and new context"),
        ("matches", "Strict and loose matching"),
        ("ranks", "Published ranks"),
        ("datasets", "Dataset by dataset"),
        ("runs", "What each run was"),
        ("notes", "Notes"),
    ]
    for table in blocks(page, "table"):
        assert table["rows"]
        assert {len(row["cells"]) for row in table["rows"]} == {len(table["columns"])}


def test_runs_on_other_data_stand_apart(tmp_path: Path) -> None:
    for name, mean in (("a", 0.5), ("b", 0.4), ("c", 0.9)):
        sha = ("d" if name == "c" else "a") * 64
        benchmark_run(tmp_path / name, name, "counterfactual", mean,
                      input=[{"path": "x", "sha256": sha}])  # fmt: skip
    found = leaderboard_data([tmp_path])
    assert [row["name"] for row in found["rows"]] == ["a", "b", "c"]
    assert [row["best"] for row in found["rows"]] == [["c1"], [], []]
    assert found["rows"][2]["apart"] == {"c1": "over other data (checksum) than the other runs"}


def test_a_limited_run_beside_published_numbers_stands_apart(tmp_path: Path) -> None:
    benchmark_run(tmp_path / "a", "m", "unanswerable", 0.99, limit=20, n=20)
    rows = leaderboard_data([tmp_path], with_published=True)["rows"]
    assert (rows[-1]["name"], rows[-1]["best"]) == ("m", [])
    assert rows[-1]["apart"] == {"c1": "over 20 questions, published numbers are over all"}


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    name = '</script><img src=x onerror="hit()">{{7*7}}'
    benchmark_run(tmp_path / "a", name, "unanswerable", 0.5)
    benchmark_run(tmp_path / "b", "other", "unanswerable", 0.4)
    text = write_leaderboard([tmp_path], tmp_path / "l.html").read_text()
    assert "<img" not in text
    assert name in words(text)


def test_unfinished_and_foreign_folders_are_all_named(tmp_path: Path) -> None:
    benchmark_run(tmp_path / "runs" / "good", "m", "unanswerable", 0.5)
    benchmark_run(tmp_path / "runs" / "half", "m", "unanswerable", 0.5, status="interrupted")
    torn = benchmark_run(tmp_path / "runs" / "torn", "m", "unanswerable", 0.5)
    (torn / "summary.json").unlink()
    put(tmp_path / "runs" / "alien", {"name": "web app"}, {})
    broken = benchmark_run(tmp_path / "runs" / "broken", "m", "unanswerable", 0.5)
    (broken / "summary.json").write_text('{"metrics": {"f1": {"mean": "high"}}}')
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError) as caught:
        leaderboard_data([tmp_path / "runs", tmp_path / "empty", tmp_path / "nowhere"])
    lines = str(caught.value).splitlines()
    told = "\n".join(lines)
    assert "half: this run is unfinished (interrupted). Resume it by the call that began" in told
    assert "although the run in" in told
    assert "alien" in told
    assert "Expected `float | null`, got `str` - at `$.metrics[...].mean`" in told
    assert "empty holds no run" in told
    assert "nowhere is no folder" in told
    assert "good" not in told


def test_runs_more_than_two_levels_down_are_not_found(tmp_path: Path) -> None:
    benchmark_run(tmp_path / "a" / "b" / "c", "m", "unanswerable", 0.5)
    with pytest.raises(InputError, match="holds no run"):
        leaderboard_data([tmp_path])
    assert len(leaderboard_data([tmp_path / "a"])["rows"]) == 1


def test_only_our_own_page_is_replaced(runs: Path, tmp_path: Path) -> None:
    other = tmp_path / "thesis.html"
    other.write_text("<h1>Years of work</h1>")
    with pytest.raises(OutputError, match="no leaderboard page of ours"):
        write_leaderboard([runs], other)
    assert other.read_text() == "<h1>Years of work</h1>"
    (tmp_path / "leaderboard.html").write_text("mine")
    with pytest.raises(OutputError, match="no leaderboard page of ours"):
        write_leaderboard([runs], tmp_path)
    assert write_leaderboard([runs], tmp_path / "new") == tmp_path / "new" / "leaderboard.html"
    with pytest.raises(OutputError, match="does not exist; make it"):
        write_leaderboard([runs], tmp_path / "no" / "page.html")


def test_empty_and_null_means_draw(tmp_path: Path) -> None:
    metric = "choice_accuracy"
    for name in "ab":
        path = benchmark_run(tmp_path / name, name, "counterfactual", 0.5)
        summary = json.loads((path / "summary.json").read_text())
        none = {"mean": None, "ci": None, "n": 3, "scored": 0, "unscored": {"error": 3}}
        summary["metrics"][metric] = none
        (path / "summary.json").write_text(json.dumps(summary))
    text = write_leaderboard([tmp_path], tmp_path / "l.html").read_text()
    assert "3: the call failed" in words(text)
    assert "0 of 3 scored" in words(text)
    assert leaderboard_data([tmp_path])["rows"][0]["best"] == []
