"""The parts in which a run's calls go through batches: their files, and what is known of each.

batches.json is written before and after everything that must not happen twice, so that a run that
was killed knows which parts the endpoint already has.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec
import orjson

from trueground.errors import InputError
from trueground.runs.directory import BATCHES, write_json

_PLAIN = re.compile(r"[!-~]{1,64}")


@dataclass(frozen=True)
class Limits:
    """What fits into one file of calls. OpenAI takes 50,000 calls and 200 MB."""

    requests: int = 50_000
    bytes: int = 190_000_000


class Part(msgspec.Struct):
    """One file of calls at the endpoint, and the batch made of it.

    `url` is that of its lines, `limit_name` what they call `max_tokens`. `status` is `uploaded`,
    then whatever the endpoint last said of the batch.
    """

    number: int
    sha256: str
    requests: int
    url: str
    limit_name: str
    input_file_id: str
    batch_id: str | None = None
    status: str = "uploaded"
    collected: bool = False


class State(msgspec.Struct):
    """What batches.json holds. `token` marks this run's batches at the endpoint."""

    token: str
    limit_name: str = "max_tokens"
    parts: list[Part] = []

    @property
    def open(self) -> list[Part]:
        """The parts whose results have not been taken yet."""
        return [part for part in self.parts if not part.collected]

    def mark(self, part: Part) -> dict[str, str]:
        """What tells the batch of a part from all others at the endpoint."""
        return {"trueground": self.token, "part": str(part.number)}


def read_state(run: Path) -> State:
    """The state of a run; a new one where there is none. Raises InputError."""
    path = run / BATCHES
    try:
        return msgspec.json.decode(path.read_bytes(), type=State)
    except FileNotFoundError:
        return State(secrets.token_hex(16))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read ({error}). Restore it; or delete it, and batches under way are "
            "submitted and paid again"
        ) from None


def write_state(run: Path, state: State) -> None:
    """Replace batches.json. Raises WriteError."""
    write_json(run / BATCHES, msgspec.to_builtins(state))


def custom_id(item: str) -> str:
    """An item's name in a batch: its id where that is plain and short, else a hash of it."""
    return item if _PLAIN.fullmatch(item) else sha256(item.encode()).hexdigest()


class Written(NamedTuple):
    """A file of calls on disk; `url` is that of its lines."""

    sha256: str
    requests: int
    url: str


def write_parts(lines: Iterator[bytes], path: Path, limits: Limits) -> Iterator[Written]:
    """Fill the file, give it out, fill it anew, until the lines end. Raises OSError.

    A line that alone is beyond the limit has a file of its own; the endpoint will say what it
    thinks of it.
    """
    line = next(lines, None)
    while line is not None:
        url = orjson.loads(line)["url"]
        digest, number, size = sha256(), 0, 0
        with path.open("wb") as out:
            while line is not None and _fits(number, size + len(line), limits):
                out.write(line)
                digest.update(line)
                number, size = number + 1, size + len(line)
                line = next(lines, None)
        yield Written(digest.hexdigest(), number, url)


def _fits(number: int, size: int, limits: Limits) -> bool:
    return number == 0 or (number < limits.requests and size <= limits.bytes)
