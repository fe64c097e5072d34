"""`trueground view` as a server: what its addresses give, and what they refuse."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import zstandard
from tests.commands import PROGRAM, trueground
from tests.reports.report_fixture import sample_run
from tests.view.hostile import wait_until
from tests.view.view_fixture import Viewing, viewing

EXAMPLES = Path(__file__).parents[2] / "examples" / "answers.jsonl"
METRICS = "f1,support,support_min"
SHAPES: dict[str, tuple[str, dict[str, Any]]] = {  # of which one part is not as we write it
    "odd metrics": ("manifest.json", {"metrics": 5}),
    "odd by": ("manifest.json", {"by": 5}),
    "odd benchmark": ("manifest.json", {"benchmark": [1]}),
    "odd n": ("summary.json", {"n": "<b>"}),
    "odd mean": ("summary.json", {"metrics": {"f1": 5}}),
    "odd interval": ("summary.json", {"metrics": {"f1": {"mean": 0.5, "ci": [{}, 1]}}}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, one deeper; broken ones, one of something else, one that has failed."""
    runs = tmp_path_factory.mktemp("view") / "runs"
    for name, start in (("one", "2026-01-01T00:00:00"), ("deep/two", "2026-01-02T00:00:00")):
        run = runs / name
        scored = trueground("score", EXAMPLES, "--quiet", "--metrics", METRICS, "--out", run)
        assert scored.returncode == 0
        manifest = json.loads((run / "manifest.json").read_text()) | {"start": start}
        (run / "manifest.json").write_text(json.dumps(manifest))
    for name, text in (("broken", ""), ("foreign", '{"a": 1}'), ("list", "[]"), ("cut", "{")):
        (runs / name).mkdir()
        (runs / name / "manifest.json").write_text(text)
    failed = runs / "failed"
    shutil.copytree(runs / "one", failed)
    manifest = json.loads((failed / "manifest.json").read_text()) | {"status": "failed"}
    (failed / "manifest.json").write_text(json.dumps(manifest))
    (failed / "summary.json").unlink()
    for name, (file, change) in SHAPES.items():
        shutil.copytree(runs / "one", runs / name)
        found = json.loads((runs / name / file).read_text())
        (runs / name / file).write_text(json.dumps(found | change))
    (runs / "broken" / "manifest.json").write_text("[" * 100_000)
    (runs / "half").mkdir()
    shutil.copy(runs / "one" / "manifest.json", runs / "half")
    (runs / "half" / "summary.json").write_text("{}")
    shutil.copytree(runs / "one", runs / "two models")
    summary = json.loads((runs / "one" / "summary.json").read_text())
    summary["by"] = {"model": {"small": {}, "large": {}}}
    (runs / "two models" / "summary.json").write_text(json.dumps(summary))
    shutil.copytree(runs / "one", runs / "odd lines")
    items = (runs / "one" / "items.jsonl").read_text().splitlines(keepends=True)
    items[4], items[6] = '{"id": "cut\n', "[]\n"
    (runs / "odd lines" / "items.jsonl").write_text("".join(items[:20]))
    (runs / "secret.txt").write_text("secret")
    shutil.copytree(os.fsencode(runs / "one"), os.fsencode(runs) + b"/caf\xe9 #1?")
    return runs


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Viewing]:
    with viewing(folder, home=folder.parent / "home") as found:
        yield found


def test_the_list_tells_of_every_folder(served: Viewing) -> None:
    page = served.json("/page")["page"]
    table = next(block for block in page["blocks"] if block["type"] == "table")
    rows = {}
    for row in table["rows"]:
        cell = row["cells"][0][0]
        rows[cell["text"] if isinstance(cell, dict) else cell] = row
    assert next(iter(rows)) == "deep/two"  # the newest first
    assert rows["one"]["cells"][5] == 64
    grounded = served.json(f"/run/{served.key('one')}/page")["page"]["blocks"][1]["tiles"][0]
    assert grounded["value"] == f"{100 * rows['one']['cells'][1]['value']:.0f} %"
    assert rows["one"]["cells"][7] == "finished"
    odd = "is not as trueground writes it: "
    array, missing = "Expected `object`, got `array`", "Object missing required field `n`"
    assert rows["broken"]["title"].startswith(f"manifest.json {odd}")
    assert rows["foreign"]["title"] == "manifest.json is not of a trueground run"
    assert rows["list"]["title"] == f"manifest.json {odd}{array}. Run again."
    assert rows["cut"]["title"].startswith("manifest.json cannot be read")
    assert rows["half"]["title"] == f"summary.json {odd}{missing}. Run again."
    for name, (file, _) in SHAPES.items():
        assert rows[name]["title"].startswith(f"{file} {odd}"), name
        assert rows[name]["cells"][7] == "broken"
    assert rows["failed"]["cells"][7][0] == "unfinished (failed) "
    assert "Resume it" in json.dumps(rows["failed"]["cells"][7])
    assert "key" not in rows["failed"]
    assert served.json(f"/run/{served.key('failed')}/list")["total"] == 64


def test_a_folder_may_have_any_name(served: Viewing) -> None:
    at = f"/run/{served.key('caf? #1?')}/"
    assert served.json(at + "page")["page"]["title"]
    assert served.json(at + "list")["total"] == 64


def test_run_page_and_list_are_served(served: Viewing, folder: Path) -> None:
    run = f"/run/{served.key('one')}/"
    page = served.json(run + "page")
    assert page["about"]["metrics"]
    assert page["going"] == 0
    listed = served.json(run + "list?sort=-f1&page=1")
    assert (listed["total"], listed["count"], listed["page"], len(listed["rows"])) == (
        64,
        64,
        1,
        14,
    )
    name = listed["rows"][0]["id"]
    item = served.json(f"{run}item?sort=-f1&id={name}")
    assert item["row"]["id"] == name
    assert item["detail"]["response"]
    assert item["after"] == listed["rows"][1]["id"]
    status, body, headers = served.get(run + "answers.csv?verdict=not_grounded")
    assert status == 200
    assert body.startswith(b"id,question")
    assert headers["Content-Disposition"] == 'attachment; filename="answers.csv"'
    state = served.json(f"{run}state?version={page['version']}")
    assert state["page"] is None


def test_the_leaderboard_leads_to_the_runs(served: Viewing) -> None:
    found = json.dumps(made(served, "/leaderboard/page")["page"])
    finished = {"one", "deep/two", "odd lines", "two models", "caf? #1?"}
    linked = {label for label, key in served.keys().items() if f'"/run/{key}/"' in found}
    assert linked == finished


def test_a_run_of_two_models_names_both(served: Viewing) -> None:
    page = served.json("/page")["page"]
    rows = next(block for block in page["blocks"] if block["type"] == "table")["rows"]
    models = {row["cells"][0][0]["text"]: row["cells"][3] for row in rows if "href" in str(row)}
    assert models["one"] == "–"
    assert models["two models"] == "small, large"


def made(served: Viewing, path: str) -> Any:
    """A page that takes its time."""
    give_up = time.monotonic() + 60
    while "waiting" in (found := served.json(path)) and time.monotonic() < give_up:
        pass
    return found


def test_two_runs_and_all_runs(served: Viewing) -> None:
    pair = f"/compare/{served.key('one')}/{served.key('deep/two')}/page"
    for path, title in ((pair, "two against one"), ("/leaderboard/page", "Leaderboard")):
        found = made(served, path)
        assert found["page"]["title"] == title
        assert found["page"]["home"] == "/"
    same = pair.replace(served.key("deep/two"), served.key("one"))
    with ThreadPoolExecutor(4) as threads:  # several tabs, each is told why
        for told in threads.map(partial(made, served), [same] * 4):
            assert "given twice" in told["error"]


def test_an_odd_line_hides_no_answer(served: Viewing) -> None:
    at = f"/run/{served.key('odd lines')}/"
    page = served.json(at + "page")
    assert page["busy"].startswith("46 of 64 answers are missing from the list: 2 lines of items.")
    assert "line 5: found {" in page["busy"]
    assert "items.jsonl ends after line 20." in page["busy"]
    assert served.json(at + "list")["total"] == 18
    assert served.json(at + "item?id=hr-006")["detail"]["response"]


def test_an_index_that_failed_is_tried_again(folder: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "views").write_text("in the way")  # as a full disk is
    with viewing(folder / "one", home=home) as served:
        at = f"/run/{served.key('one')}/"
        assert "the index of" in served.json(at + "page")["busy"]
        assert served.json(at + "list")["total"] == 0
        (home / "views").unlink()
        give_up = time.monotonic() + 20
        while not served.json(at + "list")["total"] and time.monotonic() < give_up:
            time.sleep(0.5)
        assert served.json(at + "list")["total"] == 64
        assert served.json(at + "page")["busy"] is None


@pytest.mark.parametrize(
    "path",
    [
        "/run/../secret.txt",
        "/run/..%2f..%2fsecret.txt/page",
        "/run/%2e%2e/page",
        "/run/secret.txt/page",
        "/assets/..%2fview.py",
        "/assets/../view.py",
        "/assets/label.html",
        "/compare/x/y/page",
        "/run/no-such-run/item?id=../../secret",
        "/etc/passwd",
    ],
)
def test_nothing_else_is_reached(served: Viewing, path: str) -> None:
    status, body, _ = served.get(path)
    assert status in (400, 404)
    assert b"secret" not in body


def test_refused_requests_have_reason(served: Viewing) -> None:
    run = f"/run/{served.key('one')}/"
    assert served.get(run + "list?verdict=x")[0] == 400
    assert "no verdict 'x' in this run" in served.json(run + "list?verdict=x")["error"]
    assert served.get(run + "list?q=%00%ff%22*&page=-1&low=x")[0] == 200
    assert served.get(run + "list?page=99999999999999999999")[0] == 200
    assert served.json(run + "item?id=no")["row"] is None
    assert served.get("/", Host="evil.example")[0] == 421
    _, _, headers = served.get("/")
    assert "script-src 'self'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"


def test_every_address_needs_the_link(served: Viewing) -> None:
    run = f"/run/{served.key('one')}/"
    pair = f"/compare/{served.key('one')}/{served.key('deep/two')}/"
    pages = ["/", "/page", "/state", "/assets/viewer.js", "/leaderboard/", "/leaderboard/page"]
    pages += [run + name for name in ("", "report.html", "page", "state", "list")]
    pages += [run + "item?id=hr-006", run + "answers.csv", run + "answers.jsonl", pair + "page"]
    for path in pages:
        assert served.get(path)[0] == 200, path
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(served.url.rstrip("/") + path, timeout=60)
        assert refused.value.code == 403, path
        assert b"hr-006" not in refused.value.read(), path


def test_without_token_all_accounts_are_let_in_and_the_screen_says_so(
    folder: Path, tmp_path: Path
) -> None:
    with viewing(folder, "--no-token", home=tmp_path) as served:
        assert served.link == served.url
        with urllib.request.urlopen(served.url + "page", timeout=60) as reply:
            assert b"deep/two" in reply.read()
        assert served.process.stdout is not None
        line = served.process.stdout.readline()
        assert line == "All accounts of this machine can read these runs. Ctrl-C ends it.\n"


@pytest.mark.skipif(os.name != "posix", reason="the browser is a shell script")
def test_the_browser_gets_the_link_out_of_sight_of_other_accounts(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(f"#!/bin/sh\necho \"$@\" > '{seen}.new' && mv '{seen}.new' '{seen}'\n")
    browser.chmod(0o700)
    command = [*PROGRAM, "view", str(tmp_path / "runs"), "--port", "0"]
    variables = {**os.environ, "BROWSER": f"{browser} %s", "TRUEGROUND_HOME": str(tmp_path)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        link = process.stdout.readline().strip()
        assert wait_until(seen.exists, 20)
        argument = seen.read_text().strip()
        assert argument.startswith("file://")
        page = Path(argument.removeprefix("file://"))
        assert f"url={link}" in page.read_text("utf-8")
        assert page.parent.stat().st_mode & 0o077 == 0
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert not page.exists()
        assert link not in process.stderr.read()


def test_a_run_in_progress_is_followed(tmp_path: Path) -> None:
    whole = sample_run(tmp_path / "whole", 40)
    run = tmp_path / "runs" / "going"
    run.mkdir(parents=True)
    manifest = json.loads((whole / "manifest.json").read_text())
    going = json.dumps(manifest | {"status": "running", "n": 40})
    (run / "manifest.json").write_text(going)
    items = (whole / "items.jsonl").read_bytes().splitlines(keepends=True)
    with (whole / "records.jsonl.zst").open("rb") as file:
        plain = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
    records = plain.splitlines(keepends=True)
    with viewing(run.parent, home=tmp_path / "home") as served:
        at = f"/run/{served.key('going')}/"
        assert "No answers are scored yet" in json.dumps(served.json(at + "page"))
        version = ""
        for count in (10, 25):
            (run / "records.jsonl.zst").write_bytes(
                b"".join(zstandard.compress(one) for one in records[:count])
            )
            (run / "items.jsonl").write_bytes(b"".join(items[:count]))
            state = served.json(f"{at}state?version={version}")
            assert state["going"]
            assert f"{count} of 40 scored" in state["busy"]
            assert state["version"] != version
            version = state["version"]
            assert served.json(at + "list")["total"] == count
        for path in whole.iterdir():
            shutil.copy(path, run / path.name)
        state = served.json(f"{at}state?version={version}")
        assert state["going"] == 0
        assert state["page"]["blocks"][0]["type"] != "note"
        assert served.json(at + "list")["total"] == 40


def test_it_ends_with_ctrl_c_and_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    with viewing(tmp_path / "runs", home=tmp_path) as served:
        assert "No run is here yet" in json.dumps(served.json("/page"))
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(20) == 0
    wrong = trueground("view", tmp_path / "nowhere")
    assert (wrong.returncode, "nowhere doesn't exist" in wrong.stderr) == (2, True)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        busy = trueground("view", tmp_path, "--port", taken.getsockname()[1])
    assert busy.returncode == 2
    assert "choose another port" in busy.stderr
