"""Where batches are worked off: in this process, or in several. Results keep their order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

import msgspec

from trueground.errors import WorkerError
from trueground.evaluate.parts import make_parts
from trueground.evaluate.plan import Plan, make_plan
from trueground.evaluate.pool import WorkerPool
from trueground.evaluate.scorer import Scored, Scorer
from trueground.types import Answered, Record

# Starting a process costs about as much as scoring some thousand records.
_WORTH_PROCESSES = 20_000


@dataclass(frozen=True)
class Job:
    """What a worker process needs to build the same scorer: names only."""

    metrics: tuple[str, ...]
    judges: tuple[str, ...]
    decomposer: str
    by: tuple[str, ...]
    keep_records: bool
    repeats_of: str | None = None


def choose_workers(wanted: int | None, n: int) -> int:
    """Number of processes; None leaves it to the number of records."""
    if wanted is None:
        return 1 if n < _WORTH_PROCESSES else max(1, os.cpu_count() or 1)
    return wanted


def map_batches(
    plan: Plan, batches: Iterable[Sequence[Record]], workers: int, job: Job | None
) -> Iterator[Scored]:
    """Scored batches, in the order of the batches. Without a job, in this process."""
    if workers == 1 or job is None:
        yield from map(Scorer(plan), batches)
        return
    encode = msgspec.msgpack.Encoder().encode
    pool = WorkerPool(workers, _start, job)
    waiting: deque[Future[Scored]] = deque()
    try:
        for batch in batches:
            waiting.append(pool.submit(_work, encode(batch)))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise WorkerError(
            "a worker process could not start or was killed. In a script, call score() under "
            'if __name__ == "__main__":, or pass workers=1; on a small machine, fewer workers'
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


_scorer: Scorer | None = None
_decode = msgspec.msgpack.Decoder(list[Answered])


def _start(job: Job) -> None:
    """Build this worker's scorer."""
    global _scorer
    parts = make_parts(job.judges, job.decomposer)
    plan = make_plan(
        (),
        job.metrics,
        parts,
        by=job.by,
        keep_records=job.keep_records,
        repeats_of=job.repeats_of,
    )
    _scorer = Scorer(plan)


def _work(packed: bytes) -> Scored:
    if _scorer is None:
        raise RuntimeError("worker was not started")
    return _scorer(_decode.decode(packed))
