"""`trueground validate` on many records: the default metrics without a model, 2,000 resamples."""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

import orjson

from bench.measuring import run_measured
from trueground.testing import synthetic_records

HUMAN = Path(__file__).parents[2] / "shared" / "data" / "human"


def validating(n: int = 20_000) -> None:
    """The whole command, as one file: made records, and the labeled sets where they are here."""
    print("\n| records | of | workers | seconds | of that processors | peak MB of one process |")
    print("|---:|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labeled.jsonl"
        _row(_made(path, n), "made records in clusters", path)
        if HUMAN.is_dir():
            _row(_joined(path), "16 human-labeled sets in one file", path)


def _made(path: Path, n: int) -> int:
    """Made records, four to a group, labeled by chance and by how the answer begins."""
    chance = random.Random(3)
    with path.open("wb") as file:
        for number, row in enumerate(synthetic_records(n, seed=3)):
            likely = 0.3 if len(row["response"]) % 2 else 0.6
            row |= {"group": f"g{number // 4}", "human": {"label": int(chance.random() < likely)}}
            file.write(orjson.dumps(row) + b"\n")
    return n


def _joined(path: Path) -> int:
    """All labeled sets under one label, ids made unique."""
    import gzip

    n = 0
    with path.open("wb") as file:
        for each in sorted(HUMAN.glob("*.jsonl.gz")):
            with gzip.open(each) as lines:
                for line in lines:
                    row = orjson.loads(line)
                    human = row["human"]
                    label = human.get("faithful", human.get("correct"))
                    file.write(
                        orjson.dumps(row | {"id": str(n), "human": {"label": label}}) + b"\n"
                    )
                    n += 1
    return n


def _row(n: int, what: str, path: Path) -> None:
    for workers in (1, 2):
        command = [sys.executable, "-m", "trueground", "validate", str(path), "--format", "json"]
        used = run_measured([*command, "--workers", str(workers)])
        row = f"{used.seconds:.1f} | {used.cpu_seconds:.1f} | {used.peak_mb:,.0f}"
        print(f"| {n:,} | {what} | {workers} | {row} |")
        sys.stdout.flush()
