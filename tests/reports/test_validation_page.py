"""The page of a validation: what it says, and how carefully it says it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.reports.payload import blocks, payload, words
from tests.reports.validation_fixture import MEASURES, of_pairs, validation, with_people

from trueground.reports.blocks import Span
from trueground.studies.validation.page import validation_page, write_validation
from trueground.studies.validation.sentences import best_first, four, headline


def plain(sentence: list[str | Span]) -> str:
    return "".join(one if isinstance(one, str) else one.text for one in sentence)


def first_lines(raw: dict[str, Any]) -> str:
    return " ".join(map(plain, headline(raw)))


def page_of(raw: dict[str, Any]) -> dict[str, Any]:
    """What the file of the page holds."""
    found: dict[str, Any] = payload(validation_page(raw).to_html())
    return found


def text_of(raw: dict[str, Any]) -> str:
    return words(page_of(raw))


def section(page: dict[str, Any], id_: str) -> dict[str, Any]:
    return next(one for one in blocks(page, "section") if one.get("id") == id_)


def of_values(values: dict[str, tuple[float | None, tuple[float, float] | None]]) -> dict[str, Any]:
    """One set with these AUROC values and intervals."""
    raw = validation(1, 1)
    entry = raw["sets"][0]["metrics"]["support"]
    areas = {
        name: {"value": value, "ci": ci and list(ci), "n": 300, "why": "constant"}
        for name, (value, ci) in values.items()
    }
    raw["sets"][0]["metrics"] = {
        name: {**entry, "measures": {**entry["measures"], "auroc": area}}
        for name, area in areas.items()
    }
    raw["mean"] = {
        name: {"auroc": {**area, "sets": int(area["value"] is not None)}}
        for name, area in areas.items()
    }
    return raw


def said(values: dict[str, tuple[float | None, tuple[float, float] | None]]) -> str:
    return first_lines(of_values(values))


@pytest.mark.parametrize(
    ("second", "doubt"),
    [
        ((0.79, (0.76, 0.82)), "the difference is within the interval"),
        ((0.7650, (0.73, 0.7850)), "but the intervals overlap."),
        ((0.7, (0.68, 0.72)), "the intervals do not overlap."),
        ((0.7, None), "without intervals nothing can be said of the difference."),
    ],
)
def test_best_metric_is_shown_with_uncertainty(second: Any, doubt: str) -> None:
    told = said({"b": second, "a": (0.8, (0.77, 0.83))})
    assert told.startswith("Best by AUROC: a with 0.8000 (95 % interval 0.7700 to 0.8300).")
    assert "The next is b" in told
    assert doubt in told


@pytest.mark.parametrize(
    ("ci", "told"),
    [
        (
            (-0.03, 0.01),
            "the difference of 0.0100 (−0.0100 to 0.0300) on the records that both score "
            "may be chance.",
        ),
        (
            (-0.018, -0.002),
            "the difference of 0.0100 (0.0020 to 0.0180) on the records that both "
            "score is more than chance.",
        ),
    ],
)
def test_a_paired_difference_decides(ci: Any, told: str) -> None:
    """Overlapping intervals are no test; the difference has its own."""
    raw = of_values({"a": (0.8, (0.77, 0.83)), "b": (0.79, (0.76, 0.82)), "c": (0.78, (0.7, 0.82))})
    same = {"against": "a", "value": -0.02, "ci": [-0.08, 0.04], "sets": 1, "why": None}
    near = {"against": "a", "value": -0.01, "ci": list(ci), "sets": 1, "why": None}
    raw["differences"] = {"auroc": {"b": near, "c": same}}
    assert told in first_lines(raw)
    assert "The difference of c from the first may be chance too." in first_lines(raw)


def test_ties_are_called_ties() -> None:
    told = said({"a": (0.80004, (0.7, 0.9)), "b": (0.8, (0.7, 0.9)), "c": (0.6, (0.5, 0.65))})
    assert "a, b are tied at 0.8000 to four decimals (95 % interval 0.7000 to 0.9000)." in told
    assert "The next is c" in told


def test_metric_no_better_than_chance_is_marked() -> None:
    assert "Even a cannot be told from guessing" in said({"a": (0.52, (0.49, 0.55))})
    assert "It is the only one, so nothing is compared." in said({"a": (0.7, (0.6, 0.8))})
    assert said({"a": (None, None)}) == "No metric has an AUROC here: constant."


def test_a_mean_over_fewer_sets_does_not_lead() -> None:
    raw = validation(3, 2)
    raw["mean"]["judged"]["auroc"] = {"value": 0.99, "sets": 1, "ci": [0.98, 1.0], "why": None}
    assert first_lines(raw).startswith("Best by AUROC, mean over 3 sets: support with ")
    assert "value on fewer sets: judged." in first_lines(raw)
    assert best_first(raw["mean"]) == ["support", "judged"]
    first, second = blocks(section(page_of(raw), "measures"), "table")[0]["rows"]
    assert "apart" not in first["cells"][1]
    assert second["cells"][1]["apart"]
    assert second["cells"][1]["note"] == "1 of 3 sets"


def test_few_records_have_a_notice() -> None:
    raw = validation(2, 2)
    assert "too few for a conclusion" not in first_lines(raw)
    raw["sets"][1]["positives"] = raw["sets"][1]["n"] - 3
    assert "Fewer than 20 records of the rarer label are too few" in first_lines(raw)
    assert "too narrow: set_1 (3)." in first_lines(raw)
    assert "Fewer than 20 pairs are too few" in first_lines(of_pairs({"a": 0.7}, n=30))


def test_tied_pairs_and_sets_name_all_that_lead() -> None:
    told = first_lines(of_pairs({"a": 0.7, "b": 0.7, "c": 0.6}))
    assert "a, b are tied, agreeing most often with people, in" in told
    raw = validation(2, 5)
    for entry in raw["sets"][0]["metrics"].values():
        entry["measures"]["auroc"]["value"] = 0.75
    assert re.search(r"highest AUROC: (\w+(, )?){3} and 2 more 0\.750", text_of(raw))


def test_different_records_of_runner_up_are_reported() -> None:
    raw = validation(1, 2)
    raw["sets"][0]["metrics"]["judged"]["n"] = 123
    assert "scored 300, judged 123." in first_lines(raw)


def test_columns_tell_which_end_is_better() -> None:
    page = page_of(validation(2, 3))
    (shown, _more) = blocks(section(page, "measures"), "table")
    better = {one["label"]: one.get("better") for one in shown["columns"]}
    assert better["AUROC"] == "high"
    assert better["False positives"] == "low"
    people = blocks(section(page_of(with_people(validation(1, 2))), "people"), "table")[0]
    assert not any("better" in one for one in people["columns"])


def test_metric_equal_to_best_is_also_best() -> None:
    raw = validation(2, 3)
    raw["mean"]["support"]["auroc"]["value"] = 0.9
    raw["mean"]["judged"]["auroc"]["value"] = 0.90004
    rows = blocks(section(page_of(raw), "measures"), "table")[0]["rows"]
    assert [row["cells"][1]["value"] for row in rows[:2]] == [0.9, 0.9]


def test_undefined_value_is_null_with_reason() -> None:
    raw = validation(2, 4)
    raw["mean"]["support"]["auroc"] |= {"ci": None, "why": "one group"}
    found = blocks(section(page_of(raw), "measures"), "table")[0]
    column = [one["label"] for one in found["columns"]].index("Spearman ρ")
    rows = {row["cells"][0][0]["text"]: row["cells"] for row in found["rows"]}
    assert rows["always"][column]["value"] is None
    letter = rows["always"][column]["note"]
    assert f"{letter} all scores are 1" in text_of(raw)
    assert rows["support"][1]["value"] is not None
    assert rows["support"][1]["note"].startswith("no interval (")
    assert ") one group" in text_of(raw)


def test_numbers_are_written_with_care() -> None:
    assert [four(x) for x in (None, -0.00001, -0.5, 0.12345)] == [
        "–",
        "0.0000",
        "−0.5000",
        "0.1235",
    ]


def test_histograms_are_shares_of_their_label() -> None:
    raw = validation(1, 1)
    entry = raw["sets"][0]["metrics"]["support"]
    chart = next(one for one in blocks(page_of(raw), "chart") if one["kind"] == "bars")
    assert [one["tone"] for one in chart["series"]] == ["supported", "unsupported"]
    for label, one in zip("10", chart["series"], strict=True):
        own = entry["histogram"]["counts"][label]
        assert one["y"] == [n / sum(own) for n in own]
        assert one["x"] == entry["histogram"]["edges"][:-1]
    assert chart["x"]["marks"][0] == [0.5, "default threshold 0.5"]
    assert chart["x"]["marks"][1][0] == entry["best_threshold"]


def test_a_metric_without_a_default_threshold_has_no_mark_of_it() -> None:
    raw = validation(1, 1)
    raw["sets"][0]["metrics"]["support"]["confusion"] = None
    chart = next(one for one in blocks(page_of(raw), "chart") if one["kind"] == "bars")
    assert [words for _, words in chart["x"]["marks"]] == [
        f"best threshold {chart['x']['marks'][0][0]:.3g}"
    ]
    assert "Verdict: score above 0.5: – " in text_of(raw)


def test_a_calibration_curve_has_a_point_for_each_bin_with_records() -> None:
    raw = validation(1, 1)
    bins = raw["sets"][0]["metrics"]["support"]["reliability"]
    bins.append({"low": 0.0, "high": 0.0, "mean_score": None, "share_positive": None, "n": 0})
    (curve,) = (one for one in blocks(page_of(raw), "chart") if one["kind"] == "lines")
    (series,) = curve["series"]
    assert series["x"] == [one["mean_score"] for one in bins[:-1]]
    assert series["y"] == [one["share_positive"] for one in bins[:-1]]
    assert curve["diagonal"]


def test_a_metric_is_titled_with_its_auroc_and_coverage() -> None:
    page = page_of(validation(1, 1))
    folds = blocks({"blocks": section(page, "each")["blocks"]}, "fold")
    (title,) = [fold["title"] for fold in folds]
    assert title[0]["text"] == "support"
    assert re.fullmatch(r" AUROC 0\.\d{4} \(.*\); \d+ scored.*", title[1]["text"])


def test_nothing_scored_is_no_chart() -> None:
    raw = validation(1, 1)
    empty = {"edges": [], "counts": {"0": [], "1": []}}
    raw["sets"][0]["metrics"]["support"] |= {"histogram": empty, "reliability": None}
    assert blocks(page_of(raw), "chart") == []
    assert "Nothing was scored." in text_of(raw)
    assert "Calibration: – " in text_of(raw)


def with_worst(lists: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    raw = validation(1, len(lists))
    kept = raw["sets"][0]["metrics"].values()
    for entry, worst in zip(kept, lists.values(), strict=True):
        entry["worst"] = worst
    return raw


def test_a_record_stands_once_with_all_that_got_it_wrong() -> None:
    item = {"id": "x", "label": 1.0, "question": "q", "response": "r", "reasons": []}
    raw = with_worst(
        {
            "support": [
                {**item, "score": 0.1, "context": "one"},
                {**item, "id": "y", "score": 0.2},
            ],
            "judged": [{**item, "score": 0.0, "context": "one"}],
            "always": [{**item, "score": 0.3, "context": "another"}],
        }
    )
    (found,) = blocks(page_of(raw), "entries")
    first, second = found["entries"]
    assert words(first["title"]) == "x people say 1; 3 metrics have it wrong"
    assert words(second["title"]) == "y people say 1; 1 metric has it wrong"
    assert first["values"] == {"support": 0.1, "judged": 0.0, "always": 0.3}
    lists = [one["items"] for one in first["blocks"] if one["type"] == "bullets"]
    assert [[item[0]["text"] for item in each] for each in lists] == [
        ["support", "judged"],
        ["always"],
    ]


def test_each_metric_keeps_its_first_where_there_are_too_many() -> None:
    def items(metric: str) -> list[dict[str, Any]]:
        item = {"label": 1, "score": 0.0, "response": "r"}
        return [{**item, "id": f"{metric}{k}"} for k in range(500)]

    raw = with_worst({"a": items("a"), "b": items("b")})
    (found,) = blocks(page_of(raw), "entries")
    ids = {one["title"][0] for one in found["entries"]}
    assert ids == {f"{m}{k}" for m in "ab" for k in range(300)}
    assert "600 of 1,000 records; validation.json has all" in text_of(raw)


def test_hostile_text_is_text_on_the_page() -> None:
    raw = with_people(validation(2, 3))
    raw |= {"label": "<b>", "notes": ["</style><script>1</script>"], "judge": "<i>"}
    raw["sets"][0]["name"] = '"><img src=x>'
    page = validation_page(raw).to_html()
    assert page.count("</script>") == 2  # the data's and the viewer's own
    assert "<img" not in page
    assert "<script>window.hit" in words(page)
    assert "<carla>" in words(page)
    assert "default-src 'none'" in page


def test_the_same_validation_is_the_same_page(tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        write_validation(tmp_path / name, validation())
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_one_set_has_no_tables_of_sets() -> None:
    page = page_of(validation(1, 2))
    assert blocks(page, "choice") == []
    assert section(page, "each")["title"] == "Metric by metric"
    (choice,) = blocks(page_of(validation(2, 2)), "choice")
    assert len(choice["options"]) == len(MEASURES)
    assert choice["options"][0][0] == "AUROC"


def test_pairs_alone_make_a_page() -> None:
    raw = of_pairs({"b": 0.61, "a": 0.72, "c": None})
    page = page_of(raw)
    assert "pairs: a agrees with people most often, in 0.7200" in text_of(raw)
    (table,) = blocks(section(page, "pairs"), "table")
    assert [row["cells"][0][0]["text"] for row in table["rows"]] == ["a", "b", "c"]
    assert "/data/pairs.jsonl" in text_of(raw)
    assert "400 pairs, 20 of them even for people" in text_of(raw)
    assert "all of the 400 pairs are ties" in text_of(raw)
    assert "Each set" not in text_of(raw)
    assert "no metric can be held against" in text_of(of_pairs({"c": None}))


def test_annotators_stand_beside_the_metrics() -> None:
    page = text_of(with_people(validation(2, 2)))
    assert "What people reach" in page
    assert page.index("anna") < page.index("mean of the annotators")
    assert "What people reach" not in text_of(validation(2, 2))


def test_graded_labels_have_a_row_each() -> None:
    raw = {**validation(1, 1), "ordinal": True}
    entry = raw["sets"][0]["metrics"]["support"]
    entry["by_grade"] = [{**entry["by_label"][0], "label": grade} for grade in (0, 0.5, 1)]
    tables = blocks(page_of(raw), "table")
    (grades,) = (one for one in tables if one.get("caption", "").startswith("Mean, median"))
    assert [row["cells"][0] for row in grades["rows"]] == ["0", "0.5", "1"]


@pytest.mark.long
def test_many_sets_and_metrics_stay_light() -> None:
    raw = validation(16, 12, n=600)
    assert len(validation_page(raw).to_html().encode()) < 5e6


def test_errors_go_together_only_where_the_records_are_the_same() -> None:
    raw = validation(1, 2)
    for entry in raw["sets"][0]["metrics"].values():
        entry["n"] = 300
    assert "All metrics are measured on the same records" in text_of(raw)
    raw["sets"][0]["metrics"]["judged"]["n"] = 123
    assert "All metrics are measured on the same records" not in text_of(raw)
    assert "overlapping intervals are no test" in text_of(raw)
