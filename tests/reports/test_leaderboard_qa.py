"""instruct-qa on the leaderboard: plane, abstention, retrievers, instructions; the paper's rows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.benchmarks.instruct_qa_files import world
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

import trueground as tg
from trueground.errors import UsageError
from trueground.reports.leaderboard.data import leaderboard, leaderboard_data
from trueground.reports.leaderboard.page import write_leaderboard
from trueground.reports.leaderboard.qa.draw import (
    abstention_picture,
    plane_picture,
    retriever_bars,
    shapes,
    slope_picture,
)
from trueground.reports.leaderboard.qa.planes import whole
from trueground.reports.leaderboard.scatter import HEIGHT
from trueground.reports.leaderboard.short import short_names
from trueground.reports.leaderboard.terminal import render

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
    assert found["qa"] == {
        "models": [], "planes": [], "abstention": [], "retrievers": [], "instructions": [],
    }  # fmt: skip
    text = write_leaderboard([tmp_path], tmp_path / "p.html").read_text()
    assert 'aria-labelledby="plane"' not in text
    assert 'aria-labelledby="abstention"' not in text


def test_column_titles_name_no_option_that_a_setting_has_not(data: dict[str, Any]) -> None:
    assert {column["title"] for column in data["columns"]} == {
        f"nq (instruction={instruction}, setting={setting})"
        for setting in ("retrieved", "gold", "irrelevant")
        for instruction in ("v1", "v2")
    }


def test_planes_have_recall_and_k_precision_of_the_items(data: dict[str, Any], runs: Path) -> None:
    planes = data["qa"]["planes"]
    asked = [(p["setting"], p["instruction"]) for p in planes]
    assert asked == [(setting, version) for setting in SETTINGS for version in ("v1", "v2")]
    for plane in planes:
        setting, instruction = plane["setting"], plane["instruction"]
        key = WITH_PASSAGE if instruction == "v2" else PLAIN
        assert plane["metrics"] == ["recall", key]
        assert {row["name"] for row in plane["rows"]} == set(MODELS)
        recalls = [row["recall"]["mean"] for row in plane["rows"]]
        assert recalls == sorted(recalls, reverse=True)
        for row in plane["rows"]:
            for field, metric in (("recall", "recall"), ("k_precision", key)):
                expected = mean(values(runs, row["name"], setting, instruction, metric))
                assert row[field]["mean"] == pytest.approx(expected)
                low, high = row[field]["ci"]
                assert low < expected < high


def test_points_of_a_plane_have_both_intervals(runs: Path) -> None:
    found = leaderboard([runs]).qa
    own = shapes(found)
    assert len(set(own.values())) == len(MODELS)
    for plane in found.planes:
        picture = plane_picture(plane, own)
        assert [point.number for point in picture.points] == [1, 2, 3]
        xs = [point.x for point in picture.points]
        assert xs == sorted(xs, reverse=True)
        for point, row in zip(picture.points, plane.rows, strict=True):
            mark: Any = point
            assert mark.left < mark.x < mark.right
            assert mark.high < mark.y < mark.low  # down the page
            assert 0 <= mark.left <= mark.right <= 100
            assert 0 <= mark.y <= HEIGHT
            assert mark.shape == own[row.name, row.source]


def test_axes_stay_within_the_shares(tmp_path: Path) -> None:
    for setting, version in (("gold", "v1"), ("gold", "v2")):
        folder = qa_run(tmp_path / version, "our/model-7b", setting, version)
        summary = json.loads((folder / "summary.json").read_text())
        for metric, value in (("recall", 1.0), (PLAIN, 1.0), (WITH_PASSAGE, 1.0), ("p_g", 0.0)):
            if metric in summary["metrics"]:
                summary["metrics"][metric] |= {"mean": value, "ci": [value, value]}
        (folder / "summary.json").write_text(json.dumps(summary))
    found = leaderboard([tmp_path]).qa
    pictures = [plane_picture(plane, shapes(found)) for plane in found.planes]
    slopes = [slope_picture(found.instructions[0], m, shapes(found)) for m in ("recall", "p_g")]
    for picture in (*pictures, *filter(None, slopes)):
        assert all(0 <= float(words) <= 1 for _, words in picture.y_ticks)
        assert len(picture.y_ticks) > 1
        assert all(0 <= point.y <= HEIGHT for point in picture.points)


def test_abstention_pairs_the_irrelevant_run_with_the_gold_one(
    data: dict[str, Any], runs: Path
) -> None:
    tables = data["qa"]["abstention"]
    assert [(t["task"], t["setting"], t["instruction"]) for t in tables] == [
        ("nq", "irrelevant", "v1"),
        ("nq", "irrelevant", "v2"),
    ]
    for table in tables:
        ahead = [row["p_ir"]["mean"] - row["p_g"]["mean"] for row in table["rows"]]
        assert ahead == sorted(ahead, reverse=True)
        for row in table["rows"]:
            asked = (row["name"], table["instruction"])
            wrong = values(runs, asked[0], "gold", asked[1], "abstained")
            right = values(runs, asked[0], "irrelevant", asked[1], "abstained")
            tp, fp = sum(right), sum(wrong)
            fn, tn = len(right) - tp, len(wrong) - fp
            assert tp + fn == fp + tn == N - N // 20
            assert row["confusion"] == {
                "unanswerable": {"abstained": tp, "answered": fn},
                "answerable": {"abstained": fp, "answered": tn},
            }
            assert row["p_ir"]["mean"] == row["recall"] == pytest.approx(tp / (tp + fn))
            assert row["p_g"]["mean"] == pytest.approx(fp / (fp + tn))
            assert row["precision"] == pytest.approx(tp / (tp + fp))
            assert row["f1"] == pytest.approx(2 * tp / (2 * tp + fp + fn))
            assert row["retriever"] == "bm25"
            assert len(row["runs"]) == 2


def test_a_model_that_never_declines_has_no_precision(tmp_path: Path) -> None:
    for setting, rate in (("irrelevant", "p_ir"), ("gold", "p_g")):
        folder = qa_run(tmp_path / setting, "our/model-7b", setting)
        summary = json.loads((folder / "summary.json").read_text())
        summary["metrics"][rate]["mean"] = 0.0
        (folder / "summary.json").write_text(json.dumps(summary))
    (table,) = leaderboard_data([tmp_path])["qa"]["abstention"]
    (row,) = table["rows"]
    assert row["precision"] is None
    assert (row["recall"], row["f1"]) == (0.0, 0.0)
    assert leaderboard_data([tmp_path / "gold"])["qa"]["abstention"] == []


def test_runs_that_were_asked_otherwise_are_no_pair(tmp_path: Path) -> None:
    qa_run(tmp_path / "a", "our/model-7b", "irrelevant", options={"preset": "paper"})
    qa_run(tmp_path / "b", "our/model-7b", "gold")
    assert leaderboard_data([tmp_path])["qa"]["abstention"] == []


def test_one_run_may_hold_both_kinds_of_questions(tmp_path: Path) -> None:
    folder = qa_run(tmp_path / "a", "our/model-7b", "retrieved", "v2", "questions")
    summary = json.loads((folder / "summary.json").read_text())
    known = {"ci": None, "n": 20, "scored": 10, "unscored": {"not_applicable": 10}}
    summary["metrics"] |= {"p_ir": known | {"mean": 0.9}, "p_g": known | {"mean": 0.2}}
    (folder / "summary.json").write_text(json.dumps(summary))
    (table,) = leaderboard_data([tmp_path])["qa"]["abstention"]
    assert (table["task"], table["setting"]) == ("questions", "retrieved")
    (row,) = table["rows"]
    assert row["confusion"]["unanswerable"] == {"abstained": 9, "answered": 1}
    assert row["runs"] == ["a"]


def test_the_abstention_picture_marks_the_ideal_corner(runs: Path) -> None:
    found = leaderboard([runs]).qa
    table = found.abstention[-1]
    picture = abstention_picture(table, shapes(found))
    assert picture.ideal is not None
    assert picture.diagonal is not None
    assert picture.ideal[0] == min(x for x, _ in picture.x_ticks)
    assert picture.ideal[1] == min(y for y, _ in picture.y_ticks)
    assert [words for _, words in picture.x_ticks] == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    for point, row in zip(picture.points, table.rows, strict=True):
        assert row.p_ir.mean is not None
        assert row.p_g.mean is not None
        above = row.p_ir.mean > row.p_g.mean
        line = picture.diagonal
        on = line.y1 + (point.x - line.x1) / (line.x2 - line.x1) * (line.y2 - line.y1)
        assert (point.y < on) == above


def test_retrievers_beside_each_other_with_how_often_they_found_the_gold(swept: Path) -> None:
    (table,) = leaderboard_data([swept])["qa"]["retrievers"]
    assert (table["task"], table["instruction"], table["title"]) == ("hotpotqa", "v1", "")
    assert table["retrievers"] == sorted(RETRIEVERS)
    assert table["metrics"] == {"recall": "recall", "k_precision": PLAIN}
    assert {row["name"] for row in table["rows"]} == set(list(MODELS)[:2])
    for row in table["rows"]:
        for cell in row["cells"]:
            lines = (swept.parent / cell["run"] / "items.jsonl").read_text().splitlines()
            retrieved = [json.loads(line)["meta"]["gold_retrieved"] for line in lines]
            found = sum(retrieved)
            assert cell["gold"] == {"share": found / N, "found": found, "n": N}
        means = {cell["retriever"]: cell["recall"]["mean"] for cell in row["cells"]}
        assert means["multi-hop:dense:org/encoder"] > means["dense:org/encoder"]
    bars = retriever_bars(leaderboard([swept]).qa.retrievers[0])
    assert [chart.measure for chart in bars] == ["recall", "k_precision"]
    for chart in bars:
        for _, own in chart.rows:
            assert [label for label, *_ in own] == sorted(RETRIEVERS)
            for _, cell, drawing, _ in own:
                assert drawing is not None
                assert cell.mean is not None
                assert drawing.mean == pytest.approx(100 * cell.mean, abs=0.01)


def test_one_retriever_is_no_study_and_no_gold_no_share(
    data: dict[str, Any], tmp_path: Path
) -> None:
    assert data["qa"]["retrievers"] == []
    for name in ("bm25", "dense:x"):
        folder = qa_run(
            tmp_path / name.partition(":")[0], "our/model-7b", "retrieved", task="questions",
            options={"retriever": name},
        )  # fmt: skip
        summary = json.loads((folder / "summary.json").read_text())
        summary["by"] = {}  # P_G is of questions that the user calls answerable
        assert summary["metrics"]["p_g"]["scored"]
        (folder / "summary.json").write_text(json.dumps(summary))
    (table,) = leaderboard_data([tmp_path])["qa"]["retrievers"]
    assert [cell["gold"] for cell in table["rows"][0]["cells"]] == [None, None]


def test_instructions_with_their_changes(data: dict[str, Any], runs: Path) -> None:
    tables = data["qa"]["instructions"]
    assert [(t["task"], t["setting"]) for t in tables] == [("nq", "retrieved"), ("nq", "gold")]
    for table in tables:
        assert table["metrics"] == {
            "recall": ["recall", "recall"], "k_precision": [PLAIN, WITH_PASSAGE],
            "p_g": ["p_g", "p_g"],
        }  # fmt: skip
        for row in table["rows"]:
            for measure, keys in table["metrics"].items():
                before, after = (
                    mean(values(runs, row["name"], table["setting"], version, key))
                    for version, key in zip(("v1", "v2"), keys, strict=True)
                )
                change = row["changes"][measure]
                assert change["v1"]["mean"] == pytest.approx(before)
                assert change["difference"] == pytest.approx(after - before)
                if measure == "p_g":
                    assert change["relative"] is None
                else:
                    assert change["relative"] == pytest.approx((after - before) / before)
    gold = [row["gold"]["share"] for row in tables[1]["rows"]]
    assert gold == [1.0] * len(MODELS)


def test_slopes_run_from_v1_to_v2(runs: Path) -> None:
    found = leaderboard([runs]).qa
    own = shapes(found)
    for measure in ("recall", "k_precision", "p_g"):
        picture = slope_picture(found.instructions[0], measure, own)
        assert picture is not None
        assert [words for _, words in picture.x_ticks] == ["v1", "v2"]
        assert len(picture.points) == 2 * len(picture.lines) == 2 * len(MODELS)
        assert [p.number for p in picture.points if p.number] == [1, 2, 3]
        for line, row in zip(picture.lines, found.instructions[0].rows, strict=True):
            change = row.changes[measure]
            assert line.x1 < line.x2
            assert change.difference is not None
            assert (line.y2 < line.y1) == (change.difference > 0)


def test_the_papers_numbers_stand_beside_ours(published: dict[str, Any]) -> None:
    plane = published["qa"]["planes"][0]
    assert (plane["setting"], plane["instruction"]) == ("retrieved", "v1")
    names = {row["name"] for row in plane["rows"] if row["source"]}
    assert names == {"flan-t5-xxl", "alpaca-7b", "gpt-3.5-turbo", "Llama-2-7b-chat", "fid-base"}
    assert plane["rows"][-1]["name"] == "fid-base"
    assert plane["rows"][-1]["k_precision"] is None
    flan = one(plane["rows"], "flan-t5-xxl")
    assert (flan["recall"]["mean"], flan["k_precision"]["mean"]) == (0.5403, 0.9659)
    assert "Table 4" in flan["recall"]["place"]
    by_version = {t["instruction"]: t for t in published["qa"]["abstention"]}
    assert not [row for row in by_version["v1"]["rows"] if row["source"]]
    llama = one(by_version["v2"]["rows"], "Llama-2-7b-chat")
    assert (llama["p_ir"]["mean"], llama["p_g"]["mean"]) == (0.978, 0.578)
    assert llama["confusion"] is None
    assert (llama["precision"], llama["f1"]) == (None, None)
    (table,) = [t for t in published["qa"]["instructions"] if t["setting"] == "retrieved"]
    gpt = one(table["rows"], "gpt-3.5-turbo")
    assert gpt["changes"]["recall"]["relative"] == pytest.approx(-0.4119, abs=5e-5)
    assert gpt["changes"]["k_precision"]["v2"]["mean"] == 0.9627
    assert gpt["gold"] == {"share": 0.3679, "found": None, "n": None}
    rows = {row["name"] for row in published["rows"] if row["source"]}
    assert "fid-base" in rows


def test_the_papers_gold_numbers_are_under_their_own_instruction(tmp_path: Path) -> None:
    qa_run(tmp_path / "a", "our/model-7b", "gold", "v1")
    found = leaderboard_data([tmp_path], with_published=True)
    (plane,) = found["qa"]["planes"]
    assert plane["rows"][0]["name"] == "our/model-7b"
    gpt = one(plane["rows"], "gpt-3.5-turbo")
    assert (gpt["recall"], gpt["k_precision"]["mean"]) == (None, 0.655)
    assert "Table 6" in gpt["k_precision"]["place"]


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
        leaderboard([tmp_path], with_published=True)


def test_published_rates_need_the_papers_rank(tmp_path: Path) -> None:
    near = {"irrelevant-rank": "30"}
    qa_run(tmp_path / "near", "our/model-7b", "irrelevant", "v2", options=near)
    with pytest.raises(UsageError, match="no published number belongs to these runs"):
        leaderboard([tmp_path], with_published=True)
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
    (table,) = leaderboard_data([tmp_path])["qa"]["retrievers"]
    golds = [cell["gold"] for cell in table["rows"][0]["cells"]]
    assert golds == [{"share": 0.0, "found": 0, "n": N}] * 2


def test_the_retriever_study_leaves_the_paper_out(swept: Path) -> None:
    found = leaderboard_data([swept], with_published=True)
    assert any(row["source"] for row in found["rows"])
    (table,) = found["qa"]["retrievers"]
    assert {row["name"] for row in table["rows"]} == set(list(MODELS)[:2])


def test_the_page_has_every_point_and_needs_no_network(
    runs: Path, swept: Path, tmp_path: Path
) -> None:
    page = write_leaderboard([runs, swept], tmp_path / "p.html", with_published=True)
    text = page.read_text()
    parts = {
        name: text.partition(f'aria-labelledby="{name}"')[2].partition("</section>")[0]
        for name in ("plane", "abstention", "retrievers", "instructions")
    }
    found = leaderboard([runs, swept], with_published=True).qa
    counted = {name: len(re.findall(r'<use class="point[^>]*><title>', parts[name]))
               for name in parts}  # fmt: skip
    both = sum(
        2 * bool(change.v1 and change.v2)
        for table in found.instructions
        for row in table.rows
        for change in row.changes.values()
    )
    assert counted == {
        "plane": sum(len(list(filter(whole, plane.rows))) for plane in found.planes),
        "abstention": sum(len(table.rows) for table in found.abstention),
        "retrievers": 0,
        "instructions": both,
    }
    bars = sum(len(row.cells) * 2 for table in found.retrievers for row in table.rows)
    assert parts["retrievers"].count('<svg class="interval"') == bars
    assert not re.search(r'(?:src|href)="(?!#)', text)
    assert "://" not in text
    for part in parts.values():
        assert all(name in part for name in re.findall(r'role="img" aria-label="([^"]+)"', part))
        assert "None" not in part


def test_names_are_text(tmp_path: Path) -> None:
    qa_run(tmp_path / "a", "our/model-7b", "retrieved", options={"retriever": "<b>&x"})
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_text())
    manifest["model"]["name"] = "<script>alert(1)</script>"
    (tmp_path / "a" / "manifest.json").write_text(json.dumps(manifest))
    text = write_leaderboard([tmp_path], tmp_path / "p.html").read_text()
    assert "<script>alert" not in text
    assert "<b>&x" not in text


def test_the_terminal_has_short_tables(runs: Path, swept: Path) -> None:
    text = render(leaderboard([runs, swept], with_published=True), Path("p.html"))
    lines = text.splitlines()
    assert any(re.match(r"nq, retrieved, v1 +recall +k_precision$", line) for line in lines)
    assert any(re.match(r"declining: nq, v2 +P_IR \(higher\)", line) for line in lines)
    assert any(re.match(r"retrievers: hotpotqa, v1 .*gold retrieved$", line) for line in lines)
    (gpt,) = [
        line for line in lines if line.startswith("gpt-3.5-turbo (published)") and "→" in line
    ]
    assert "0.5798 → 0.3410 (−41.2 %)" in gpt
    assert "0.0218 → 0.3901 (+0.3683)" in gpt


def test_no_change_has_no_sign(tmp_path: Path) -> None:
    for version in ("v1", "v2"):
        folder = qa_run(tmp_path / version, "our/model-7b", "gold", version)
        summary = json.loads((folder / "summary.json").read_text())
        for metric in ("recall", "p_g"):
            summary["metrics"][metric]["mean"] = 0.5
        (folder / "summary.json").write_text(json.dumps(summary))
    text = render(leaderboard([tmp_path]), Path("p.html"))
    assert "0.5000 → 0.5000 (0.0 %)" in text
    assert "0.5000 → 0.5000 (0.0000)" in text


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


def test_retrievers_are_labelled_in_short(tmp_path: Path) -> None:
    names = ("bm25:lucene,k1=0.9,b=0.4,words-1,bm25s-0.2.14", f"dense:hnsw,cosine,{'b' * 64}")
    for k, retriever in enumerate(names):
        for setting in ("retrieved", "irrelevant"):
            qa_run(
                tmp_path / f"{setting}-{k}", "our/model-7b", setting,
                options={"retriever": retriever},
            )  # fmt: skip
    qa_run(tmp_path / "gold", "our/model-7b", "gold")
    found = leaderboard_data([tmp_path])
    cells = found["qa"]["retrievers"][0]["rows"][0]["cells"]
    assert [(cell["label"], cell["retriever"]) for cell in cells] == [
        ("bm25", names[0]), ("dense", names[1]),
    ]  # fmt: skip
    assert {row["label"] for row in found["qa"]["abstention"][0]["rows"]} == {"bm25", "dense"}
    assert {plane["title"] for plane in found["qa"]["planes"]} >= {
        "retriever=bm25", "retriever=dense",
    }  # fmt: skip
    assert "nq (retriever=dense, setting=irrelevant)" in [c["title"] for c in found["columns"]]


def test_runs_of_the_benchmark_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `trueground run instruct-qa` writes is what these sections read."""
    pytest.importorskip("bm25s", reason="the extra `retrieval` is not installed")
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))
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
    found = leaderboard_data([tmp_path / "runs"])["qa"]
    by_version = {table["instruction"]: table["rows"][0] for table in found["abstention"]}
    assert by_version["v1"]["p_ir"]["mean"] == by_version["v1"]["p_g"]["mean"] == 0.0
    declining = by_version["v2"]
    assert declining["p_ir"]["mean"] == declining["p_g"]["mean"] == 1.0
    counts = declining["confusion"]
    assert counts["unanswerable"]["answered"] == counts["answerable"]["answered"] == 0
    assert declining["precision"] == pytest.approx(0.5)
    titles = {plane["title"] for plane in found["planes"]}
    assert titles == {"", "retriever=bm25:lucene,k1=1.5", "retriever=bm25:lucene,k1=0.5"}
    declined = next(p for p in found["planes"] if p["instruction"] == "v2")["rows"][0]
    assert declined["k_precision"]["mean"] == 1.0
    table = found["retrievers"][0]
    assert [cell["label"] for cell in table["rows"][0]["cells"]] == [
        "bm25:lucene,k1=0.5", "bm25:lucene,k1=1.5",
    ]  # fmt: skip
    for cell in table["rows"][0]["cells"]:
        summary = json.loads((tmp_path / "runs" / cell["run"] / "summary.json").read_text())
        parts = summary["by"]["meta.gold_retrieved"]
        n = parts["true"]["recall"]["n"]
        assert cell["gold"]["found"] == n
        assert cell["gold"]["n"] == summary["n"]
    shares = {
        table["setting"]: table["rows"][0]["gold"]["share"] for table in found["instructions"]
    }
    assert shares["gold"] == 1.0
