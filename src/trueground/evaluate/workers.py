"""Where batches are scored: in this process, or in several. Results keep their order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any

from trueground.execution import WorkerPool

if TYPE_CHECKING:
    from trueground.evaluate.plan import Plan
    from trueground.evaluate.scorer import Scorer
    from trueground.evaluate.table import Scored
    from trueground.types import Record


# Starting a process costs about as much as scoring some thousand records.
_WORTH_PROCESSES = 20_000


def make_job(plan: Plan) -> dict[str, Any] | None:
    """What another process needs to build the same scorer, names only; None where it could not."""
    from trueground.metrics import METRICS

    specs, names = plan.chosen, plan.components.names
    known = (
        all(METRICS.get(spec.metric.name) is spec.metric for spec in specs)
        and METRICS.is_shared(spec.metric.name for spec in specs)
        and not any(spec.metric.is_asked for spec in specs)
    )
    if names is None or not known:
        return None
    own = {"by": plan.by, "keep_records": plan.keep_records, "repeats_of": plan.repeats_of}
    return {"metrics": [spec.key for spec in specs], "names": names, **own}


def map_batches(
    plan: Plan, batches: Iterable[Sequence[Record]], n: int, workers: int | None
) -> Iterator[Scored]:
    """Scored batches, in the order of the batches.

    `workers` of None are as many processes as `n` records are worth. In this process where another
    one could not find the parts of the plan.
    """
    from trueground.evaluate.scorer import Scorer

    if workers is None:
        workers = 1 if n < _WORTH_PROCESSES else max(1, os.cpu_count() or 1)
    job = make_job(plan) if workers > 1 else None
    if job is None:
        yield from map(Scorer(plan), batches)
    else:
        yield from _map_in_processes(job, batches, workers)


def _map_in_processes(
    job: dict[str, Any], batches: Iterable[Sequence[Record]], workers: int
) -> Iterator[Scored]:
    import msgspec

    from trueground.errors import WorkerError

    encode = msgspec.msgpack.Encoder().encode
    waiting: deque[Future[Scored]] = deque()
    try:
        with WorkerPool(workers, _start, job) as pool:
            for batch in batches:
                waiting.append(pool.submit(_score, encode(batch)))
                if len(waiting) > 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
    except BrokenProcessPool:
        raise WorkerError(
            "a worker process could not start or was killed. In a script, call score() under "
            'if __name__ == "__main__":, or pass workers=1; on a small machine, fewer workers'
        ) from None


_scorer: Scorer | None = None


def _start(job: dict[str, Any]) -> None:
    """Build this worker's scorer."""
    from trueground.evaluate.components import Components
    from trueground.evaluate.plan import Plan
    from trueground.evaluate.scorer import Scorer

    global _scorer
    _scorer = Scorer(Plan.make((), components=Components.make(*job.pop("names")), **job))


def _score(packed: bytes) -> Scored:
    import msgspec

    from trueground.types import Answered

    if _scorer is None:
        raise RuntimeError("worker was not started")
    return _scorer(msgspec.msgpack.decode(packed, type=list[Answered]))
