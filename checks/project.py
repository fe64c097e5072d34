"""The files that are checked, parsed once."""

from __future__ import annotations

import ast
import re
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


class Project(NamedTuple):
    """All files of a checkout that are checked."""

    modules: tuple[Module, ...]
    tests: tuple[Module, ...]
    documents: tuple[Document, ...]


def read_project(root: Path = ROOT) -> Project:
    """Parse the package, the tests and the documents of a checkout."""
    documents = [root / "README.md", root / "CONTRIBUTING.md", *sorted(root.glob("docs/**/*.md"))]
    return Project(
        modules=read_modules(root / "src"),
        tests=read_modules(root / "tests"),
        documents=tuple(read_document(path) for path in documents if path.is_file()),
    )


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
