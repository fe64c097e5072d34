"""Truly-Ground on the leaderboard: versions, baseline, sizes, definitions, sweeps; other scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.reports.leaderboard_fixture import benchmark_run
from tests.reports.payload import blocks, words
from tests.reports.truly_ground_fixture import (
    ACCURACY,
    F1,
    MODELS,
    OUTSIDE,
    VERSIONS,
    four_versions,
    grounding_run,
    length_and_position,
)
from typer.testing import CliRunner

from trueground.errors import InputError, UsageError
from trueground.stats.agreement import pearson, spearman
from trueground.studies.leaderboard.study import leaderboard_data, write_leaderboard


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return four_versions(tmp_path_factory.mktemp("four"))


@pytest.fixture(scope="module")
def data(runs: Path) -> dict[str, Any]:
    return leaderboard_data([runs])


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return length_and_position(tmp_path_factory.mktemp("sweep"))


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    path.write_text(OUTSIDE)
    return path


def one(rows: list[dict[str, Any]], name: str, source: bool = False) -> dict[str, Any]:
    (found,) = [r for r in rows if r["name"] == name and bool(r["source"]) == source]
    return found


def study(data: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [table for table in data["studies"] if table["id"] == name]


def means(table: dict[str, Any], row: dict[str, Any], measure: int = 0) -> dict[str, Any]:
    """Place (or measure, where there is one place) → mean."""
    if table["places"] == [""]:
        cells = [line[0] for line in row["cells"]]
        return dict(zip(table["measures"], [c and c["mean"] for c in cells], strict=True))
    cells = row["cells"][measure]
    return dict(zip(table["places"], [c and c["mean"] for c in cells], strict=True))


def test_models_with_their_own_presets_and_tokenizers_share_the_columns(
    data: dict[str, Any],
) -> None:
    assert [column["task"] for column in data["columns"]] == list(VERSIONS)
    assert [column["title"] for column in data["columns"]] == list(VERSIONS)
    assert data["warnings"] == []
    assert {run["options"]["preset"] for run in data["runs"]} == {"tulu", "vicuna"}
    assert all(column["higher_is_better"] for column in data["columns"])


def test_factors_stand_beside_the_published_ones(runs: Path, tmp_path: Path) -> None:
    found = leaderboard_data([runs], with_published=True)
    assert found["datasets"] == []
    tables = {split["title"]: split for split in found["factors"]}
    assert set(tables) == set(VERSIONS)
    gold = tables["original-gold"]
    assert {"popularity: high", "answer: free-form", "contexts: multi"} <= set(gold["parts"])
    paper = one(gold["rows"], "vicuna-7b-v1.5", source=True)
    assert paper["means"][gold["parts"].index("popularity: high")] == 0.4531  # Table 8
    assert paper["average"] == 0.5001
    ours = one(gold["rows"], "our-own-model")
    assert ours["means"][gold["parts"].index("contexts: multi")] == 0.61
    assert ours["counts"][gold["parts"].index("contexts: multi")] == 480
    page = write_leaderboard([runs], tmp_path / "f.html", with_published=True)
    assert "By factor" in words(page.read_text())


def test_drops_between_versions_with_their_rates(data: dict[str, Any]) -> None:
    (table,) = study(data, "versions")
    assert table["measures"] == [
        "grounding F1",
        "grounding precision",
        "grounding recall",
        "answer accuracy",
        "single context",
        "several contexts",
    ]
    assert table["metrics"][3] == ["answer_accuracy(match=substring,parts=each)"]
    assert table["places"] == list(VERSIONS)
    assert len(table["rows"]) == len(MODELS)
    row = one(table["rows"], "lmsys/vicuna-7b-v1.5")
    assert means(table, row) == dict(zip(VERSIONS, (0.50, 0.45, 0.48, 0.40), strict=True))
    told = {(d["before"], d["after"]): (d["difference"], d["relative"]) for d in row["changes"][0]}
    assert told == {
        ("original-gold", "original-dist"): (pytest.approx(-0.05), pytest.approx(0.1)),
        ("conflict-gold", "conflict-dist"): (pytest.approx(-0.08), pytest.approx(0.08 / 0.48)),
        ("original-gold", "conflict-gold"): (pytest.approx(-0.02), pytest.approx(0.04)),
        ("original-dist", "conflict-dist"): (pytest.approx(-0.05), pytest.approx(0.05 / 0.45)),
    }
    gained = one(table["rows"], "our/strange-3b-model")["changes"][0][0]
    assert gained["relative"] == pytest.approx(-0.05)
    lost = row["changes"][4][0], row["changes"][5][0]  # single, several contexts
    assert [d["relative"] for d in lost] == pytest.approx([0.05 / 0.52, 0.05 / 0.4])


def test_a_missing_version_and_a_mean_of_zero_have_no_rate(tmp_path: Path) -> None:
    grounding_run(tmp_path / "a", "m", "original-gold", 0.0)
    grounding_run(tmp_path / "b", "m", "original-dist", 0.1)
    grounding_run(tmp_path / "c", "m", "conflict-gold", 0.2)
    (table,) = study(leaderboard_data([tmp_path]), "versions")
    assert table["places"] == ["original-gold", "original-dist", "conflict-gold"]
    drops = {(d["before"], d["after"]): d for d in table["rows"][0]["changes"][0]}
    assert drops["original-gold", "original-dist"]["difference"] == pytest.approx(0.1)
    assert drops["original-gold", "original-dist"]["relative"] is None
    assert len(drops) == 2
    assert study(leaderboard_data([tmp_path / "a"]), "versions") == []


def test_versions_are_drawn_as_lines_and_the_share_lost_by_size(runs: Path, tmp_path: Path) -> None:
    page = write_leaderboard([runs], tmp_path / "l.html").read_text()
    (section,) = [one for one in blocks(page, "section") if one.get("id") == "versions"]
    charts = {chart["title"]: chart for chart in blocks(section, "chart")}
    lines = charts["Grounding from version to version: grounding F1"]
    assert lines["x"]["ticks"] == list(VERSIONS)
    drawn = {one["name"]: one["y"] for one in lines["series"]}
    assert drawn["lmsys/vicuna-7b-v1.5"] == [0.50, 0.45, 0.48, 0.40]
    lost = charts["Share lost by size: original-gold → original-dist"]
    (point,) = [one for one in lost["series"] if one["name"] == "lmsys/vicuna-7b-v1.5"]
    assert (point["x"], point["y"]) == ([7], [pytest.approx(0.1)])


def test_degradation_against_a_baseline(runs: Path) -> None:
    (table,) = study(leaderboard_data([runs], baseline="TULU-2-7b"), "baseline")
    assert table["baseline"] == table["rows"][0]["name"] == "allenai/tulu-2-7b"
    assert len(table["rows"]) == len(MODELS)  # the baseline is the first

    def rates(name: str) -> dict[str, float]:
        changes = one(table["rows"], name)["changes"][0]
        return {d["before"]: d["relative"] for d in changes}

    dpo = rates("allenai/tulu-2-dpo-7b")
    assert dpo["original-gold"] == pytest.approx((0.59 - 0.51) / 0.59)
    assert rates("our-own-model")["conflict-dist"] < 0
    assert study(leaderboard_data([runs]), "baseline") == []
    with pytest.raises(
        UsageError, match=r"--baseline gpt-9: no run of that model.*allenai/tulu-2-70b"
    ):
        leaderboard_data([runs], baseline="gpt-9")


def test_the_papers_rates_come_out_of_the_papers_numbers(runs: Path) -> None:
    found = leaderboard_data([runs], baseline="tulu-2-7b", with_published=True)
    ours, paper = sorted(study(found, "baseline"), key=lambda t: bool(t["rows"][0]["source"]))
    assert ours["rows"][0]["source"] is None
    changes = one(paper["rows"], "tulu-2-dpo-7b", True)["changes"][0]
    rates = {d["before"]: d["relative"] for d in changes}
    printed = {"original-dist": 0.176, "conflict-gold": 0.064, "conflict-dist": 0.135}
    for task, rate in printed.items():
        assert rates[task] == pytest.approx(rate, abs=0.0005)


def test_published_numbers_stand_beside_ours(runs: Path, tmp_path: Path) -> None:
    found = leaderboard_data([runs], with_published=True)
    ids = {column["task"]: column["id"] for column in found["columns"]}
    row = one(found["rows"], "tulu-2-70b", True)
    cell = row["cells"][ids["original-gold"]]
    assert cell["mean"] == 0.5961  # Table 8, not Table 1's 0.619
    assert "Table 8" in cell["place"]
    chat = one(found["rows"], "Llama-2-70b-chat", True)["cells"][ids["conflict-gold"]]
    assert (chat["mean"], "Table 1" in chat["place"]) == (0.563, True)
    counts = {
        task: sum(bool(r["source"]) and key in r["cells"] for r in found["rows"])
        for task, key in ids.items()
    }
    assert counts == dict(zip(VERSIONS, (25, 21, 25, 22), strict=True))
    assert not any(r["name"].endswith("(2)") for r in found["rows"])
    accuracy = next(d for d in study(found, "definitions") if d["group"] == "original-gold")
    llama = one(accuracy["rows"], "Llama-2-13b", True)
    assert list(means(accuracy, llama).values()) == [0.8156, 0.2609]
    sources = {c["source"]: c["spearman"]["n"] for c in accuracy["over_models"]}
    assert sources[None] == len(MODELS)
    assert sorted(sources.values()) == [7, 12]
    size = next(t for t in study(found, "groundingsizes") if t["group"] == "original-gold")
    vicuna = one(size["rows"], "vicuna-33b-v1.3", True)
    assert list(means(size, vicuna).values()) == [0.4471, 0.4621, 0.3723]
    (warning, *_rest) = found["warnings"]
    assert "judged by ms-marco-MiniLM-L-12-v2" in warning
    assert "by lexical" in warning
    text = write_leaderboard([runs], tmp_path / "p.html", with_published=True).read_text()
    assert "Lee et al. 2024" in words(text)


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({"budget": "4096"}, 1),
        ({"budget": "1024"}, 0),
        ({"gold-position": "end"}, 0),
        ({"budget": "4096", "gold-position": "end"}, 1),
        ({"distractors": "2k_distractor", "budget": "all"}, 21),
        ({"distractors": "other", "budget": "all"}, 0),
        ({"retriever": "dense|x"}, 21),
    ],
)
def test_published_numbers_need_the_same_length_and_position(
    tmp_path: Path, options: dict[str, Any], count: int
) -> None:
    grounding_run(tmp_path / "a", "m", "original-dist", 0.5, options=options)
    if not count:
        with pytest.raises(UsageError, match="no published number belongs to these runs"):
            leaderboard_data([tmp_path], with_published=True)
        return
    rows = leaderboard_data([tmp_path], with_published=True)["rows"]
    assert len([row for row in rows if row["source"]]) == count


def test_the_papers_own_judge_is_no_reason_for_a_warning(tmp_path: Path) -> None:
    judge = {"name": "cross-encoder", "signature": "cross-encoder/ms-marco-MiniLM-L-12-v2|t:6"}
    changes = {"judge": judge}
    grounding_run(
        tmp_path / "a", "m", "original-gold", 0.5, label="@cross-encoder", changes=changes
    )
    found = leaderboard_data([tmp_path], with_published=True)
    (code,) = found["warnings"]  # only that the headline is not the paper's
    assert "--preset paper" in code
    assert found["columns"][0]["metric"] == "grounding_f1(scope=gold)@cross-encoder"
    assert found["columns"][0]["higher_is_better"] is True
    assert len(found["rows"]) == 26


def test_sizes_from_the_table_else_from_the_name(
    data: dict[str, Any], runs: Path, tmp_path: Path
) -> None:
    tables = study(data, "groundingsizes")
    assert [t["group"] for t in tables] == list(VERSIONS)
    for table in tables:
        sizes = [tuple(row["size"]) for row in table["rows"]]
        assert sizes == sorted(sizes, key=lambda size: size[0])
        assert sizes[0] == (3, "name")
        assert sizes[-1] == (70, "models table")
        assert table["missing"] == ["our-own-model"]
    values = means(tables[0], one(tables[0]["rows"], "lmsys/vicuna-7b-v1.5"))
    assert list(values.values()) == pytest.approx([0.5, 0.52, 0.4])
    page = write_leaderboard([runs], tmp_path / "l.html").read_text()
    (section,) = [one for one in blocks(page, "section") if one.get("id") == "groundingsizes"]
    for chart, table in zip(blocks(section, "chart"), tables, strict=True):
        assert chart["x"]["log"]
        series = {one["name"]: one["x"] for one in chart["series"]}
        assert list(series) == ["grounding F1", "single context", "several contexts"]
        assert {len(xs) for xs in series.values()} == {len(table["rows"])}


def test_a_split_that_is_not_there_leaves_the_whole(tmp_path: Path) -> None:
    for k in (3, 7, 13):
        grounding_run(tmp_path / str(k), f"m-{k}b", "original-gold", 0.3 + k / 100, split=False)
    (table,) = study(leaderboard_data([tmp_path]), "groundingsizes")
    assert all(row["cells"][1] == [None] for row in table["rows"])
    page = write_leaderboard([tmp_path], tmp_path / "l.html").read_text()
    chart = next(c for c in blocks(page, "chart") if c["title"] == "original-gold")
    assert [len(one["x"]) for one in chart["series"]] == [3]


def test_earlier_definitions_beside_the_strict_one(
    data: dict[str, Any], runs: Path, tmp_path: Path
) -> None:
    found = study(data, "definitions")
    assert [(d["measures"][0], d["group"]) for d in found] == [
        (name, version) for name in ("answer accuracy", "context entails") for version in VERSIONS
    ]
    first, second = found[0], found[4]
    assert first["metrics"] == [
        ["answer_accuracy(match=substring,parts=each)"],
        ["grounding_f1(scope=gold)"],
    ]
    assert second["metrics"] == [["context_entails"], ["grounding_f1(scope=gold)"]]
    x, y = ([row["cells"][k][0]["mean"] for row in first["rows"]] for k in (0, 1))
    (over,) = first["over_models"]
    assert over["spearman"]["value"] == pytest.approx(spearman(x, y))
    assert over["pearson"]["value"] == pytest.approx(pearson(x, y))
    assert over["spearman"]["n"] == len(MODELS)
    assert over["spearman"]["ci"][0] <= over["spearman"]["value"] <= over["spearman"]["ci"][1]
    page = write_leaderboard([runs], tmp_path / "l.html").read_text()
    (section,) = [one for one in blocks(page, "section") if one.get("id") == "definitions"]
    chart = blocks(section, "chart")[0]
    assert {(s["x"][0], s["y"][0]) for s in chart["series"]} == set(zip(x, y, strict=True))
    assert f"Spearman {over['spearman']['value']:+.2f}".replace("-", "−") in words(page)


def test_a_model_that_was_run_twice_counts_once_in_a_correlation(tmp_path: Path) -> None:
    for k, model in enumerate("aaabc"):
        grounding_run(tmp_path / str(k), model, "original-gold", 0.3 + k / 20, 0.5 + k / 20)
    definition = study(leaderboard_data([tmp_path]), "definitions")[0]
    assert len(definition["rows"]) == 5
    assert definition["over_models"][0]["spearman"]["n"] == 3


def test_lines_over_length_and_position(swept: Path, runs: Path, tmp_path: Path) -> None:
    found = leaderboard_data([swept, runs])
    (curve,) = study(found, "lengths")
    assert curve["places"] == ["512", "1024", "2048", "4096"]
    assert curve["measures"][0] == "grounding F1"
    assert curve["group"] == "original-dist"
    row = one(curve["rows"], "lmsys/vicuna-7b-v1.5")
    assert list(means(curve, row).values()) == [0.5, 0.44, 0.45, 0.40]
    names = {row["name"] for row in curve["rows"]}
    assert names == {"lmsys/vicuna-7b-v1.5", "lmsys/vicuna-13b-v1.5"}
    (positions,) = study(found, "positions")
    assert positions["places"] == ["beginning", "middle", "end", "random"]
    page = write_leaderboard([swept, runs], tmp_path / "l.html").read_text()
    drawn = [c for c in blocks(page, "chart") if c["title"] == "original-dist: grounding F1"]
    assert [one["x"] for one in drawn[0]["series"]] == [[512, 1024, 2048, 4096]] * 2
    assert drawn[1]["x"]["ticks"] == positions["places"]
    # Rows of a group are the models that saw its distractors.
    small = [t for t in study(found, "versions") if t["group"].startswith("budget=512")]
    assert small
    assert all(len(table["rows"]) == 2 for table in small)
    assert study(leaderboard_data([runs]), "lengths") == []


def test_outside_scores_by_name_and_alias(runs: Path, csv: Path) -> None:
    found = leaderboard_data([runs], outside=csv)["outside"]
    assert (found["file"], found["unmatched"]) == ("scores.csv", ["somebody-else"])
    assert sorted(found["missing"]) == ["allenai/tulu-2-dpo-7b", "our/strange-3b-model"]
    assert [(s["score"], s["title"]) for s in found["scores"]] == [
        (name, version) for name in ("MMLU", "RULES") for version in VERSIONS
    ]
    mmlu, rules = found["scores"][0], found["scores"][4]
    pairs = {row["name"]: (row["outside"], row["mean"]) for row in mmlu["rows"]}
    assert pairs["lmsys/vicuna-13b-v1.5"] == (55.8, 0.61)
    assert len(pairs) == 5
    assert len(rules["rows"]) == 4  # an empty cell is an unknown score
    (over,) = mmlu["over_models"]
    x, y = zip(*pairs.values(), strict=True)
    assert over["pearson"]["value"] == pytest.approx(pearson(x, y))
    assert over["spearman"]["value"] == pytest.approx(spearman(x, y))
    assert (over["pearson"]["n"], over["pearson"]["ci_level"]) == (5, 0.95)
    assert leaderboard_data([runs], outside=csv)["outside"] == found
    assert leaderboard_data([runs])["outside"] is None


def test_too_few_models_and_constant_scores_have_no_correlation(runs: Path, tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text(
        "model,few,flat\nour-own-model,1,5\ntulu-2-7b,2,5\ntulu-2-70b,,5\n", encoding="utf-8"
    )
    few, flat = (
        next(s for s in leaderboard_data([runs], outside=path)["outside"]["scores"]
             if s["score"] == name)
        for name in ("few", "flat")
    )  # fmt: skip
    assert few["over_models"][0]["pearson"] == {
        "value": None, "ci": None, "ci_level": 0.95, "n": 2, "why": "2 of at least 3 pairs",
    }  # fmt: skip
    told = flat["over_models"][0]["spearman"]
    assert (told["value"], told["why"]) == (None, "the first score is the same for all")
    page = write_leaderboard([runs], tmp_path / "l.html", outside=path).read_text()
    assert "no correlation over 2 models of at least 3" in words(page)
    assert "the first score is the same for all" in words(page)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name,MMLU\na,1\n", "line 1: found name, MMLU; expected `model`"),
        ("", "line 1: found nothing"),
        ("model,x,x\na,1,2\n", "each once"),
        ("model,x\n", "no model below the head line"),
        ("model,x\na,1\na,2\n", "line 3: 'a' is the same model as 'a' above"),
        ("model,x\ntulu-2-7b,1\nallenai/tulu-2-7b,2\n", "the same model as 'tulu-2-7b'"),
        ("model,x\na,1,2\n", "line 2: found 3 cells, expected 2"),
        ("model,x\na,high\n", "line 2, column x: found 'high', expected a number"),
        ("model,x\na,nan\n", "expected a number"),
        ("model,x\na,inf\n", "expected a number"),
    ],
)
def test_a_file_that_is_no_table_of_scores(
    runs: Path, tmp_path: Path, text: str, told: str
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        leaderboard_data([runs], outside=path)
    assert told in str(caught.value)
    assert str(path) in str(caught.value)


def test_outside_files_that_cannot_be_read(runs: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        leaderboard_data([runs], outside=tmp_path / "none.csv")
    (tmp_path / "raw.csv").write_bytes(b"model,x\n\xff\xfe,1\n")
    with pytest.raises(InputError, match="no CSV in UTF-8"):
        leaderboard_data([runs], outside=tmp_path / "raw.csv")


def test_outside_scores_belong_to_any_benchmark(tmp_path: Path, csv: Path) -> None:
    for k, model in enumerate(("tulu-2-7b", "tulu-2-70b", "our-own-model")):
        benchmark_run(tmp_path / "r" / str(k), model, "counterfactual", 0.4 + k / 10)
    found = leaderboard_data([tmp_path / "r"], outside=csv)
    assert found["outside"]["scores"][0]["over_models"][0]["spearman"]["value"] == 1
    assert found["studies"] == []


def test_the_command_takes_baseline_and_outside(runs: Path, tmp_path: Path, csv: Path) -> None:
    from trueground.cli.app import app

    out = tmp_path / "l.html"
    command = ["report", str(runs), "--out", str(out), "--baseline", "tulu-2-7b"]
    result = CliRunner().invoke(app, [*command, "--outside", str(csv), "--format", "json"])
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    assert shown.keys() >= {"studies", "outside", "page"}
    assert shown["studies"] == leaderboard_data([runs], baseline="tulu-2-7b")["studies"]
    assert shown["outside"] == leaderboard_data([runs], outside=csv)["outside"]
    assert "Loss against allenai/tulu-2-7b" in words(out.read_text())
    one_run = str(next(runs.iterdir()))
    for option in (["--baseline", "x"], ["--outside", str(csv)]):
        refused = CliRunner().invoke(app, ["report", one_run, *option])
        assert refused.exit_code != 0


def test_order_of_the_runs_does_not_matter(swept: Path, runs: Path, tmp_path: Path) -> None:
    folders = [*sorted(runs.iterdir()), *sorted(swept.iterdir())]
    first = write_leaderboard(folders, tmp_path / "a.html").read_bytes()
    assert write_leaderboard(folders[::-1], tmp_path / "b.html").read_bytes() == first


def test_no_drop_is_told_between_runs_that_were_scored_otherwise(tmp_path: Path) -> None:
    runs = four_versions(tmp_path)
    manifests = {path: json.loads(path.read_text()) for path in runs.rglob("manifest.json")}
    changed, manifest = next(
        (p, m) for p, m in manifests.items() if m["benchmark"]["task"] == "original-dist"
    )
    model = manifest["model"]["name"]
    manifest["metrics"] = {F1: f"{F1}|judge:other"}
    changed.write_text(json.dumps(manifest))
    data = leaderboard_data([runs])
    warning = next(w for w in data["warnings"] if "not scored alike" in w)
    assert changed.parent.name in warning
    row = one(study(data, "versions")[0]["rows"], model)
    drops = {(d["before"], d["after"]): d["difference"] for d in row["changes"][0]}
    assert drops["original-gold", "original-dist"] is None
    assert drops["original-gold", "conflict-gold"] is not None


def test_counting_by_characters_in_some_runs_is_told(tmp_path: Path) -> None:
    runs = four_versions(tmp_path)
    for path in runs.rglob("manifest.json"):
        manifest = json.loads(path.read_text())
        if manifest["benchmark"]["task"] == "original-dist" and "tulu" in path.read_text():
            manifest["benchmark"]["options"]["tokenizer"] = "4 characters a token"
            path.write_text(json.dumps(manifest))
    told = [w for w in leaderboard_data([runs])["warnings"] if "tokens by which" in w]
    assert len(told) == 1
    assert "4 characters a token in" in told[0]


def test_a_file_of_other_models_is_told(runs: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("model,MMLU\nnobodys-model,50\n")
    warnings = leaderboard_data([runs], outside=other)["warnings"]
    assert [w for w in warnings if "nobodys-model" in w and "has a run here" in w]


def test_the_closed_book_is_no_version_to_be_scored_alike(tmp_path: Path) -> None:
    runs = four_versions(tmp_path)
    for path in runs.rglob("manifest.json"):
        manifest = json.loads(path.read_text())
        path.write_text(json.dumps(manifest | {"metrics": {F1: "grounding_f1|judge:lexical-2"}}))
    model = next(iter(MODELS))
    closed = grounding_run(runs / "closed", model, "no-context", 0.2)
    manifest = json.loads((closed / "manifest.json").read_text())
    manifest["benchmark"]["headline"] = ACCURACY
    manifest["metrics"] = {ACCURACY: "answer_accuracy|v:1"}
    (closed / "manifest.json").write_text(json.dumps(manifest))
    assert not [w for w in leaderboard_data([runs])["warnings"] if "not scored alike" in w]
