"""Citations on the run page: what its data hold; numbers of a whole run, repeats and notices."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.reports.citations_fixture import ADA, BRAM, MANY, answers, citation_run
from tests.reports.kalma_fixture import DRAWN
from tests.reports.payload import blocks, payload, words
from tests.reports.report_fixture import make_item, write_run
from tests.texts import run_text, sweep_text

from trueground.errors import InputError
from trueground.reports.answers import make_citation_view, make_detail
from trueground.reports.run_pages import write_run_page
from trueground.reports.sentences import notices
from trueground.runs.schema import Item
from trueground.studies.comparing import compare
from trueground.types import Record


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return citation_run(tmp_path_factory.mktemp("citations") / "run")


def shown_items(run: Path) -> dict[str, dict[str, Any]]:
    """Id → what the page holds of the item."""
    text = write_run_page(run).read_text()
    (block,) = re.findall(r'id="block-0">(.*?)</script>', text)
    return dict(zip([one["id"] for one in answers()], msgspec.json.decode(block), strict=True))


def test_a_graph_tells_cited_from_needed_from_neither(run: Path) -> None:
    found = shown_items(run)["ada"]["citations"]
    ada, bram = found["graphs"]
    assert (ada["qid"], ada["name"], bram["name"]) == ("Q71", "Ada Quill", "Bram Quill")
    assert ada["rows"] == [
        ["place of birth", "Port Selby", True, True],
        ["occupation", "cartographer", True, True],
        ["notable works", ADA["notable works"], False, True],
        ["occupation", "glassblower", False, False],
        ["date of birth", "4 May 1871", False, False],
        ["award received", "Selby Medal", False, False],
    ]
    assert bram["rows"][0] == ["sibling", "Ada Quill", True, False]
    assert found["missed"] == [
        ["Q71", "notable works", ADA["notable works"], True, False],
        ["Q71", "cause of death", "drowning", False, False],
    ]
    assert found["absent"] == [["Q71", "cause of death", "drowning"]]


def test_without_a_minimum_set_nothing_is_needed(run: Path) -> None:
    found = shown_items(run)["silent"]["citations"]
    assert [row[2:] for row in found["graphs"][0]["rows"]] == [[False, None]] * 6
    assert found["missed"] == found["absent"] == []


def test_verdicts_stand_in_the_judges_view(run: Path) -> None:
    shown = shown_items(run)["ada"]
    (view,) = shown["views"]
    assert [one["supported"] for one in view["alignment"]] == [True, False, False, False]
    assert [one["sentence"] for one in view["missing"]] == [2]
    assert shown["evidence"] == []  # all of it has a place of its own
    assert "knowledge" not in [name for name, _ in shown["fields"]]


def test_fields_stay_where_no_citation_is_shown() -> None:
    record = Record(id="a", response="", gold_knowledge=[["Q1", "p", "v"]])
    shown = make_detail(Item("a", {}), record)
    assert shown["citations"] is None
    assert [name for name, _ in shown["fields"]] == ["gold_knowledge"]


def test_odd_graphs_are_drawn_as_far_as_they_go() -> None:
    graph = {"name": ["A", "B"], "born": 1815, "empty": ["", None], "alive": False}
    record = Record(id="a", response="", knowledge=[graph, {"qid": "Q2"}])
    found = make_citation_view({"f1": {"note": 1}, "x": ["y"]}, record)
    assert found is not None
    assert found["graphs"][0] == {
        "qid": "",
        "name": "A",
        "rows": [("born", "1815", False, None), ("alive", "false", False, None)],
    }
    assert found["graphs"][1] == {"qid": "Q2", "name": "Q2", "rows": []}
    assert make_citation_view({}, Record(id="a", response="")) is None


def test_without_records_sentences_remain() -> None:
    told = {"sentences": [], "missed": [["Q1", "p", "v"]], "absent": []}
    found = make_citation_view({"citation_correctness": told}, None)
    assert found is not None
    assert (found["graphs"], found["missed"]) == ([], [["Q1", "p", "v", None, False]])


def test_numbers_of_the_whole_run_stand_in_the_table_only(run: Path) -> None:
    text = write_run_page(run).read_text()
    names = [row["cells"][0] for row in blocks(text, "table")[0]["rows"]]
    assert "citation_f1_micro" in [name[-1]["text"] for name in names]
    figures = [chart["x"]["label"] for chart in blocks(text, "chart")]
    assert "citation_f1" in figures
    assert not [name for name in figures if "_micro" in name]
    about = payload(text, "about")
    assert about["headline"] == "citation_f1"
    assert not [name for name in about["metrics"] if "_micro" in name]
    notes = [note for one in blocks(text, "bullets") for note in one["items"]]
    (told,) = (note for note in notes if "over all answers" in note)
    assert "citation_f1_micro" in told


def test_compared_runs_have_the_numbers_of_their_summaries(run: Path, tmp_path: Path) -> None:
    found = compare([run, citation_run(tmp_path / "other")]).as_dict()
    names = found["pairs"][0]["metrics"]
    assert "citation_f1" in names
    told = msgspec.json.decode((run / "summary.json").read_bytes())["metrics"]
    assert list(names) == list(told)
    for name, entry in told.items():
        assert names[name]["result"]["mean_a"] == pytest.approx(entry["mean"])


def with_manifest(folder: Path, **changes: Any) -> Path:
    path = folder / "manifest.json"
    manifest = msgspec.json.decode(path.read_bytes())
    path.write_bytes(msgspec.json.encode(manifest | changes))
    return folder


TOLD: dict[str, Any] = {
    "kind": "run",
    "status": "finished",
    "benchmark": {
        "name": "kalma", "task": "specific", "headline": "citation_f1_micro",
        "notices": [DRAWN], "options": {},
    },
    "model": {"name": "aurora"},
}  # fmt: skip


def test_the_tasks_headline_leads_the_table(tmp_path: Path) -> None:
    page = write_run_page(with_manifest(citation_run(tmp_path / "run"), **TOLD)).read_text()
    rows = blocks(page, "table")[0]["rows"]
    (first,) = (row for row in rows if row.get("tone") == "first")
    assert first["cells"][0][-1]["text"] == "citation_f1_micro"


def test_notices_stand_on_the_page(tmp_path: Path) -> None:
    folder = with_manifest(citation_run(tmp_path / "run"), **TOLD)
    page = write_run_page(folder).read_text()
    assert payload(page)["notices"] == [DRAWN]
    assert notices({}) == notices({"benchmark": {"name": "x"}}) == []


def test_notices_stand_in_a_comparison(tmp_path: Path) -> None:
    from tests.texts import comparison_text

    from trueground.studies.comparison_pages import comparison_page

    one = with_manifest(citation_run(tmp_path / "one"), **TOLD)
    two = with_manifest(citation_run(tmp_path / "two"), **TOLD)
    found = compare([one, two]).as_dict()
    assert comparison_page(found).notices == [f"one, two: {DRAWN}"]
    assert f"note: one, two: {DRAWN}" in " ".join(comparison_text(found).split())


def test_notices_stand_in_the_terminal(tmp_path: Path) -> None:
    folder = with_manifest(
        citation_run(tmp_path / "run"), **TOLD, outcomes={"answered": 5}, calls=5, cache_hits=0,
        tokens={"in": 1, "out": 1},
    )  # fmt: skip
    read = (msgspec.json.decode((folder / f"{name}.json").read_bytes())
            for name in ("summary", "manifest"))  # fmt: skip
    summary, manifest = read
    shown = " ".join(run_text(summary, folder, manifest).split())
    assert shown.startswith(f"note: {DRAWN}")
    told = [("specific", summary, manifest, folder), ("specific", summary, manifest, folder)]
    shown = sweep_text(told)
    assert " ".join(shown.split()).count(f"note: {DRAWN}") == 1
    assert "citation_f1_micro" in shown


def test_repeats_have_spread(tmp_path: Path) -> None:
    rng = random.Random(0)
    pairs = [make_item(k, rng) for k in range(20)]
    entry = {"mean": 0.5, "sd": 0.0123, "ci": [0.4, 0.6], "values": 3, "of": 3}
    for k, (record, _) in enumerate(pairs):
        record.meta = {"meta.repeat": k % 3}
    folder = write_run(
        tmp_path / "run", pairs, fields=("meta.repeat",), averages={"meta.repeat": {"f1": entry}}
    )
    page = write_run_page(folder).read_text()
    assert "± 0.0123 over 3 repeats" in words(page)
    rows = [row["cells"] for table in blocks(page, "table") for row in table["rows"]]
    average = next(cells for cells in rows if cells[0] == "average of 3")
    assert average[1] == {
        "type": "estimate",
        "value": 0.5,
        "low": 0.4,
        "high": 0.6,
        "note": "± 0.0123",
    }


def test_records_that_do_not_belong_are_still_found(run: Path, tmp_path: Path) -> None:
    other = citation_run(tmp_path / "other", [answers()[0] | {"id": "x"}, *answers()[1:]])
    (other / "records.jsonl.zst").write_bytes((run / "records.jsonl.zst").read_bytes())
    with pytest.raises(InputError, match="id 'x': no record has its id"):
        write_run_page(other)


def test_fixture_has_many_values() -> None:
    assert len(MANY) > 35
    assert BRAM["qid"] == "Q72"
