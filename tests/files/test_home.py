"""Where things are kept, and that asking makes nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trueground.files.home_folder import home
from trueground.net.cache import ResponseCache


def test_the_variable_wins_and_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "kept"))
    assert home() == tmp_path / "kept"
    assert ResponseCache.path_of() == tmp_path / "kept" / "responses.sqlite"
    assert list(tmp_path.iterdir()) == []


def test_a_relative_folder_and_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGROUND_HOME", "here")
    assert home() == tmp_path / "here"
    monkeypatch.setenv("TRUEGROUND_HOME", "~/there")
    assert home() == Path.home() / "there"


def test_the_default_is_the_users_cache_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRUEGROUND_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert home().name == "trueground"
    if sys.platform == "linux":
        assert home() == tmp_path / "trueground"
    assert list(tmp_path.iterdir()) == []


def test_an_empty_variable_is_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUEGROUND_HOME", "")
    assert home() != Path.cwd()
