"""Small JSON files that say what a folder is and how far its work is done."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec

from trueground.files.writing import write_atomically

T = TypeVar("T")


class StateFile:
    """A small JSON file that is replaced as a whole, and is recognized by one of its keys."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, state: Any) -> None:
        """Replace the file by this state; it is on the disk when the call returns. OSError."""
        with write_atomically(self.path, sync=True) as out:
            out.write(msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n")

    def read(self, kind: type[T], key: str, version: int) -> T:
        """Read a state that has this version under `key`. OSError; ValueError with the reason."""
        content = self.path.read_bytes()
        try:
            state = msgspec.json.decode(content)
            actual = state.get(key) if isinstance(state, dict) else None
            if actual != version:
                raise ValueError(
                    f"found format {actual}, and this trueground reads format {version}"
                )
            return msgspec.json.decode(content, type=kind)
        except msgspec.MsgspecError as error:
            raise ValueError(str(error)) from error

    def has(self, key: str) -> bool:
        """Return whether the file is a state with this key, of any version, finished or not."""
        try:
            state = msgspec.json.decode(self.path.read_bytes())
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return False
        return isinstance(state, dict) and key in state
