"""Rules for what users import: docstrings with sections, and plain types."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from checks.project import Finding, Project

# Modules of the package whose public names users import, too.
PUBLIC_MODULES = ("errors", "metrics", "testing")


class Exported(NamedTuple):
    """A class or function that users import, by its public name."""

    name: str
    value: Any


def find_missing_sections(project: Project) -> Iterator[Finding]:
    """Yield exported functions without `Args`, `Returns` or `Raises` where they need them."""
    for exported in iterate_exported():
        docstring = inspect.getdoc(exported.value) or ""
        missing = [s for s in needed_sections(exported.value) if f"{s}:" not in docstring]
        if missing:
            yield make_exported_finding(exported, f"{exported.name}: no {', '.join(missing)}")


def find_missing_examples(project: Project) -> Iterator[Finding]:
    """Yield exported names without an example in the docstring."""
    for exported in iterate_exported():
        docstring = inspect.getdoc(exported.value) or ""
        is_error = inspect.isclass(exported.value) and issubclass(exported.value, BaseException)
        if not is_error and ">>>" not in docstring and "Example:" not in docstring:
            yield make_exported_finding(exported, f"{exported.name}: no Example")


def find_any(project: Project) -> Iterator[Finding]:
    """Yield exported functions with `Any` or `**options` in the signature."""
    for exported in iterate_exported():
        for name, annotation in iterate_annotations(exported.value):
            if "Any" in annotation.replace("typing.", "").split("[")[0].split(" | "):
                yield make_exported_finding(exported, f"{exported.name}({name})")


def iterate_exported() -> Iterator[Exported]:
    """Yield the classes and functions of `trueground` and of its public modules."""
    import trueground

    for name in trueground.__all__:
        value = getattr(trueground, name)
        if inspect.isclass(value) or inspect.isroutine(value):
            yield Exported(f"trueground.{name}", value)
    for module_name in PUBLIC_MODULES:
        module = getattr(trueground, module_name)
        names = getattr(module, "__all__", None) or [n for n in dir(module) if n[0] != "_"]
        for name in names:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isroutine(value):
                yield Exported(f"trueground.{module_name}.{name}", value)


def needed_sections(value: Any) -> list[str]:
    """Return the sections that the docstring of a function needs; none for a class."""
    if not inspect.isroutine(value):
        return []
    signature = inspect.signature(value)
    sections = []
    if signature.parameters:
        sections.append("Args")
    if signature.return_annotation not in (None, "None", inspect.Signature.empty):
        sections.append("Returns")
    if has_raise(value):
        sections.append("Raises")
    return sections


def has_raise(value: Any) -> bool:
    """Whether the body of a function has a `raise` statement."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(value)))
    except (OSError, TypeError):
        return False
    return any(isinstance(node, ast.Raise) for node in ast.walk(tree))


def iterate_annotations(value: Any) -> Iterator[tuple[str, str]]:
    """Yield parameters of a function, and what it returns, with their types as text."""
    if not inspect.isroutine(value):
        return
    signature = inspect.signature(value)
    for parameter in signature.parameters.values():
        is_unnamed = parameter.kind is inspect.Parameter.VAR_KEYWORD
        yield parameter.name, "Any" if is_unnamed else as_text(parameter.annotation)
    yield "return", as_text(signature.return_annotation)


def as_text(annotation: Any) -> str:
    """Return an annotation as it is read in `help`."""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def make_exported_finding(exported: Exported, text: str) -> Finding:
    """Return the place of an exported definition."""
    try:
        path = Path(inspect.getsourcefile(exported.value) or "")
        line = inspect.getsourcelines(exported.value)[1]
    except (OSError, TypeError):
        path, line = Path("src/trueground/__init__.py"), 1
    return Finding(path, line, text)
