"""Finished run directories: what they say of themselves, and their kept records."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.errors import InputError
from trueground.evaluate.questioned import BY_ID
from trueground.records.archives import opened
from trueground.runs.directory import ITEMS, MANIFEST, RECORDS, SUMMARY
from trueground.studies.repeated import Questions

NO_HASH = 0


class HasId(Protocol):
    """A line of items or records."""

    id: str


T = TypeVar("T", bound=HasId)


@dataclass(frozen=True)
class FinishedRun:
    """A run that ended well. `signatures` tells for each metric what fixes its value.

    With `asked`, the answers to one question are read as one item, under the question's name.
    """

    path: Path
    manifest: dict[str, Any]
    signatures: dict[str, str]
    asked: Questions | None = None

    @property
    def repeats(self) -> int:
        """How many answers a benchmark run has to each question; 1 for a scored file."""
        found = self.manifest.get("repeats")
        return found if isinstance(found, int) else 1

    @property
    def task(self) -> str | None:
        """`benchmark/task` of a benchmark run."""
        told = self._part("benchmark")
        return f"{told.get('name')}/{told.get('task')}" if told else None

    @property
    def options(self) -> dict[str, Any]:
        """How the model was asked: the benchmark's options, parameters, prompts and data."""
        found: dict[str, Any] = dict(self._part("benchmark").get("options") or {})
        identity = self._part("identity")
        for name in ("params", "prompts", "data"):
            if name in identity:
                found[name] = identity[name]
        return found

    @property
    def model(self) -> str | None:
        """Who was asked, in a benchmark run."""
        return self._part("model").get("name")

    @property
    def notices(self) -> tuple[str, ...]:
        """What every page of this run must say."""
        return tuple(self._part("benchmark").get("notices") or ())

    def _part(self, name: str) -> dict[str, Any]:
        found = self.manifest.get(name)
        return found if isinstance(found, dict) else {}

    @property
    def has_records(self) -> bool:
        """Whether the records were kept with the run."""
        return (self.path / RECORDS).exists()

    @property
    def repeats_of(self) -> str | None:
        """How the run's own summary told questions with several answers; None where it did not."""
        of = (self._summary().get("repeats") or {}).get("of")
        if isinstance(of, str):
            return of
        return BY_ID if self.repeats > 1 else None

    @property
    def has_groups(self) -> bool:
        """Whether the run's own intervals took groups as clusters; False without a summary.

        The answers to one question are no group.
        """
        summary = self._summary()
        clusters = summary.get("clusters")
        questions = (summary.get("repeats") or {}).get("questions")
        return clusters is not None and (questions is None or clusters < questions)

    def _summary(self) -> dict[str, Any]:
        try:
            return msgspec.json.decode((self.path / SUMMARY).read_bytes(), type=dict[str, Any])
        except (OSError, msgspec.DecodeError):
            return {}


def open_run(path: Path) -> FinishedRun:
    """Read the manifest. InputError: no run there, or one that is not finished."""
    try:
        manifest = msgspec.json.decode((path / MANIFEST).read_bytes(), type=dict[str, Any])
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{path / MANIFEST}: not found; expected the directory of a finished run, such as "
            "`trueground score FILE --out DIR` writes"
        ) from None
    except OSError as error:
        raise InputError(f"{path / MANIFEST} cannot be read: {error.strerror or error}") from error
    except msgspec.DecodeError as error:
        raise InputError(f"{path / MANIFEST}: not readable ({error}); run again") from error
    status = manifest.get("status")
    if status != "finished":
        raise InputError(
            f"{path}: this run is {status!r}; expected 'finished'. Run its command again "
            "(`score` with --overwrite) to finish it, then compare"
        )
    if not (path / ITEMS).exists():
        raise InputError(f"{path / ITEMS}: not found, although the run is finished; run it again")
    signatures = manifest.get("metrics")
    if not isinstance(signatures, dict):
        raise InputError(
            f"{path / MANIFEST}: found no metric signatures under 'metrics'; run it again"
        )
    return FinishedRun(path, manifest, signatures)


def other_records(run: FinishedRun) -> InputError:
    """For a run whose records are not those of its items."""
    return InputError(
        f"{run.path / RECORDS}: the ids are not those of {ITEMS}. Run again, or remove the records "
        "file"
    )


def read_records(run: FinishedRun, kind: type[T]) -> Iterator[T]:
    """All records that were kept with the run, as structs of this kind, which have an `id`.

    InputError: lines that cannot be read.
    """
    path = run.path / RECORDS
    with opened(path, ".zst", str(path)) as lines:
        found = decoded(lines, kind, path)
        if run.asked is None:
            yield from found
            return
        for name, told in run.asked.first_answers(found):
            told.id = name
            yield told


def hashes(texts: Iterable[str | bytes | None]) -> NDArray[np.int64]:
    """64 bits of each text, NO_HASH for None: equal where the texts are equal."""
    return np.array([NO_HASH if text is None else _hash(text) for text in texts], np.int64)


def _hash(text: str | bytes) -> int:
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    digest = hashlib.blake2b(raw, digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def decoded(lines: Iterable[bytes], kind: type[T], path: Path) -> Iterator[T]:
    """Each line as a struct of this kind. InputError names `path` and the line."""
    decode = msgspec.json.Decoder(kind).decode
    for number, line in enumerate(lines, start=1):
        try:
            yield decode(line)
        except msgspec.DecodeError as error:
            raise InputError(
                f"{path}, line {number}: not a line that this version writes ({error}); run again"
            ) from error
