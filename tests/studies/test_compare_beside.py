"""Beside the test of a comparison: sizes, planning, links into pages, what metrics read."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import unquote

import msgspec
import numpy as np
import orjson
import pytest
from hypothesis import given, strategies as st
from scipy.stats import wilcoxon
from statsmodels.stats.multitest import multipletests
from tests.reports.payload import payload, words
from tests.texts import comparison_text

import trueground as tg
from trueground.errors import UsageError
from trueground.reports.run_pages import write_run_page
from trueground.stats.effects import Effects, effects_of, plan
from trueground.stats.paired_tests import Paired
from trueground.studies.comparing import compare
from trueground.studies.comparison_pages import comparison_page, write_comparison

METRICS = "exact_match,f1,k_precision"
WORDS = ["one", "two", "three", "four", "five"]
Make = Callable[..., Path]


def rows(seed: int, n: int = 40, **more: Any) -> list[dict[str, Any]]:
    random = np.random.default_rng(seed)
    return [
        {
            "id": f"q{i}",
            "question": f"Which words? ({i})",
            "contexts": ["one two three", {"text": "four five", "title": f"t{i}"}],
            "references": ["one two"],
            "response": " ".join(random.choice(WORDS, random.integers(1, 4))),
            **more,
        }
        for i in range(n)
    ]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(name: str, records: Sequence[dict[str, Any]], **settings: Any) -> Path:
        settings = {"metrics": METRICS} | settings
        tg.score(records, out=tmp_path / name, resamples=10, **settings)
        return tmp_path / name

    return made


def change_manifest(run: Path, **changes: Any) -> None:
    path = run / "manifest.json"
    path.write_bytes(orjson.dumps(orjson.loads(path.read_bytes()) | changes))


def scores(run: Path, metric: str) -> Any:
    lines = (run / "items.jsonl").read_bytes().splitlines()
    return np.array([orjson.loads(line)["scores"][metric] for line in lines], np.float64)


def flat(found: Effects) -> list[float]:
    told = (one for one in dataclasses.astuple(found) if one is not None)
    return [number for value, ci, _ in told for number in (value, *(ci or ()))]


def test_sizes_are_those_of_the_scores(make: Make) -> None:
    a, b = make("a", rows(0)), make("b", rows(1))
    found = compare([a, b], resamples=200, detect=[0.05])
    (pair,) = found.pairs
    assert (found.alpha, found.power) == (0.05, 0.8)
    for metric, binary in (("exact_match", True), ("f1", False)):
        in_a, in_b = scores(a, metric), scores(b, metric)
        sizes = pair.metrics[metric].sizes
        assert sizes is not None
        assert flat(sizes.effects) == pytest.approx(
            flat(effects_of(in_a[:, None], in_b[:, None], binary=[binary], resamples=200)[0])
        )
        assert sizes.planning == plan(np.round(in_b - in_a, 12), discordant=binary, wanted=[0.05])
        if binary:
            assert sizes.wilcoxon is None
        else:
            assert sizes.wilcoxon is not None
            theirs = wilcoxon(np.round(in_b - in_a, 12))
            assert min(sizes.wilcoxon.plus, sizes.wilcoxon.minus) == theirs.statistic
    assert pair.metrics["exact_match"].sizes.planning.method == "discordant"  # type: ignore[union-attr]


def test_holm_is_over_one_test_of_each_metric(make: Make) -> None:
    runs = [make(name, rows(i)) for i, name in enumerate("abc")]
    found = compare(runs, resamples=200)
    every = [metric for pair in found.pairs for metric in pair.metrics.values()]
    assert len(every) == 6
    expected = multipletests([m.result.p for m in every], method="holm")[1]
    assert [m.p_holm for m in every] == pytest.approx(list(expected))


@given(st.lists(st.integers(0, 20).map(lambda k: k / 20), min_size=1, max_size=12))
def test_holm_with_ties_is_that_of_statsmodels(p: list[float]) -> None:
    # statsmodels collects all garbage of the process each time, which takes longer than the rest.
    with mock.patch("gc.collect"):
        wanted = multipletests(p, method="holm")[1]
    assert Paired.adjust(list(p)) == pytest.approx(list(wanted))


def test_groups_make_sizes_and_planning_wider(make: Make) -> None:
    def grouped(seed: int) -> list[dict[str, Any]]:
        return [row | {"id": f"{row['id']}-{i}", "group": row["id"]}
                for row in rows(seed, 20) for i in range(4)]  # fmt: skip

    a, b = make("a", grouped(0)), make("b", grouped(1))
    found = compare([a, b], metrics="f1")
    (pair,) = found.pairs
    sizes = pair.metrics["f1"].sizes
    assert sizes is not None
    assert sizes.wilcoxon is not None
    assert sizes.wilcoxon.units <= pair.clusters == 20  # type: ignore[operator]
    assert sizes.planning.design_effect == pytest.approx(4, rel=0.1)
    two_points = sizes.planning.needed[0]
    assert two_points.groups == pytest.approx((two_points.items or 0) / 4, abs=1)
    shown = comparison_text(found.as_dict(), every=True, width=300)
    assert re.search(r"items for 0.02 .*\nf1 .* [\d,]+ \([\d,]+ groups\)", shown)


def test_words_of_planning(make: Make) -> None:
    found = compare([make("a", rows(0)), make("b", rows(1))], detect=[0.01, 0.5], power=0.9)
    page = words(comparison_page(found.as_dict()).to_html())
    for shown in (comparison_text(found.as_dict(), every=True, width=300), page):
        assert "What these items can show (two-sided test at 0.05, 90 % power)" in shown
        assert re.search(r"smallest difference seen\s+items for 0.01\s+items for 0.5\s", shown)
        assert "deviation of the differences" in shown
    same = compare([make("c", rows(0)), make("d", rows(0))]).as_dict()
    why = "not known: the difference is the same for every item"
    assert why in comparison_text(same, every=True, width=300)
    assert "no difference on f1: the same for every item" in comparison_text(same)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"power": 0.4}, "--power 0.4: expected a number, 0.5 or more and below 1"),
        ({"power": 1.0}, "--power 1.0: expected"),
        ({"detect": [0.02, 0.0]}, "detect=0.0"),
        ({"detect": [float("nan")]}, "detect=nan"),
    ],
)
def test_bad_planning(make: Make, options: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        compare([make("a", rows(0, 3)), make("b", rows(1, 3))], **options)


@pytest.mark.parametrize(
    ("field", "value", "readers"),
    [
        ("references", ["one three"], "exact_match, f1"),
        ("contexts", ["one two three", "four"], "k_precision"),
    ],
)
def test_what_a_metric_reads_must_be_the_same(
    make: Make, field: str, value: Any, readers: str
) -> None:
    other = rows(1)
    for i in (3, 5):
        other[i][field] = value
    runs = [make("a", rows(0)), make("b", other)]
    told = rf"other {field} in b than in a under 2 ids \(q3, q5\), read by {readers}\. Pass"
    with pytest.raises(UsageError, match=told):
        compare(runs)
    (pair,) = compare(runs, allow_mismatch=True).pairs
    assert pair.mismatch.other_fields[field].count == 2
    assert pair.notes == (f"other {field} in b than in a under 2 ids (q3, q5), read by {readers}",)
    unread = "k_precision" if field == "references" else "f1"
    assert compare(runs, metrics=unread).pairs[0].mismatch.other_fields == {}


def test_titles_and_absent_fields_are_no_difference(make: Make) -> None:
    other = rows(1)
    other[0]["contexts"] = ["one two three", {"text": "four five", "title": "another"}]
    del other[1]["references"]
    (pair,) = compare([make("a", rows(0)), make("b", other)]).pairs
    assert pair.notes == ()
    assert pair.metrics["f1"].only_a == {"missing_field": 1}


def test_other_options_of_one_task_may_give_other_contexts(make: Make) -> None:
    other = rows(1)
    other[2]["contexts"] = ["four"]
    a, b = make("a", rows(0)), make("b", other)
    for run, k in ((a, 5), (b, 10)):
        change_manifest(run, benchmark={"name": "x", "task": "y", "options": {"passages": k}})
    notes = compare([a, b]).pairs[0].notes
    assert notes[0] == "other contexts in b than in a under 1 id (q2), read by k_precision"
    assert notes[1] == "passages is 5 in a, 10 in b"


def test_other_questions_are_named_and_other_groups_told(make: Make) -> None:
    other = rows(1, group="g")
    other[4]["question"] = "What?"
    a, b = make("a", rows(0, group="h")), make("b", other)
    with pytest.raises(UsageError, match=r"another question in b than in a under 1 id \(q4\)"):
        compare([a, b])
    (pair,) = compare([a, b], allow_mismatch=True).pairs
    assert "other groups in b than in a under 40 of the ids" in pair.notes[1]


def test_without_records_nothing_is_known_of_what_was_read(make: Make) -> None:
    a, b = make("a", rows(0)), make("b", rows(1), keep_records=False)
    (pair,) = compare([a, b]).pairs
    assert len(pair.notes) == 1
    assert "contexts and references are the same was not seen" in pair.notes[0]


def hrefs(value: Any) -> list[str]:
    """All links of a page's blocks."""
    if isinstance(value, dict):
        own = [value["href"]] if value.get("href") else []
        return own + hrefs(list(value.values()))
    return [one for part in value for one in hrefs(part)] if isinstance(value, list | tuple) else []


def test_links_lead_to_items_that_are_on_the_page(make: Make, tmp_path: Path) -> None:
    def odd(seed: int) -> list[dict[str, Any]]:
        return [row | {"id": f"a/b ü?#{row['id']}"} for row in rows(seed)]

    a, b = make("old run", odd(0)), make("b:new", odd(1))
    write_run_page(b, max_items=10)  # of 40: the details of the others lie beside it
    found = compare([a, b], metrics="f1", flips=40)
    metric = found.pairs[0].metrics["f1"]
    changes = [*metric.changes_lost, *metric.changes_won]
    assert all(c.link_a and unquote(c.link_a) == f"report.html#item-{c.id}" for c in changes)
    there = {c.id for c in changes if c.link_b}
    assert len(there) == len(changes) > 10
    assert all(id_.encode() in (b / "report.html").read_bytes() for id_ in there)
    (tmp_path / "pages").mkdir()
    page = tmp_path / "pages" / "c.html"
    write_comparison(page, found.as_dict())
    links = [link for link in hrefs(payload(page.read_text("utf-8"))) if "#" in link]
    assert len(links) == len(changes) + len(there)
    for link in links:
        way, _, item = link.partition("#item-")
        assert (page.parent / unquote(way)).resolve() in (a / "report.html", b / "report.html")
        assert unquote(item) in {c.id for c in changes}
        assert ":" not in way.split("/")[0]
    assert not hrefs(msgspec.to_builtins(comparison_page(found.as_dict())))
    shown = comparison_text(found.as_dict(), every=True, width=300)
    assert f"    →  {a}/{metric.changes_lost[0].link_a}" in shown


def test_no_links_without_a_page(make: Make) -> None:
    a, b = make("a", rows(0)), make("b", rows(1))
    for run in (a, b):
        (run / "report.html").unlink()
    metric = compare([a, b], metrics="f1").pairs[0].metrics["f1"]
    assert {(c.link_a, c.link_b) for c in metric.changes_lost} == {(None, None)}


def test_noise_of_the_last_digits_changes_no_item(make: Make) -> None:
    """0.3 and 0.1 + 0.2 are one score."""
    a, b = make("a", rows(0), metrics="f1"), make("b", rows(0), metrics="f1")
    for run, score in ((a, "0.3"), (b, "0.30000000000000004")):
        items = run / "items.jsonl"
        lines = items.read_text("utf-8").splitlines(keepends=True)
        items.write_text("".join(re.sub('"f1":[0-9.]+', f'"f1":{score}', x) for x in lines))
    metric = compare([a, b]).pairs[0].metrics["f1"]
    assert (metric.won, metric.lost, metric.result.tied, metric.result.p) == (0, 0, 40, 1.0)
    assert (metric.changes_won, metric.changes_lost) == ((), ())
    assert metric.sizes is not None
    assert metric.sizes.wilcoxon is not None
    assert (metric.sizes.wilcoxon.zeros, metric.sizes.effects.superiority.value) == (40, 0.5)


def test_more_patterns_for_many_tests_and_a_note_where_they_do_not_do(make: Make) -> None:
    runs = [make(name, rows(i)) for i, name in enumerate("abcd")]
    found = compare(runs)
    results = [m.result for pair in found.pairs for m in pair.metrics.values()]
    assert {r.patterns for r in results if r.test == "sign-flip"} == {3_600}  # 9 · 20 / 0.05
    assert {r.patterns for r in results if r.test == "mcnemar"} == {None}
    assert not any("attainable" in note for pair in found.pairs for note in pair.notes)
    shy = compare(runs[:2], level=1 - 1e-6, metrics="f1,k_precision")
    (note,) = shy.pairs[0].notes
    assert note == (
        "with 1,000,000 random sign patterns and 2 tests the smallest Holm p attainable here is "
        "2e-06; raise --resamples"
    )


def test_sizes_of_a_metric_where_less_is_better_say_so(make: Make) -> None:
    runs = [make(name, rows(i), metrics="abstained,f1") for i, name in enumerate("ab")]
    found = compare(runs).as_dict()
    shown = comparison_text(found, every=True)
    assert re.search(r"^abstained \(lower is better\)  ", shown, re.MULTILINE)
    assert "abstained (lower is better)" in words(comparison_page(found).to_html())
    assert shown.count("f1 (lower") == 0
