"""The example folders that come with the package: small sources, and replies for the fake model."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from trueground.errors import OutputError, unknown_name
from trueground.runs.directory import write_error

README = "README.txt"


def examples() -> list[str]:
    """The names of the builders that have an example."""
    return sorted(one.name for one in _home().iterdir() if one.is_dir() and _is_example(one))


def copy_example(name: str, out: Path) -> str:
    """Copy an example into a folder that is new or empty; the words of its README.

    Raises UsageError for an unknown name, OutputError, and WriteError.
    """
    if name not in examples():
        raise unknown_name("example of a build", name, examples())
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OutputError(f"{out} exists and is not empty; choose another --out")
    example = _home() / name
    try:
        _copy(example, out)
    except OSError as error:
        raise write_error(out, error) from error
    return (example / README).read_text(encoding="utf-8")


def _home() -> Traversable:
    return files("trueground.builders") / "examples"


def _is_example(folder: Traversable) -> bool:
    return (folder / README).is_file()


def _copy(folder: Traversable, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for one in folder.iterdir():
        if one.is_dir():
            if one.name != "__pycache__":
                _copy(one, out / one.name)
        else:
            (out / one.name).write_bytes(one.read_bytes())
