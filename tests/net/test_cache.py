"""The response cache with real files, threads, processes and failures."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import statistics
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from trueground.errors import UsageError, WriteError
from trueground.net.cache import ResponseCache
from trueground.net.cache_contents import CacheStats, clear_caches

_FILL = """
import sys, time
from pathlib import Path
from trueground.net.cache import ResponseCache
path, name, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
with ResponseCache(path) as cache:
    for i in range(number):
        cache.put(f"{name}-{i}", f"{name} {i} ".encode() * 100, model=name, tokens=i)
        if i % 100 == 0:
            print(i, flush=True)
            time.sleep(0.001)
print(cache.problem)
"""


def clear(path: Path, model: str | None = None, older_than: timedelta | None = None) -> int:
    return clear_caches([path], model, older_than)[0]


def start(path: Path, name: str, number: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _FILL, str(path), name, str(number)],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_values_come_back_small_and_large(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "responses.sqlite"
    values = {
        "empty": b"",
        "small": b"yes",
        "edge": b"e" * 512,
        "packed": b"long " * 10_000,
        "random": os.urandom(5_000),
    }
    with ResponseCache(path) as cache:
        assert cache.get("small") is None
        for key, value in values.items():
            cache.put(key, value)
        assert {key: cache.get(key) for key in values} == values
    with ResponseCache(path) as cache:
        assert {key: cache.get(key) for key in values} == values
        assert cache.get("other") is None
        assert cache.problem is None
    assert CacheStats.count(path).bytes < 40_000


def test_own_writes_are_seen_before_and_while_they_are_committed(tmp_path: Path) -> None:
    with ResponseCache(tmp_path / "c.sqlite") as cache:
        for i in range(3_000):
            cache.put(str(i), b"%d" % i)
            assert cache.get(str(i)) == b"%d" % i
            assert cache.get(str(i // 2)) == b"%d" % (i // 2)


def test_the_last_value_counts(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with ResponseCache(path) as cache:
        cache.put("k", b"one")
        time.sleep(0.2)
        cache.put("k", b"two")
        assert cache.get("k") == b"two"
    with ResponseCache(path) as cache:
        assert cache.get("k") == b"two"
    assert CacheStats.count(path).entries == 1


def test_others_see_a_write_soon_and_without_closing(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with ResponseCache(path) as one, ResponseCache(path) as other:
        one.put("k", b"v")
        until = time.monotonic() + 5
        while other.get("k") is None and time.monotonic() < until:
            time.sleep(0.01)
        assert other.get("k") == b"v"


def test_a_closed_cache_takes_nothing(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path / "c.sqlite")
    cache.close()
    with pytest.raises(RuntimeError, match="closed"):
        cache.put("k", b"v")


def test_threads_share_one_cache(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    wrong: list[str] = []

    def work(name: int) -> None:
        for i in range(500):
            key, value = f"{name}-{i}", b"%d:%d" % (name, i)
            cache.put(key, value)
            if cache.get(key) != value:
                wrong.append(key)

    with ResponseCache(path) as cache:
        threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong
    assert CacheStats.count(path).entries == 4_000


def test_two_processes_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    both = [start(path, name, 2_000) for name in ("a", "b")]
    for process in both:
        out, _ = process.communicate(timeout=100)
        assert process.returncode == 0
        assert out.endswith("None\n")
    found = CacheStats.count(path)
    assert {(m.model, m.entries, m.tokens) for m in found.models} == {
        ("a", 2_000, 1_999_000),
        ("b", 2_000, 1_999_000),
    }
    with ResponseCache(path) as cache:
        for name in ("a", "b"):
            for i in range(2_000):
                assert cache.get(f"{name}-{i}") == f"{name} {i} ".encode() * 100


@pytest.mark.parametrize("delay", [0.0, 0.03, 0.11])
def test_killed_in_mid_write_the_file_stays_whole(tmp_path: Path, delay: float) -> None:
    path = tmp_path / "c.sqlite"
    process = start(path, "a", 10_000_000)
    assert process.stdout is not None
    with process.stdout as lines:
        while CacheStats.count(path).entries == 0:
            assert lines.readline()
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
    with ResponseCache(path) as cache:
        number = CacheStats.count(path).entries
        assert number > 0
        for i in range(0, number, max(1, number // 500)):
            assert cache.get(f"a-{i}") == f"a {i} ".encode() * 100
        cache.put("after", b"goes on")
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    assert CacheStats.count(path).entries == number + 1


def test_a_read_costs_microseconds_and_a_write_hardly_more(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    value = b'{"text": "A reply of usual length.", "usage": {"tokens_in": 900}}' * 10
    keys = [f"{i:064x}" for i in range(5_000)]
    with ResponseCache(path) as cache:
        started = time.thread_time()
        for key in keys:
            cache.put(key, value)
        put = (time.thread_time() - started) / len(keys)
    with ResponseCache(path) as cache:
        times = []
        for key in keys:
            started = time.thread_time()
            cache.get(key)
            times.append(time.thread_time() - started)
    # Stated: below 30 µs; the margin is for a machine that does other work too.
    assert statistics.median(times) < 60e-6
    assert put < 60e-6


def test_damaged_cache_is_reported_and_cleared(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    path.write_bytes(b"this is no database " * 500)
    for use in (ResponseCache, CacheStats.count):
        with pytest.raises(UsageError, match=r"c\.sqlite is damaged.*cache clear.*--no-cache"):
            use(path)
    with pytest.raises(UsageError, match="damaged"):
        clear(path, model="m")
    assert clear(path) == 0
    with ResponseCache(path) as cache:
        cache.put("k", b"v")
    assert CacheStats.count(path).entries == 1


def test_another_programs_database_stays_untouched(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE accounts (name TEXT)")
    connection.close()
    before = path.read_bytes()
    for use in (ResponseCache, CacheStats.count, clear):
        with pytest.raises(UsageError, match=r"another program.*TRUEGROUND_HOME.*--no-cache"):
            use(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["c.sqlite"]


def test_cache_of_later_version_is_reported_and_cleared(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    ResponseCache(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(UsageError, match=r"has version 9.*version 1.*cache clear"):
        ResponseCache(path)
    clear(path)
    ResponseCache(path).close()


def test_unusable_cache_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for path in (tmp_path / "file" / "c.sqlite", tmp_path):
        with pytest.raises(UsageError, match=r"can't be used.*TRUEGROUND_HOME.*--no-cache"):
            ResponseCache(path)


_AS_NOBODY = """
import os, sys
from pathlib import Path
from trueground.errors import UsageError
import trueground.net.cache as c, sqlite3, zstandard
if os.geteuid() == 0:
    os.setuid(65534)
try:
    c.ResponseCache(Path(sys.argv[1]))
except UsageError as error:
    print(error)
"""


def test_an_unwritable_file_shows_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "kept" / "c.sqlite"
    ResponseCache(path).close()
    for folder in [tmp_path, *tmp_path.parents[:2]]:
        folder.chmod(folder.stat().st_mode | 0o555)
    path.chmod(0o444)
    path.parent.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", _AS_NOBODY, str(path)], capture_output=True, text=True, check=True
    )
    path.parent.chmod(0o755)
    assert f"{path} can't be used: " in done.stdout
    assert "TRUEGROUND_HOME" in done.stdout


_FULL = """
import sys
from pathlib import Path
from trueground.net.cache import ResponseCache
import os, time
with ResponseCache(Path(sys.argv[1])) as cache:
    for i in range(400):
        cache.put(str(i), os.urandom(2_000))
        time.sleep(0.002)
    print(cache.get("0") is not None)
    before = cache.problem
    cache.put("late", b"dropped")
print(cache.problem == before)
print(cache.problem)
"""


def test_a_full_disk_midway_does_not_end_the_work(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    limit = 300_000
    done = subprocess.run(
        [sys.executable, "-c", _FULL, str(path)],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    early, once, problem = done.stdout.strip().split("\n")
    assert (early, once) == ("True", "True")
    assert str(path) in problem
    assert "continues without caching" in problem
    assert "free space" in problem
    assert done.stderr == ""
    with ResponseCache(path) as cache:
        assert cache.get("0") is not None
    assert 0 < CacheStats.count(path).entries < 400


def test_damage_met_midway_becomes_a_problem_not_an_exception(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with ResponseCache(path) as cache:
        for i in range(200):
            cache.put(str(i), os.urandom(3_000))
    with path.open("r+b") as file:
        file.seek(8_192)
        file.write(os.urandom(path.stat().st_size - 8_192))
    with ResponseCache(path) as cache:
        assert {cache.get(str(i)) for i in range(200)} == {None}
        assert cache.problem is not None
        assert "damaged" in cache.problem
        cache.put("k", b"v")
    with pytest.raises(UsageError, match="damaged"):
        CacheStats.count(path)
    with pytest.raises(WriteError, match="delete the file"):
        clear(path)


def test_counts_by_model_and_age(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    nothing = CacheStats.count(path)
    assert (nothing.entries, nothing.bytes, nothing.oldest, nothing.models) == (0, 0, None, ())
    assert clear(path) == 0
    assert not path.exists()
    with ResponseCache(path) as cache:
        for i in range(30):
            cache.put(f"a{i}", b"v" * 3_000, model="a", tokens=10)
        cache.put("b", b"v", model="b", tokens=7)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE reply SET created = created - 864000 WHERE key IN ('a0', 'b')")
    connection.commit()
    connection.close()
    found = CacheStats.count(path)
    assert found.entries == 31
    assert [(m.model, m.entries, m.tokens) for m in found.models] == [("a", 30, 300), ("b", 1, 7)]
    assert found.oldest is not None
    assert found.newest is not None
    assert timedelta(days=9.9) < datetime.now(UTC) - found.oldest < timedelta(days=10.1)
    assert datetime.now(UTC) - found.newest < timedelta(minutes=5)
    with pytest.raises(UsageError, match=r"unknown model in the cache 'c'.*Known: a, b"):
        clear(path, model="c")
    assert clear(path, model="a", older_than=timedelta(days=5)) == 1
    assert clear(path, older_than=timedelta(days=5)) == 1
    assert clear(path, model="a") == 29
    assert CacheStats.count(path).entries == 0


def test_known_keys_are_asked_without_leaving_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "c.sqlite"
    for nowhere in (None, path):
        with ResponseCache.known_keys(nowhere) as known:
            assert not known("k")
    assert list(tmp_path.iterdir()) == []
    with ResponseCache(path) as cache:
        cache.put("k", b"v")
    before = path.read_bytes()
    with ResponseCache.known_keys(path) as known:
        assert known("k")
        assert not known("other")
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["c.sqlite"]


def test_clearing_leaves_other_processes_at_work(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with ResponseCache(path) as cache:
        for i in range(1_000):
            cache.put(str(i), os.urandom(2_000))
    large = CacheStats.count(path).bytes
    with ResponseCache(path) as cache:
        assert cache.get("0") is not None
        assert clear(path) == 1_000
        assert cache.get("0") is None
        cache.put("new", b"kept")
    assert CacheStats.count(path).entries == 1
    assert CacheStats.count(path).bytes < large / 10
