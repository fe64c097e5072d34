"""Runs are read as they were written, also those of the format before."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest
from bench.schemas import FILES, FOLDER, FOLDERS, make_schema
from hypothesis import given, strategies as st

import trueground as tg
from trueground.errors import InputError, UsageError
from trueground.runs.files import Gaps, RunFiles
from trueground.runs.schema import FORMAT_VERSION, Item, ItemScores, Manifest, Summary
from trueground.types import Answered

OLD_RUN = Path(__file__).parents[1] / "data" / "run_format_1"
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)


def make_rows(n: int = 5) -> list[dict[str, Any]]:
    return [
        {
            "id": f"q{i}",
            "question": f"Which tower is number {i}?",
            "contexts": [f"Tower {i} is in town {i}.", {"text": "A tower is tall.", "id": "t"}],
            "references": [f"Tower {i}"],
            "response": f"Tower {i} is in town {i % 3}.",
            "model": "ab"[i % 2],
            "meta": {"i": i},
        }
        for i in range(n)
    ]


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "new"
    tg.score(make_rows(), by="model", out=out)
    return out


def test_read_run_of_new_run_gives_what_score_returned(tmp_path: Path) -> None:
    scored = tg.score(make_rows(), metrics="f1,support", out=tmp_path / "run")
    run = tg.read_run(tmp_path / "run")
    assert run.summary == scored.summary
    assert run.items.equals(scored.items)
    assert run.evidence == scored.evidence
    assert run.manifest.format_version == run.summary.format_version == FORMAT_VERSION


def test_manifest_and_summary_round_trip_to_same_bytes(run_dir: Path) -> None:
    for name, kind in (("manifest.json", Manifest), ("summary.json", Summary)):
        content = (run_dir / name).read_bytes()
        decoded: Any = msgspec.json.decode(content, type=kind)
        assert orjson.dumps(decoded.raw, option=orjson.OPT_INDENT_2) + b"\n" == content


def test_items_have_no_version_line(run_dir: Path) -> None:
    lines = (run_dir / "items.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == [f"q{i}" for i in range(5)]
    assert not any("format_version" in line for line in lines)


def test_record_and_item_are_found_by_id(run_dir: Path) -> None:
    run = tg.read_run(run_dir)
    assert [record.id for record in run.records()] == [f"q{i}" for i in range(5)]
    assert run.record("q3").question == "Which tower is number 3?"
    assert run.record("q3").meta == {"i": 3}
    item = run.item("q3")
    assert msgspec.to_builtins(item) == run.evidence[3]


def test_record_is_found_in_later_frames(tmp_path: Path) -> None:
    rows = make_rows(2_500)  # batches of 1,024, each a frame
    tg.score(rows, metrics="abstained", out=tmp_path / "run")
    run = tg.read_run(tmp_path / "run")
    for row in (rows[0], rows[1_024], rows[2_499]):
        assert run.record(row["id"]).response == row["response"]
        assert run.item(row["id"]).id == row["id"]


@pytest.mark.parametrize("call", ["record", "item"])
def test_unknown_id_is_an_input_error(run_dir: Path, call: str) -> None:
    with pytest.raises(InputError, match="has the id 'q99'"):
        getattr(tg.read_run(run_dir), call)("q99")


def test_records_of_run_without_them_are_an_input_error(tmp_path: Path) -> None:
    tg.score(make_rows(), metrics="f1", out=tmp_path / "run", keep_records=False)
    run = tg.read_run(tmp_path / "run")
    with pytest.raises(InputError, match="kept no records"):
        run.record("q1")
    with pytest.raises(InputError, match="kept no records"):
        next(run.records())


def test_run_in_memory_has_items_but_no_records() -> None:
    run = tg.score(make_rows(), metrics="f1")
    assert run.item("q2").scores == run.evidence[2]["scores"]
    with pytest.raises(InputError, match="no item has the id 'x'"):
        run.item("x")
    with pytest.raises(UsageError, match="in memory only"):
        run.records()
    with pytest.raises(UsageError, match="in memory only"):
        _ = run.manifest


def test_old_run_without_version_is_read() -> None:
    run = tg.read_run(OLD_RUN)
    assert run.manifest.format_version == run.summary.format_version == 1
    assert run.manifest.judge is not None
    assert run.manifest.judge.name == "lexical"
    assert run.summary.n == len(run.items) == 4
    assert run.summary["f1"].scored == 3
    assert run.summary.verdicts is not None
    assert run.summary.verdicts["grounded"].n == 1
    assert run.summary.by["model"]["b"]["f1"].n == 2
    assert run.record("q4").question == "Où est-il ?"
    assert run.item("q2").verdict == "grounded"


FORMER_KEYS = {
    "partly": "partly_grounded",
    "not": "not_grounded",
    "declined": "abstained",
    "labelled": "labeled",
}


def _renamed(value: Any) -> Any:
    """Return the content of an old file with today's keys."""
    if isinstance(value, dict):
        return {FORMER_KEYS.get(key, key): _renamed(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_renamed(entry) for entry in value]
    return value


@pytest.mark.parametrize(
    "verdicts", [{"by": [1, 2]}, {"by": {"x": [1]}}, {"by": "s"}, {"labelled": 3}]
)
def test_old_summary_with_damaged_verdicts_is_an_input_error(
    tmp_path: Path, verdicts: dict[str, Any]
) -> None:
    shutil.copytree(OLD_RUN, tmp_path / "run")
    path = tmp_path / "run" / "summary.json"
    content = json.loads(path.read_bytes())
    path.write_bytes(orjson.dumps(content | {"verdicts": content["verdicts"] | verdicts}))
    with pytest.raises(InputError, match="Run again"):
        tg.read_run(tmp_path / "run")


def test_old_run_keeps_all_its_fields() -> None:
    files = RunFiles(OLD_RUN)
    for path, typed in (
        (files.manifest, files.read_manifest()),
        (files.summary, files.read_summary()),
    ):
        content = json.loads(path.read_bytes())
        read = json.loads(orjson.dumps(typed.raw))
        assert read == {"format_version": 1, **_renamed(content)}


def test_old_run_is_compared_with_new_one(tmp_path: Path) -> None:
    from trueground.studies.comparing import compare

    rows = [msgspec.to_builtins(record) for record in RunFiles(OLD_RUN).iter_records()]
    tg.score(rows, by="model", out=tmp_path / "new")
    pair = compare([OLD_RUN, tmp_path / "new"]).pairs[0]
    assert pair.metrics["f1"].result.difference == 0


@pytest.mark.parametrize("name", ["manifest.json", "summary.json"])
def test_newer_version_is_refused_with_advice(tmp_path: Path, name: str) -> None:
    shutil.copytree(OLD_RUN, tmp_path / "run")
    path = tmp_path / "run" / name
    changed = {**json.loads(path.read_bytes()), "format_version": FORMAT_VERSION + 1, "n": "?"}
    path.write_bytes(orjson.dumps(changed))
    with pytest.raises(InputError, match=r"format version 4.*reads up to 3\. Upgrade trueground"):
        tg.read_run(tmp_path / "run")


def test_unfinished_run_is_an_input_error(tmp_path: Path) -> None:
    shutil.copytree(OLD_RUN, tmp_path / "run")
    path = tmp_path / "run" / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"finished"', b'"interrupted"'))
    with pytest.raises(InputError, match="this run is unfinished"):
        tg.read_run(tmp_path / "run")


def test_damaged_line_is_named_and_counted_with_gaps(tmp_path: Path) -> None:
    shutil.copytree(OLD_RUN, tmp_path / "run")
    files = RunFiles(tmp_path / "run")
    lines = files.items.read_bytes().splitlines(keepends=True)
    files.items.write_bytes(lines[0] + b'{"id": 5}\n' + b"".join(lines[2:]))
    with pytest.raises(InputError, match=r"items\.jsonl, line 2: not a line"):
        list(files.iter_items(ItemScores))
    gaps = Gaps()
    assert [answer.item.id for answer in files.iter_answers(gaps)] == ["q1", "q3", "q4"]
    assert gaps.items == 1


@given(st.lists(st.tuples(TEXTS, TEXTS, st.none() | TEXTS), min_size=1, max_size=5))
def test_records_are_read_as_they_were_scored(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str, str | None]]
) -> None:
    out = tmp_path_factory.mktemp("runs") / "run"
    rows = [
        {"response": response, "contexts": [context], "question": question, "id": i}
        for i, (response, context, question) in enumerate(texts)
    ]
    try:
        tg.score(rows, metrics="k_precision", out=out)
    except tg.errors.BadRowsError:
        return
    run = tg.read_run(out)
    for row, record in zip(rows, run.records(), strict=True):
        assert record == run.record(str(row["id"]))
        assert (record.response, record.question) == (row["response"], row["question"])
        assert run.item(record.id).scores.keys() == {"k_precision"}


@pytest.mark.parametrize("name", FILES)
def test_schema_in_the_package_is_current(name: str) -> None:
    for folder in FOLDERS:
        content = (folder / f"{name}.json").read_bytes()
        assert content == make_schema(name), "python -m bench.schemas"


def test_schemas_accept_the_files_of_old_and_new_runs(run_dir: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schemas = {name: json.loads((FOLDER / f"{name}.json").read_bytes()) for name in FILES}
    for folder in (OLD_RUN, run_dir):
        files = RunFiles(folder)
        jsonschema.validate(json.loads(files.manifest.read_bytes()), schemas["manifest"])
        jsonschema.validate(json.loads(files.summary.read_bytes()), schemas["summary"])
        for item in files.iter_items(Item):
            jsonschema.validate(msgspec.to_builtins(item), schemas["item"])
        for record in files.iter_records(Answered):
            jsonschema.validate(msgspec.to_builtins(record), schemas["record"])


def test_read_run_with_former_names_of_verdicts_renames_them() -> None:
    run = tg.read_run(OLD_RUN)
    shares = run.summary.verdicts
    assert shares is not None
    assert {name: share.n for name, share in shares.items()} == {
        "grounded": 1,
        "partly_grounded": 0,
        "not_grounded": 2,
        "abstained": 1,
        "unscored": 0,
    }
    assert shares.by["model"]["a"]["not_grounded"].n == 1
    assert run.item("q1").verdict == "not_grounded"
    assert run.item("q3").verdict == "abstained"
    assert [worst.verdict for worst in run.worst_items(2)] == ["not_grounded", "not_grounded"]
