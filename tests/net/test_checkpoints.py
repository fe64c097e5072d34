"""Signatures of folders: every byte of the weights counts, and is read once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from trueground.files import digests
from trueground.files.digests import digests_path, file_digest
from trueground.net.checkpoints import CheckpointSource

OLD = 1_700_000_000


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(digests, "_SETTLED_NS", -(10**9))  # at once, so that no test waits
    yield
    # Nothing half-written stays.
    assert not list(tmp_path.glob("home/.digests-*"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    (folder / "model.safetensors").write_bytes(bytes(8_000_000))
    return folder


def signature(folder: Path) -> str:
    settings = [folder / "1_Pooling" / "config.json"]
    return CheckpointSource.of_folder(folder, [folder / "model.safetensors"], settings).signature


def test_one_byte_anywhere_makes_another_signature(folder: Path) -> None:
    found = {signature(folder)}
    weights = folder / "model.safetensors"
    for place in (0, 5_000, 31_249, 4_000_001, 7_999_999):
        content = bytearray(weights.read_bytes())
        content[place] += 1
        weights.write_bytes(content)
        found.add(signature(folder))
    (folder / "config.json").write_text("{ }")
    found.add(signature(folder))
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    found.add(signature(folder))
    assert len(found) == 8
    assert all(s.startswith("hf/model@") and len(s) == 25 for s in found)


def test_a_copy_elsewhere_is_the_same_model(folder: Path, tmp_path: Path) -> None:
    before = signature(folder)
    (tmp_path / "other").mkdir()
    assert signature(folder.rename(tmp_path / "other" / "model")) == before


def test_weights_are_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = folder / "model.safetensors"
    digest = file_digest(weights)
    assert list(json.loads(digests_path().read_text())) == [str(weights.resolve())]

    def read(*_given: object) -> object:
        raise AssertionError("the file was read")

    with monkeypatch.context() as context:
        context.setattr(digests.hashlib, "file_digest", read)
        assert file_digest(weights) == digest
        weights.write_bytes(bytes(8_000_001))
        with pytest.raises(AssertionError):
            file_digest(weights)
    assert file_digest(weights) != digest
    # Same size, and the time of the content put back.
    stat = weights.stat()
    weights.write_bytes(b"1" + bytes(8_000_000))
    os.utime(weights, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert file_digest(weights) != digest
    assert len(json.loads(digests_path().read_text())) == 1


def test_a_file_that_was_just_written_is_not_remembered(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digests, "_SETTLED_NS", 10**12)
    file_digest(folder / "model.safetensors")
    assert not digests_path().exists()


@pytest.mark.parametrize("content", [b"", b"[]", b'{"a": 1}', b"\xff", b'{"a": {"digest": "b"}}'])
def test_a_memory_that_cannot_be_read_is_made_anew(content: bytes, folder: Path) -> None:
    expected = file_digest(folder / "model.safetensors")
    digests_path().write_bytes(content)
    assert file_digest(folder / "model.safetensors") == expected
    assert file_digest(folder / "model.safetensors") == expected
    assert len(json.loads(digests_path().read_text())) == 1


def test_where_nothing_can_be_remembered_it_is_read_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = file_digest(folder / "model.safetensors")
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "file" / "home"))
    assert file_digest(folder / "model.safetensors") == expected


def test_the_memory_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "_MAX_DIGESTS", 2)
    monkeypatch.setattr(digests, "_REMEMBER_ABOVE", 1)
    for number in range(4):
        (folder / f"{number}").write_text(str(number))
        file_digest(folder / f"{number}")
    kept = [Path(path).name for path in json.loads(digests_path().read_text())]
    assert kept == ["2", "3"]
