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
    """Score files in shards, on this machine or a cluster.

    The results equal those of `tg.score`. All rows are checked before scoring. Finished shards
    aren't scored again when you repeat the call. A shard is tried three times if its process is
    lost.

    Args:
        records: Paths or URLs.
        out: Folder or URL that every worker can reach.
        shards: Number of shards. None: one per 128 MiB.
        shard: Score only this shard. Then call `tg.merge` when all are done.
        engine: "local" for processes, "ray" or "ray:ADDRESS".

    Other arguments are those of `tg.score`. Pass judge, decomposer and rater by name.

    Returns:
        The result, as from `tg.score`. None with `shard`.

    Raises:
        WorkerError: Some shards failed. The message names them, and the others are kept.
        TruegroundError: As for `tg.score`.

    Example:
        >>> result = tg.score_shards("answers.jsonl", out="runs/big")  # doctest: +SKIP
    """
    from trueground.api.result import make_showable

    result = request.score_shards(write_page)
    return None if result is None else make_showable(result)


def merge(
    out: str | Path, *, command: Sequence[str] = (), progress: Progress | bool = do_nothing
) -> Result:
    """Merge the shards of a run.

    `summary.json` and `items.jsonl` equal those of a run in one process. The shards are deleted
    afterwards. The page of a run in an object store lists a sample of the items.

    Args:
        out: The `out` of the shards, a folder or a URL of an object store.
        command: Command line to store with the run.
        progress: True for progress bars, or a function as for `tg.score`.

    Returns:
        The result, as from `tg.score`.

    Raises:
        OutputError: `out` has no shards.
        WorkerError: Some shards are missing.
        WriteError: Writing failed.

    Example:
        >>> result = tg.merge("runs/big")  # doctest: +SKIP
    """
    from trueground.api.result import make_showable
    from trueground.evaluate import ShardedRun

    result = ShardedRun(out).merge(command, progress=progress, write_page=write_page)
    return make_showable(result)
