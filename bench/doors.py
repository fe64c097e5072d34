"""Write the doors of the packages: what each `__init__` offers to the others, loaded lazily.

`python -m bench.doors` reads which names the packages import from each other and writes the lists
again. Run it after an import from another package was added or removed.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from bench.structure import package_of

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "trueground"
# Modules and packages that list what they offer by hand.
WRITTEN_BY_HAND = frozenset({"__init__", "metrics"})
_DOCUMENTED = re.compile(r"from trueground((?:\.\w+)+) import (?:\(([^)]*)\)|([^\n]*))")


def module_name(path: Path) -> str:
    """Return the dotted name of a file below the source folder."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def is_package(name: str) -> bool:
    """Whether a package is a folder, not a single module."""
    return (SOURCE / name.replace(".", "/") / "__init__.py").is_file()


def find_needed() -> dict[str, set[str]]:
    """Return for each package the names that others import from it, documentation included."""
    needed: dict[str, set[str]] = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        name = module_name(path)
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("trueground."):
                target = package_of(node.module or "")
                if target != package_of(name):
                    needed[target] |= {alias.name for alias in node.names}
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]:
        for match in _DOCUMENTED.finditer(page.read_text("utf-8")):
            module = f"trueground{match[1]}"
            if is_package(module.removeprefix("trueground.")):
                names = re.findall(r"\w+", match[2] or match[3].partition("#")[0])
                needed[package_of(module)] |= set(names)
    return needed


def find_homes(package: str) -> dict[str, list[str]]:
    """Return in which modules of a package each top-level name is defined."""
    homes: dict[str, list[str]] = defaultdict(list)
    folder = SOURCE / package.replace(".", "/")
    for path in sorted(folder.rglob("*.py")):
        if path == folder / "__init__.py":
            continue
        for name in defined_names(ast.parse(path.read_text("utf-8"))):
            homes[name].append(module_name(path))
    return homes


def defined_names(tree: ast.Module) -> set[str]:
    """Return the names that a module defines at its top level."""
    names = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                names |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def write_door(package: str, names: set[str]) -> list[str]:
    """Write the `__init__` of a package. Returns the names without exactly one home."""
    path = SOURCE / package.replace(".", "/") / "__init__.py"
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8")), clean=False)
    homes = find_homes(package)
    wrong = [name for name in sorted(names) if len(homes[name]) != 1]
    by_module: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names.difference(wrong)):
        by_module[homes[name][0]].append(name)
    lines = [f'"""{docstring}"""', ""]
    if by_module:
        lines += [
            "from typing import TYPE_CHECKING",
            "",
            "from trueground._lazy import load_lazily",
        ]
        lines += ["", "if TYPE_CHECKING:"]
        for module, exported in sorted(by_module.items()):
            aliases = ", ".join(f"{name} as {name}" for name in exported)
            lines.append(f"    from {module} import {aliases}")
        lines += ["", "__getattr__, __dir__ = load_lazily(", "    __name__,", "    {"]
        for module, exported in sorted(by_module.items()):
            listed = "".join(f'"{name}", ' for name in exported)
            lines.append(f'        "{module.removeprefix(f"trueground.{package}.")}": ({listed}),')
        lines += ["    },", ")"]
    path.write_text("\n".join(lines).rstrip() + "\n", "utf-8")
    return wrong


def main() -> None:
    """Write all doors and format them."""
    failed = False
    needed = find_needed()
    for package in sorted(p for p in needed if p not in WRITTEN_BY_HAND and is_package(p)):
        for name in write_door(package, needed[package]):
            failed = True
            homes = find_homes(package)[name]
            print(f"{package}: {name} has {len(homes)} homes: {', '.join(homes)}", file=sys.stderr)
    for command in (["format", "--quiet"], ["check", "--fix", "--quiet"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, str(SOURCE)], check=False)
    sys.exit(failed)


if __name__ == "__main__":
    main()
