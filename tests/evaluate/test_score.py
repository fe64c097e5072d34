"""The whole way from records to the run directory, through the Python surface."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import trueground as tg
from trueground.errors import OutputError, UsageError
from trueground.metrics.registry import METRICS
from trueground.runs.directory import ITEMS, MANIFEST, RECORDS, REPORT, SUMMARY
from trueground.testing import FakeDecomposer, FakeJudge, synthetic_records

METRICS.load()

RECORD = {
    "id": "a",
    "question": "Where was she born?",
    "contexts": ["She was born in Warsaw."],
    "references": ["Warsaw"],
    "response": "She was born in Warsaw.",
}


def judged(response: str, table: dict[str, float | None], **fields: Any) -> tg.Result:
    record = {"response": response, "contexts": ["c"], "gold_facts": ["g1", "g2"], **fields}
    return tg.score(
        [record],
        metrics="grounding_precision,grounding_recall,grounding_f1,support,support_min",
        judge=FakeJudge(table, default=0.0),
        decomposer=FakeDecomposer(),
    )


def test_a_record_is_scored() -> None:
    result = tg.score([RECORD], metrics=["k_precision", "recall", "exact_match"])
    assert result.summary["k_precision"].mean == 1.0
    assert result.items.to_dicts()[0] == {
        "id": "a",
        "k_precision": 1.0,
        "k_precision:status": "scored",
        "recall": 1.0,
        "recall:status": "scored",
        "exact_match": 0.0,
        "exact_match:status": "scored",
    }
    assert result.path is None


def test_data_frames_and_files_give_the_same(tmp_path: Path) -> None:
    rows = list(synthetic_records(30))
    file = tmp_path / "answers.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    pandas = pytest.importorskip("pandas")
    results = [
        tg.score(source, metrics="f1,k_precision").summary.raw
        for source in (rows, file, pl.DataFrame(rows), pandas.DataFrame(rows))
    ]
    assert all(r == results[0] for r in results)


def test_run_directory_and_determinism(tmp_path: Path) -> None:
    rows = [*synthetic_records(60)]
    outs = [tmp_path / name for name in ("one", "two", "three")]
    for out, workers in zip(outs, (1, 1, 2), strict=True):
        tg.score(rows, out=out, by=["model"], workers=workers)
    for name in (ITEMS, SUMMARY, REPORT):
        contents = {(out / name).read_bytes() for out in outs}
        assert len(contents) == 1, name
    assert {p.name for p in outs[0].iterdir()} == {MANIFEST, SUMMARY, ITEMS, RECORDS, REPORT}
    manifest = json.loads((outs[0] / MANIFEST).read_text())
    assert manifest["status"] == "finished"
    assert manifest["metrics"]["f1"] == "f1|v:1|normalizer:squad|lang:en"
    assert manifest["metrics"][
        "grounding_f1" if "grounding_f1" in manifest["metrics"] else "support"
    ]
    summary = json.loads((outs[0] / SUMMARY).read_text())
    assert set(summary["by"]["model"]) == {"model-a", "model-b"}
    assert sum(m["f1"]["n"] for m in summary["by"]["model"].values()) == 60
    items = [json.loads(line) for line in (outs[0] / ITEMS).read_text().splitlines()]
    assert [item["id"] for item in items] == [row["id"] for row in rows]
    assert set(items[0]) == {"id", "verdict", "scores", "status", "evidence"}


def test_batches_do_not_change_values() -> None:
    rows = list(synthetic_records(1_500, response_chars=60, context_chars=200))
    whole = tg.score(rows, metrics="f1,k_f1_pp,rouge_l").evidence
    alone = [tg.score([row], metrics="f1,k_f1_pp,rouge_l").evidence[0] for row in rows[::150]]
    assert alone == whole[::150]


def test_grounding_from_verdicts() -> None:
    result = judged("a|b|c", {"a": 0.9, "b": 0.2, "c": 0.8, "g1": 0.7})
    scores = result.evidence[0]["scores"]
    assert scores["grounding_precision"] == pytest.approx(2 / 3)
    assert scores["grounding_recall"] == 0.5
    assert scores["grounding_f1"] == pytest.approx(2 * (2 / 3) * 0.5 / (2 / 3 + 0.5))
    assert scores["support"] == pytest.approx((0.9 + 0.2 + 0.8) / 3)
    assert scores["support_min"] == 0.2
    claims = result.evidence[0]["evidence"]["grounding_precision"]["claims"]
    assert [(c["text"], c["start"], c["end"], c["supported"]) for c in claims] == [
        ("a", 0, 1, True),
        ("b", 2, 3, False),
        ("c", 4, 5, True),
    ]
    assert result.evidence[0]["evidence"]["support"] == {"see": "grounding_precision"}


def test_no_claims_and_no_facts() -> None:
    status = judged("", {"g1": 0.9, "g2": 0.9}).evidence[0]
    assert status["status"]["grounding_precision"] == "no_claims"
    assert status["scores"]["grounding_recall"] == 1.0
    assert status["scores"]["grounding_f1"] == 0.0
    status = judged("a", {"a": 0.9}, gold_facts=[]).evidence[0]
    assert status["status"]["grounding_recall"] == "no_claims"
    assert status["status"]["grounding_f1"] == "no_claims"
    assert status["scores"]["grounding_precision"] == 1.0


def test_a_missing_verdict_is_never_support() -> None:
    item = judged("a|b", {"a": 0.9, "b": None}).evidence[0]
    assert item["scores"]["grounding_precision"] is None
    assert item["status"]["grounding_precision"] == "unparseable"


def test_given_facts_replace_the_decomposer() -> None:
    item = judged("x", {"p": 0.9}, response_facts=["p", "q", "p"]).evidence[0]
    assert item["scores"]["grounding_precision"] == 0.5


def test_scope_gold_uses_gold_contexts_only() -> None:
    judge = FakeJudge()
    record = {
        "response": "a",
        "contexts": ["", {"text": "other"}, {"text": "gold one", "gold": True}],
    }
    metrics = "grounding_precision(scope=gold),grounding_precision"
    result = tg.score([record], metrics=metrics, judge=judge, decomposer=FakeDecomposer())
    assert {r.texts for r in judge.requests} == {("gold one",), ("other", "gold one")}
    assert set(result.summary) == {"grounding_precision(scope=gold)", "grounding_precision"}


def test_without_context_no_faithfulness_metric_has_a_value() -> None:
    for contexts in (None, [], [""], [" \n "]):
        record = {"response": "Paris", "question": "?", "contexts": contexts}
        specs = list(METRICS.values())
        computed = [m for m in specs if not m.is_asked]
        names = [m.name for m in computed if "contexts" in m.default_needs]
        item = tg.score([record], metrics=names).evidence[0]
        assert set(item["scores"].values()) == {None}
        assert set(item["status"].values()) == {"missing_field"}


def test_empty_response_is_scored_and_counted() -> None:
    result = tg.score([{**RECORD, "response": ""}], metrics="f1,recall,k_precision,abstained")
    assert result.evidence[0]["scores"] == {
        "f1": 0.0,
        "recall": 0.0,
        "k_precision": 0.0,
        "abstained": 0.0,
    }
    assert result.summary.raw["empty_responses"] == 1


@pytest.mark.parametrize(
    ("policy", "value", "status"),
    [
        ("as_is", 0.0, "scored"),
        ("one", 1.0, "scored"),
        ("zero", 0.0, "scored"),
        ("exclude", None, "abstained"),
    ],
)
def test_abstention_policies(policy: str, value: float | None, status: str) -> None:
    key = f"k_precision(abstain={policy})" if policy != "as_is" else "k_precision"
    item = tg.score(
        [{**RECORD, "contexts": ["xyz"], "response": "I don't know."}],
        metrics=f"k_precision(abstain={policy})",
    ).evidence[0]
    assert item["scores"] == {key: value}
    assert item["status"] == {key: status}


def test_abstention_passage() -> None:
    record = {**RECORD, "response": "I don't know."}
    metrics = "k_precision(abstention_passage=true),k_precision"
    scores = tg.score([record], metrics=metrics).evidence[0]["scores"]
    assert scores == {"k_precision(abstention_passage=true)": 1.0, "k_precision": 0.0}


def test_abstention_table() -> None:
    rows = [
        {"response": "I don't know.", "answerable": False},
        {"response": "I don't know.", "answerable": True},
        {"response": "Paris", "answerable": False},
        {"response": "Paris", "answerable": True},
        {"response": "Paris", "answerable": True},
        {"response": "Paris"},
    ]
    summary = tg.score(rows, metrics="p_ir,p_g").summary
    assert summary["p_ir"].mean == 0.5
    assert summary["p_g"].mean == pytest.approx(1 / 3)
    assert summary["p_ir"].unscored == {"missing_field": 1, "not_applicable": 3}
    assert summary.raw["abstention_rate"] == pytest.approx(2 / 6)
    assert summary.raw["abstention"]["confusion"] == {
        "unanswerable": {"abstained": 1, "answered": 1},
        "answerable": {"abstained": 1, "answered": 2},
    }


def test_default_set_follows_the_fields() -> None:
    plain = tg.score([{"response": "Paris"}])
    assert list(plain.summary) == ["abstained"]
    whole = tg.score([{**RECORD, "gold_facts": ["She was born in Warsaw."], "answerable": True}])
    assert {"f1", "k_precision", "grounding_f1", "p_g", "rouge_l"} <= set(whole.summary)
    assert "meteor" not in whole.summary
    assert "phrase_match" not in whole.summary


def test_clusters_are_counted_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one part or in many: the same number; hashes are negative too."""
    rows = [{"id": str(n), "response": "a", "group": f"g{n % 23}"} for n in range(100)]
    counts = []
    for together in (100_000, 7):
        monkeypatch.setattr("trueground.evaluate.table._COUNTED", together)
        counts.append(tg.score(rows, metrics="abstained").summary.raw["clusters"])
    assert counts == [23, 23]


def test_clusters_widen_intervals() -> None:
    rows = list(synthetic_records(200, response_chars=60, context_chars=100))
    grouped = [{**row, "id": f"{row['id']}-{i}", "group": row["id"]} for row in rows for i in "abc"]
    alone = tg.score(rows, metrics="k_f1").summary["k_f1"]
    clustered = tg.score(grouped, metrics="k_f1").summary["k_f1"]
    loose = tg.score([{**g, "group": None} for g in grouped], metrics="k_f1").summary["k_f1"]

    def width(metric: tg.MetricSummary) -> float:
        assert metric.ci is not None
        return metric.ci[1] - metric.ci[0]

    assert width(clustered) == pytest.approx(width(alone), rel=0.1)
    assert width(loose) == pytest.approx(width(alone) / math.sqrt(3), rel=0.15)


def test_breakdowns_need_a_field_that_is_there() -> None:
    with pytest.raises(UsageError, match=r"--by topic.*meta.domain"):
        tg.score([{**RECORD, "meta": {"domain": "x"}}], by=["topic"])
    rows = [{**RECORD, "id": str(i), "domain": d} for i, d in enumerate(["x", None, 3])]
    summary = tg.score(rows, metrics="f1", by=["domain"]).summary.raw
    assert list(summary["by"]["domain"]) == ["(none)", "3", "x"]


def test_names_and_settings_that_do_not_exist() -> None:
    with pytest.raises(UsageError, match=r"'k_precison'.*'k_precision'"):
        tg.score([RECORD], metrics="k_precison")
    with pytest.raises(UsageError, match="no option 'abstan'"):
        tg.score([RECORD], metrics="k_precision(abstan=zero)")
    with pytest.raises(UsageError, match="as_is, exclude, one, zero"):
        tg.score([RECORD], metrics="k_precision(abstain=never)")
    with pytest.raises(TypeError, match="unexpected keyword argument 'judg'"):
        tg.score([RECORD], judg="lexical")  # type: ignore[call-arg]
    for setting in ({"workers": 0}, {"seed": -1}, {"resamples": 0}):
        with pytest.raises(UsageError, match="or more"):
            tg.score([RECORD], **setting)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="unknown judge 'gpt'"):
        tg.score([RECORD], judge="gpt")


def test_an_existing_run_is_kept(tmp_path: Path) -> None:
    tg.score([RECORD], out=tmp_path / "run")
    before = (tmp_path / "run" / ITEMS).read_bytes()
    with pytest.raises(OutputError, match="--overwrite"):
        tg.score([{**RECORD, "response": "x"}], out=tmp_path / "run")
    assert (tmp_path / "run" / ITEMS).read_bytes() == before
    tg.score([{**RECORD, "response": "x"}], out=tmp_path / "run", overwrite=True)
    assert (tmp_path / "run" / ITEMS).read_bytes() != before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    with pytest.raises(OutputError, match="holds files but no run"):
        tg.score([RECORD], out=tmp_path / "mine", overwrite=True)


def test_summary_finds_a_bare_name() -> None:
    summary = tg.score([RECORD], metrics="f1(normalizer=unicode-1)").summary
    assert summary["f1"].mean == summary["f1(normalizer=unicode-1)"].mean
    with pytest.raises(KeyError, match="f1"):
        summary["recall"]


def test_async_surface() -> None:
    result = asyncio.run(tg.ascore([RECORD], metrics="f1"))
    assert result.summary["f1"].n == 1


def test_items_to_pandas() -> None:
    pytest.importorskip("pandas")
    frame = tg.score([RECORD], metrics="f1").items.to_pandas()
    assert list(frame["id"]) == ["a"]


def test_gold_facts_may_name_what_the_question_names() -> None:
    record = {
        **RECORD,
        "question": "Where was Marie Curie born?",
        "gold_facts": ["Marie Curie was born in Warsaw.", "Marie Curie was born in 1867."],
    }
    item = tg.score([record], metrics="grounding_recall").evidence[0]
    assert item["scores"]["grounding_recall"] == 0.5
    # The contexts must name her themselves: what the question takes for granted proves nothing.
    claim = {**record, "response": "Marie Curie was born in Warsaw."}
    item = tg.score([claim], metrics="grounding_precision").evidence[0]
    assert item["scores"]["grounding_precision"] == 0.0


def test_breakdowns_beyond_a_thousand_values_become_other() -> None:
    rows = [{"response": "x", "n": i} for i in range(1_010)]
    by = tg.score(rows, metrics="abstained", by="n", resamples=10).summary.raw["by"]["n"]
    assert len(by) == 1_001
    assert by["(other)"]["abstained"]["n"] == 10


def test_breakdown_by_a_key_with_dots() -> None:
    rows = [{"response": "x", "meta": {"a.b": "flat", "c": {"d": "deep"}}}]
    by = tg.score(rows, metrics="abstained", by=["meta.a.b", "c.d"]).summary.raw["by"]
    assert [list(values) for values in by.values()] == [["flat"], ["deep"]]


def test_the_summary_counts_the_kinds_of_reasons() -> None:
    """Of claims against contexts, by the first judge, the same for any number of workers."""
    text = "Anna Frey sang in Oslo in 1931."
    rows = [
        {"contexts": [text], "gold_facts": ["Bo ran."], "response": response}
        for response in (
            "Anna Frey sang in 1913. Lena Voss sang in Oslo.",
            "Anna Frey sang in Oslo in 1913.",
            "Anna Frey sang in Oslo in 1931.",
        )
    ]
    found = [
        tg.score(rows, metrics="support,grounding_f1", judge=["lexical", FakeJudge({})], workers=n)
        for n in (1, 2)
    ]
    assert [one.summary.raw["reasons"] for one in found] == [{"number": 2, "name": 1}] * 2
    claims = [item["evidence"]["support"]["claims"] for item in found[0].evidence]
    kinds = [claim.get("kind") for own in claims for claim in own]
    assert kinds == ["number", "name", "number", None]
    for judge in (FakeJudge({}, default=0.0), FakeJudge({}, default=1.0)):
        assert "reasons" not in tg.score(rows, metrics="support", judge=judge).summary.raw
