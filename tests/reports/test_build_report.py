"""Page and card rendered again, with labels that came after the build; the command that does it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.commands import Done, trueground
from tests.reports.payload import blocks
from tests.wings.papers.builders.finished import finished, write_labels

from trueground.errors import InputError, OutputError
from trueground.files.locks import FolderLock
from trueground.wings.papers.builders import page_files
from trueground.wings.papers.builders.page_files import render_again


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(tmp_path_factory.mktemp("build") / "out").path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_drawn_again_as_the_build_left_it(folder: Path) -> None:
    before = contents(folder)
    (folder / "report.html").write_text("gone")
    (folder / "card.md").unlink()
    rendered = render_again(folder)
    assert (rendered.page, rendered.card, rendered.people) == (
        folder / "report.html",
        folder / "card.md",
        None,
    )
    assert contents(folder) == before


def test_labels_stand_beside_the_numbers(folder: Path, tmp_path: Path) -> None:
    before = contents(folder)
    people = render_again(folder, write_labels(tmp_path / "labels.jsonl")).people
    assert people == {
        "file": "labels.jsonl",
        "unknown": 4,  # 7, 17, 27, 37 fell in the build
        "kinds": [
            {
                "kind": "validity",
                "tasks": 60,
                "labeled": 36,
                "annotators": {"3": 36},
                "fields": [
                    {
                        "field": "if",
                        "decided": 36,
                        "values": {"no": 8, "yes": 28},
                        "how": {"agreed": 13, "majority": 23},
                        "confirmed": 28,
                        "judge": None,
                    },
                    {
                        "field": "only_if",
                        "decided": 0,
                        "values": {},
                        "how": {"open": 36},
                        "confirmed": 0,
                        "judge": None,
                    },
                ],
            }
        ],
    }
    after = contents(folder)
    assert {name for name in after if after[name] != before[name]} == {"report.html", "card.md"}
    assert "13 agreed, 23 majority" in (folder / "card.md").read_text()
    assert "77.8 %" in (folder / "report.html").read_text()
    render_again(folder)
    assert contents(folder) == before


def test_files_of_others_beside_the_tasks_are_passed_over(folder: Path, tmp_path: Path) -> None:
    filled = folder / "annotate/validity-anna.jsonl"
    filled.write_text("what Anna wrote")
    try:
        assert render_again(folder, write_labels(tmp_path / "labels.jsonl")).people["unknown"] == 4
    finally:
        filled.unlink()
        render_again(folder)


def test_build_report_reports_missing_charts(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no build"):
        render_again(tmp_path)
    labels = tmp_path / "labels.jsonl"
    labels.write_text('{"kind": "validity", "id": "elsewhere", "values": {"if": "yes"}}\n')
    with pytest.raises(InputError, match="no label is for a task"):
        render_again(folder, labels)
    labels.write_text("prose\n")
    with pytest.raises(InputError, match="line 1: not a label"):
        render_again(folder, labels)
    with FolderLock(folder).hold(OutputError("held")), pytest.raises(OutputError, match="in use"):
        render_again(folder)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("manifest.json", {"finished": None}, "isn.t finished"),
        ("summary.json", {"quality": {"items": 3}}, "another version wrote it"),
        ("summary.json", {"stages": "prose"}, "another version wrote it"),
    ],
)
def test_a_folder_that_is_not_whole(
    tmp_path: Path, name: str, change: dict[str, object], said: str
) -> None:
    folder = finished(tmp_path / "out").path
    found = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps({**found, **change}))
    before = contents(folder)
    with pytest.raises(InputError, match=said):
        render_again(folder)
    assert contents(folder) == before
    (folder / name).write_text("[")
    with pytest.raises(InputError):
        render_again(folder)


def test_items_that_cannot_be_shown(tmp_path: Path) -> None:
    folder = finished(tmp_path / "out").path
    kept = (folder / "items.jsonl").read_bytes()
    (folder / "items.jsonl").unlink()  # as in the folders of older versions
    render_again(folder)
    assert "Questions and contexts" not in (folder / "report.html").read_text()
    (folder / "items.jsonl").write_bytes(kept + b"prose\n")
    with pytest.raises(InputError, match=r"items\.jsonl can.t be read.*run the build again"):
        render_again(folder)


def test_of_many_items_the_page_shows_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = finished(tmp_path / "out").path
    size = (folder / "items.jsonl").stat().st_size
    monkeypatch.setattr(page_files, "_MAX_SAMPLE_BYTES", size // 3)
    items, fell = blocks(render_again(folder).page.read_text(), "entries")
    assert len(items["entries"]) == 15  # every 4th of 60
    assert len(fell["entries"]) == 40
    assert "This list has every 4th of them" in render_again(folder).page.read_text()


def run(*words: str | Path) -> Done:
    return trueground("build", "report", *words)


def test_the_command(folder: Path, tmp_path: Path) -> None:
    done = run(folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"page   {folder / 'report.html'}\ncard   {folder / 'card.md'}\n"
    labels = write_labels(tmp_path / "labels.jsonl")
    said = json.loads(run(folder, "--labels", labels, "--format", "json").stdout)
    assert said["people"]["unknown"] == 4
    done = run(tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "has no build" in done.stderr
