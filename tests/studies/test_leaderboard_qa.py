"""instruct-qa on the leaderboard: plane, abstention, retrievers, instructions; the paper's rows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.reports.instruct_qa_fixture import (
    MODELS,
    PLAIN,
    RETRIEVERS,
    WITH_PASSAGE,
    N,
    qa_run,
    retriever_study,
    study,
)
from tests.reports.leaderboard_fixture import benchmark_run
from tests.reports.payload import blocks, payload, words
from tests.texts import leaderboard_text
from tests.wings.papers.instruct_qa_files import world

import trueground as tg
from trueground.errors import UsageError
from trueground.studies.leaderboard.board import short_names
from trueground.studies.leaderboard.study import leaderboard_data, write_leaderboard

SETTINGS = ("retrieved", "gold")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def data(runs: Path) -> dict[str, Any]:
    return leaderboard_data([runs])


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return retriever_study(tmp_path_factory.mktemp("retrievers"))


@pytest.fixture(scope="module")
def published(runs: Path) -> dict[str, Any]:
    return leaderboard_data([runs], with_published=True)


def one(rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (found,) = [row for row in rows if row["name"] == name]
    return found


def tables(data: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [table for table in data["studies"] if table["id"] == name]


def cell(table: dict[str, Any], row: dict[str, Any], measure: str, place: str = "") -> Any:
    """What the model has of a measure at a place."""
    return row["cells"][table["measures"].index(measure)][table["places"].index(place)]


def change(table: dict[str, Any], row: dict[str, Any], measure: str) -> dict[str, Any]:
    """How the measure changes in the first step."""
    return dict(row["changes"][table["measures"].index(measure)][0])


def values(runs: Path, model: str, setting: str, instruction: str, metric: str) -> list[float]:
    """The metric's scores, read from the items again."""
    folder = runs / f"{model.rpartition('/')[2]}-nq-{setting}-{instruction}"
    lines = (folder / "items.jsonl").read_text().splitlines()
    scores = [json.loads(line)["scores"].get(metric) for line in lines]
    return [score for score in scores if score is not None]


def mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


def test_nothing_is_said_of_other_benchmarks(tmp_path: Path) -> None:
    benchmark_run(tmp_path / "a", "m", "unanswerable", 0.5)
    found = leaderboard_data([tmp_path])
    assert not {table["id"] for table in found["studies"]} & {"plane", "abstention"}


def test_column_titles_name_no_option_that_a_setting_has_not(data: dict[str, Any]) -> None:
    assert {column["title"] for column in data["columns"]} == {
        f"nq (instruction={instruction}, setting={setting})"
        for setting in ("retrieved", "gold", "irrelevant")
        for instruction in ("v1", "v2")
    }


def test_planes_have_recall_and_k_precision_of_the_items(data: dict[str, Any], runs: Path) -> None:
    planes = tables(data, "plane")
    asked = [(setting, version) for setting in SETTINGS for version in ("v1", "v2")]
    assert [plane["group"] for plane in planes] == [f"nq, {s}, {v}" for s, v in asked]
    for plane, (setting, instruction) in zip(planes, asked, strict=True):
        key = WITH_PASSAGE if instruction == "v2" else PLAIN
        assert plane["metrics"] == [["recall"], [key]]
        assert {row["name"] for row in plane["rows"]} == set(MODELS)
        recalls = [cell(plane, row, "recall")["mean"] for row in plane["rows"]]
        assert recalls == sorted(recalls, reverse=True)
        for row in plane["rows"]:
            for measure, metric in (("recall", "recall"), ("k_precision", key)):
                expected = mean(values(runs, row["name"], setting, instruction, metric))
                found = cell(plane, row, measure)
                assert found["mean"] == pytest.approx(expected)
                assert found["ci"][0] < expected < found["ci"][1]


def test_charts_have_every_model_with_both_numbers(
    data: dict[str, Any], runs: Path, tmp_path: Path
) -> None:
    page = write_leaderboard([runs], tmp_path / "p.html").read_text()
    for name in ("plane", "abstention"):
        (section,) = [one for one in blocks(page, "section") if one.get("id") == name]
        charts = blocks(section, "chart")
        for chart, table in zip(charts, tables(data, name), strict=True):
            across = table.get("across", 0)
            points = {(s["name"], s["x"][0], s["y"][0]) for s in chart["series"]}
            assert points == {
                (row["name"], row["cells"][across][0]["mean"], row["cells"][1 - across][0]["mean"])
                for row in table["rows"]
            }
            assert chart.get("diagonal", False) == (name == "abstention")


def test_abstention_pairs_the_irrelevant_run_with_the_gold_one(
    data: dict[str, Any], runs: Path
) -> None:
    found = tables(data, "abstention")
    assert [t["group"] for t in found] == ["nq, v1", "nq, v2"]
    for table, version in zip(found, ("v1", "v2"), strict=True):
        assert table["measures"] == ["P_IR (higher)", "P_G (lower)"]
        rates = [[line[0]["mean"] for line in row["cells"]] for row in table["rows"]]
        ahead = [p_ir - p_g for p_ir, p_g in rates]
        assert ahead == sorted(ahead, reverse=True)
        for row, (p_ir, p_g) in zip(table["rows"], rates, strict=True):
            wrong = values(runs, row["name"], "gold", version, "abstained")
            right = values(runs, row["name"], "irrelevant", version, "abstained")
            tp, fp = sum(right), sum(wrong)
            fn, tn = len(right) - tp, len(wrong) - fp
            assert tp + fn == fp + tn == N - N // 20
            counts = row["declining"]
            names = ("declined", "missed", "declined_wrongly", "answered")
            assert [counts[name] for name in names] == [tp, fn, fp, tn]
            assert p_ir == counts["recall"] == pytest.approx(tp / (tp + fn))
            assert p_g == pytest.approx(fp / (fp + tn))
            assert counts["precision"] == pytest.approx(tp / (tp + fp))
            assert counts["f1"] == pytest.approx(2 * tp / (2 * tp + fp + fn))
            assert counts["common"] is None
            assert len(row["runs"]) == 2


def test_a_model_that_never_declines_has_no_precision(tmp_path: Path) -> None:
    for setting, rate in (("irrelevant", "p_ir"), ("gold", "p_g")):
        folder = qa_run(tmp_path / setting, "our/model-7b", setting)
        summary = json.loads((folder / "summary.json").read_text())
        summary["metrics"][rate]["mean"] = 0.0
        (folder / "summary.json").write_text(json.dumps(summary))
    (table,) = tables(leaderboard_data([tmp_path]), "abstention")
    (row,) = table["rows"]
    counts = row["declining"]
    assert (counts["precision"], counts["recall"], counts["f1"]) == (None, 0.0, 0.0)
    assert tables(leaderboard_data([tmp_path / "gold"]), "abstention") == []


def test_runs_that_were_asked_otherwise_are_no_pair(tmp_path: Path) -> None:
    qa_run(tmp_path / "a", "our/model-7b", "irrelevant", options={"preset": "paper"})
    qa_run(tmp_path / "b", "our/model-7b", "gold")
    assert tables(leaderboard_data([tmp_path]), "abstention") == []


def test_one_run_may_hold_both_kinds_of_questions(tmp_path: Path) -> None:
    folder = qa_run(tmp_path / "a", "our/model-7b", "retrieved", "v2", "questions")
    summary = json.loads((folder / "summary.json").read_text())
    known = {"ci": None, "n": 20, "scored": 10, "unscored": {"not_applicable": 10}}
    summary["metrics"] |= {"p_ir": known | {"mean": 0.9}, "p_g": known | {"mean": 0.2}}
    (folder / "summary.json").write_text(json.dumps(summary))
    (table,) = tables(leaderboard_data([tmp_path]), "abstention")
    assert table["group"] == "questions, retrieved, v2"
    (row,) = table["rows"]
    assert (row["declining"]["declined"], row["declining"]["missed"]) == (9, 1)
    assert row["runs"] == ["a"]


def test_retrievers_beside_each_other_with_how_often_they_found_the_gold(swept: Path) -> None:
    (table,) = tables(leaderboard_data([swept]), "retrievers")
    assert (table["group"], table["places"]) == ("hotpotqa, v1", sorted(RETRIEVERS))
    assert table["metrics"][:2] == [["recall"], [PLAIN]]
    assert {row["name"] for row in table["rows"]} == set(list(MODELS)[:2])
    for row in table["rows"]:
        shares = dict(zip(table["places"], row["cells"][2], strict=True))
        for share in shares.values():
            lines = (swept.parent / share["run"] / "items.jsonl").read_text().splitlines()
            retrieved = [json.loads(line)["meta"]["gold_retrieved"] for line in lines]
            assert (share["mean"], share["n"]) == (sum(retrieved) / N, N)
        means = {place: cell(table, row, "recall", place)["mean"] for place in table["places"]}
        assert means["multi-hop:dense:org/encoder"] > means["dense:org/encoder"]


def test_one_retriever_is_no_study_and_no_gold_no_share(
    data: dict[str, Any], tmp_path: Path
) -> None:
    assert tables(data, "retrievers") == []
    for name in ("bm25", "dense:x"):
        folder = qa_run(
            tmp_path / name.partition(":")[0], "our/model-7b", "retrieved", task="questions",
            options={"retriever": name},
        )  # fmt: skip
        summary = json.loads((folder / "summary.json").read_text())
        summary["by"] = {}  # P_G is of questions that the user calls answerable
        assert summary["metrics"]["p_g"]["scored"]
        (folder / "summary.json").write_text(json.dumps(summary))
    (table,) = tables(leaderboard_data([tmp_path]), "retrievers")
    assert "gold retrieved" not in table["measures"]


def test_instructions_with_their_changes(data: dict[str, Any], runs: Path) -> None:
    found = tables(data, "instructions")
    assert [t["group"] for t in found] == ["nq, retrieved", "nq, gold"]
    for table, setting in zip(found, SETTINGS, strict=True):
        keys = {
            "Recall": ("recall",) * 2,
            "K-Precision": (PLAIN, WITH_PASSAGE),
            "P_G": ("p_g",) * 2,
        }
        assert table["measures"] == [*keys, "gold retrieved"]
        for row in table["rows"]:
            for measure, names in keys.items():
                before, after = (
                    mean(values(runs, row["name"], setting, version, key))
                    for version, key in zip(("v1", "v2"), names, strict=True)
                )
                told = change(table, row, measure)
                assert cell(table, row, measure, "v1")["mean"] == pytest.approx(before)
                assert told["difference"] == pytest.approx(after - before)
                if measure == "P_G":
                    assert told["relative"] is None
                else:
                    assert told["relative"] == pytest.approx((after - before) / before)
    gold = [cell(found[1], row, "gold retrieved", "v2")["mean"] for row in found[1]["rows"]]
    assert gold == [1.0] * len(MODELS)


def test_the_papers_numbers_stand_beside_ours(published: dict[str, Any]) -> None:
    plane = tables(published, "plane")[0]
    assert plane["group"] == "nq, retrieved, v1"
    names = {row["name"] for row in plane["rows"] if row["source"]}
    assert names == {"flan-t5-xxl", "alpaca-7b", "gpt-3.5-turbo", "Llama-2-7b-chat", "fid-base"}
    assert plane["rows"][-1]["name"] == "fid-base"
    assert plane["rows"][-1]["cells"][1] == [None]
    flan = one(plane["rows"], "flan-t5-xxl")
    assert [line[0]["mean"] for line in flan["cells"]] == [0.5403, 0.9659]
    assert "Table 4" in flan["cells"][0][0]["place"]
    v1, v2 = tables(published, "abstention")
    assert not [row for row in v1["rows"] if row["source"]]
    llama = one(v2["rows"], "Llama-2-7b-chat")
    assert [line[0]["mean"] for line in llama["cells"]] == [0.978, 0.578]
    assert llama["declining"] is None
    (table,) = [t for t in tables(published, "instructions") if t["group"] == "nq, retrieved"]
    gpt = one(table["rows"], "gpt-3.5-turbo")
    assert change(table, gpt, "Recall")["relative"] == pytest.approx(-0.4119, abs=5e-5)
    assert cell(table, gpt, "K-Precision", "v2")["mean"] == 0.9627
    assert cell(table, gpt, "gold retrieved", "v2")["mean"] == 0.3679
    rows = {row["name"] for row in published["rows"] if row["source"]}
    assert "fid-base" in rows


def test_the_papers_gold_numbers_are_under_their_own_instruction(tmp_path: Path) -> None:
    qa_run(tmp_path / "a", "our/model-7b", "gold", "v1")
    found = leaderboard_data([tmp_path], with_published=True)
    (plane,) = tables(found, "plane")
    assert plane["rows"][0]["name"] == "our/model-7b"
    gpt = one(plane["rows"], "gpt-3.5-turbo")
    assert (gpt["cells"][0], gpt["cells"][1][0]["mean"]) == ([None], 0.655)
    assert "Table 6" in gpt["cells"][1][0]["place"]


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("nq", {"passages": "4"}),
        ("topiocqa", {"passages": "8"}),
        ("questions", {}),
    ],
)
def test_published_numbers_need_the_same_passages(
    tmp_path: Path, task: str, options: dict[str, Any]
) -> None:
    qa_run(tmp_path / "a", "our/model-7b", "retrieved", task=task, options=options)
    with pytest.raises(UsageError, match="no published number belongs to these runs"):
        leaderboard_data([tmp_path], with_published=True)


def test_published_rates_need_the_papers_rank(tmp_path: Path) -> None:
    near = {"irrelevant-rank": "30"}
    qa_run(tmp_path / "near", "our/model-7b", "irrelevant", "v2", options=near)
    with pytest.raises(UsageError, match="no published number belongs to these runs"):
        leaderboard_data([tmp_path], with_published=True)
    qa_run(tmp_path / "far", "our/model-70b", "irrelevant", "v2")
    found = leaderboard_data([tmp_path], with_published=True)
    columns = {c["id"]: c["options"]["irrelevant-rank"] for c in found["columns"]}
    beside = {columns[key] for row in found["rows"] if row["source"] for key in row["cells"]}
    assert beside == {"1000"}


def test_no_gold_passage_found_is_a_share_of_none(tmp_path: Path) -> None:
    for name in ("bm25", "dense:x"):
        qa_run(
            tmp_path / name.partition(":")[0], "our/model-7b", "retrieved", shift=-0.6,
            options={"retriever": name},
        )  # fmt: skip
    (table,) = tables(leaderboard_data([tmp_path]), "retrievers")
    golds = table["rows"][0]["cells"][2]
    assert [(gold["mean"], gold["n"]) for gold in golds] == [(0.0, N)] * 2


def test_the_retriever_study_leaves_the_paper_out(swept: Path) -> None:
    found = leaderboard_data([swept], with_published=True)
    assert any(row["source"] for row in found["rows"])
    (table,) = tables(found, "retrievers")
    assert {row["name"] for row in table["rows"]} == set(list(MODELS)[:2])


def test_the_page_has_every_study_and_needs_no_network(
    runs: Path, swept: Path, tmp_path: Path
) -> None:
    page = write_leaderboard([runs, swept], tmp_path / "p.html", with_published=True).read_text()
    parts = {one["id"]: one for one in blocks(page, "section")}
    for name in ("plane", "abstention", "retrievers", "instructions"):
        assert blocks(parts[name], "chart")
        assert blocks(parts[name], "table")
        assert "None" not in words(parts[name])
    assert "://" not in json.dumps(payload(page))


def test_names_are_text(tmp_path: Path) -> None:
    qa_run(tmp_path / "a", "our/model-7b", "retrieved", options={"retriever": "<b>&x"})
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_text())
    manifest["model"]["name"] = "<script>alert(1)</script>"
    (tmp_path / "a" / "manifest.json").write_text(json.dumps(manifest))
    text = write_leaderboard([tmp_path], tmp_path / "p.html").read_text()
    assert "<script>alert" not in text
    assert "<script>alert(1)</script>" in words(text)


def test_the_terminal_has_short_tables(runs: Path, swept: Path) -> None:
    text = leaderboard_text(leaderboard_data([runs, swept], with_published=True))
    scatter = text.partition("Correctness and faithfulness\n")[2]
    assert scatter.startswith("nq, retrieved, v1\n")
    assert re.search(r"recall, k_precision\nModel +recall +k_precision\n", scatter)
    assert "P_IR (higher)" in text
    assert "hotpotqa, v1" in text
    delta = text.partition("One instruction and the other\nnq, retrieved\n")[2]
    gpt = [line.split() for line in delta.splitlines() if line.startswith("gpt-3.5-turbo (pub")]
    assert gpt[0][2:] == ["0.5798", "0.3410"]
    assert gpt[1][2:] == ["-0.2388", "-41.2", "%"]


def test_no_change_has_no_sign(tmp_path: Path) -> None:
    for version in ("v1", "v2"):
        folder = qa_run(tmp_path / version, "our/model-7b", "gold", version)
        summary = json.loads((folder / "summary.json").read_text())
        for metric in ("recall", "p_g"):
            summary["metrics"][metric]["mean"] = 0.5
        (folder / "summary.json").write_text(json.dumps(summary))
    text = leaderboard_text(leaderboard_data([tmp_path]))
    assert re.search(r"our/model-7b +0\.5000.* 0\.5000.*\n", text)
    assert "-0.0" not in text
    assert "−0.0" not in text


def test_long_signatures_are_told_by_their_beginning() -> None:
    bm25, flat = "bm25:lucene,k1=0.9,b=0.4,words-1,bm25s-0.2", f"dense:flat,cosine,{'a' * 40}"
    hnsw, digest = f"dense:hnsw,cosine,{'a' * 40}", "0123456789abcdef" * 4
    short = short_names([bm25, flat, hnsw, digest, "bm25", "short"])
    assert short == {
        bm25: "bm25:lucene", flat: "dense:flat", hnsw: "dense:hnsw", digest: "0123456789ab",
        "bm25": "bm25", "short": "short",
    }  # fmt: skip
    assert short_names([bm25]) == {bm25: "bm25"}
    assert short_names([flat, flat + ",more"])[flat] == flat


def test_retrievers_are_labeled_in_short(tmp_path: Path) -> None:
    names = ("bm25:lucene,k1=0.9,b=0.4,words-1,bm25s-0.2.14", f"dense:hnsw,cosine,{'b' * 64}")
    for k, retriever in enumerate(names):
        for setting in ("retrieved", "irrelevant"):
            qa_run(
                tmp_path / f"{setting}-{k}", "our/model-7b", setting,
                options={"retriever": retriever},
            )  # fmt: skip
    qa_run(tmp_path / "gold", "our/model-7b", "gold")
    found = leaderboard_data([tmp_path])
    (table,) = tables(found, "retrievers")
    assert table["places"] == ["bm25", "dense"]
    groups = [table["group"] for table in tables(found, "abstention")]
    assert groups == ["nq, v1, retriever=bm25", "nq, v1, retriever=dense"]
    assert {plane["group"] for plane in tables(found, "plane")} >= {
        "nq, retrieved, v1, retriever=bm25", "nq, retrieved, v1, retriever=dense",
    }  # fmt: skip
    assert "nq (retriever=dense, setting=irrelevant)" in [c["title"] for c in found["columns"]]


def test_runs_of_the_benchmark_itself(tmp_path: Path) -> None:
    """What `trueground run instruct-qa` writes is what these sections read."""
    pytest.importorskip("bm25s", reason="the extra `retrieval` is not installed")
    questions, corpus = world(tmp_path)
    asked = [("gold", {}), ("irrelevant", {"irrelevant-rank": "30"})]
    asked += [("retrieved", {"retriever": r}) for r in ("bm25", "bm25(k1=0.5)")]
    for k, (setting, more) in enumerate(asked):
        for version in ("v1", "v2"):
            tg.run(
                "instruct-qa/questions",
                "fake:I don't know." if version == "v2" else "fake:It was Ada.",
                data=questions,
                out=tmp_path / "runs" / f"{k}-{version}",
                options={
                    "corpus": str(corpus), "setting": setting, "instruction": version, **more,
                },
            )  # fmt: skip
    for path in (tmp_path / "runs").glob("*/manifest.json"):  # one model that heeds instructions
        manifest = json.loads(path.read_text())
        manifest["model"] = {"name": "heeder", "signature": "heeder"}
        path.write_text(json.dumps(manifest))
    found = leaderboard_data([tmp_path / "runs"])
    rows = {table["group"]: table["rows"][0] for table in tables(found, "abstention")}
    assert [line[0]["mean"] for line in rows["questions, v1"]["cells"]] == [0.0, 0.0]
    declining = rows["questions, v2"]
    assert [line[0]["mean"] for line in declining["cells"]] == [1.0, 1.0]
    counts = declining["declining"]
    assert (counts["missed"], counts["answered"]) == (0, 0)
    assert counts["precision"] == pytest.approx(0.5)
    planes = {plane["group"]: plane for plane in tables(found, "plane")}
    assert {group.partition("v1")[2] for group in planes if "v1" in group} >= {
        ", retriever=bm25:lucene,k1=1.5", ", retriever=bm25:lucene,k1=0.5",
    }  # fmt: skip
    declined = next(plane for group, plane in planes.items() if "v2" in group)["rows"][0]
    assert declined["cells"][1][0]["mean"] == 1.0
    table = tables(found, "retrievers")[0]
    assert table["places"] == ["bm25:lucene,k1=0.5", "bm25:lucene,k1=1.5"]
    for share in table["rows"][0]["cells"][2]:
        summary = json.loads((tmp_path / "runs" / share["run"] / "summary.json").read_text())
        n = summary["by"]["meta.gold_retrieved"]["true"]["recall"]["n"]
        assert share["mean"] == n / summary["n"]
        assert share["n"] == summary["n"]
    (gold,) = [t for t in tables(found, "instructions") if t["group"] == "questions, gold"]
    assert cell(gold, gold["rows"][0], "gold retrieved", "v2")["mean"] == 1.0
