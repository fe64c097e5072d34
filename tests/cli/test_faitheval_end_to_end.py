"""From the Hub's layout to the leaderboard, as a user types it: fetch, run, report, compare."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests import commands
from tests.net.loopback_hub import Repo, loopback_hub
from tests.reports.payload import blocks
from tests.wings.papers.faitheval_files import ARC, MRQA, TASKS, jsonl, parquet


def test_fetch_run_report_compare(tmp_path: Path) -> None:
    def trueground(*words: object, **more: str) -> str:
        env = {**os.environ, "TRUEGROUND_HOME": str(tmp_path / "home"), **more}
        done = commands.trueground(*words, cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    with loopback_hub() as hub:
        for number, (task, rows) in enumerate(TASKS.items()):
            shard = parquet(tmp_path / f"{task}.parquet", rows).read_bytes()
            hub.repos[f"Salesforce/FaithEval-{task}-v1.0"] = Repo(
                f"{number:040d}",
                {"README.md": b"x", "data/test-00000-of-00001.parquet": shard},
            )
        trueground("data", "fetch", "faitheval", HF_ENDPOINT=hub.hub_url)
    assert "ok" in trueground("data", "verify", "faitheval")
    assert "[fetched]" in trueground("list", "datasets")

    mrqa, arc = jsonl(tmp_path / "mrqa.jsonl.gz", MRQA), jsonl(tmp_path / "arc.jsonl", ARC)
    models = ("--model", "fake:unknown conflict", "--model", "fake:Ede Holm")
    trueground("run", "faitheval", *models, "--out", "new", "--quiet")
    original = ("run", "faitheval/original", *models, "--original", mrqa, "--quiet", "--out")
    trueground(*original, "old/plain")
    trueground(*original, "old/told", "--of", "inconsistent", "--task-instruction", "on")
    closed = ("--of", "counterfactual", "--closed-book", "--original", arc, "--quiet")
    trueground("run", "faitheval/original", *models, *closed, "--out", "old/closed")

    told = json.loads((tmp_path / "old/told/fake-Ede-Holm/summary.json").read_bytes())
    assert "phrase_match_strict(task=inconsistent)" in told["metrics"]
    plain = json.loads((tmp_path / "old/plain/fake-Ede-Holm/summary.json").read_bytes())
    key = "answer_accuracy(normalizer=faitheval,match=substring)"
    assert plain["metrics"][key]["mean"] == 0.5
    board = trueground("report", "new", "old/plain", "--out", "board.html", "--with-published")
    assert "Claude 3.5 Sonnet (published)" in board
    page = (tmp_path / "board.html").read_text()
    (changes,) = [part for part in blocks(page, "section") if part.get("id") == "changes"]
    assert changes["title"] == "Original and new context"
    compared = trueground(
        "compare",
        "new/fake-unknown-conflict/inconsistent",
        "new/fake-Ede-Holm/inconsistent",
        "--all",
    )
    assert "exact McNemar" in compared
