"""`make bench`: measures side by side in one run and prints Markdown tables.

`python bench/run.py --help` lists the parts. `memory` scores 200,000 and 1,000,000 records with the
whole command; `--big` adds 5,000,000.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent.parent))

from bench import naive
from bench.calls import calls, replay
from bench.graph import graph
from bench.judges import judges
from bench.linking import linking
from bench.retrieval import retrieval
from bench.validating import validating
from trueground.metrics.base import Spec
from trueground.metrics.batch import Batch
from trueground.metrics.context import BatchContext
from trueground.metrics.registry import METRICS
from trueground.testing import synthetic_records

LEXICAL = [*naive.CORRECTNESS, *naive.FAITHFULNESS, *naive.DISCOUNTED]
STEP = 1024


def best_of(times: int, work: Callable[[], object]) -> float:
    """Seconds of the fastest run: the one that the machine disturbed least."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def fast(rows: list[dict], specs: list[Spec]) -> list[list[float]]:
    """All metrics of the specs over the rows, batch by batch; one list per metric."""
    values: list[list[float]] = [[] for _ in specs]
    for low in range(0, len(rows), STEP):
        part = rows[low : low + STEP]
        batch = Batch(
            responses=[r["response"] for r in part],
            questions=[r["question"] for r in part],
            contexts=[r["passages"] for r in part],
            references=[r["references"] for r in part],
        )
        evidence = BatchContext(batch)
        for column, spec in zip(values, specs, strict=True):
            column += spec.column(evidence).values.tolist()
    return values


def speed(n: int = 6_000) -> None:
    """All lexical metrics against the naive script; ROUGE-L against the rouge-score library."""
    from rouge_score import rouge_scorer

    from trueground.types import Passage

    rows = list(synthetic_records(n, seed=1))
    for row in rows:
        row["passages"] = [Passage(text) for text in row["contexts"]]
    print("\n| what | naive µs/item | trueground µs/item | ratio | largest difference |")
    print("|---|---:|---:|---:|---:|")

    some = rows[:1_500]
    expected = [
        naive.all_metrics(r["response"], r["references"], r["contexts"], r["question"])
        for r in some
    ]
    specs = METRICS.parse_all(LEXICAL)
    slow = best_of(
        2,
        lambda: [
            naive.all_metrics(r["response"], r["references"], r["contexts"], r["question"])
            for r in some
        ],
    )
    quick = best_of(5, lambda: fast(rows, specs))
    got = fast(some, specs)
    worst = max(
        abs(want[name] - column[i])
        for i, want in enumerate(expected)
        for name, column in zip(LEXICAL, got, strict=True)
    )
    _row(f"{len(specs)} lexical metrics", slow / len(some), quick / n, worst)

    scorer = rouge_scorer.RougeScorer(["rougeL"], use_stemmer=False)
    rouge = METRICS.parse_all("rouge_l")
    for chars in (30, 100, 200):
        for row in rows:
            row["references"] = [row["contexts"][0][:chars]]
        slow = best_of(2, lambda: [scorer.score(r["references"][0], r["response"]) for r in some])
        quick = best_of(5, lambda: fast(rows, rouge))
        got = fast(some, rouge)
        theirs = [scorer.score(r["references"][0], r["response"])["rougeL"] for r in some]
        worst = max(abs(a - b.fmeasure) for a, b in zip(got[0], theirs, strict=True))
        _row(f"ROUGE-L, references of {chars} characters", slow / len(some), quick / n, worst)


def _row(what: str, slow: float, quick: float, worst: float) -> None:
    ratio = slow / quick
    print(f"| {what} | {slow * 1e6:,.1f} | {quick * 1e6:,.1f} | {ratio:,.0f}× | {worst:.1e} |")


def memory(sizes: tuple[int, ...]) -> None:
    """Peak resident memory (all processes) and time of the whole command."""
    import orjson

    print("\n| records | metrics | workers | seconds | µs/record | peak memory MB |")
    print("|---:|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "answers.jsonl"
        for n in sizes:
            with source.open("wb") as file:
                rows = synthetic_records(n, seed=2)
                while chunk := list(islice(rows, 10_000)):
                    file.write(b"".join(orjson.dumps(r) + b"\n" for r in chunk))
            for metrics, workers in ((",".join(LEXICAL), 1), ("", 2)):
                seconds, peak = _command(source, Path(folder) / "run", metrics, workers)
                what = f"{len(LEXICAL)} lexical" if metrics else "default set (with claims)"
                each = seconds / n * 1e6
                print(
                    f"| {n:,} | {what} | {workers} | {seconds:,.1f} | {each:,.0f} | {peak:,.0f} |"
                )
                sys.stdout.flush()


def _command(source: Path, out: Path, metrics: str, workers: int) -> tuple[float, float]:
    command = [sys.executable, "-m", "trueground", "score", str(source), "--out", str(out)]
    command += ["--overwrite", "--quiet", "--workers", str(workers)]
    if metrics:
        command += ["--metrics", metrics]
    start = time.perf_counter()
    process = subprocess.Popen(command)
    peak = 0
    while process.poll() is None:
        peak = max(peak, _resident(process.pid))
        time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return time.perf_counter() - start, peak / 1e6


def _resident(pid: int) -> int:
    """Resident bytes of a process and its children, now."""
    total = 0
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        total += pages * os.sysconf("SC_PAGE_SIZE")
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                total += _resident(int(child))
    except OSError:
        pass  # it has just ended
    return total


def startup() -> None:
    """Whole processes, from start to end."""
    print("\n| command | seconds (median of 9) |")
    print("|---|---:|")
    python = sys.executable
    program = str(Path(python).with_name("trueground"))
    for words in (
        [python, "-c", "pass"],
        [python, "-c", "import trueground"],
        [program, "--help"],
        [program, "score", "--help"],
        [program, "run", "faitheval", "--help"],
        [program, "list"],
    ):
        taken = []
        for _ in range(9):
            start = time.perf_counter()
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            taken.append(time.perf_counter() - start)
        shown = " ".join(["python" if w == python else Path(w).name for w in words])
        print(f"| `{shown}` | {sorted(taken)[4]:.3f} |")


PARTS: dict[str, Callable[[], None]] = {
    "startup": startup,
    "speed": speed,
    "calls": calls,
    "replay": replay,
    "judges": judges,
    "retrieval": retrieval,
    "graph": graph,
    "linking": linking,
    "validating": validating,
    "memory": lambda: memory((200_000, 1_000_000)),
}


def main() -> None:
    """Run the chosen parts, or all of them."""
    parser = argparse.ArgumentParser(description="Measure, and print Markdown tables.")
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"one of {', '.join(PARTS)}; default: all"
    )
    parser.add_argument(
        "--big", action="store_true", help="measure the memory of 5,000,000 records too"
    )
    chosen = parser.parse_args()
    for name in chosen.parts:
        if name not in PARTS:
            parser.error(f"unknown part {name!r}; choose from {', '.join(PARTS)}")
    for name in chosen.parts or PARTS:
        PARTS[name]()
    if chosen.big:
        memory((5_000_000,))


if __name__ == "__main__":
    main()
