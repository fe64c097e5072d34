"""Shards that lost a file, inputs that were edited: found, named, and set right as advised."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import polars as pl
import pytest
from tests.commands import trueground
from tests.marks import mostly_long

import trueground as tg
from trueground.api.shards import merge, score_shards
from trueground.errors import InputError, OutputError, WorkerError
from trueground.evaluate.shards import merge as merging
from trueground.testing import synthetic_records

METRICS = "f1,k_precision"
FILES = ("summary.json", "items.jsonl", "report.html")
ROWS = list(synthetic_records(90, seed=3))
WORD = "Helsinki"  # in the middle of the input, before its edit
EDITED = "Stockholm"[: len(WORD)]


def rows() -> list[dict[str, Any]]:
    """Rows of which one in the middle third has the word that is edited."""
    changed = [dict(row) for row in ROWS]
    changed[45]["response"] = WORD
    return changed


def write_lines(path: Path) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    return path


def score_each(data: Path, out: Path, *numbers: int, of: int = 3) -> None:
    for number in numbers:
        score_shards(data, out=out, shard=f"{number}/{of}", metrics=METRICS)


def assert_right(data: Path, out: Path) -> None:
    """The run is that of one process, and nothing else is in its folder."""
    whole = out.with_name("whole")
    tg.score(data, metrics=METRICS, out=whole, overwrite=True)
    for name in FILES:
        assert (out / name).read_bytes() == (whole / name).read_bytes(), name
    assert {path.name for path in out.iterdir()} == {path.name for path in whole.iterdir()}


# Parts of shards


def part(out: Path, kind: str) -> Path:
    return out / "shards" / f"00001.{kind}"


def lose(path: Path) -> None:
    path.unlink()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGES = [
    (damage, kind)
    for kind in ("items.jsonl", "numbers", "records.jsonl.zst")
    for damage in (lose, cut, flip)
]


@pytest.mark.parametrize(("damage", "kind"), mostly_long(1, DAMAGES))
def test_a_damaged_shard_is_scored_again_by_the_same_command(
    damage: Callable[[Path], None], kind: str, tmp_path: Path
) -> None:
    data, out = write_lines(tmp_path / "a.jsonl"), tmp_path / "out"
    score_each(data, out, 1, 2, 3)
    damage(part(out, kind))
    kept = (out / "shards" / "00000.items.jsonl").stat().st_mtime_ns
    with pytest.raises(WorkerError, match=r"\b2\b.*--shard 2/3") as refused:
        merge(out)
    assert refused.value.exit_code == 5
    score_each(data, out, 2)
    assert (out / "shards" / "00000.items.jsonl").stat().st_mtime_ns == kept
    merge(out)
    assert_right(data, out)


@pytest.mark.parametrize(
    ("damage", "kind"), mostly_long(1, [(lose, "numbers"), (flip, "items.jsonl")])
)
def test_score_heals_its_shards_by_itself(
    damage: Callable[[Path], None],
    kind: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data, out = write_lines(tmp_path / "a.jsonl"), tmp_path / "out"
    score_each(data, out, 1, 2, 3)
    damage(part(out, kind))
    score_shards(data, out=out, shards=3, metrics=METRICS, workers=1)
    assert_right(data, out)
    assert "resuming the unfinished run in" in capsys.readouterr().err


@pytest.mark.parametrize("damage", mostly_long(1, [flip, cut, lose]))
def test_one_shard_alone_checks_what_it_wrote(
    damage: Callable[[Path], None], tmp_path: Path
) -> None:
    data, out = write_lines(tmp_path / "a.jsonl"), tmp_path / "out"
    score_each(data, out, 1, 2, 3)
    damage(part(out, "items.jsonl"))
    score_each(data, out, 2)
    merge(out)
    assert_right(data, out)


def test_a_shard_that_is_done_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = write_lines(tmp_path / "a.jsonl"), tmp_path / "out"
    score_each(data, out, 2, 2)
    assert f"shard 2/3 in {out} is done already" in capsys.readouterr().err


def test_a_damaged_shard_in_a_store_is_scored_again(tmp_path: Path) -> None:
    data, out = write_lines(tmp_path / "a.jsonl"), "memory://healing/run"
    memory = fsspec.filesystem("memory")
    score_shards(data, out=out, shard="1/2", metrics=METRICS)
    score_shards(data, out=out, shard="2/2", metrics=METRICS)
    name = "/healing/run/shards/00000.items.jsonl"
    content = memory.cat_file(name)
    memory.pipe_file(name, content.replace(b"scored", b"SCORED"))
    with pytest.raises(WorkerError, match="files of shard 1 of 2 are gone, or are not"):
        merge(out)
    score_shards(data, out=out, shard="1/2", metrics=METRICS)
    merge(out)
    whole = tg.score(data, metrics=METRICS, out=tmp_path / "whole")
    assert whole.path is not None
    items = memory.cat_file("/healing/run/items.jsonl")
    assert items == (whole.path / "items.jsonl").read_bytes()
    assert not [path for path in memory.find("/healing/run") if "shards" in path]


@pytest.mark.parametrize("left", mostly_long(1, [2, 0, 1, 3]))
def test_a_merge_that_was_killed_as_it_cleaned_up_ends(
    left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, out = write_lines(tmp_path / "a.jsonl"), tmp_path / "out"
    score_each(data, out, 1, 2, of=2)

    def killed(store: Any) -> None:
        files = sorted((out / "shards").iterdir())
        for path in files[: left * len(files) // 4]:
            path.unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(merging, "delete_shards", killed)
        with pytest.raises(KeyboardInterrupt):
            merge(out)
    shutil.copytree(out, tmp_path / "twin")
    result = merge(out)
    assert result.summary["f1"].n == 90
    assert_right(data, out)
    score_shards(data, out=tmp_path / "twin", shards=2, metrics=METRICS)
    assert_right(data, tmp_path / "twin")
    with pytest.raises(OutputError, match="holds a finished run"):
        score_shards(data, out=out, shards=2, metrics=METRICS)


# Inputs


def as_lines(folder: Path) -> Path:
    return write_lines(folder / "a.jsonl")


def as_array(folder: Path) -> Path:
    (folder / "a.json").write_text(json.dumps(rows()))
    return folder / "a.json"


def as_csv(folder: Path) -> Path:
    columns = ("id", "question", "response", "references")
    frame = [
        {c: json.dumps(row[c]) if c == "references" else row[c] for c in columns if c in row}
        for row in rows()
    ]
    pl.DataFrame(frame).write_csv(folder / "a.csv")
    return folder / "a.csv"


def as_gzip(folder: Path) -> Path:
    with gzip.GzipFile(folder / "a.jsonl.gz", "wb", compresslevel=0, mtime=0) as out:
        out.write("".join(json.dumps(row) + "\n" for row in rows()).encode())
    return folder / "a.jsonl.gz"


def as_parquet(folder: Path) -> Path:
    frame = pl.DataFrame(rows())
    frame.write_parquet(folder / "a.parquet", row_group_size=30, compression="uncompressed")
    return folder / "a.parquet"


def edit_in_place(data: Path) -> None:
    """Change some letters; size and time stay."""
    status = data.stat()
    content = data.read_bytes()
    if data.suffix == ".gz":
        plain = gzip.decompress(content).replace(WORD.encode(), EDITED.encode())
        with gzip.GzipFile(data, "wb", compresslevel=0, mtime=0) as out:
            out.write(plain)
    else:
        data.write_bytes(content.replace(WORD.encode(), EDITED.encode()))
    os.utime(data, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert data.stat().st_size == status.st_size
    assert data.read_bytes() != content


@pytest.mark.parametrize("write", mostly_long(2, [as_parquet, as_array, as_lines, as_csv, as_gzip]))
def test_an_edit_of_the_same_size_and_time_is_found(
    write: Callable[[Path], Path], tmp_path: Path
) -> None:
    data, out = write(tmp_path), tmp_path / "out"
    splits = data.suffix in (".jsonl", ".parquet")
    of = 3 if splits else 1
    number = 2 if splits else 1
    metrics = "f1"
    if splits:
        score_shards(data, out=out, shard="1/3", metrics=metrics)
    else:  # the plan alone
        score_shards(data, out=out, shard="1/1", metrics=metrics)
        (out / "shards" / "00000.done.json").unlink()
    original = data.read_bytes()
    edit_in_place(data)
    with pytest.raises(InputError, match=rf"{data.name}: changed after the plan was made") as found:
        score_shards(data, out=out, shard=f"{number}/{of}", metrics=metrics)
    assert f"shard {number}/{of}" in str(found.value)
    assert not (out / "shards" / f"{number - 1:05}.done.json").exists()
    # The advice: put the old file back, whose time is another one now.
    data.write_bytes(original)
    score_shards(data, out=out, shards=of, metrics=metrics, workers=1)
    tg.score(data, out=tmp_path / "whole", metrics=metrics)
    for name in FILES:
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


def test_rows_of_other_shards_may_change_without_harm(tmp_path: Path) -> None:
    """What is scored already is of the old file, as the manifest says."""
    data, out = write_lines(tmp_path / "a.jsonl"), tmp_path / "out"
    score_each(data, out, 2)
    whole = tg.score(data, metrics=METRICS, out=tmp_path / "before")
    edit_in_place(data)
    score_each(data, out, 1, 3)
    merge(out)
    for name in FILES:
        assert whole.path is not None
        assert (out / name).read_bytes() == (whole.path / name).read_bytes(), name


# The words of each message, followed


def commands_in(text: str) -> list[list[str]]:
    return [words.split()[1:] for words in re.findall(r"`(trueground [^`]+)`", text)]


class Place:
    """A folder with an input; commands are typed in it, as a user does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = write_lines(folder / "a.jsonl")
        self.base = ["score", "a.jsonl", "--metrics", METRICS, "--quiet", "--workers", "1"]

    def type(self, *words: str) -> tuple[int, str]:
        done = trueground(*words, cwd=self.folder)
        return done.returncode, done.stderr

    def shard(self, *numbers: int, out: str = "out") -> None:
        for number in numbers:
            assert self.type(*self.base, "--out", out, "--shard", f"{number}/3")[0] == 0


def unmerged(place: Place) -> tuple[int, str]:
    place.shard(1, 2, 3)
    return place.type(*place.base, "--out", "out")


def incomplete(place: Place) -> tuple[int, str]:
    place.shard(1, 3)
    return place.type("merge", "out")


def damaged(place: Place) -> tuple[int, str]:
    place.shard(1, 2, 3)
    flip(part(place.folder / "out", "items.jsonl"))
    return place.type("merge", "out")


def edited(place: Place) -> tuple[int, str]:
    place.shard(1)
    edit_in_place(place.data)
    return place.type(*place.base, "--out", "out", "--shard", "2/3")


def longer(place: Place) -> tuple[int, str]:
    place.shard(1)
    with place.data.open("a") as file:
        file.write('{"response": "late"}\n')
    return place.type(*place.base, "--out", "out", "--shard", "2/3")


def other_shards(place: Place) -> tuple[int, str]:
    place.shard(1)
    return place.type(*place.base, "--out", "out", "--shards", "4")


def finished(place: Place) -> tuple[int, str]:
    place.type(*place.base, "--out", "out")
    return place.type(*place.base, "--out", "out", "--shards", "3")


def unfinished(place: Place) -> tuple[int, str]:
    place.type(*place.base, "--out", "out")
    manifest = place.folder / "out" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"finished"', '"running"'))
    return place.type(*place.base, "--out", "out", "--shards", "3")


def merge_unfinished(place: Place) -> tuple[int, str]:
    unfinished(place)
    return place.type("merge", "out")


def merge_backticks(place: Place, message: str) -> None:
    (words,) = commands_in(message)
    assert place.type(*words)[0] == 0


def remove_shards(place: Place, message: str) -> None:
    (folder,) = re.findall(r"remove (\S+/shards)", message)
    shutil.rmtree(place.folder / folder)
    assert place.type(*place.base, "--out", "out", "--shards", "3")[0] == 0


def same_again(place: Place, _message: str) -> None:
    assert place.type(*place.base, "--out", "out", "--shards", "3")[0] == 0


def each_shard(place: Place, message: str) -> None:
    (shard,) = re.findall(r"--shard (\d/\d)", message)
    assert place.type(*place.base, "--out", "out", "--shard", shard)[0] == 0
    assert place.type("merge", "out")[0] == 0


def overwrite(place: Place, message: str) -> None:
    assert "pass --overwrite" in message
    assert place.type(*place.base, "--out", "out", "--shards", "4", "--overwrite")[0] == 0


def other_out(place: Place, message: str) -> None:
    assert "choose another --out" in message
    assert place.type(*place.base, "--out", "new", "--shards", "3")[0] == 0
    shutil.rmtree(place.folder / "out")
    (place.folder / "new").rename(place.folder / "out")


def put_back(place: Place, message: str) -> None:
    assert "Put the old file back" in message
    write_lines(place.data)
    same_again(place, message)


def resume_line(place: Place, message: str) -> None:
    command = message.partition("Resume it with:\n  ")[2].partition("\n")[0]
    assert place.type(*command.split()[1:])[0] == 0


ADVICE = [
    (unmerged, merge_backticks, 2),
    (unmerged, remove_shards, 2),
    (unmerged, other_out, 2),
    (incomplete, same_again, 5),
    (incomplete, each_shard, 5),
    (damaged, same_again, 5),
    (damaged, each_shard, 5),
    (edited, put_back, 2),
    (edited, remove_shards, 2),
    (edited, other_out, 2),
    (longer, put_back, 2),
    (longer, overwrite, 2),
    (longer, other_out, 2),
    (other_shards, same_again, 2),
    (other_shards, overwrite, 2),
    (finished, overwrite, 2),
    (finished, other_out, 2),
    (unfinished, resume_line, 2),
    (unfinished, overwrite, 2),
    (unfinished, other_out, 2),
    (merge_unfinished, resume_line, 2),
]
ADVICE.sort(key=lambda case: case[1] is other_out)  # which are left to the long suite


@pytest.mark.parametrize(
    ("provoke", "follow", "code"),
    ADVICE,
    ids=[f"{provoke.__name__}-{follow.__name__}" for provoke, follow, _ in ADVICE],
)
def test_the_advice_of_a_message_succeeds(
    provoke: Callable[[Place], tuple[int, str]],
    follow: Callable[[Place, str], None],
    code: int,
    tmp_path: Path,
) -> None:
    place = Place(tmp_path)
    exit_code, message = provoke(place)
    assert exit_code == code, message
    assert "Traceback" not in message
    follow(place, message)
    assert_right(place.data, tmp_path / "out")
