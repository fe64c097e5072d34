"""Count how the package is built: what crosses packages, and what the style guide limits.

`python -m bench.structure` prints a table; `--compare FOLDER` adds the counts of another checkout.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from checks.code import MAX_LATE_ASSIGNMENTS, count_late_assignments
from checks.project import read_project
from checks.rules import RULES

ROOT = Path(__file__).parent.parent
WINGS = "wings"
# Runs `score` in a process of its own and counts calls of the package's functions.
PROFILE = """
import contextlib, io, sys
modules, classes, changes = set(), set(), 0

def package(frame):
    return (frame.f_globals.get("__name__") or "").split(".")[:2]

def count(frame, event, _):
    global changes
    if event != "call" or frame.f_code.co_name == "<module>":
        return
    here = package(frame)
    if here[0] != "trueground":
        return
    modules.add(frame.f_globals["__name__"])
    owner = frame.f_code.co_qualname.rpartition(".")[0]
    if owner and "<" not in owner:
        classes.add((frame.f_globals["__name__"], owner))
    caller = package(frame.f_back) if frame.f_back else [""]
    changes += caller[0] == "trueground" and caller != here

sys.argv = ["trueground", "score", sys.argv[1], "--out", sys.argv[2], "--quiet"]
from trueground.cli import main
sys.setprofile(count)
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    main()
sys.setprofile(None)
print(len(modules), len(classes), changes)
"""


class Module(NamedTuple):
    """One file; `package` is the folder or file below the root, for a wing with its name."""

    name: str
    package: str
    tree: ast.Module
    n_lines: int


class Crossing(NamedTuple):
    """One name that a module imports from another package."""

    source: str
    target: str
    name: str
    is_inner: bool


def package_of(name: str) -> str:
    """Return the package of a dotted module name: `reports`, `wings.papers`, `__init__`.

    A package is the first folder or file below the root. Each wing is a package too.
    """
    parts = name.split(".")[1:]
    n_parts = 2 if parts[:1] == [WINGS] else 1
    return ".".join(parts[:n_parts]) or "__init__"


def read_modules(folder: Path) -> list[Module]:
    """Parse all modules below the folder of a package."""
    modules = []
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text("utf-8")
        relative = path.relative_to(folder).with_suffix("")
        name = ".".join((folder.name, *relative.parts)).removesuffix(".__init__")
        modules.append(Module(name, package_of(name), ast.parse(text), len(text.splitlines())))
    return modules


def find_crossings(modules: list[Module]) -> Iterator[Crossing]:
    """Yield the names that one package imports from another, imports in functions included."""
    for module in modules:
        root = module.name.partition(".")[0]
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.ImportFrom) or node.module is None:
                continue
            target = package_of(node.module)
            if node.module.startswith(f"{root}.") and target != module.package:
                is_inner = node.module != f"{root}.{target}"
                for alias in node.names:
                    name = f"{node.module}.{alias.name}"
                    yield Crossing(module.package, target, name, is_inner)


def find_glued(modules: list[Module]) -> list[str]:
    """Return the names of modules with too many constants after the first definition."""
    return [
        module.name
        for module in modules
        if count_late_assignments(module.tree) > MAX_LATE_ASSIGNMENTS
    ]


def count_source(folder: Path) -> dict[str, float]:
    """Return what crosses the packages below one folder."""
    modules = read_modules(folder)
    crossings = list(find_crossings(modules))
    return {
        "modules": len(modules),
        "lines": sum(module.n_lines for module in modules),
        "names from inner modules": len({c.name for c in crossings if c.is_inner}),
        "names that cross packages": len({c.name for c in crossings}),
        "pairs of packages": len({(c.source, c.target) for c in crossings}),
    }


def count_style(root: Path) -> dict[str, float]:
    """Return what the style guide limits, as far as it shows without importing the package."""
    project = read_project(root)
    rules = [rule for rule in RULES if not rule.imports_package]
    return {rule.name.replace("_", " "): sum(1 for _ in rule.find(project)) for rule in rules}


def count_score(root: Path) -> dict[str, float]:
    """Return how far one `score` of the example answers travels."""
    with tempfile.TemporaryDirectory() as folder:
        answers = root / "examples" / "answers.jsonl"
        done = subprocess.run(
            [sys.executable, "-c", PROFILE, str(answers), f"{folder}/run"],
            env={"PYTHONPATH": str(root / "src"), "PATH": "/usr/bin:/bin", "HOME": folder},
            capture_output=True,
            text=True,
            check=True,
        )
    n_modules, n_classes, n_changes = map(int, done.stdout.split())
    return {
        "`score`: modules": n_modules,
        "`score`: classes": n_classes,
        "`score`: package changes": n_changes,
    }


def count_checkout(root: Path) -> dict[str, float]:
    """Return all counts of one checkout."""
    source = count_source(root / "src" / "trueground")
    return {**source, **count_style(root), **count_score(root)}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compare", type=Path, help="another checkout, shown first")
    compare = parser.parse_args().compare
    roots = [ROOT] if compare is None else [compare.resolve(), ROOT]
    counts = [count_checkout(root) for root in roots]
    for name in counts[0]:
        print(f"{name:32}", *(f"{column[name]:>10,}" for column in counts))


if __name__ == "__main__":
    main()
