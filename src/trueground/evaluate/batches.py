"""batches.json: which batches of a run are at the endpoint."""

from __future__ import annotations

from pathlib import Path

import msgspec

from trueground.errors import InputError, OutputError
from trueground.files import OutputPath
from trueground.models import BatchState
from trueground.runs import BATCHES


class BatchStateFile:
    """The file in a run directory that keeps the state of the batches."""

    def __init__(self, run: Path) -> None:
        self._path = run / BATCHES

    def load(self) -> BatchState:
        """Return the saved state, or a new one. Raises InputError."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=BatchState)
        except FileNotFoundError:
            return BatchState.new()
        except (OSError, ValueError) as error:
            raise InputError(
                f"{self._path} cannot be read ({error}). Restore it; or delete it, and what is "
                "under way at the endpoint is submitted and paid again"
            ) from None

    def save(self, state: BatchState) -> None:
        """Replace the file. Raises WriteError."""
        OutputPath(self._path).write_json(msgspec.to_builtins(state))


def check_none_under_way(run: Path) -> None:
    """Raise OutputError if an endpoint still works on requests of this run."""
    if waiting := BatchStateFile(run).load().under_way:
        calls = sum(part.requests for part in waiting)
        raise OutputError(
            f"{run}: an endpoint has {calls:,} calls of this run in batches; asked again they "
            "would be paid for twice. Add --batch to collect them, or choose another --out"
        )
