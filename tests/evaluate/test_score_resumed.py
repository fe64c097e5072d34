"""An unfinished run of `score` is resumed by its own command, and by no other."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.chaos import ChaosServer
from tests.commands import PROGRAM, trueground
from tests.marks import mostly_long

import trueground as tg
from trueground.errors import OutputError, RunInterrupted
from trueground.models.usage import Usage
from trueground.net.files import locked
from trueground.testing import FakeJudge, synthetic_records
from trueground.types import JudgeRequest, Verdict

FILES = ("items.jsonl", "summary.json", "report.html", "records.jsonl.zst")
METRICS = "f1,k_precision,grounding_precision"
N = 300  # records, which a judge that is a language model gets in batches of 64


class CountingJudge(FakeJudge):
    """Counts what it is asked as calls, and may be interrupted after some of them."""

    def __init__(self, stop_after: int | None = None) -> None:
        super().__init__(default=1.0)
        self.spent = Usage()
        self._stop_after = stop_after

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        if self._stop_after is not None and self.spent.calls >= self._stop_after:
            raise RunInterrupted("stopped")
        self.spent += Usage(calls=len(requests))
        return super().judge(requests)


def write_rows(path: Path, n: int = N) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in synthetic_records(n, seed=5)))
    return path


def assert_same(whole: Path, resumed: Path) -> None:
    for name in FILES:
        assert (whole / name).read_bytes() == (resumed / name).read_bytes(), name
    assert {path.name for path in resumed.iterdir()} == {path.name for path in whole.iterdir()}


def interrupt(data: Any, out: Path, **options: Any) -> None:
    """Leave a run of which some batches are scored."""
    with pytest.raises(RunInterrupted):
        tg.score(data, metrics=METRICS, judge=CountingJudge(stop_after=80), out=out, **options)


def test_scored_batches_are_not_scored_again(tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "a.jsonl"), tmp_path / "out"
    whole, first, second = CountingJudge(), CountingJudge(stop_after=150), CountingJudge()
    tg.score(data, metrics=METRICS, judge=whole, out=tmp_path / "whole", by="model")
    with pytest.raises(RunInterrupted):
        tg.score(data, metrics=METRICS, judge=first, out=out, by="model")
    kept = (out / "items.jsonl").read_bytes()
    assert kept.count(b"\n") % 64 == 0
    tg.score(data, metrics=METRICS, judge=second, out=out, by="model")
    assert (out / "items.jsonl").read_bytes().startswith(kept)
    assert_same(tmp_path / "whole", out)
    assert first.spent.calls + second.spent.calls == whole.spent.calls
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["sessions"] == 2
    assert manifest["calls"] == whole.spent.calls


def cut_items(out: Path) -> None:
    with (out / "items.jsonl").open("r+b") as file:
        file.truncate(file.seek(0, 2) - 100)


def change_items(out: Path) -> None:
    content = bytearray((out / "items.jsonl").read_bytes())
    content[len(content) // 2] ^= 1
    (out / "items.jsonl").write_bytes(content)


def lose_items(out: Path) -> None:
    (out / "items.jsonl").unlink()


def lose_records(out: Path) -> None:
    (out / "records.jsonl.zst").write_bytes(b"")


def cut_progress(out: Path) -> None:
    with (out / "progress.bin").open("r+b") as file:
        file.truncate(file.seek(0, 2) - 3)


def add_to_items(out: Path) -> None:
    with (out / "items.jsonl").open("ab") as file:
        file.write(b'{"id": "half')


def other_version(out: Path) -> None:
    content = (out / "progress.bin").read_bytes()
    (out / "progress.bin").write_bytes(content.replace(tg.__version__.encode(), b"9.9.9", 1))


@pytest.mark.parametrize(
    "damage",
    [cut_items, change_items, lose_items, lose_records, cut_progress, add_to_items, other_version],
)
def test_damaged_batches_are_scored_again(damage: Callable[[Path], None], tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "a.jsonl"), tmp_path / "out"
    interrupt(data, out)
    damage(out)
    tg.score(data, metrics=METRICS, judge=CountingJudge(), out=out)
    tg.score(data, metrics=METRICS, judge=CountingJudge(), out=tmp_path / "whole")
    assert_same(tmp_path / "whole", out)


def test_objects_are_known_by_their_content(tmp_path: Path) -> None:
    rows, out = list(synthetic_records(N, seed=5)), tmp_path / "out"
    interrupt(rows, out)
    other = [*rows[:-1], rows[-1] | {"response": "No."}]
    with pytest.raises(OutputError, match="unfinished run of another command") as refused:
        tg.score(other, metrics=METRICS, judge=CountingJudge(), out=out)
    assert "  input: " in str(refused.value)
    assert "Resume it by the call that began it" in str(refused.value)
    tg.score(rows, metrics=METRICS, judge=CountingJudge(), out=out)
    tg.score(rows, metrics=METRICS, judge=CountingJudge(), out=tmp_path / "whole")
    assert_same(tmp_path / "whole", out)


@pytest.mark.parametrize(
    ("options", "differs"),
    [
        ({"limit": 90}, "limit: null there, 90 now"),
        ({"seed": 7}, "seed: 0 there, 7 now"),
        ({"by": "model"}, r'by: \[\] there, \["model"\] now'),
        ({"resamples": 50}, "resamples: 2000 there, 50 now"),
        ({"keep_records": False}, "keep_records: true there, false now"),
        ({"metrics": "f1"}, "metrics: "),
    ],
)
def test_an_unfinished_run_of_another_command_is_refused(
    options: dict[str, Any], differs: str, tmp_path: Path
) -> None:
    data, out = write_rows(tmp_path / "a.jsonl"), tmp_path / "out"
    interrupt(data, out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    asked: dict[str, Any] = {"metrics": METRICS, "judge": CountingJudge(), **options}
    with pytest.raises(OutputError, match="holds an unfinished run of another command") as refused:
        tg.score(data, out=out, **asked)
    assert re.search(differs, str(refused.value))
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    tg.score(data, out=out, overwrite=True, **asked)
    assert json.loads((out / "manifest.json").read_text())["status"] == "finished"
    assert not (out / "progress.bin").exists()


def test_a_finished_run_is_refused_and_named(tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "a.jsonl", 5), tmp_path / "out"
    tg.score(data, metrics="f1", out=out)
    with pytest.raises(OutputError, match=r"the finished run of this very command.*--overwrite"):
        tg.score(data, metrics="f1", out=out)
    with pytest.raises(OutputError, match=r"(?s)a finished run of another command.*--overwrite"):
        tg.score(data, metrics="recall", out=out)


def test_a_run_that_is_being_written_is_refused(tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "a.jsonl"), tmp_path / "out"
    interrupt(data, out)
    with (
        locked(out, OutputError("free")),
        pytest.raises(OutputError, match="in use by another run; wait for it"),
    ):
        tg.score(data, metrics=METRICS, judge=CountingJudge(), out=out)


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "a.jsonl", 5), tmp_path / "photos"
    out.mkdir()
    (out / "progress.bin").write_bytes(b"mine")
    for overwrite in (False, True):
        with pytest.raises(OutputError, match="holds files but no run, so it is left alone"):
            tg.score(data, metrics="f1", out=out, overwrite=overwrite)
    assert [path.name for path in out.iterdir()] == ["progress.bin"]


def test_without_out_the_newest_unfinished_run_is_resumed(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "a.jsonl")
    runs = tmp_path / "runs"
    unfinished = runs / "20260102T030405Z-a"
    interrupt(data, unfinished)
    tg.score(data, metrics="f1", out=runs / "20260103T030405Z-a", unique=True)
    new = runs / "20260104T030405Z-a"
    options: dict[str, Any] = {"metrics": METRICS, "judge": CountingJudge(), "unique": True}
    assert tg.score(data, out=new, **options).path == unfinished
    assert tg.score(data, out=new, **options).path == new


# kill -9

REPLIES = 0.01  # seconds until the endpoint answers


def judged_by(server: ChaosServer, data: Path, out: Path, *more: str) -> list[str]:
    judge = f"llm:m(base_url={server.base_url},max_connections=4)"
    words = ["score", str(data), "--metrics", "grounding_precision", "--judge", judge]
    return [*words, "--out", str(out), "--quiet", *more]


def kill_after(words: Sequence[str], env: dict[str, str], ready: Callable[[], bool]) -> None:
    """Run a command in a session of its own, and kill all of it as soon as it is so far."""
    process = subprocess.Popen([*PROGRAM, *words], env=env, start_new_session=True)
    give_up = time.monotonic() + 60
    while process.poll() is None and not ready():
        assert time.monotonic() < give_up
        time.sleep(0.001)
    process.kill()
    process.wait()
    with suppress(ProcessLookupError):  # the workers of a command that was killed
        os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize(("cache", "kills"), mostly_long(1, [("", 1), ("--no-cache", 3), ("", 6)]))
def test_replies_that_were_kept_are_not_paid_again(cache: str, kills: int, tmp_path: Path) -> None:
    data = write_rows(tmp_path / "a.jsonl", 150)
    env = {**os.environ, "TRUEGROUND_HOME": str(tmp_path / "home"), "OPENAI_API_KEY": "EMPTY"}
    with ChaosServer(answer=lambda _text: "True", delay=REPLIES) as server:
        words = judged_by(server, data, tmp_path / "out", *filter(None, [cache]))
        for number in range(1, kills + 1):
            calls = number * 150 // (kills + 1)
            kill_after(words, env, lambda calls=calls: sum(server.calls.values()) >= calls)
        before = Counter(server.calls)
        done = trueground(*words, env=env)
        assert done.returncode == 0, done.stderr
        repeated = sum(min(n, before[text]) for text, n in (server.calls - before).items())
        whole = judged_by(server, data, tmp_path / "whole", "--no-cache")
        assert trueground(*whole, env=env).returncode == 0
    assert_same(tmp_path / "whole", tmp_path / "out")
    # Replies that were under way, or not on the disk yet, when the process died; without the cache
    # those of the batch of 64 answers that was under way.
    assert repeated <= (64 * 4 if cache else 30)


@pytest.mark.long
@pytest.mark.parametrize("workers", ["1", "2"])
def test_killed_at_any_moment_the_same_command_ends_in_the_same_bytes(
    workers: str, tmp_path: Path
) -> None:
    data = write_rows(tmp_path / "a.jsonl", 5_000)
    env = {**os.environ, "TRUEGROUND_HOME": str(tmp_path / "home")}
    words = ["score", str(data), "--metrics", METRICS, "--workers", workers, "--quiet", "--out"]
    began = time.monotonic()
    assert trueground(*words, tmp_path / "whole", env=env).returncode == 0
    seconds = time.monotonic() - began
    out = tmp_path / "out"
    for number in range(12):
        end = time.monotonic() + seconds * 1.5 * (number % 6 + 1) / 6
        kill_after([*words, str(out)], env, lambda end=end: time.monotonic() > end)
    done = trueground(*words, out, env=env)
    if done.returncode != 0:  # a kill may come after its last byte
        assert "the finished run of this very command" in done.stderr
    assert_same(tmp_path / "whole", out)


def test_the_command_in_a_refusal_resumes_the_run(tmp_path: Path) -> None:
    """The message is followed word by word."""
    data = write_rows(tmp_path / "a file.jsonl", 2_500)
    words = ["score", data.name, "--metrics", "f1", "--out", "my run", "--quiet"]
    items = tmp_path / "my run" / "items.jsonl"
    process = subprocess.Popen([*PROGRAM, *words], cwd=tmp_path)
    while process.poll() is None and not (items.exists() and items.stat().st_size):
        time.sleep(0.001)
    process.kill()
    process.wait()
    refused = trueground(*words, "--seed", "3", cwd=tmp_path)
    assert refused.returncode == 2
    assert "my run holds an unfinished run of another command" in refused.stderr
    advice = refused.stderr.partition("Resume it with:\n  ")[2].partition("\n")[0]
    program, *advised = shlex.split(advice)
    assert program == "trueground"
    assert trueground(*advised, cwd=tmp_path).returncode == 0
    tg.score(data, metrics="f1", out=tmp_path / "whole")
    assert_same(tmp_path / "whole", tmp_path / "my run")


# The words of each message, followed


class Place:
    """A folder with an unfinished run of some answers; commands are typed in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = write_rows(folder / "a.jsonl", 40)
        self.words = ["score", "a.jsonl", "--metrics", "f1", "--quiet", "--out"]
        assert self.type(*self.words, "out")[0] == 0
        self.set_status("running")
        (folder / "out" / "summary.json").unlink()

    def type(self, *words: str) -> tuple[int, str]:
        done = trueground(*words, cwd=self.folder)
        return done.returncode, done.stderr

    def set_status(self, status: str) -> None:
        manifest = self.folder / "out" / "manifest.json"
        entries = json.loads(manifest.read_text())
        manifest.write_text(json.dumps(entries | {"status": status}))


def give_the_printed_command(place: Place, message: str) -> None:
    command = message.partition("Resume it with:\n  ")[2].partition("\n")[0]
    assert place.type(*shlex.split(command)[1:])[0] == 0


def choose_another_out(place: Place, message: str) -> None:
    assert "choose another --out" in message
    assert place.type(*place.words, "new")[0] == 0
    assert_same(place.folder / "whole", place.folder / "new")
    assert place.type(*place.words, "out")[0] == 0


def pass_overwrite(place: Place, message: str) -> None:
    assert "pass --overwrite" in message
    assert place.type(*place.words, "out", "--overwrite")[0] == 0


def leave_the_folder_out(place: Place, message: str) -> None:
    assert "leave the folder out" in message
    assert place.type("report", "whole", "--quiet")[0] == 0
    assert place.type(*place.words, "out")[0] == 0


OTHER = ("score", "a.jsonl", "--metrics", "recall", "--quiet", "--out", "out")


@pytest.mark.parametrize(
    ("words", "follow"),
    [
        (OTHER, give_the_printed_command),
        (OTHER, choose_another_out),
        (OTHER, pass_overwrite),
        (("compare", "whole", "out"), give_the_printed_command),
        (("report", "out"), give_the_printed_command),
        (("report", "out", "whole"), leave_the_folder_out),
        (("merge", "out"), give_the_printed_command),
    ],
)
def test_the_advice_about_an_unfinished_run_succeeds(
    words: tuple[str, ...], follow: Callable[[Place, str], None], tmp_path: Path
) -> None:
    place = Place(tmp_path)
    assert place.type(*place.words, "whole")[0] == 0
    code, message = place.type(*words)
    assert code == 2, message
    assert "unfinished" in message
    follow(place, message)
    assert_same(tmp_path / "whole", tmp_path / "out")
