"""Time and memory of a whole command, its own and not this process's.

Linux starts a child's peak memory at the resident memory of the process that forked it. A small
launcher therefore stands between this process and the command, and reports the command's usage.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_LAUNCHER = """
import json, os, subprocess, sys, time
report, *command = sys.argv[1:]
start = time.perf_counter()
process = subprocess.Popen(command)
_, status, usage = os.wait4(process.pid, 0)
seconds = time.perf_counter() - start
cpu = usage.ru_utime + usage.ru_stime
with open(report, "w") as file:
    json.dump([os.waitstatus_to_exitcode(status), seconds, cpu, usage.ru_maxrss], file)
"""
# getrusage counts in bytes on macOS and in KiB elsewhere.
_UNITS_PER_MB = 1e6 if sys.platform == "darwin" else 1e6 / 1024


class Usage(NamedTuple):
    """Wall-clock seconds, CPU seconds, and peak resident memory of the largest process in MB."""

    seconds: float
    cpu_seconds: float
    peak_mb: float


def run_measured(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Usage:
    """Run a command to its end, without its standard output, and return what it used.

    Raises:
        SystemExit: If the command fails; the message ends with what it wrote to standard error.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "usage.json"
        done = subprocess.run(
            [sys.executable, "-S", "-c", _LAUNCHER, str(report), *command],
            env={**os.environ, **(environment or {})},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        code, seconds, cpu, peak = json.loads(report.read_text())
    if code != 0:
        raise SystemExit(f"{' '.join(command)} ended with {code}:\n{done.stderr.decode()[-2000:]}")
    return Usage(seconds, cpu, peak / _UNITS_PER_MB)


def own_peak_mb() -> float:
    """Return the peak resident memory of this process since it began its program, in MB."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:  # not Linux, where nothing is inherited either
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _UNITS_PER_MB
    kib = next(line for line in status.splitlines() if line.startswith("VmHWM:")).split()[1]
    return int(kib) * 1024 / 1e6
