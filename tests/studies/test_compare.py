"""Comparing finished runs: real run directories, paired by id, and every way they may not match."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.evaluate.questions_file import write_questions
from tests.reports.payload import words
from tests.texts import comparison_text

import trueground as tg
from trueground.errors import InputError, OutputError, UsageError
from trueground.files.locks import FolderLock
from trueground.models.base import Params
from trueground.models.replay import FakeModel
from trueground.studies.comparing import RunComparison, compare
from trueground.studies.comparison_pages import comparison_page

METRICS = "exact_match,f1,abstained,grounding_precision"
CONTEXT = "The tower was finished in 1931. It is 120 metres tall."
A = {"q1": "1931", "q2": "1931", "q3": "It was in 1931.", "q4": "1913", "q5": "I don't know."}
B = {"q1": "1931", "q2": "1913", "q3": "1931", "q4": "1931", "q5": "1931"}
Make = Callable[..., Path]


def rows(answers: dict[str, str], **more: Any) -> list[dict[str, Any]]:
    return [
        {
            "id": id_,
            "question": f"When was the tower finished? ({id_})",
            "contexts": [CONTEXT],
            "references": ["1931"],
            "response": response,
            **more,
        }
        for id_, response in answers.items()
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


def test_pairs_by_id_in_any_order(make: Make) -> None:
    a = make("a", rows(A))
    b = make("b", rows(dict(reversed(B.items()))))
    (pair,) = compare([a, b]).pairs
    assert (pair.a, pair.b, pair.items, pair.clusters, pair.notes) == ("a", "b", 5, None, ())
    exact = pair.metrics["exact_match"]
    assert (exact.won, exact.lost, exact.result.tied) == (3, 1, 1)
    assert exact.result.mcnemar is not None
    assert (exact.result.mcnemar.b, exact.result.mcnemar.c) == (1, 3)
    assert exact.result.p == 0.625
    assert exact.result.difference == pytest.approx(0.4)
    assert [change.id for change in exact.changes_lost] == ["q2"]
    assert [change.id for change in exact.changes_won] == ["q3", "q4", "q5"]
    change = exact.changes_lost[0]
    assert (change.score_a, change.score_b) == (1.0, 0.0)
    assert change.question == "When was the tower finished? (q2)"
    assert (change.response_a, change.response_b) == ("1931", "1913")


def test_lower_is_better_turns_winning_round(make: Make) -> None:
    (pair,) = compare([make("a", rows(A)), make("b", rows(B))], metrics="abstained").pairs
    metric = pair.metrics["abstained"]
    assert metric.result.difference == pytest.approx(-0.2)
    assert (metric.higher_is_better, metric.won, metric.lost) == (False, 1, 0)
    assert [change.id for change in metric.changes_won] == ["q5"]


@pytest.mark.parametrize(
    ("folders", "labels"),
    [
        (("x/run", "y/run"), ["x/run", "y/run"]),
        (("20261122T231946Z-old", "20261122T232001Z-new"), ["old", "new"]),
        (
            ("20261122T231946Z-qa", "20261122T232001Z-qa"),
            ["20261122T231946Z-qa", "20261122T232001Z-qa"],
        ),
        (("a", "b" * 25), ["A", "B"]),
    ],
)
def test_runs_go_by_the_names_of_their_folders(
    make: Make, folders: tuple[str, str], labels: list[str]
) -> None:
    found = compare([make(folders[0], rows(A)), make(folders[1], rows(B))], metrics="f1")
    assert [run.label for run in found.runs] == labels
    assert [found.pairs[0].a, found.pairs[0].b] == labels


def test_items_scored_in_one_run_only_are_counted_by_status(make: Make) -> None:
    (pair,) = compare([make("a", rows(A)), make("b", rows(B))]).pairs
    metric = pair.metrics["grounding_precision"]
    assert (metric.only_a, metric.only_b) == ({}, {"abstained": 1})
    assert metric.result.n == 4
    shown = comparison_text(compare([make("c", rows(A)), make("d", rows(B))]).as_dict())
    assert "grounding_precision: 1 scored only in d (in c: 1 abstained)" in shown


def test_every_later_run_stands_against_the_first_and_holm_counts_all(make: Make) -> None:
    runs = [make("a", rows(A)), make("b", rows(B)), make("c", rows(A))]
    found = compare(runs, metrics=["exact_match", "f1"])
    assert [(pair.a, pair.b) for pair in found.pairs] == [("a", "b"), ("a", "c")]
    assert [run.path for run in found.runs] == [str(run) for run in runs]
    same = found.pairs[1].metrics["exact_match"]
    assert (same.result.p, same.result.difference, same.changes_won) == (1.0, 0.0, ())
    raw = [m.result.p for pair in found.pairs for m in pair.metrics.values()]
    adjusted = [m.p_holm for pair in found.pairs for m in pair.metrics.values()]
    least = min(range(4), key=lambda i: raw[i] or 0.0)
    assert adjusted[least] == min(1.0, 4 * (raw[least] or 0.0))


def test_groups_are_clusters(make: Make) -> None:
    records = [rows({f"{q}-{i}": A[q] for i in range(5)}, group=q) for q in A]
    others = [rows({f"{q}-{i}": B[q] for i in range(5)}, group=q) for q in B]
    a = make("a", [r for group in records for r in group])
    b = make("b", [r for group in others for r in group])
    (pair,) = compare([a, b], metrics="exact_match").pairs
    result = pair.metrics["exact_match"].result
    assert (pair.items, pair.clusters, result.test) == (25, 5, "sign-flip-exact")
    assert result.mcnemar is not None
    assert result.p is not None
    assert result.p > 0.5 > 0.05 > result.mcnemar.p  # 5 groups, not 25 items


def test_groups_without_kept_records_are_told(make: Make) -> None:
    records = rows(A, group="all but one")
    records[0]["group"] = "one"
    a = make("a", records, keep_records=False)
    b = make("b", rows(B), keep_records=False)
    (pair,) = compare([a, b], metrics="exact_match").pairs
    assert pair.clusters is None
    assert "may be too narrow" in pair.notes[0]
    change = pair.metrics["exact_match"].changes_lost[0]
    assert (change.id, change.question, change.response_a) == ("q2", None, None)


def test_other_items_are_refused_and_named(make: Make) -> None:
    a = make("a", rows(A))
    b = make("b", rows({k: v for k, v in B.items() if k != "q1"} | {"q8": "1931", "q9": "1"}))
    with pytest.raises(UsageError) as caught:
        compare([a, b])
    told = str(caught.value)
    assert "1 id only in a (q1), 2 only in b (q8, q9)" in told
    assert "--allow-mismatch" in told
    (pair,) = compare([a, b], allow_mismatch=True).pairs
    assert (pair.items, pair.mismatch.only_a, pair.mismatch.only_b) == (4, 1, 2)
    assert "only in a (q1)" in pair.notes[0]


def test_other_questions_under_the_same_ids_are_refused(make: Make) -> None:
    other = rows(B)
    other[0]["question"] = "How tall is the tower?"
    runs = [make("a", rows(A)), make("b", other)]
    with pytest.raises(UsageError, match="another question in b than in a under 1 id"):
        compare(runs)
    assert compare(runs, allow_mismatch=True).pairs[0].mismatch.other_questions == 1


def test_other_signatures_are_refused(make: Make) -> None:
    a, b = make("a", rows(A)), make("b", rows(B))
    signatures = orjson.loads((b / "manifest.json").read_bytes())["metrics"]
    change_manifest(b, metrics=signatures | {"f1": "f1|v:2|normalizer:squad"})
    with pytest.raises(
        UsageError,
        match=r"signatures of f1 differ: v:1.* only in a, v:2 only in b",
    ):
        compare([a, b])
    assert compare([a, b], metrics="exact_match").pairs[0].notes == ()
    (pair,) = compare([a, b], allow_mismatch=True).pairs
    assert list(pair.mismatch.signatures) == ["f1"]


def test_other_tasks_are_refused(make: Make) -> None:
    a, b = make("a", rows(A)), make("b", rows(B))
    change_manifest(a, benchmark={"name": "faitheval", "task": "unanswerable", "options": {}})
    change_manifest(b, benchmark={"name": "faitheval", "task": "inconsistent", "options": {}})
    with pytest.raises(UsageError, match="faitheval/unanswerable in a, faitheval/inconsistent in"):
        compare([a, b])
    assert compare([a, b], allow_mismatch=True).runs[0].task == "faitheval/unanswerable"


def test_another_model_or_scheme_is_told_and_no_obstacle(make: Make) -> None:
    a, b = make("a", rows(A)), make("b", rows(B))
    for run, model, scheme in ((a, "small", "direct"), (b, "large", "cot")):
        named = {"name": "faitheval", "task": "unanswerable", "options": {"scheme": scheme}}
        change_manifest(run, benchmark=named, model={"name": model})
    found = compare([a, b])
    assert found.pairs[0].notes == ("scheme is 'direct' in a, 'cot' in b",)
    assert f"b  {b} (5 items, faitheval/unanswerable, large)" in comparison_text(
        found.as_dict(), width=300
    )


def test_metrics_of_one_run_only_are_told(make: Make) -> None:
    a, b = make("a", rows(A)), make("b", rows(B), metrics="f1,k_precision(abstain=zero)")
    found = compare([a, b])
    (pair,) = found.pairs
    assert list(pair.metrics) == ["f1"]
    assert pair.left_out_a == ("exact_match", "abstained", "grounding_precision")
    assert pair.left_out_b == ("k_precision(abstain=zero)",)
    assert "note: only b has k_precision(abstain=zero)" in comparison_text(found.as_dict())
    with pytest.raises(UsageError, match=r"'exact_match': only in .*a; both runs have: f1"):
        compare([a, b], metrics="exact_match")
    with pytest.raises(UsageError, match="'nonsense': in neither run"):
        compare([a, b], metrics=["nonsense"])
    c = make("c", rows(B), metrics="k_precision(abstain=zero)")
    assert list(compare([b, c], metrics="k_precision").pairs[0].metrics) == [
        "k_precision(abstain=zero)"
    ]
    with pytest.raises(UsageError, match="no metric in common"):
        compare([a, c])


def test_bad_choices(make: Make, tmp_path: Path) -> None:
    a, b = make("a", rows(A)), make("b", rows({"other": "1931"}))
    (tmp_path / "link").symlink_to(a)
    with pytest.raises(UsageError, match="given twice"):
        compare([a, tmp_path / "link"])
    with pytest.raises(UsageError, match="two or more"):
        compare([a])
    with pytest.raises(UsageError, match="no item in common"):
        compare([a, b], allow_mismatch=True)
    bad: list[dict[str, Any]] = [{"resamples": 0}, {"seed": -1}, {"level": 1.0}, {"flips": -1}]
    for options in bad:
        with pytest.raises(UsageError, match=next(iter(options))):
            compare([a, b], **options)


def test_runs_that_cannot_be_read(make: Make, tmp_path: Path) -> None:
    a, b = make("a", rows(A)), make("b", rows(B))
    for path in (tmp_path / "nowhere", b / "items.jsonl"):
        with pytest.raises(InputError, match="expected the directory of a finished run"):
            compare([a, path])
    change_manifest(b, status="interrupted", command=["trueground", "score", "a b.jsonl"])
    advice = r"unfinished \(interrupted\)\. Resume it with:\n  trueground score 'a b\.jsonl'"
    with pytest.raises(InputError, match=advice):
        compare([a, b])
    with (
        FolderLock(b).hold(OutputError("free")),
        pytest.raises(InputError, match="another process is writing it"),
    ):
        compare([a, b])
    change_manifest(b, status="finished")
    whole = (b / "items.jsonl").read_bytes()
    (b / "items.jsonl").write_bytes(whole[:-30])
    with pytest.raises(InputError, match="line 5"):
        compare([a, b])
    (b / "items.jsonl").write_bytes(whole + whole.splitlines(keepends=True)[0])
    with pytest.raises(InputError, match="twice"):
        compare([a, b])
    (b / "items.jsonl").write_bytes(b"".join(whole.splitlines(keepends=True)[1:]))
    with pytest.raises(InputError, match="not those of items"):
        compare([a, b])
    (b / "items.jsonl").unlink()
    with pytest.raises(InputError, match="not found"):
        compare([a, b])


def test_same_seed_same_result_and_plain_json(make: Make) -> None:
    runs = [make("a", rows(A)), make("b", rows(B))]
    one, two = compare(runs, seed=7), compare(runs, seed=7)
    assert one == two
    assert json.loads(orjson.dumps(one.as_dict())) == json.loads(json.dumps(one.as_dict()))


def hostile(make: Make) -> RunComparison:
    answers = {k: f"\x1b[31m<script>alert(1)</script> {v * 100}" for k, v in B.items()}
    return compare([make("a", rows(A)), make("b", rows(answers))])


def test_text_is_one_line_each_and_harmless(make: Make) -> None:
    found = hostile(make)
    shown = comparison_text(found.as_dict())
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines()[:-2])) <= 80  # but for the paths of the runs
    whole = found.pairs[0].metrics["exact_match"].changes_lost[0].response_b
    assert whole is not None
    assert len(whole) > 400


def test_page_holds_everything_and_no_markup_of_answers(make: Make) -> None:
    page = comparison_page(hostile(make).as_dict()).to_html()
    assert "<script>alert" not in page
    assert "<script>alert(1)" in words(page)
    for word in ("exact_match", "Holm p", "2 worse in b", "q2", "exact McNemar"):
        assert word in words(page)


def test_listing_is_bounded_and_says_so(make: Make) -> None:
    many = {f"q{i}": "1931" for i in range(30)}
    runs = [make("a", rows(many)), make("b", rows(dict.fromkeys(many, "1913")))]
    found = compare(runs, metrics="exact_match", flips=4)
    metric = found.pairs[0].metrics["exact_match"]
    assert metric.lost == 30
    assert [change.id for change in metric.changes_lost] == ["q0", "q1", "q2", "q3"]
    assert "exact_match: 30 worse in b; the 3 that changed most" in comparison_text(found.as_dict())
    every = comparison_text(found.as_dict(), every=True)
    assert "exact_match: 30 worse in b; the 4 that changed most" in every
    none = compare(runs, metrics="exact_match", flips=0)
    assert none.pairs[0].metrics["exact_match"].changes_lost == ()


@pytest.mark.long
def test_a_hundred_thousand_items_take_seconds(tmp_path: Path) -> None:
    for name in ("a", "b"):
        run = tmp_path / name
        run.mkdir()
        (run / "manifest.json").write_text(
            json.dumps({"trueground": "0", "status": "finished", "metrics": {"m": "m|v:1"}})
        )
        shift = 7 if name == "a" else 11
        with (run / "items.jsonl").open("w") as out:
            for i in range(100_000):
                score = (i * shift % 10) / 10
                out.write(f'{{"id":"i{i}","scores":{{"m":{score}}},"status":{{"m":"scored"}}}}\n')
    start = time.process_time()
    (pair,) = compare([tmp_path / "a", tmp_path / "b"]).pairs
    assert pair.items == 100_000
    assert pair.metrics["m"].result.difference == pytest.approx(0, abs=1e-4)
    assert time.process_time() - start < 30


def test_what_was_asked_otherwise_is_told(tmp_path: Path) -> None:
    """Other parameters and other prompts are no mismatch, but they are said."""
    data = write_questions(tmp_path / "q.jsonl", 4)
    paths = []
    for name, temperature in (("cold", 0.0), ("warm", 0.9)):
        paths.append(tmp_path / name)
        params = Params(temperature=temperature)
        model = FakeModel("unknown", name="m")
        tg.run("faitheval/unanswerable", model, out=paths[-1], data=data, params=params)
    (pair,) = compare(paths).pairs
    assert any("params" in note and "0.9" in note for note in pair.notes)
