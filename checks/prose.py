"""Rules for prose: documents, docstrings, comments, messages."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from checks.code import DEFINITIONS
from checks.project import Finding, Module, Project

MIN_MESSAGE_WORDS = 3
IDIOMS = re.compile(
    r"\b(stands?|stood|beside|tells?|told|whoever|nobody|somebody)\b|\bof its own\b"
    r"|cannot be meant|in the way\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z']+")
_YOU = re.compile(r"\byou(?:r|rs|rself)?\b", re.IGNORECASE)


def find_idioms_in_documents(project: Project) -> Iterator[Finding]:
    """Yield idioms in README, CONTRIBUTING and docs, code blocks left out."""
    for document in project.documents:
        for number, line in enumerate(document.text.splitlines(), 1):
            for match in IDIOMS.finditer(line):
                yield Finding(document.path, number, match[0])


def find_idioms_in_comments(project: Project) -> Iterator[Finding]:
    """Yield idioms in the docstrings and comments of the package."""
    for module in project.modules:
        for line, text in (*iterate_docstrings(module), *iterate_comments(module)):
            for match in IDIOMS.finditer(text):
                yield Finding(module.path, line, match[0])


def iterate_docstrings(module: Module) -> Iterator[tuple[int, str]]:
    """Yield the docstrings of a module, its classes and functions, each with its line."""
    for node in ast.walk(module.tree):
        if isinstance(node, (ast.Module, *DEFINITIONS)):
            text = ast.get_docstring(node, clean=False)
            if text is not None:
                yield node.body[0].lineno, text


def iterate_comments(module: Module) -> Iterator[tuple[int, str]]:
    """Yield the comments of a module, each with its line."""
    for token in tokenize.generate_tokens(io.StringIO(module.source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def find_idioms_in_messages(project: Project) -> Iterator[Finding]:
    """Yield idioms in the texts of the package that users read: messages, help, pages.

    A text has at least three words; docstrings have a rule of their own.
    """
    for module in project.modules:
        docstrings = {line for line, _ in iterate_docstrings(module)}
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                continue
            if node.lineno in docstrings or len(node.value.split()) < MIN_MESSAGE_WORDS:
                continue
            for match in IDIOMS.finditer(node.value):
                yield Finding(module.path, node.lineno, match[0])


def measure_address(project: Project) -> float:
    """Return how often the documents say "you" or "your", in 1,000 words."""
    texts = [document.text for document in project.documents]
    n_words = sum(len(_WORD.findall(text)) for text in texts)
    n_you = sum(len(_YOU.findall(text)) for text in texts)
    return round(1000 * n_you / max(n_words, 1), 1)
