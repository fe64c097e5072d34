"""Shards against one process: seconds and memory of whole commands, and whether the bytes agree.

    python bench/shards.py 200000 2000000

For each size: `--workers 1`; the same in 16 shards, one process at a time; in 16 shards on a Ray
cluster of two workers, started for it. Peak memory is that of the largest worker and of the driver.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from bench.run import LEXICAL, synthetic_records

SHARDS = 16
METRICS = ["--metrics", ",".join(LEXICAL)]


def timed(source: Path, out: Path, *options: str) -> tuple[float, float, float]:
    """(seconds, MB of the largest worker, MB of the driver) of `trueground score`."""
    words = [sys.executable, "-m", "trueground", "score", str(source), "--out", str(out)]
    start = time.perf_counter()
    process = subprocess.Popen([*words, "--overwrite", "--quiet", *METRICS, *options])
    peaks = {"driver": 0, "worker": 0}
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set():
            peaks["driver"] = max(peaks["driver"], memory_of(process.pid))
            for pid in (p.name for p in Path("/proc").iterdir() if p.name.isdigit()):
                if int(pid) != process.pid and is_worker(pid, process.pid):
                    peaks["worker"] = max(peaks["worker"], memory_of(int(pid)))
            time.sleep(0.2)

    watcher = threading.Thread(target=watch)
    watcher.start()
    code = process.wait()
    stop.set()
    watcher.join()
    if code:
        raise SystemExit(f"{words} ended with {code}")
    return time.perf_counter() - start, peaks["worker"] / 1e6, peaks["driver"] / 1e6


def is_worker(pid: str, driver: int) -> bool:
    """A process of the driver's pool, or a Ray worker on a task of ours."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
        parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
    except OSError:
        return False
    return words.startswith(b"ray::") or (int(parent) == driver and b"spawn_main" in words)


def memory_of(pid: int) -> int:
    """Resident bytes that are the process's own."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    import orjson

    sizes = [int(word) for word in sys.argv[1:]] or [200_000]
    print("| records | how | seconds | × | worker MB | driver MB | same bytes |")
    print("|---:|---|---:|---:|---:|---:|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        source, plain = Path(folder) / "answers.jsonl", Path(folder) / "plain"
        for n in sizes:
            with source.open("wb") as file:
                rows = synthetic_records(n, seed=2)
                while chunk := list(islice(rows, 10_000)):
                    file.write(b"".join(orjson.dumps(row) + b"\n" for row in chunk))
            base = 0.0
            for how, options in (  # in turn
                ("one process", ("--workers", "1")),
                ("16 shards, 1 process", ("--shards", str(SHARDS), "--workers", "1")),
                ("16 shards, 2 processes", ("--shards", str(SHARDS), "--workers", "2")),
                ("16 shards, Ray, 2 workers",
                 ("--shards", str(SHARDS), "--engine", "ray", "--workers", "2")),
            ):  # fmt: skip
                out = plain if not base else Path(folder) / "sharded"
                seconds, worker, driver = timed(source, out, *options)
                base = base or seconds
                same = all(
                    subprocess.run(["cmp", "-s", plain / name, out / name]).returncode == 0
                    for name in ("summary.json", "items.jsonl")
                )
                print(
                    f"| {n:,} | {how} | {seconds:,.1f} | {base / seconds:.2f} | {worker:,.0f} "
                    f"| {driver:,.0f} | {'yes' if same else 'NO'} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
