"""Marks for what the quick suite leaves to the long one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def mostly_long(quick: int, cases: Iterable[Any]) -> list[Any]:
    """The first cases are tried in the quick suite, the others by `make test-long`."""
    listed = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [
        pytest.param(*case, marks=[pytest.mark.long] * (number >= quick))
        for number, case in enumerate(listed)
    ]
