"""What `make bench` measures is the program's own; unknown arguments are errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bench.measuring import own_peak_mb, run_measured

ROOT = Path(__file__).parent.parent
HELD_MB = 300


def run_bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "bench" / "run.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.long
def test_run_measured_of_a_small_program_excludes_memory_of_the_caller() -> None:
    held = bytearray(b"x" * HELD_MB * 1_000_000)
    used = run_measured([sys.executable, "-S", "-c", "pass"])
    assert len(held) == HELD_MB * 1_000_000
    assert 1 < used.peak_mb < 60


def test_run_measured_of_a_large_program_includes_its_memory() -> None:
    used = run_measured([sys.executable, "-S", "-c", "x = b'x' * 200_000_000"])
    assert 190 < used.peak_mb < 300
    assert used.cpu_seconds > 0


def test_run_measured_of_a_failing_program_shows_its_error() -> None:
    with pytest.raises(SystemExit, match="ended with 3:\nno luck"):
        run_measured(
            [sys.executable, "-c", "import sys; print('no luck', file=sys.stderr); sys.exit(3)"]
        )


@pytest.mark.skipif(sys.platform != "linux", reason="memory is inherited on Linux alone")
def test_own_peak_of_a_small_program_excludes_memory_of_the_caller() -> None:
    held = bytearray(b"x" * HELD_MB * 1_000_000)
    code = "from bench.measuring import own_peak_mb; print(own_peak_mb())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert len(held) == HELD_MB * 1_000_000
    assert 1 < float(done.stdout) < 60 < own_peak_mb()


def test_bench_help_lists_the_parts_and_measures_nothing() -> None:
    done = run_bench("--help")
    assert done.returncode == 0
    assert "startup, speed, calls" in done.stdout
    assert "|" not in done.stdout


@pytest.mark.parametrize("argument", ["--bigger", "spead"])
def test_bench_with_an_unknown_argument_is_an_error(argument: str) -> None:
    done = run_bench(argument)
    assert done.returncode == 2
    assert argument in done.stderr
    assert done.stdout == ""
