"""A small JSON file that says what a folder of ours holds: written whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec


def write_state(path: Path, state: Any) -> None:
    """Replace the file by this state, on the disk when the call returns. OSError."""
    unfinished = path.with_name(f".{path.name}.part")
    try:
        with unfinished.open("wb") as out:
            out.write(msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n")
            out.flush()
            os.fsync(out.fileno())
        unfinished.replace(path)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def is_state(path: Path, key: str) -> bool:
    """Whether the file is a state with this key, of whatever version, finished or not."""
    try:
        found = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return isinstance(found, dict) and key in found
