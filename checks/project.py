"""The files that are checked, each parsed once."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
_CODE_BLOCK = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)


class Finding(NamedTuple):
    """One place that a rule counts."""

    path: Path
    line: int
    text: str


class Module(NamedTuple):
    """One Python file."""

    path: Path
    tree: ast.Module
    source: str


class Document(NamedTuple):
    """One Markdown file; its code blocks are empty lines, so line numbers hold."""

    path: Path
    text: str


class Project:
    """All files of a checkout that are checked, each kind read when a rule first needs it."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @cached_property
    def modules(self) -> tuple[Module, ...]:
        """The modules of the package."""
        return read_modules(self._root / "src")

    @cached_property
    def tests(self) -> tuple[Module, ...]:
        """The modules of the tests."""
        return read_modules(self._root / "tests")

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        """README, CONTRIBUTING and the docs."""
        paths = [self._root / "README.md", self._root / "CONTRIBUTING.md"]
        paths += sorted(self._root.glob("docs/**/*.md"))
        return tuple(read_document(path) for path in paths if path.is_file())


def read_project(root: Path = ROOT) -> Project:
    """Return the files of a checkout."""
    return Project(root)


def read_modules(folder: Path) -> tuple[Module, ...]:
    """Parse all Python files below a folder."""
    modules = []
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text("utf-8")
        modules.append(Module(path, ast.parse(source), source))
    return tuple(modules)


def read_document(path: Path) -> Document:
    """Read a Markdown file without its code blocks."""
    text = path.read_text("utf-8")
    return Document(path, _CODE_BLOCK.sub(lambda block: "\n" * block[0].count("\n"), text))
