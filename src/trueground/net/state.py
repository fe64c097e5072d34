"""A small JSON file that says what a folder of ours holds: written whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec


def unfinished(name: str) -> str:
    """What the state file of that name is called while it is written."""
    return f".{name}.part"


def write_state(path: Path, state: Any) -> None:
    """Replace the file by this state, on the disk when the call returns. OSError."""
    part = path.with_name(unfinished(path.name))
    try:
        with part.open("wb") as out:
            out.write(msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n")
            out.flush()
            os.fsync(out.fileno())
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def is_state(path: Path, key: str) -> bool:
    """Whether the file is a state with this key, of whatever version, finished or not."""
    try:
        found = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return isinstance(found, dict) and key in found
