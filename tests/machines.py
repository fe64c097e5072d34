"""What commands write, computed as on other machines: `python -m tests.machines RESAMPLES`.

The library that multiplies matrices, NumPy's SIMD, the C library's functions and the number of
threads are chosen when a process starts, by environment variables. So one process per machine
executes all commands, and the bytes that it wrote are compared.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import platform
import random
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tests.commands import trueground as run_command

import trueground
from trueground.judges.registry import judges
from trueground.types import JudgeRequest, Verdict

# What NumPy was compiled for, and what this CPU has; NumPy 1 has it elsewhere.
CPU: Any = import_module(
    "numpy._core._multiarray_umath" if np.__version__ >= "2" else "numpy.core._multiarray_umath"
)
ROOT = Path(__file__).parent.parent
HUMAN = ROOT.parent / "shared" / "data" / "human"
ALL = "all-at-once"
METRICS = "f1,k_precision,rouge_l,k_f1,abstained,support,correct_support"
# Times and paths are in the manifest; all other files have to be equal.
LEFT_OUT = {"manifest.json"}


class Machine(NamedTuple):
    """The variables of a process on it; `skipped` says why it cannot be tried here."""

    variables: dict[str, str]
    skipped: str | None = None


def machines() -> dict[str, Machine]:
    """The machines that are compared with this one."""
    cores = {"Prescott": "SSE3", "Haswell": "AVX2", "SkylakeX": "AVX512F"}
    found = {
        f"openblas-{name.lower()}": Machine({"OPENBLAS_CORETYPE": name}, _why_lacking(feature))
        for name, feature in cores.items()
    }
    features = _numpy_features()
    found["numpy-without-simd"] = Machine(
        {"NPY_DISABLE_CPU_FEATURES": " ".join(features)},
        None if features else "NumPy has no feature to disable on this CPU",
    )
    glibc = platform.libc_ver()[0] == "glibc" and platform.machine() == "x86_64"
    found["glibc-without-fma"] = Machine(
        {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F"},
        None if glibc else "it takes glibc on x86-64",
    )
    for threads in "12":
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")
        found[f"threads-{threads}"] = Machine(dict.fromkeys(names, threads))
    usable = [machine.variables for machine in found.values() if machine.skipped is None]
    found[ALL] = Machine({name: value for one in reversed(usable) for name, value in one.items()})
    return found


def _why_lacking(feature: str) -> str | None:
    if platform.machine() not in ("x86_64", "AMD64"):
        return "OpenBLAS has these kernels for x86 only"
    return None if CPU.__cpu_features__.get(feature) else f"this CPU lacks {feature}"


def _numpy_features() -> list[str]:
    return [name for name in CPU.__cpu_dispatch__ if CPU.__cpu_features__.get(name)]


def write_data(folder: Path, n: int, sets: Sequence[str] = ()) -> None:
    """Answers of two systems with labels, numbers that two judges read, and some labeled sets."""
    folder.mkdir()
    for seed, name in enumerate("ab"):
        records = make_records(n, seed)
        labels = [{"id": one["id"], "human": one["human"]} for one in records[: n // 2]]
        write_records(folder / f"{name}.jsonl", records)
        write_records(folder / f"labels_{name}.jsonl", labels)
    write_records(folder / "labeled.jsonl", make_records(n, 0))
    write_records(folder / "numbers.jsonl", make_numbers(n))
    for name in sets:
        lines = gzip.decompress((HUMAN / f"{name}.jsonl.gz").read_bytes()).splitlines()[:300]
        (folder / f"labeled_{name}.jsonl").write_bytes(b"\n".join(lines) + b"\n")


def make_records(n: int, system: int) -> list[dict[str, Any]]:
    """Records with labels; two systems answer the same questions with the same contexts."""
    common, own = random.Random(7), random.Random(system)
    words = ["".join(common.choices("aeiounrstlmdk", k=common.randint(3, 9))) for _ in range(400)]
    records = []
    for number in range(n):
        sentences = [
            " ".join(common.choices(words, k=common.randint(6, 14))) + f" in {1900 + k}."
            for k in range(common.randint(2, 5))
        ]
        kept = own.random()
        answer = [
            word if own.random() < kept else own.choice(words)
            for word in " ".join(own.sample(sentences, own.randint(1, 2))).split()
        ]
        records.append(
            {
                "id": f"q{number}",
                "question": " ".join(common.choices(words, k=6)) + "?",
                "contexts": sentences,
                "references": [common.choice(sentences)],
                "response": " ".join(answer) if own.random() > 0.05 else "I don't know.",
                "group": f"g{number // 3}",
                "human": {"faithful": int(kept + own.uniform(-0.3, 0.3) > 0.55)},
            }
        )
    return records


def make_numbers(n: int) -> list[dict[str, Any]]:
    """Supported where both numbers together are high, so that neither judge sees it alone."""
    draw, records = random.Random(5), []
    for number in range(n):
        first, second = draw.random(), draw.random()
        records.append(
            {
                "id": f"n{number}",
                "response": f"Item {first:.3f} {second:.3f}.",
                "contexts": ["There are items."],
                "human": {"faithful": int(first + second + draw.uniform(-0.2, 0.2) > 1)},
            }
        )
    return records


def write_records(path: Path, records: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")


class NumberJudge:
    """Its score is one of the numbers in the claim."""

    threshold = 0.5

    def __init__(self, place: int) -> None:
        self.name = self.signature = f"number-{place}"
        self.place = place

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        scores = [float(request.claim.rstrip(".").split()[self.place]) for request in requests]
        return [Verdict(score > self.threshold, score) for score in scores]


def commands(data: Path, out: Path, resamples: int) -> list[list[object]]:
    """Every kind of command that writes numbers, with all that it draws or fits."""
    a, b = data / "a.jsonl", data / "b.jsonl"
    labels: list[object] = ["--labels-drawn", "random", "--labels", data / "labels_a.jsonl"]
    both = [*labels, "--labels", data / "labels_b.jsonl"]
    labeled = sorted(data.glob("labeled*.jsonl"))
    runs = out / "run_a", out / "run_b"
    isotonic: list[object] = ["--method", "isotonic", "--out", out / "isotonic"]
    stack: list[object] = ["--judges", "first,second", "--out", out / "stack.json"]
    seed: list[object] = ["--seed", 3, "--quiet"]
    drawn = ["--resamples", resamples, *seed]
    return [
        ["score", a, "--metrics", METRICS, "--out", runs[0], *labels, *seed],
        ["score", b, "--metrics", METRICS, "--out", runs[1], *seed],
        ["compare", *runs, "--out", out / "compared", *both, *drawn],
        ["compare", *runs, "--format", "json", *drawn],
        ["validate", *labeled, "--metrics", METRICS, "--out", out / "validated", *drawn],
        ["judge", "calibrate", *labeled, "--out", out / "platt", *drawn],
        ["judge", "calibrate", *labeled, *isotonic, *drawn],
        ["judge", "fit", data / "numbers.jsonl", *stack, *drawn],
    ]


def compute(machine: Machine, folder: Path, resamples: int) -> dict[str, str]:
    """The SHA-256 of each file that a process with these variables writes to `folder`.

    The data lie in the folder beside it, `data`.
    """
    folder.mkdir()
    sources = [str(Path(trueground.__file__).parents[1]), str(ROOT)]
    variables = {**os.environ, **machine.variables, "PYTHONPATH": os.pathsep.join(sources)}
    words = [sys.executable, "-m", "tests.machines", str(resamples)]
    subprocess.run(words, cwd=folder, env=variables, check=True)
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in LEFT_OUT
    }


def main() -> None:
    """Execute all commands in the current folder: pages name files as they were given."""
    for place, name in enumerate(("first", "second"), 1):
        judges[name] = partial(NumberJudge, place)
    resamples = int(sys.argv[1])
    for number, words in enumerate(commands(Path("..", "data"), Path(), resamples)):
        done = run_command(*words)
        if done.returncode:
            sys.exit(f"{words}: {done.stderr}")
        Path(f"output-{number}.txt").write_text(done.stdout, "utf-8")


if __name__ == "__main__":
    main()
