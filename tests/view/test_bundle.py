"""`trueground view --bundle`: the same pages as files; others' folders stay as they are."""

from __future__ import annotations

import json
import os
import shutil
from functools import partial
from pathlib import Path
from unittest import mock

import pytest
from tests.commands import trueground
from tests.reports.payload import blocks, payload, words

from trueground.errors import TruegroundError
from trueground.reports.run_pages import write_run_page
from trueground.view import pages
from trueground.view.pages import PAIRED, write_bundle

EXAMPLES = Path(__file__).parents[2] / "examples" / "answers.jsonl"


def run_of(folder: Path, start: int = 1) -> Path:
    options = ("--metrics", "f1,support", "--quiet", "--out", folder)
    assert trueground("score", EXAMPLES, *options).returncode == 0
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"start": f"2026-01-0{start}"}))
    return folder


def test_all_pages_are_there_and_lead_to_each_other(tmp_path: Path) -> None:
    for k in (1, 2, 3):
        run_of(tmp_path / "runs" / f"run{k}", k)
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "manifest.json").write_text("{")
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "runs").rglob("*")}
    done = trueground("view", tmp_path / "runs", "--bundle", tmp_path / "out")
    assert (done.returncode, done.stdout) == (0, f"page   {tmp_path / 'out' / 'index.html'}\n")
    assert before == {p: p.stat().st_mtime_ns for p in (tmp_path / "runs").rglob("*")}
    out = tmp_path / "out"
    index = (out / "index.html").read_text()
    assert "manifest.json cannot be read" in words(index)
    table = blocks(index, "table")[0]
    hrefs = [row["cells"][0][0]["href"] for row in table["rows"] if "key" in row]
    keys = [row["key"] for row in table["rows"] if "key" in row]
    assert len(hrefs) == 3
    for href in hrefs:
        assert payload((out / href).read_text())["home"] == "../../index.html"
    board = payload((out / "leaderboard.html").read_text())
    assert board["home"] == "index.html"
    facts = blocks(board, "table")[-1]["rows"]
    assert {row["cells"][0][0]["href"] for row in facts if "tone" not in row} == set(hrefs)
    for b, a in ((0, 1), (0, 2), (1, 2)):  # the newest stands first
        href = table["pair"]["href"].format(a=keys[a], b=keys[b])
        page = payload((out / href).read_text())
        assert page["home"] == "../index.html"
        links = [row["cells"][0][0]["href"] for row in blocks(page, "table")[-1]["rows"]]
        for link in links:
            assert (out / "compare" / link).resolve().is_file()
    again = trueground("view", tmp_path / "runs" / "run1", "--bundle", out)
    assert again.returncode == 0
    assert not (out / "compare").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "runs"]


def test_runs_that_cannot_be_compared_say_why(tmp_path: Path) -> None:
    first, second = run_of(tmp_path / "a"), run_of(tmp_path / "b", 2)
    text = (second / "items.jsonl").read_text().replace('{"id":"', '{"id":"other-')
    (second / "items.jsonl").write_text(text)
    (second / "records.jsonl.zst").unlink()
    page = write_bundle([first, second], tmp_path / "out")
    refused = blocks(page.read_text(), "table")[0]["pair"]["refused"]
    assert len(refused) == 2
    assert not list((tmp_path / "out" / "compare").iterdir())


@pytest.mark.parametrize("beside", [False, True])
def test_bundle_shows_readable_part_of_damaged_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: bool
) -> None:
    if beside:  # as for many answers
        monkeypatch.setattr(pages, "write_run_page", partial(write_run_page, max_items=10))
    run = run_of(tmp_path / "runs" / "one")
    lines = (run / "items.jsonl").read_text().splitlines(keepends=True)
    ids = [json.loads(line)["id"] for line in lines]
    odd = json.loads(lines[3]) | {"status": [1]}
    kept = [*lines[:3], json.dumps(odd) + "\n", *lines[4:9], '{"id"\n', *lines[10:60]]
    (run / "items.jsonl").write_text("".join(kept))
    page = write_bundle([run], tmp_path / "out")
    row = blocks(page.read_text(), "table")[0]["rows"][0]
    assert row["cells"][7] == "finished"
    shown = (page.parent / row["cells"][0][0]["href"]).read_text()
    notice = payload(shown)["notices"][-1]
    assert notice.startswith("6 of 64 answers are missing from the list: 2 lines of items.jsonl")
    assert "line 4: found {" in notice
    assert "line 10: found {" in notice
    assert "items.jsonl ends after line 60." in notice
    listed = payload(shown, "index-0")["ids"]
    assert listed == [*ids[:3], *ids[4:9], *ids[10:60]]
    whole = run_of(tmp_path / "whole")
    every = payload((whole / "report.html").read_text(), "index-0")
    responses = [every["responses"][ids.index(name)] for name in listed]
    found = payload(shown, "index-0")["responses"]
    assert [text[:199] for text in found] == [text[:199] for text in responses]
    details = {one["response"] for one in payload(shown, "block-0")}
    assert len(details & set(responses)) == len(details) == (10 if beside else 58)


@pytest.mark.parametrize("scores", [[1e308], [1e308, -1e308], [1e308, 0.5, None]])
def test_scores_beyond_32_bits_are_drawn(tmp_path: Path, scores: list[float | None]) -> None:
    run = run_of(tmp_path / "one")
    lines = (run / "items.jsonl").read_text().splitlines()
    texts = []
    for k, line in enumerate(lines):
        texts.append(json.dumps(json.loads(line) | {"scores": {"f1": scores[k % len(scores)]}}))
    (run / "items.jsonl").write_text("\n".join(texts) + "\n")
    page = write_bundle([run], tmp_path / "out")
    chart = blocks(next((page.parent / "runs").glob("*/report.html")).read_text(), "chart")[0]
    known = [k for k in range(len(lines)) if scores[k % len(scores)] is not None]
    assert sum(chart["series"][0]["y"]) == len(known)
    assert None not in chart["series"][0]["x"]


@pytest.mark.parametrize("odd", ['{"status": [1]}', '{"evidence": {"f1": [[[]]]}}'])
def test_a_line_whose_scores_can_be_read_is_no_trace(tmp_path: Path, odd: str) -> None:
    """Only the second reading of a page finds what is wrong."""
    run = run_of(tmp_path / "one")
    lines = (run / "items.jsonl").read_text().splitlines()
    deep = odd.replace("[[[]]]", "[" * 100_000 + "]" * 100_000)
    lines[6] = json.dumps(json.loads(lines[6]))[:-1] + ", " + deep[1:]
    (run / "items.jsonl").write_text("\n".join(lines) + "\n")
    page = write_bundle([run], tmp_path / "out")
    shown = next((page.parent / "runs").glob("*/report.html")).read_text()
    assert "1 of 64 answers is missing from the list" in payload(shown)["notices"][-1]
    refused = trueground("report", run)
    assert refused.returncode == 2
    assert "items.jsonl, line 7: not " in refused.stderr
    assert "Traceback" not in refused.stderr


def test_many_runs_are_not_paired(tmp_path: Path) -> None:
    run = run_of(tmp_path / "runs" / "0")
    for k in range(1, PAIRED + 1):
        (tmp_path / "runs" / str(k)).mkdir()
        for path in run.iterdir():
            (tmp_path / "runs" / str(k) / path.name).write_bytes(path.read_bytes())
    page = write_bundle([tmp_path / "runs"], tmp_path / "out")
    assert "pair" not in blocks(page.read_text(), "table")[0]


def test_a_folder_may_have_any_name(tmp_path: Path) -> None:
    run_of(tmp_path / "runs" / "one")
    shutil.copytree(
        os.fsencode(tmp_path / "runs" / "one"), os.fsencode(tmp_path / "runs") + b"/caf\xe9 #1?"
    )
    page = write_bundle([tmp_path / "runs"], tmp_path / "out")
    assert "caf? #1?" in words(page.read_text())
    for href in (
        row["cells"][0][0]["href"] for row in blocks(page.read_text(), "table")[0]["rows"]
    ):
        assert (page.parent / href).is_file()
    assert (page.parent / "leaderboard.html").is_file()
    assert len(list((page.parent / "compare").iterdir())) == 1


@pytest.mark.parametrize("name", ["notes.txt", "index.html"])
def test_other_peoples_folders_stay(tmp_path: Path, name: str) -> None:
    run, out = run_of(tmp_path / "run"), tmp_path / "out"
    out.mkdir()
    (out / name).write_text("mine")
    done = trueground("view", run, "--bundle", out)
    assert done.returncode == 2
    assert "so it stays" in done.stderr
    assert [p.name for p in out.iterdir()] == [name]
    assert trueground("view", tmp_path / "out", "--bundle", tmp_path / "new").returncode == 2


def test_a_bundle_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    run, out = run_of(tmp_path / "run"), tmp_path / "out"
    write_bundle([run], out)
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    full = OSError(28, "No space left on device")
    failing = mock.patch("trueground.view.pages.list_page", side_effect=full)
    with failing, pytest.raises(TruegroundError, match="No space left"):
        write_bundle([run], out)
    assert before == {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "run"]


def test_a_bundle_tells_no_path_but_those_that_were_typed(tmp_path: Path) -> None:
    run_of(tmp_path / "runs" / "one")
    run_of(tmp_path / "runs" / "two", 2)
    assert trueground("view", "--bundle", "out", cwd=tmp_path).returncode == 0
    pages = list((tmp_path / "out").rglob("*.html"))
    assert len(pages) == 5
    for page in pages:
        assert str(tmp_path) not in page.read_text()
    done = trueground("view", ".", "--bundle", "../../out", cwd=tmp_path / "runs" / "one")
    assert done.returncode == 0
    assert [one.name[:4] for one in (tmp_path / "out" / "runs").iterdir()] == ["one-"]
