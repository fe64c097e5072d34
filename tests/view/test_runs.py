"""The runs of some folders: read by several at once, and what the list says of each."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from trueground.runs.files import RunFiles
from trueground.view import runs
from trueground.view.runs import RunFolders


def test_a_run_may_appear_while_another_request_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [tmp_path / name for name in ("a", "b")]
    for place in places:
        place.mkdir()
        (place / "manifest.json").write_text("{}")
    folders, read = RunFolders([tmp_path]), runs._read_run
    threads: list[threading.Thread] = []

    def other(folder: Path, *more: Any) -> Any:
        """Another request begins here, to which the first run is gone, and ends when it can."""
        if folder == places[1] and not threads:
            monkeypatch.setattr(RunFiles, "find_folders", lambda _: (places[1:], []))
            threads.append(threading.Thread(target=folders.runs))
            threads[0].start()
            threads[0].join(0.5)
        return read(folder, *more)

    monkeypatch.setattr(RunFiles, "find_folders", lambda _: (places, []))
    monkeypatch.setattr(runs, "_read_run", other)
    assert {run.label for run in folders.runs()} == {"a", "b"}
    threads[0].join(10)
    assert [run.label for run in folders.runs()] == ["b"]
