"""Count how the package is built: what crosses packages, and what style.md limits.

`python bench/structure.py` prints a table; `--compare FOLDER` adds the counts of another checkout.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
WINGS = "wings"
MAX_LINES = 50
MAX_PARAMETERS = 6
MIN_LATE_ASSIGNMENTS = 3
_EMPTY_NAMES = """
one told found own wanted known said there shown given asked why words place places lost theirs mine
ours written
"""
EMPTY_NAMES = frozenset(_EMPTY_NAMES.split())
IDIOMS = re.compile(
    r"\b(stands?|stood|beside|tells?|told|whoever|nobody|somebody)\b|\bof its own\b"
    r"|cannot be meant|in the way\b",
    re.IGNORECASE,
)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
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


def count_late_assignments(tree: ast.Module) -> int:
    """Count top-level assignments after the first definition, type aliases included.

    `__all__` and blocks such as `if TYPE_CHECKING` don't count.
    """
    count = 0
    has_definition = False
    for node in tree.body:
        if isinstance(node, DEFINITIONS):
            has_definition = True
        elif has_definition and isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [ast.unparse(target) for target in targets]
            count += names != ["__all__"]
    return count


def find_glued(modules: list[Module]) -> list[str]:
    """Return the names of modules with too many late assignments."""
    return [
        module.name
        for module in modules
        if count_late_assignments(module.tree) >= MIN_LATE_ASSIGNMENTS
    ]


def count_code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function without its docstring."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is not None:
        docstring = function.body[0]
        lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
    return lines


def count_parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the parameters of a function, `self` and `cls` left out."""
    arguments = function.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def find_exported(modules: list[Module]) -> set[str]:
    """Return the names that the package's own `__init__` or an `__all__` lists."""
    exported: set[str] = set()
    for module in modules:
        for node in ast.walk(module.tree):
            is_list = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
            if is_list or (module.package == "__init__" and isinstance(node, ast.Dict)):
                exported |= {c.value for c in ast.walk(node) if isinstance(c, ast.Constant)}
    return exported


def is_attribute_probe(node: ast.AST) -> bool:
    """Whether a call is `getattr` or `hasattr` by a constant name."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("getattr", "hasattr")
        and len(node.args) > 1
        and isinstance(node.args[1], ast.Constant)
    )


def is_hard_comprehension(node: ast.AST) -> bool:
    """Whether a comprehension has two `for`, more than two lines or another one inside."""
    if not isinstance(node, COMPREHENSIONS):
        return False
    n_lines = (node.end_lineno or node.lineno) - node.lineno + 1
    is_nested = any(isinstance(c, COMPREHENSIONS) for c in ast.walk(node) if c is not node)
    return len(node.generators) > 1 or n_lines > 2 or is_nested


def is_nested_conditional(node: ast.AST) -> bool:
    """Whether a conditional expression holds another one."""
    return isinstance(node, ast.IfExp) and any(
        isinstance(child, ast.IfExp) for child in ast.walk(node) if child is not node
    )


def is_conditional_text(node: ast.AST) -> bool:
    """Whether a text or list is multiplied by a condition."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return False
    sides = (node.left, node.right)
    return any(map(is_text_or_list, sides)) and any(map(is_condition, sides))


def is_text_or_list(node: ast.AST) -> bool:
    """Whether an expression is a literal text, an f-string or a list."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    return isinstance(node, ast.JoinedStr | ast.List)


def is_condition(node: ast.AST) -> bool:
    """Whether an expression is a comparison, `and`, `or`, `not` or `bool(…)`."""
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) == "bool"
    is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return is_not or isinstance(node, ast.Compare | ast.BoolOp)


def count_inner_walruses(modules: list[Module]) -> int:
    """Count assignment expressions inside comprehensions or `and` and `or`."""
    inner = set()
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, (*COMPREHENSIONS, ast.BoolOp)):
                inner |= {id(c) for c in ast.walk(node) if isinstance(c, ast.NamedExpr)}
    return len(inner)


def measure_empty_names(modules: list[Module]) -> float:
    """Return the percentage of assigned names and parameters that say nothing."""
    names = []
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.arg):
                names.append(node.arg)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.append(node.id)
    empty = [name for name in names if name in EMPTY_NAMES]
    return round(100 * len(empty) / max(len(names), 1), 1)


def count_idioms(root: Path) -> int:
    """Count idioms in README, CONTRIBUTING and docs, code blocks left out."""
    count = 0
    for path in [root / "README.md", root / "CONTRIBUTING.md", *root.glob("docs/**/*.md")]:
        if path.is_file():
            text = re.sub(r"^ *```.*?^ *```", "", path.read_text("utf-8"), flags=re.M | re.S)
            count += len(IDIOMS.findall(text))
    return count


def count_source(folder: Path) -> dict[str, float]:
    """Return what is counted in the source of one package."""
    modules = read_modules(folder)
    crossings = list(find_crossings(modules))
    nodes = [node for module in modules for node in ast.walk(module.tree)]
    functions = [node for node in nodes if isinstance(node, FUNCTIONS)]
    exported = find_exported(modules)

    def count(test: Callable[[ast.AST], bool]) -> int:
        return sum(map(test, nodes))

    wide = [f for f in functions if count_parameters(f) > MAX_PARAMETERS]
    n_lines = sum(module.n_lines for module in modules)
    return {
        "modules": len(modules),
        "lines": n_lines,
        "names from inner modules": len({c.name for c in crossings if c.is_inner}),
        "names that cross packages": len({c.name for c in crossings}),
        "pairs of packages": len({(c.source, c.target) for c in crossings}),
        "functions over 50 lines": sum(count_code_lines(f) > MAX_LINES for f in functions),
        "functions over 6 parameters": len([f for f in wide if f.name not in exported]),
        "getattr/hasattr by name": count(is_attribute_probe),
        "modules with late assignments": len(find_glued(modules)),
        "% of names that say nothing": measure_empty_names(modules),
        "hard comprehensions / 1,000": round(1000 * count(is_hard_comprehension) / n_lines, 1),
        "walruses inside expressions": count_inner_walruses(modules),
        "nested conditionals": count(is_nested_conditional),
        "text times condition": count(is_conditional_text),
    }


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
    return {**source, "idioms in docs": count_idioms(root), **count_score(root)}


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
