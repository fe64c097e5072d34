"""Parts from other packages: a module named as an entry point registers itself when loaded."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points


@cache
def load_plugins(group: str) -> None:
    """Import every module that an installed package names under this entry-point group."""
    for entry in entry_points(group=group):
        entry.load()
