"""Shards on a real Ray cluster of two nodes, and in an S3 store that fails: the same bytes."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import trueground as tg
from trueground.api.shards import score_shards
from trueground.errors import InputError, OutputError
from trueground.testing import synthetic_records

pytestmark = pytest.mark.long
METRICS = "f1,k_precision,rouge_l"
FILES = ("summary.json", "items.jsonl")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(a file of answers, its run in one process)."""
    folder = tmp_path_factory.mktemp("answers")
    with (folder / "a.jsonl").open("w") as out:
        out.writelines(json.dumps(row) + "\n" for row in synthetic_records(24_000, seed=5))
    tg.score(folder / "a.jsonl", metrics=METRICS, out=folder / "plain")
    return folder / "a.jsonl", folder / "plain"


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a cluster of two nodes of one processor each."""
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1)
    try:
        yield made.address
    finally:
        made.shutdown()


def command(file: Path, out: Path, address: str, shards: int) -> subprocess.Popen[str]:
    words = ["score", str(file), "--out", str(out), "--metrics", METRICS, "--quiet"]
    words += ["--shards", str(shards), "--engine", f"ray:{address}"]
    return subprocess.Popen(
        [sys.executable, "-m", "trueground", *words],
        stderr=subprocess.PIPE, text=True, cwd=file.parent,
    )  # fmt: skip


def workers() -> list[int]:
    """The processes of Ray that work on a shard now."""
    found = []
    for path in Path("/proc").iterdir():
        try:
            if path.name.isdigit() and b"ray::score_shard" in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


def same(one: Path, other: Path) -> None:
    for name in FILES:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_workers_die_and_the_driver_dies(
    cluster: str, answers: tuple[Path, Path], tmp_path: Path
) -> None:
    """20 workers and 5 drivers are killed at random moments; the same command goes on."""
    chance = random.Random(11)
    file, plain = answers
    killed = {"workers": 0, "drivers": 0}
    runs = 0
    while killed["workers"] < 20 or killed["drivers"] < 5:
        runs += 1
        assert runs < 60, killed
        out = tmp_path / f"out-{runs}"
        for _attempt in range(40):
            driver = command(file, out, cluster, 12)
            while driver.poll() is None:
                time.sleep(chance.uniform(0.02, 0.4))
                at_work = workers()
                if at_work and killed["workers"] < 20 and chance.random() < 0.5:
                    os.kill(chance.choice(at_work), signal.SIGKILL)
                    killed["workers"] += 1
                elif at_work and killed["drivers"] < 5 and chance.random() < 0.2:
                    driver.kill()
                    killed["drivers"] += 1
            _, told = driver.communicate()
            if driver.returncode == 0:
                break
            assert driver.returncode in (-signal.SIGKILL, 5), told
            assert driver.returncode != 5 or "shards failed" in told
        else:
            raise AssertionError("it never ended")
        same(plain, out)


class _Flaky(BaseHTTPRequestHandler):
    """Hands requests to the store; of every seven one is refused, and one is cut off."""

    store: tuple[str, int]
    count = 0
    lock = threading.Lock()
    protocol_version = "HTTP/1.1"

    def log_message(self, *_args: Any) -> None:
        """Say nothing."""

    def _hand_on(self) -> None:
        with _Flaky.lock:
            _Flaky.count += 1
            turn = _Flaky.count % 7
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if turn == 3:
            self.send_response(503)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        link = http.client.HTTPConnection(*self.store, timeout=30)
        link.request(self.command, self.path, body, dict(self.headers))
        reply = link.getresponse()
        data = reply.read()
        self.send_response(reply.status)
        length = reply.headers.get("Content-Length", str(len(data)))
        for name, value in reply.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        self.send_header("Content-Length", length if self.command == "HEAD" else str(len(data)))
        self.end_headers()
        if turn == 5:
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True
            return
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _hand_on  # noqa: N815


@pytest.fixture(scope="module")
def bucket() -> Iterator[Any]:
    """s3fs of a bucket behind a server that fails; its variables are set meanwhile."""
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0, verbose=False)
    server.start()
    _Flaky.store = server.get_host_and_port()
    flaky = ThreadingHTTPServer(("127.0.0.1", 0), _Flaky)
    threading.Thread(target=flaky.serve_forever, daemon=True).start()
    import s3fs

    variables = {
        "AWS_ACCESS_KEY_ID": "AKIDSECRETNAME",
        "AWS_SECRET_ACCESS_KEY": "secret-of-the-store",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{flaky.server_port}",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        files = s3fs.S3FileSystem()
        files.mkdir("data")
        yield files
    flaky.shutdown()
    flaky.server_close()
    server.stop()


def test_a_store_that_fails_now_and_then(
    bucket: Any, answers: tuple[Path, Path], tmp_path: Path
) -> None:
    import polars as pl

    file, _ = answers
    rows = [json.loads(line) for line in file.read_text().splitlines()[:3000]]
    lines = tmp_path / "b.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows[:2000]))
    pl.DataFrame(rows[2000:]).write_parquet(tmp_path / "c.parquet", row_group_size=300)
    for path in (lines, tmp_path / "c.parquet"):
        bucket.put_file(str(path), f"data/{path.name}")
    tg.score([lines, tmp_path / "c.parquet"], metrics=METRICS, out=tmp_path / "plain")
    inputs = ["s3://data/b.jsonl", "s3://data/c.parquet"]
    before = _Flaky.count
    for workers_, out in ((1, "s3://data/run-1"), (2, "s3://data/run-2")):
        score_shards(inputs, out=out, shards=5, workers=workers_, metrics=METRICS)
        for name in FILES:
            found = bucket.cat_file(f"{out}/{name}")
            assert found == (tmp_path / "plain" / name).read_bytes()
        manifest = bucket.cat_file(f"{out}/manifest.json")
        assert b"secret-of-the-store" not in manifest
        assert json.loads(manifest)["input"][0]["path"] == inputs[0]
        assert not bucket.ls(f"{out}/shards", refresh=True) if bucket.exists(f"{out}/shards") else 1
    assert _Flaky.count - before > 50
    # To the folder of this machine, from the store.
    score_shards(inputs, out=tmp_path / "here", shards=3, workers=1, metrics=METRICS)
    same(tmp_path / "plain", tmp_path / "here")
    # A file that changes between plan and work is refused.
    score_shards(inputs, out="s3://data/run-3", shard="1/3", metrics=METRICS)
    bucket.pipe_file("data/b.jsonl", lines.read_bytes() + lines.read_bytes()[:0] + b"\n")
    with pytest.raises(OutputError, match=r"s3://data/b\.jsonl changed since"):
        score_shards(inputs, out="s3://data/run-3", shard="2/3", metrics=METRICS)
    with pytest.raises(InputError, match="nothing-here"):
        score_shards("s3://data/nothing-here.jsonl", out="s3://data/run-4", metrics=METRICS)
