"""Work that takes long or much memory, in a process of its own beside the server.

`python -m trueground.web.worker TASK …` writes a line of JSON for each step (`{"done", "of"}`) and
at the end `{"page": …}`, `{"indexed": n}` or `{"error": words}`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from trueground.errors import TruegroundError
from trueground.reports.blocks import Page
from trueground.web.runs import readable


async def work(task: str, *words: str, told: Callable[[int, int], None] | None = None) -> Any:
    """Do a task in another process and give its result. Raises TruegroundError with its words."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", __name__, task, *words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=1 << 28,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    last: dict[str, Any] = {}
    try:
        complaints = asyncio.ensure_future(process.stderr.read())
        while line := await process.stdout.readline():
            last = msgspec.json.decode(line)
            if "of" in last and told is not None:
                told(last["done"], last["of"])
        await process.wait()
        trace = (await complaints).decode("utf-8", "replace").strip()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    for name in ("page", "indexed"):
        if name in last:
            return last[name]
    if "error" in last:
        raise TruegroundError(last["error"])
    print(trace, file=sys.stderr)
    why = trace.splitlines()[-1] if trace else f"exit code {process.returncode}"
    raise TruegroundError(f"the work for this page ended early: {why}")


def compare_runs(a: Path, b: Path, places: Sequence[str]) -> Page:
    """The page of two runs; `places` are what leads to each."""
    from trueground.reports.comparison_page import comparison_page
    from trueground.studies.compare import compare

    return _readable_page(comparison_page(compare([a, b]).as_dict(), places=places))


def rank_runs(runs: Sequence[Path], places: Sequence[str]) -> Page:
    """The leaderboard's page; `places` are what leads to each run."""
    from trueground.reports.leaderboard.page import leaderboard_page
    from trueground.studies.leaderboard.runs import label_runs
    from trueground.studies.leaderboard.study import leaderboard_data
    from trueground.studies.prompts import in_order, prompt_studies

    hrefs = {label: place for (label, _), place in zip(label_runs(runs), places, strict=True)}
    found = leaderboard_page(leaderboard_data(runs), prompt_studies(in_order(runs)), hrefs)
    return _readable_page(found)


def _readable_page(page: Page) -> Page:
    """The page; what names of folders have that no UTF-8 has is shown as a question mark."""
    try:
        msgspec.json.encode(page)
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(page), ensure_ascii=False)
        return msgspec.json.decode(text.encode("utf-8", "replace"), type=Page)
    return page


def _say(value: Any) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


def main(words: Sequence[str]) -> None:
    """Do what the words say."""
    task, *rest = words
    try:
        if task == "index":
            from trueground.web.indexing import grow

            state = grow(Path(rest[0]), lambda done, of: _say({"done": done, "of": of}))
            _say({"indexed": state.count})
        elif task == "compare":
            _say({"page": compare_runs(Path(rest[0]), Path(rest[1]), rest[2:])})
        else:
            _say({"page": rank_runs([Path(word) for word in rest[::2]], rest[1::2])})
    except TruegroundError as error:
        _say({"error": readable(str(error))})


if __name__ == "__main__":
    main(sys.argv[1:])
