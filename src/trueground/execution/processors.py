"""How many processor cores may be used."""

from __future__ import annotations

import os


def cores() -> int:
    """Return $OMP_NUM_THREADS, else the number of cores that this process may use."""
    setting = os.environ.get("OMP_NUM_THREADS", "")
    if setting.isdecimal() and int(setting) > 0:
        return int(setting)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
