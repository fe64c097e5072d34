"""Calls beside the openai SDK and inspect_ai, and 100,000 replayed answers within bounded memory.

The neighbors are installed into a virtual environment of their own, by this benchmark only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.measuring import run_measured

HERE = Path(__file__).parent
CALLS, CONNECTIONS, ANSWER_S = 5_000, 100, 0.05
NEIGHBORS = ("openai", "inspect_ai")
_DATASETS = ("SQuAD", "NewsQA", "TriviaQA", "NQ", "SearchQA", "HotpotQA", "BioASQ", "DROP", "RACE")


def write_questions(path: Path, n: int) -> Path:
    """n unanswerable questions with contexts of about 800 characters."""
    with path.open("w") as out:
        for i in range(n):
            context = f"Tower number {i} stands in the harbour and is {i + 10} metres tall. " * 12
            row = {
                "qid": f"q{i}",
                "question": f"Who built tower number {i}?",
                "context": context,
                "answers": ["unknown"],
                "subset": _DATASETS[i % len(_DATASETS)],
            }
            out.write(json.dumps(row) + "\n")
    return path


@contextmanager
def endpoint(port: int = 8377) -> Iterator[str]:
    """The URL of an endpoint in a process of its own."""
    words = [sys.executable, str(HERE / "answering.py"), str(port), str(ANSWER_S)]
    process = subprocess.Popen(words)
    try:
        time.sleep(2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()


def neighbors() -> Path | None:
    """The Python that has the neighbors; None where they cannot be installed."""
    home = Path(os.environ.get("TG_NEIGHBORS", HERE.parent / ".venv-neighbors"))
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", *NEIGHBORS]
    return python if subprocess.run(pip).returncode == 0 else None


def calls() -> None:
    """CPU per sample of the whole command, run files and cache being written."""
    other = neighbors()
    with tempfile.TemporaryDirectory() as name, endpoint() as url:
        folder = Path(name)
        data = write_questions(folder / "unanswerable.jsonl", CALLS)
        run = [sys.executable, "-m", "trueground", "run", "faitheval/unanswerable", "--quiet"]
        run += ["--model", "bench-model", "--base-url", url, "--data", str(data)]
        run += ["--max-connections", str(CONNECTIONS), "--out"]
        ours = [
            run_measured(
                [*run, str(folder / f"run{i}")], {"TRUEGROUND_HOME": str(folder / f"home{i}")}
            )
            for i in range(3)
        ]
        again = run_measured(
            [*run, str(folder / "again")], {"TRUEGROUND_HOME": str(folder / "home0")}
        )
        theirs = {}
        if other:
            words = [str(other), str(HERE / "neighbors" / "openai_sdk.py"), url, str(data)]
            theirs["openai SDK"] = [run_measured([*words, str(CONNECTIONS)]) for _ in range(2)]
            words = [str(other), str(HERE / "neighbors" / "inspect_task.py"), url, str(data)]
            theirs["inspect_ai"] = [run_measured([*words, str(CONNECTIONS), str(folder / "logs")])]
    best = min(cpu for _, cpu, _ in ours)
    print(f"\n{CALLS:,} calls, {CONNECTIONS} connections, an endpoint that takes {ANSWER_S} s\n")
    print("| what | wall s | CPU s | CPU ms/sample | peak MB | CPU beside trueground |")
    print("|---|---:|---:|---:|---:|---:|")
    rows = {"trueground run (cache, run files, page)": ours, **theirs}
    rows["trueground run, all from the cache"] = [again]
    for what, runs in rows.items():
        wall, cpu, peak = min(runs, key=lambda r: r[1])
        each = cpu / CALLS * 1e3
        print(f"| {what} | {wall:.1f} | {cpu:.1f} | {each:.2f} | {peak:.0f} | {cpu / best:.1f}x |")


def replay(sizes: tuple[int, ...] = (20_000, 100_000)) -> None:
    """Answers from a file, scored and reported."""
    print("\n| replayed answers | wall s | CPU s | peak MB |")
    print("|---:|---:|---:|---:|")
    for n in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            data = write_questions(folder / "unanswerable.jsonl", n)
            answers = folder / "answers.jsonl"
            with answers.open("w") as out:
                for i in range(n):
                    text = "unknown" if i % 3 else "The harbour master built it."
                    out.write(json.dumps({"id": f"q{i}", "response": text}) + "\n")
            words = [sys.executable, "-m", "trueground", "run", "faitheval/unanswerable", "--quiet"]
            words += ["--model", f"replay:{answers}", "--data", str(data)]
            wall, cpu, peak = run_measured([*words, "--out", str(folder / "run")])
            print(f"| {n:,} | {wall:.1f} | {cpu:.1f} | {peak:.0f} |")
