"""The page of a validation: what it says, and how carefully it says it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reports.validation_fixture import MEASURES, estimate, of_pairs, validation, with_people

from trueground.errors import OutputError, UsageError
from trueground.reports import validation_worst
from trueground.reports.validation_charts import curve, spread
from trueground.reports.validation_headline import headline
from trueground.reports.validation_page import check_writable, render_page, write_validation
from trueground.reports.validation_said import four, ordered
from trueground.reports.validation_tables import by_set, over_sets


def said(values: dict[str, tuple[float | None, tuple[float, float] | None]]) -> str:
    """The first lines where one set has these AUROC values and intervals."""
    raw = validation(1, 1)
    entry = raw["sets"][0]["metrics"]["support"]
    raw["mean"] = {}
    raw["sets"][0]["metrics"] = {
        name: {
            **entry,
            "measures": {"auroc": {"value": value, "ci": ci, "n": 300, "why": "constant"}},
        }
        for name, (value, ci) in values.items()
    }
    return " ".join(re.sub("<.*?>", "", str(line)) for line in headline(raw))


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ((0.79, (0.76, 0.82)), "the difference is within the interval"),
        ((0.7650, (0.73, 0.7850)), "but the intervals overlap."),
        ((0.7, (0.68, 0.72)), "the intervals do not overlap."),
        ((0.7, None), "without intervals nothing can be said of the difference."),
    ],
)
def test_a_lead_is_told_with_its_doubt(second: Any, words: str) -> None:
    told = said({"b": second, "a": (0.8, (0.77, 0.83))})
    assert told.startswith("Best by AUROC: a with 0.8000 (95 % interval 0.7700 to 0.8300).")
    assert "The next is b" in told
    assert words in told


@pytest.mark.parametrize(
    ("ci", "words"),
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
def test_a_paired_difference_decides(ci: Any, words: str) -> None:
    """Overlapping intervals are no test; the difference has its own."""
    raw = validation(1, 1)
    entry = raw["sets"][0]["metrics"]["support"]
    values = {"a": (0.8, (0.77, 0.83)), "b": (0.79, (0.76, 0.82)), "c": (0.78, (0.7, 0.82))}
    raw["mean"] = {}
    raw["sets"][0]["metrics"] = {
        name: {**entry, "measures": {"auroc": {"value": value, "ci": own, "n": 300, "why": None}}}
        for name, (value, own) in values.items()
    }
    same = {"against": "a", "value": -0.02, "ci": [-0.08, 0.04], "sets": 1, "why": None}
    near = {"against": "a", "value": -0.01, "ci": list(ci), "sets": 1, "why": None}
    raw["differences"] = {"auroc": {"b": near, "c": same}}
    told = " ".join(re.sub("<.*?>", "", str(line)) for line in headline(raw))
    assert words in told
    assert "Nor is it told from the first: c." in told


def test_ties_are_called_ties() -> None:
    told = said({"a": (0.80004, (0.7, 0.9)), "b": (0.8, (0.7, 0.9)), "c": (0.6, (0.5, 0.65))})
    assert "a, b are tied at 0.8000 to four decimals (95 % interval 0.7000 to 0.9000)." in told
    assert "The next is c" in told


def test_what_cannot_be_told_from_guessing() -> None:
    assert "Even a cannot be told from guessing" in said({"a": (0.52, (0.49, 0.55))})
    assert "It is the only one, so nothing is compared." in said({"a": (0.7, (0.6, 0.8))})
    assert said({"a": (None, None)}) == "No metric has an AUROC here: constant."


def test_a_mean_over_fewer_sets_does_not_lead() -> None:
    raw = validation(3, 2)
    raw["mean"]["judged"]["auroc"] = {"value": 0.99, "sets": 1, "ci": [0.98, 1.0]}
    told = " ".join(headline(raw))
    assert told.startswith("Best by AUROC, mean over 3 sets: <code>support</code>")
    assert "value on fewer sets: <code>judged</code>" in told
    assert ordered(raw) == ["support", "judged"]
    (_, first), (_, second) = over_sets(raw, ["support", "judged"]).rows
    assert (first[0].best, second[0].best, second[0].extra) == (True, False, "1 of 3 sets")


def test_few_records_are_told() -> None:
    raw = validation(2, 2)
    assert "too few for a conclusion" not in " ".join(headline(raw))
    raw["sets"][1]["positives"] = raw["sets"][1]["n"] - 3
    assert "Fewer than 20 records of the rarer label are too few" in " ".join(headline(raw))
    assert "too narrow: set_1 (3)." in " ".join(headline(raw))
    assert "Fewer than 20 pairs are too few" in " ".join(headline(of_pairs({"a": 0.7}, n=30)))


def test_tied_pairs_and_sets_name_all_that_lead() -> None:
    told = " ".join(headline(of_pairs({"a": 0.7, "b": 0.7, "c": 0.6})))
    assert "<code>a</code>, <code>b</code> are tied, agreeing most often with people, in" in told
    raw = validation(2, 5)
    for entry in raw["sets"][0]["metrics"].values():
        entry["measures"]["auroc"]["value"] = 0.75
    assert re.search(
        r"highest AUROC: (<code>\w+</code>,? ?){3} and 2 more 0\.750", render_page(raw)
    )


def test_other_records_behind_the_next_are_told() -> None:
    raw = validation(1, 2)
    raw["sets"][0]["metrics"]["judged"]["n"] = 123
    assert "scored 300, <code>judged</code> 123." in " ".join(headline(raw))


def test_all_that_equal_the_best_are_marked() -> None:
    raw = validation(2, 3)
    for name, value in (("support", 0.9), ("judged", 0.90004), ("always", 0.4)):
        raw["mean"][name]["auroc"]["value"] = value
        raw["mean"][name]["false_positive_rate"]["value"] = value
    table = over_sets(raw, ["support", "judged", "always"])
    best = {
        key: [name for name, cells in table.rows if cells[k].best]
        for k, (key, _, _) in enumerate(table.columns)
    }
    assert best["auroc"] == ["support", "judged"]
    assert best["false_positive_rate"] == ["always"]
    assert by_set(raw, ["support"], "auroc").rows[0][1][0].best is False


def test_what_is_undefined_is_a_dash_with_its_reason() -> None:
    raw = validation(2, 4)
    table = over_sets(raw, ["always", "length"])
    notes = dict(table.notes)
    cells = dict(zip((key for key, *_ in table.columns), table.rows[0][1], strict=True))
    assert cells["spearman"].value is None
    assert notes[cells["spearman"].note or ""] == "no set has it: all scores are 1"
    page = render_page(raw)
    assert re.search(r'data-value="">–<sup>[a-z]</sup>', page)
    assert "<sup>a</sup> no set has it: the score is no probability" in page
    raw["sets"][0]["metrics"]["support"]["measures"]["auroc"] |= {"ci": None, "why": "one group"}
    assert "no interval<sup>" in render_page(raw)


def test_numbers_are_written_with_care() -> None:
    assert [four(x) for x in (None, -0.00001, -0.5, 0.12345)] == [
        "–",
        "0.0000",
        "−0.5000",
        "0.1235",
    ]


def test_histograms_are_shares_of_their_label() -> None:
    entry = validation(1, 1)["sets"][0]["metrics"]["support"]
    found = spread(entry, 0.5)
    assert found is not None
    assert not found.binary
    assert [strip.label for strip in found.strips] == ["1", "0"]
    assert [at for at, words in found.thresholds if words.startswith("default")] == [50.0]
    heights = [bar.height for strip in found.strips for bar in strip.bars]
    assert max(heights) == 100
    for strip in found.strips:
        own = entry["histogram"]["counts"][strip.label]
        assert strip.count == sum(own)
        shares = np.array([n for n in own if n]) / sum(own)
        drawn = np.array([bar.height for bar in strip.bars])
        assert np.allclose(drawn / drawn.sum(), shares, atol=1e-3)


def test_binary_scores_are_dots() -> None:
    entry = validation(1, 2)["sets"][0]["metrics"]["judged"]
    found = spread(entry, 0.5)
    assert found is not None
    assert found.binary
    for strip in found.strips:
        assert strip.dot is not None
        own = entry["histogram"]["counts"][strip.label]
        assert strip.dot.mean == pytest.approx(100 * own[-1] / sum(own), abs=0.01)
    nearly = {**entry, "by_label": [{**one, "mean": estimate(0.5, 9)} for one in entry["by_label"]]}
    assert not spread(nearly, 0.5).binary  # type: ignore[union-attr]


def test_nothing_scored_is_no_picture() -> None:
    entry = validation(1, 1)["sets"][0]["metrics"]["support"]
    assert spread({**entry, "histogram": {"edges": [], "counts": {"0": [], "1": []}}}, 0.5) is None
    assert curve([]) == []


def test_a_record_stands_once_with_all_that_got_it_wrong() -> None:
    item = {"id": "x", "label": 1.0, "question": "q", "response": "r", "reasons": []}
    worst = {
        "a": [{**item, "score": 0.1, "context": "one"}, {**item, "id": "y", "score": 0.2}],
        "b": [{**item, "score": 0.0, "context": "one"}],
        "c": [{**item, "score": 0.3, "context": "another"}],
    }
    found = validation_worst.worst({"metrics": {m: {"worst": w} for m, w in worst.items()}}, 7, 1)
    assert [(one.id, one.wrong) for one in found.readings] == [("x", 3), ("y", 1)]
    first = found.readings[0].verdicts
    assert [[m for m, *_ in one.metrics] for one in first] == [["a", "b"], ["c"]]
    assert found.anchors() == {"x": "s7-r0", "y": "s7-r1"}


def test_each_metric_keeps_its_first_where_there_are_too_many() -> None:
    items: list[dict[str, Any]] = [
        {"id": f"{m}{k}", "label": 1, "score": 0.0} for m in "ab" for k in range(50)
    ]
    metrics = {m: {"worst": [i for i in items if i["id"][0] == m]} for m in "ab"}
    found = validation_worst.worst({"metrics": metrics}, 0, 60)
    assert found.of == 100
    assert {one.id for one in found.readings} == {f"{m}{k}" for m in "ab" for k in range(5)}
    raw = validation(1, 1)
    raw["sets"] *= 100
    assert "6 of 10 records; validation.json has all" in render_page(raw)


def test_long_texts_are_cut() -> None:
    assert validation_worst.cut("a" * 20, 10) == "a" * 10 + " […]"
    assert validation_worst.cut(None, 10) == ""


def test_hostile_text_is_text_on_the_page() -> None:
    raw = with_people(validation(2, 3))
    raw |= {"label": "<b>", "notes": ["</style><script>1</script>"], "judge": "<i>"}
    raw["sets"][0]["name"] = '"><img src=x>'
    page = render_page(raw)
    assert page.count("<script") == 1
    assert "<img" not in page
    assert "&lt;script&gt;window.hit" in page
    assert "{{7*7}}" in page
    assert "&lt;carla&gt;" in page
    assert "default-src 'none'" in page


def test_the_same_validation_is_the_same_page(tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        write_validation(tmp_path / name, validation())
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_every_table_has_a_caption_and_every_picture_a_label() -> None:
    page = render_page(with_people(validation(2, 4)))
    assert page.count("<table") == len(re.findall(r"<table[^>]*>\s*<caption", page))
    assert all("aria-label" in tag for tag in re.findall(r"<svg[^>]*>", page))
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    targets = re.findall(r'href="#([^"]+)"|aria-labelledby="([^"]+)"|for="([^"]+)"', page)
    assert {found for groups in targets for found in groups if found} <= set(ids)


def test_one_set_has_no_tables_of_sets() -> None:
    page = render_page(validation(1, 2))
    assert 'name="measure"' not in page
    assert "Metric by metric" in page
    assert render_page(validation(2, 2)).count('name="measure"') == len(MEASURES)


def test_pairs_alone_make_a_page() -> None:
    page = render_page(of_pairs({"b": 0.61, "a": 0.72, "c": None}))
    assert "pairs: <code>a</code> agrees with people most often, in <strong>0.7200</strong>" in page
    rows = re.findall(r'<tr><th scope="row"><code>(.)</code></th>\s*<td', page)
    assert rows == ["a", "b", "c"]
    assert "/data/pairs.jsonl" in page
    assert "400 pairs, 20 of them even for people" in page
    assert "all of the 400 pairs are ties" in page
    assert "Each set" not in page
    assert "no metric can be held against" in render_page(of_pairs({"c": None}))


def test_annotators_stand_beside_the_metrics() -> None:
    page = render_page(with_people(validation(2, 2)))
    assert "What people reach" in page
    assert page.index("anna") < page.index("mean of the annotators")
    assert "What people reach" not in render_page(validation(2, 2))


def test_graded_labels_have_a_row_each() -> None:
    raw = {**validation(1, 1), "ordinal": True}
    entry = raw["sets"][0]["metrics"]["support"]
    entry["by_grade"] = [{**entry["by_label"][0], "label": grade} for grade in (0, 0.5, 1)]
    assert '<th scope="row">0.5</th>' in render_page(raw)


def test_many_sets_and_metrics_stay_light() -> None:
    raw = validation(16, 12, n=600)
    assert len(render_page(raw).encode()) < 5e6


def test_a_page_is_an_html_file_in_a_folder_that_is_there(tmp_path: Path) -> None:
    check_writable(tmp_path / "page.html")
    with pytest.raises(UsageError, match=r"name it FILE\.html"):
        check_writable(tmp_path / "page.json")
    with pytest.raises(OutputError, match="does not exist"):
        check_writable(tmp_path / "none" / "page.html")


def test_errors_go_together_only_where_the_records_are_the_same() -> None:
    raw = validation(1, 2)
    for entry in raw["sets"][0]["metrics"].values():
        entry["n"] = 300
    assert "All metrics are measured on the same records" in render_page(raw)
    raw["sets"][0]["metrics"]["judged"]["n"] = 123
    assert "All metrics are measured on the same records" not in render_page(raw)
    assert "overlapping intervals are no test" in render_page(raw)
