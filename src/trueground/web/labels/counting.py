"""Pages that take long to count: each in a process of its own, which nobody else waits for.

`python -m trueground.web.labels.counting NAME` reads what opens the database, writes what it found
as JSON, or `{"error": words}`, and ends at once when the server has ended.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from trueground.annotation import LEVEL
from trueground.annotation.agreement import measure_answers, measure_pairs
from trueground.annotation.kinds import KINDS
from trueground.errors import InputError, TruegroundError
from trueground.reports.agreement_page import agreement_page
from trueground.reports.blocks import Page, Span
from trueground.web.labels.database import LabelDatabase
from trueground.web.labels.gathered import Gathered, gather
from trueground.web.labels.hints import shorten_title

RESAMPLES, SEED, HARDEST = 2_000, 0, 10  # as `trueground agreement` has them
_MOST_PAIRS = 45  # of people; the intervals of more take too long for a page
Counted = Literal["agreement", "judge", "calibrate"]


class CountingRoom:
    """Starts the processes, and ends them with the server."""

    def __init__(self, database: LabelDatabase) -> None:
        self._database = database
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._closed = False

    def count(self, name: Counted) -> Any:
        """What a process has found. TruegroundError: its words, or that it was ended."""
        with self._lock:
            if self._closed:
                raise InputError("the server ends")
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for the server, which ends it
            )
            self._running.add(process)
        assert process.stdin is not None
        assert process.stdout is not None
        with process:
            try:
                process.stdin.write(self._database.address.encode() + b"\n")
                process.stdin.flush()
                found = process.stdout.read()
            except BrokenPipeError:
                found = b""
            finally:
                with self._lock:
                    self._running.discard(process)
        if not found:
            raise InputError("the counting ended early; what the server printed may say why")
        told = msgspec.json.decode(found)
        if "error" in told:
            raise InputError(told["error"])
        return told

    def close(self) -> None:
        """End what still counts, and let nothing begin."""
        with self._lock:
            self._closed = True
            for process in self._running:
                process.kill()


def count_agreement(_database: LabelDatabase, gathered: Gathered) -> Page:
    """Agreement of each field and each pair of people, and the hardest tasks."""
    answers = gathered.answers
    settings: dict[str, Any] = {"resamples": RESAMPLES, "seed": SEED, "level": LEVEL}
    found = measure_answers(answers, HARDEST, **settings)
    pairs, notices, titles = {}, [], {}
    for name, kind in found.kinds.items():
        several_people = len(kind.annotators)
        if several_people * (several_people - 1) // 2 <= _MOST_PAIRS:
            pairs[name] = measure_pairs(KINDS[name], answers, **settings)
        else:
            notices.append(
                f"Pairs of {several_people} people are not shown; export the answers and give "
                "two people's lines to `trueground agreement`."
            )
        for hard in kind.hardest:
            title = shorten_title(gathered.tasks[name, hard.id].shown or {}) or hard.id
            place = f"#/dispute/{gathered.numbers[name, hard.id]}"
            titles[name, hard.id] = Span(title, href=place)
    return agreement_page(found, pairs, notices=notices, titles=titles)


def _judge(database: LabelDatabase, gathered: Gathered) -> Page:
    from trueground.web.labels.judging import judge_page  # the server itself needs none of this

    return judge_page(database, gathered)


def _calibrate(database: LabelDatabase, gathered: Gathered) -> dict[str, Any]:
    from trueground.web.labels.judging import calibrate_judge

    command, page = calibrate_judge(database, gathered)
    return {"command": command, "page": page}


_COUNTS: Mapping[str, Callable[[LabelDatabase, Gathered], Any]] = {
    "agreement": count_agreement,
    "judge": _judge,
    "calibrate": _calibrate,
}


def _end_with_server() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


def main(name: str) -> None:
    """Count what is named."""
    address = sys.stdin.buffer.readline().decode().removesuffix("\n")
    threading.Thread(target=_end_with_server, daemon=True).start()
    try:
        with LabelDatabase(address) as database:
            found = _COUNTS[name](database, gather(database))
    except TruegroundError as error:
        found = {"error": str(error)}
    sys.stdout.buffer.write(msgspec.json.encode(found))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1])
