"""Commands that other packages add by an entry point."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.commands import trueground

MODULE = '''
"""Commands of another package."""

from typing import Annotated, Any

import typer

import trueground as tg
from trueground.cli import Screen, end_with, takes
from trueground.options import Option


def count_words(text: str, *, least: Annotated[int, Option("Shortest word.", min=1)] = 1) -> int:
    """Count the words of a text."""
    return sum(len(word) >= least for word in text.split())


@takes(count_words)
def words(
    text: Annotated[str, typer.Argument(help="Any text.")], *, screen: Screen, **options: Any
) -> None:
    """Count the words of a text."""
    n = count_words(text, **options)
    screen.show({"words": n}, lambda: f"{n} words")
    end_with(uncovered=not n)


tools = typer.Typer(help="Several commands.")


@tools.command("greet")
def greet() -> None:
    """Print a greeting."""
    typer.echo("hello")


@tools.command("fail")
def fail() -> None:
    """Refuse to do anything."""
    raise tg.errors.InputError("nothing to read")
'''


def install(folder: Path, package: str, lines: str, module: str = "") -> None:
    """Write a package with entry points as an installer leaves it."""
    (folder / f"{package}.py").write_text(module, encoding="utf-8")
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[trueground.commands]\n{lines}\n")


@pytest.fixture
def words_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "their_words", "words = their_words:words\ntools = their_words:tools", MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("words_package")
def test_help_lists_added_command() -> None:
    shown = trueground("--help").stdout

    assert "  words      Count the words of a text.\n" in shown
    assert "  tools      Several commands.\n" in shown


@pytest.mark.usefixtures("words_package")
def test_help_of_added_command_shows_declared_options() -> None:
    shown = trueground("words", "--help").stdout

    assert "--least" in shown
    assert "Shortest word." in shown
    assert "--format" in shown


@pytest.mark.usefixtures("words_package")
@pytest.mark.parametrize(
    ("words", "code", "out"),
    [
        pytest.param(("a bb", "--least", "2"), 0, "1 words\n", id="text"),
        pytest.param(("a bb", "--format", "json"), 0, '{\n  "words": 2\n}\n', id="json"),
        pytest.param(("a", "--least", "2"), 3, "0 words\n", id="nothing made"),
    ],
)
def test_added_command_runs(words: tuple[str, ...], code: int, out: str) -> None:
    done = trueground("words", *words)

    assert (done.returncode, done.stdout, done.stderr) == (code, out, "")


@pytest.mark.usefixtures("words_package")
def test_added_group_runs_its_commands() -> None:
    greeted = trueground("tools", "greet")
    failed = trueground("tools", "fail")

    assert (greeted.returncode, greeted.stdout) == (0, "hello\n")
    assert (failed.returncode, failed.stderr) == (2, "trueground: nothing to read\n")


@pytest.mark.usefixtures("words_package")
def test_wrong_name_suggests_added_command() -> None:
    done = trueground("wordz")

    assert done.returncode == 2
    assert "Did you mean 'words'?" in done.stderr


@pytest.fixture
def broken_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "their_broken", "broken = their_broken:main", "import no_such_module\n")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("broken_package")
def test_broken_command_names_its_package() -> None:
    done = trueground("broken")

    assert done.returncode == 2
    assert done.stderr == (
        "trueground: the package their_broken adds 'broken' to trueground.commands, but "
        "their_broken:main can't be loaded: ModuleNotFoundError: No module named "
        "'no_such_module'. Update or uninstall their_broken.\n"
    )


@pytest.mark.usefixtures("broken_package")
def test_broken_command_leaves_others_usable() -> None:
    shown = trueground("--help")
    listed = trueground("list", "normalizers")

    assert shown.returncode == 0
    assert "  broken     (error: the package their_broken adds" in shown.stdout
    assert listed.returncode == 0


def test_command_of_taken_name_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "their_score", "score = their_score:main", "main = None\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    shown = trueground("--help")

    assert "  score      Score a file of answers" in shown.stdout
    assert shown.stderr == (
        "trueground: the command 'score' of their_score is ignored: the name is taken\n"
    )
