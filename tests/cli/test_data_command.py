"""`trueground data` as a user types it, against a loopback Hub."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from tests.net.loopback_hub import LoopbackHub, Repo, loopback_hub
from typer.testing import CliRunner, Result

from trueground.benchmarks.datasets import DATASETS, DataFile, Dataset, get_dataset
from trueground.cli.data import data
from trueground.errors import InputError

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.add_typer(data)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))
    files = (DataFile("first", "org/first", "*.parquet"), DataFile("second", "org/b", "*.parquet"))
    tiny = Dataset("tiny", "Made up.", "CC0-1.0", "Loopback only.", files)
    monkeypatch.setitem(DATASETS, "tiny", tiny)
    with loopback_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.hub_url)
        hub.repos["org/first"] = Repo("aaa", {"test.parquet": b"one"})
        hub.repos["org/b"] = Repo("bbb", {"test.parquet": b"three"})
        yield hub


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["data", *map(str, words)])


def test_fetch_and_verify(hub: LoopbackHub) -> None:
    done = run("fetch", "tiny")
    assert done.exit_code == 0, done.output
    assert "License: CC0-1.0" in done.stderr
    assert "fetched first.parquet  3 bytes  org/first@aaa" in done.stdout
    assert done.stdout.endswith(f"in {get_dataset('tiny').folder}\n")
    assert "intact  first.parquet" in run("fetch", "tiny").stdout
    for words in (("verify",), ("verify", "tiny")):
        done = run(*words)
        assert done.exit_code == 0
        assert done.stdout == "tiny  first.parquet  ok\ntiny  second.parquet  ok\n"


def test_json(hub: LoopbackHub) -> None:
    done = run("fetch", "tiny", "--format", "json", "--quiet")
    assert done.stderr == ""
    shown = json.loads(done.stdout)
    assert shown["folder"] == str(get_dataset("tiny").folder)
    assert [(f["local"], f["revision"], f["new"]) for f in shown["files"]] == [
        ("first.parquet", "aaa", True),
        ("second.parquet", "bbb", True),
    ]
    checks = json.loads(run("verify", "--format", "json").stdout)
    assert [(c["dataset"], c["ok"], c["problem"]) for c in checks] == [("tiny", True, None)] * 2


def test_damage_is_shown_and_ends_in_an_error(hub: LoopbackHub) -> None:
    run("fetch", "tiny")
    (get_dataset("tiny").folder / "first.parquet").write_bytes(b"two")
    done = run("verify")
    assert isinstance(done.exception, InputError)
    assert done.exception.exit_code == 2
    assert "trueground data fetch tiny" in str(done.exception)
    assert "tiny  first.parquet  found SHA-256" in done.stdout
    assert "tiny  second.parquet  ok" in done.stdout
    assert "fetched first.parquet" in run("fetch", "tiny").stdout


def test_nothing_to_verify(hub: LoopbackHub) -> None:
    done = run("verify")
    assert isinstance(done.exception, InputError)
    assert "no data is fetched yet" in str(done.exception)


def test_a_copy_on_disk_that_has_a_part(hub: LoopbackHub, tmp_path: Path) -> None:
    (tmp_path / "first.jsonl").write_bytes(b"{}\n")
    done = run("fetch", "tiny", "--from", tmp_path / "first.jsonl")
    assert done.exit_code == 0
    assert f"first.jsonl  3 bytes  {tmp_path / 'first.jsonl'}" in done.stdout
    assert "does not hold: second" in done.stderr
    assert hub.seen == []


def test_without_a_subcommand_it_is_told_in_one_line() -> None:
    done = run()
    assert done.exit_code == 2
    assert "Missing command" in done.stderr


@pytest.mark.parametrize(
    ("name", "file"), [("mrqa", "SQuAD.jsonl.gz"), ("arc-challenge", "ARC-Challenge-Test.jsonl")]
)
def test_a_copy_in_another_layout_is_told_what_takes_it(
    name: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / file).write_bytes(b"")
    message = str(run("fetch", name, "--from", tmp_path / "copy").exception)
    assert f"has no file of {name}" in message
    assert file in message
    assert message.endswith("with --original PATH")
    assert message.count("mrqa-workshop/mrqa") <= 1
    assert message.count("allenai/ai2_arc") <= 1
    assert not (tmp_path / "home").exists()


def test_a_copy_that_is_no_file_is_told(hub: LoopbackHub) -> None:
    done = run("fetch", "tiny", "--from", "/dev/null")
    assert isinstance(done.exception, InputError)
    assert "--from /dev/null is neither a file nor a folder" in str(done.exception)
