"""kill -9 at random moments of every command that starts processes: none is left, and the same
command comes to the same bytes."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.chaos import ChaosServer
from tests.commands import PROGRAM, trueground
from tests.evaluate.questions_file import answer, write_questions
from tests.killing import MARK, ProcessTree, check_all_end, marked_processes
from tests.records.record_files import write
from tests.view.view_fixture import viewing
from tests.wings.labeling.web.labeling import write_records
from tests.wings.labeling.web.test_serve import enter, started

from trueground.testing import synthetic_records

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc"),
]
RUN_FILES = ("items.jsonl", "summary.json", "report.html")
INDEX_FILES = ("passages.sqlite", "retrievers/bm25/bm25.json", "retrievers/bm25/scores.npy")
ANSWERS = 1_000
KILLS_IN_A_ROW = 6
PASSAGES = 24_000  # so many are read by several processes


class Case(NamedTuple):
    """A command without its last word, the folder, and the files that must come out the same."""

    words: list[str]
    files: tuple[str, ...]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    write(folder / "answers.jsonl", *synthetic_records(ANSWERS, 0, 200, 300))
    with (folder / "corpus.jsonl").open("w") as out:
        for number in range(PASSAGES):
            text = f"Passage {number} says that {number * 7919 % 104729} is a number."
            out.write(json.dumps({"id": str(number), "text": text}) + "\n")
    write_questions(folder / "questions.jsonl", 120)
    return folder


@pytest.fixture
def endpoint() -> Iterator[ChaosServer]:
    with ChaosServer(answer=answer, delay=0.02) as server:
        yield server


def make_case(name: str, inputs: Path, endpoint: ChaosServer) -> Case:
    score = ["score", str(inputs / "answers.jsonl"), "--metrics", "f1,support", "--quiet"]
    if name == "workers":
        return Case([*score, "--workers", "2", "--overwrite", "--out"], RUN_FILES)
    if name == "shards":
        return Case([*score, "--shards", "4", "--workers", "2", "--out"], RUN_FILES)
    if name == "merge":
        return Case(["merge", "--quiet"], RUN_FILES)
    if name == "index":
        words = ["index", "build", str(inputs / "corpus.jsonl"), "--retriever", "bm25", "--out"]
        return Case(words, INDEX_FILES)
    words = ["run", "faitheval/unanswerable", "--data", str(inputs / "questions.jsonl")]
    words += ["--model", "m", "--base-url", endpoint.base_url, "--max-connections", "4"]
    return Case([*words, "--no-cache", "--out"], RUN_FILES)


def run_to_end(case: Case, out: Path) -> float:
    """Run the command until it ends by itself, and return the seconds that it took."""
    started_at = time.monotonic()
    with ProcessTree([*PROGRAM, *case.words, str(out)]) as tree:
        printed = tree.output(60)
        assert tree.process.wait(60) == 0, printed
        tree.check_ended()
    return time.monotonic() - started_at


def kill_after(case: Case, out: Path, seconds: float) -> None:
    with ProcessTree([*PROGRAM, *case.words, str(out)]) as tree:
        with suppress(Exception):
            tree.process.wait(seconds)
        tree.end()


def is_finished(out: Path) -> bool:
    """Whether a run is complete there, which the same command would refuse."""
    manifest = out / "manifest.json"
    return manifest.exists() and json.loads(manifest.read_bytes()).get("status") == "finished"


def kill_and_compare(case: Case, begun: Path, kills: int, dice: random.Random) -> None:
    """Kill the command so often, let it end now and then, and compare the files.

    Each round begins with a copy of `begun`.
    """
    whole, out = begun.with_name("whole"), begun.with_name("killed")
    shutil.copytree(begun, whole)
    seconds = run_to_end(case, whole)
    shutil.copytree(begun, out)
    for number in range(1, kills + 1):
        kill_after(case, out, dice.uniform(0, seconds))
        if is_finished(out) or number % KILLS_IN_A_ROW == 0:
            if not is_finished(out):
                run_to_end(case, out)
            for file in case.files:
                assert (out / file).read_bytes() == (whole / file).read_bytes(), file
            shutil.rmtree(out)
            shutil.copytree(begun, out)


@pytest.mark.parametrize(
    ("name", "kills"), [("workers", 24), ("shards", 24), ("index", 18), ("merge", 12), ("run", 12)]
)
def test_command_killed_at_random_moments_leaves_no_process_and_ends_alike(
    name: str, kills: int, inputs: Path, endpoint: ChaosServer, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    begun.mkdir()
    if name == "merge":
        words = ["score", inputs / "answers.jsonl", "--metrics", "f1,k_precision", "--quiet"]
        for number in (1, 2):
            done = trueground(*words, "--out", begun, "--shard", f"{number}/2")
            assert done.returncode == 0, done.stderr
    case = make_case(name, inputs, endpoint)
    kill_and_compare(case, begun, kills, random.Random(f"{name} 29"))


def kill_server(pid: int, mark: str, ask: Callable[[], Any], wait_seconds: float) -> None:
    """Ask the server for what another process makes, and kill it meanwhile."""

    def ask_quietly() -> None:
        with suppress(OSError):
            ask()

    with ThreadPoolExecutor(1) as threads:
        threads.submit(ask_quietly)
        deadline = time.monotonic() + 30
        while not marked_processes(mark, [pid]):
            assert time.monotonic() < deadline, "it started no process"
            time.sleep(0.002)
        time.sleep(wait_seconds)
        os.kill(pid, signal.SIGKILL)
        check_all_end(mark)


@pytest.mark.parametrize("number", range(5))
def test_view_killed_while_it_makes_a_page_leaves_no_process(
    number: int, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(f"view {number}")
    words = ["score", inputs / "answers.jsonl", "--limit", "2000", "--quiet"]
    for name, metrics in (("a", "f1,support"), ("b", "f1,support")):
        assert trueground(*words, "--metrics", metrics, "--out", tmp_path / name).returncode == 0
    monkeypatch.setenv(MARK, mark := f"view-{os.getpid()}-{number}")
    with suppress(Exception), viewing(tmp_path, home=tmp_path / "home") as served:
        one, other = served.keys().values()
        kill_server(
            served.process.pid,
            mark,
            lambda: served.get(f"/compare/{one}/{other}/page"),
            dice.uniform(0, 1),
        )
        return
    raise AssertionError("the server was not asked")


@pytest.mark.parametrize("number", range(5))
def test_annotate_serve_killed_while_it_counts_leaves_no_process(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(f"serve {number}")
    records = write_records(tmp_path / "records.jsonl")
    monkeypatch.setenv(MARK, mark := f"serve-{os.getpid()}-{number}")
    with started(tmp_path / "labels.db", "--from-run", records) as (process, address, token):
        lead = enter(address, token)
        kill_server(
            process.pid, mark, lambda: lead.get("/api/lead/agreement"), dice.uniform(0, 0.8)
        )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_ray_cluster_that_a_command_started_ends_with_it(
    number: signal.Signals, inputs: Path, tmp_path: Path
) -> None:
    pytest.importorskip("ray")
    words = ["score", str(inputs / "answers.jsonl"), "--metrics", "f1,support", "--shards", "4"]
    words += ["--engine", "ray", "--workers", "2", "--out", str(tmp_path / "out")]
    with ProcessTree([*PROGRAM, *words], cwd=tmp_path) as tree:
        tree.wait_for_children(8, 120)  # the reaper, the cluster's five, and two workers
        if number == signal.SIGINT:
            # A Ctrl-C while the cluster starts is answered once it has started.
            tree.process.send_signal(number)
            assert tree.process.wait(120) == 128 + number
            tree.check_ended()
        else:
            tree.end(number)
