"""The page as a file: what it says, what it hides, what it refuses."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reports.payload import blocks, payload, words
from tests.reports.report_fixture import make_item, sample_run, write_run

import trueground as tg
from trueground.errors import InputError, UsageError
from trueground.records.columns import field_text
from trueground.reports.run_pages import write_run_page
from trueground.reports.selection import choose_items, read_numbers
from trueground.reports.sentences import input_names, model_and_task
from trueground.runs.files import RunFiles
from trueground.runs.worst import WorstOrder
from trueground.types import Record


def index_of(page: Path) -> dict[str, Any]:
    """The index as the viewer reads it: all parts joined, and what is said about it."""
    text = page.read_text()
    about = payload(text, "about")
    joined: dict[str, Any] = {}
    for part in range(about["parts"]):
        for name, column in payload(text, f"index-{part}").items():
            if isinstance(column, list):
                joined.setdefault(name, []).extend(column)
            else:
                kept = joined.setdefault(name, {})
                for key, values in column.items():
                    kept.setdefault(key, []).extend(values)
    return {"ids": []} | joined | about


def test_same_run_gives_same_bytes_and_leaves_no_other_file(tmp_path: Path) -> None:
    run = sample_run(tmp_path / "run", 120)
    files = {path.name for path in run.iterdir()}
    page = write_run_page(run)
    first = page.read_bytes()
    assert write_run_page(run).read_bytes() == first
    assert page == run / "report.html"
    assert {path.name for path in run.iterdir()} == files | {"report.html"}


def test_no_times_and_no_folder_names(tmp_path: Path) -> None:
    text = write_run_page(sample_run(tmp_path / "run", 5)).read_text()
    assert "answers.jsonl" in text
    said = words(text)
    assert "claims judged by lexical" in said
    assert "lexical|v1|threshold:0.5" in said
    assert "2,000 resamples, seed 0" in said
    assert "k_precision|norm:squad|v1" in said
    assert "/secret" not in text
    assert "2031" not in text
    assert str(tmp_path) not in text


def test_data_cannot_end_its_block(tmp_path: Path) -> None:
    record, item = make_item(0, random.Random(0))
    record.response = item["evidence"]["x"] = "</script><script>alert(1)</script>&\u2028"
    page = write_run_page(write_run(tmp_path / "run", [(record, item)]))
    assert "alert(1)" in page.read_text()
    assert "<script>alert" not in page.read_text()
    assert "\u2028" not in page.read_text()
    assert index_of(page)["responses"] == [record.response]
    assert payload(page.read_text(), "block-0")[0]["response"] == record.response


def test_every_item_is_in_the_index_in_input_order(tmp_path: Path) -> None:
    run = sample_run(tmp_path / "run", 230)
    index = index_of(write_run_page(run))
    items = [json.loads(line) for line in (run / "items.jsonl").read_text().splitlines()]
    assert index["ids"] == [item["id"] for item in items]
    assert index["scores"]["f1"] == [item["scores"]["f1"] for item in items]
    assert index["rows"] == list(range(230))
    assert (run / "report.html").read_text().count('id="block-') == 3


def test_of_many_answers_details_lie_beside_the_page_and_a_sample_in_it(tmp_path: Path) -> None:
    run = sample_run(tmp_path / "run", 300)
    page = write_run_page(run, max_items=40, seed=3)
    items = [json.loads(line) for line in (run / "items.jsonl").read_text().splitlines()]
    scored = [i for i in items if i["scores"]["grounding_f1"] is not None]
    worst = sorted(scored, key=lambda item: item["scores"]["grounding_f1"])[:20]
    index = index_of(page)
    assert index["ids"] == [item["id"] for item in items]  # the list has all of them
    inside = [index["ids"][place] for place in index["inside"]]
    assert len(inside) == 40
    assert {item["id"] for item in worst} <= set(inside)
    assert index["statement"] == (
        "40 of 300 items: a seeded sample (20, seed 3) plus the worst by grounding_f1 (20)."
    )
    details = [
        detail
        for path in sorted((run / "report_items").glob("[0-9]*.js"), key=lambda p: int(p.stem))
        for detail in json.loads(re.fullmatch(r"TG\.loaded\(\d+,(.*)\)\n", path.read_text())[1])
    ]
    assert len(details) == 300
    assert [d["question"] for d in details] == index["questions"]
    block = payload(page.read_text(), "block-0")
    assert block == [details[place] for place in index["inside"]]
    again = index_of(write_run_page(run, max_items=40, seed=4))
    assert again["inside"] != index["inside"]
    assert write_run_page(run) == page
    assert not (run / "report_items").exists()  # all details are in the page


def test_a_detail_in_a_file_is_no_script_of_its_own(tmp_path: Path) -> None:
    record, item = make_item(0, random.Random(0))
    record.response = "</script>\u2028'); alert(1); //"
    run = write_run(tmp_path / "run", [(record, item)])
    write_run_page(run, max_items=0)
    text = (run / "report_items" / "0.js").read_text()
    assert text.startswith("TG.loaded(0,[{")
    assert "</script>" not in text
    assert "\u2028" not in text
    assert json.loads(text[len("TG.loaded(0,") : -2])[0]["response"] == record.response


@pytest.mark.parametrize("limit", [0, 1, 7])
def test_choice_is_never_larger_than_the_limit(limit: int) -> None:
    values = np.array([np.nan, 0.5, np.nan, 0.1, np.nan, np.nan, np.nan, 0.9], dtype=np.float32)
    chosen = choose_items(values, 8, metric="f1", limit=limit, seed=0)
    assert len(set(chosen.rows.tolist())) == limit
    assert chosen.rows.tolist() == sorted(chosen.rows.tolist())
    assert choose_items(None, 8, metric=None, limit=limit, seed=0).worst == 0


@pytest.mark.parametrize("metric", ["p_g", "p_g(rules=x)@lexical", "llm_p_g"])
def test_worst_is_high_where_less_is_better(metric: str) -> None:
    values = np.zeros(100, np.float32)
    values[[7, 27, 47]] = 1
    values[90:] = np.nan
    chosen = choose_items(values, 100, metric=metric, limit=6, seed=0)
    assert {7, 27, 47} <= set(chosen.rows.tolist())
    assert chosen.worst == 3
    other = choose_items(1 - values, 100, metric="p_ir", limit=6, seed=0)
    assert other.rows.tolist() == chosen.rows.tolist()


def test_page_knows_of_which_metrics_less_is_better(tmp_path: Path) -> None:
    items = [
        {"id": str(i), "answerable": True, "response": "I don't know." if i % 2 else "In Oslo."}
        for i in range(4)
    ]
    run = tmp_path / "run"
    tg.score(items, metrics=["p_g", "abstained"], out=run)
    assert index_of(write_run_page(run))["lower"] == ["p_g", "abstained"]


def test_headline_metric_is_the_one_of_most_worth() -> None:
    assert WorstOrder(["f1", "grounding_f1", "support", "support_min"]).headline == "support"
    assert WorstOrder(["f1", "k_precision", "grounding_f1"]).headline == "grounding_f1"
    assert WorstOrder(["rouge_l", "meteor"]).headline == "rouge_l"
    assert WorstOrder([]).headline is None


def test_numbers_may_appear_late(tmp_path: Path) -> None:
    lines = [{"id": "a", "scores": {"x": 1}}, {"id": "b", "scores": {"y": 0.5, "x": None}}]
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with read_numbers(RunFiles(tmp_path)) as numbers:
        assert numbers.count == 2
        np.testing.assert_array_equal(numbers["x"], [1, np.nan])
        np.testing.assert_array_equal(numbers["y"], [np.nan, 0.5])


def charted(tmp_path: Path, values: list[float | None]) -> list[dict[str, Any]]:
    pairs = [make_item(k, random.Random(k)) for k in range(len(values))]
    for (_, item), value in zip(pairs, values, strict=True):
        item["scores"] = {"m": value}
        item["status"] = {"m": "scored" if value is not None else "error"}
    entry = {"mean": 0.5, "ci": None, "n": 4, "scored": 4, "unscored": {}}
    run = write_run(tmp_path / "run", pairs, metrics={"m": entry})
    return blocks(write_run_page(run).read_text(), "chart")


def test_histogram_has_twenty_bins_from_0_to_1(tmp_path: Path) -> None:
    chart = charted(tmp_path, [0.0, 0.7, 0.72, 1.0, None])[0]
    (bars,) = chart["series"]
    assert bars["x"] == [k / 20 for k in range(20)]
    assert {x: n for x, n in zip(bars["x"], bars["y"], strict=True) if n} == {
        0.0: 1,
        0.7: 2,
        0.95: 1,
    }
    assert chart["note"] == "4 scored, median 0.7100"


def test_values_beyond_0_to_1_have_their_own_range(tmp_path: Path) -> None:
    (bars,) = charted(tmp_path, [1.0, 5.0, 3.0])[0]["series"]
    assert (bars["x"][0], bars["x"][-1]) == (1.0, 4.8)


def test_binary_metric_has_no_histogram(tmp_path: Path) -> None:
    assert charted(tmp_path, [0.0, 1.0, 1.0]) == []


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("/a/b/c.jsonl", ["c.jsonl"]),
        ({"path": "s3://user:key@bucket/x.jsonl?token=1"}, ["x.jsonl"]),
        ([{"path": "C:\\data\\y.csv"}, "-"], ["y.csv", "standard input"]),
        (None, []),
    ],
)
def test_input_names_hide_folders(source: object, names: list[str]) -> None:
    assert input_names(source) == names


def test_breakdown_fields_are_found_where_scoring_finds_them() -> None:
    record = Record(id="a", response="b", model="m", answerable=True, meta={"x": {"y": 2}, "id": 1})
    fields = ("model", "answerable", "group", "x.y", "meta.x.y", "id", "x.y.z")
    texts = [field_text(record, field) for field in fields]
    assert texts == ["m", "true", None, "2", "2", "1", None]


def test_an_empty_run_and_a_bare_summary_still_draw(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [], fields=())
    (run / "manifest.json").write_text('{"trueground": "0.1.0"}')
    page = write_run_page(run)
    assert "No metric was computed." in words(page.read_text())
    assert index_of(page)["ids"] == []


def test_run_level_entries_and_null_means_draw(tmp_path: Path) -> None:
    record, item = make_item(0, random.Random(0))
    metrics = {
        "citation_f1_micro": {"mean": 0.25},
        "f1": {"mean": None, "ci": None, "n": 1, "scored": 0, "unscored": {"missing_field": 1}},
    }
    run = write_run(tmp_path / "run", [(record, item)], metrics=metrics)
    text = words(write_run_page(run).read_text())
    assert "over the whole run" in text
    assert "1: a needed field is missing" in text
    assert "0 of 1" in text


def test_many_values_are_cut_and_said(tmp_path: Path) -> None:
    run = sample_run(tmp_path / "run", 3)
    summary = json.loads((run / "summary.json").read_text())
    entry = {"f1": {"mean": 0.5, "ci": None, "n": 1, "scored": 1, "unscored": {}}}
    summary["by"] = {"group": {f"g{k}": entry for k in range(50)}}
    (run / "summary.json").write_text(json.dumps(summary))
    text = words(write_run_page(run).read_text())
    assert "30 of 50 values: those with the most answers." in text


def test_refusals_name_the_place(tmp_path: Path) -> None:
    run = sample_run(tmp_path / "run", 4)
    with pytest.raises(UsageError, match="max_items is -1"):
        write_run_page(run, max_items=-1)
    with (run / "items.jsonl").open("a") as items:
        items.write('{"id": "half')
    with pytest.raises(InputError, match=r"items\.jsonl, line 5"):
        write_run_page(run)
    (run / "summary.json").unlink()
    with pytest.raises(InputError, match=r"summary\.json: not found"):
        write_run_page(run)
    assert not (run / "report.html").exists()


def test_foreign_or_broken_records_are_refused(tmp_path: Path) -> None:
    run, other = sample_run(tmp_path / "run", 4), sample_run(tmp_path / "other", 3, seed=9)
    (run / "records.jsonl.zst").write_bytes((other / "records.jsonl.zst").read_bytes())
    with pytest.raises(InputError, match=r"records\.jsonl\.zst, line"):
        write_run_page(run)
    (run / "records.jsonl.zst").write_bytes(b"no archive at all")
    with pytest.raises(InputError, match="not a sound Zstandard archive"):
        write_run_page(run)
    assert not list(run.glob(".report*"))


def test_checksums_among_the_options_are_cut() -> None:
    manifest = {
        "kind": "run",
        "benchmark": {
            "name": "b",
            "task": "t",
            "options": {"corpus": "0a" * 32, "setting": "gold"},
        },
        "model": {"name": "m"},
    }
    found = model_and_task(manifest)
    assert found is not None
    assert found["how"] == "corpus 0a0a0a0a0a0a…, setting gold"


def test_options_without_a_value_are_left_out_and_lists_are_json() -> None:
    manifest = {
        "kind": "run",
        "model": {"name": "m"},
        "benchmark": {"name": "b", "task": "t", "options": {"retriever": None, "style": "short"}},
        "params": {"temperature": 0.0, "stop": ["\n"], "extra": {"logprobs": True}},
    }
    found = model_and_task(manifest)
    assert found is not None
    assert found["how"] == ('style short, temperature 0.0, stop ["\\n"], extra {"logprobs":true}')


def test_why_claims_are_unsupported_leaves_declining_to_its_verdict(tmp_path: Path) -> None:
    run = sample_run(tmp_path / "run", 3)
    summary = json.loads((run / "summary.json").read_text())
    summary["reasons"] = {"declines": 9, "number": 3, "name": 5}
    (run / "summary.json").write_text(json.dumps(summary))
    (tiles,) = blocks(write_run_page(run).read_text(), "tiles")
    assert [(tile["value"], tile["filter"]) for tile in tiles["tiles"]] == [
        ("5 claims: ", "kind=name"),
        ("3 claims: ", "kind=number"),
    ]
