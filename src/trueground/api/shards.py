"""`tg.score_shards` and `tg.merge`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trueground.api.pages import write_page
from trueground.api.requests import takes_fields_of
from trueground.evaluate import ShardsRequest
from trueground.options import Progress, do_nothing

if TYPE_CHECKING:
    from trueground.api.result import Result


@takes_fields_of(ShardsRequest)
def score_shards(request: ShardsRequest) -> Result | None:
    """Score files in shards, on this machine or a cluster: the same numbers as `tg.score`.

    `records` are paths or URLs, `out` a folder or a URL that every worker reaches; judge,
    decomposer and rater are names. All rows are checked and cut into `shards` once; a shard that is
    done is not done again by the same command. A shard whose process is lost is tried three times.
    With `shard` only that one is done, and None given back; `tg.merge` ends the run.

    Raises what `tg.score` raises, and WorkerError where shards failed: it names them, the others
    are kept.
    """
    from trueground.api.result import make_showable

    result = request.score_shards(write_page)
    return None if result is None else make_showable(result)


def merge(
    out: str | Path, *, command: Sequence[str] = (), progress: Progress | bool = do_nothing
) -> Result:
    """Make one run of the shards below `out`, a folder or a URL of an object store.

    `summary.json` and `items.jsonl` are those of one process. The shards are removed when the run
    is whole. The page of a run in an object store lists a sample. Raises OutputError where there
    are no shards, WorkerError where some are missing, WriteError.
    """
    from trueground.api.result import make_showable
    from trueground.evaluate import ShardedRun

    result = ShardedRun(out).merge(command, progress=progress, write_page=write_page)
    return make_showable(result)
