"""Packages: which may import which, and by which names."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from bench.doors import PAGE, WRITTEN_BY_HAND, door_of, find_exported, find_needed, find_packages
from bench.structure import find_crossings, package_of, read_modules

import trueground

SRC = Path(trueground.__file__).parent
# From the ground up; packages on one line don't import each other (docs/architecture.md).
LAYERS: tuple[tuple[str, ...], ...] = (
    ("types", "_version", "_lazy"),
    ("errors",),
    ("options", "files", "stats"),
    ("net",),
    ("execution",),
    ("text",),
    ("components",),
    ("metrics",),
    ("records", "models", "encoders"),
    ("labels",),
    ("claims",),
    ("judges",),
    ("benchmarks", "runs"),
    ("evaluate",),
    ("reports",),
    ("studies",),
    ("view",),
    ("api",),
    ("testing",),
    ("cli",),
    # Here the core ends. Wings come in by entry points.
    ("wings.graphs", "wings.search"),
    ("wings.labeling",),
    ("wings.papers",),
)
LAYER = {package: number for number, layer in enumerate(LAYERS) for package in layer}
CORE = [package for package in LAYER if not package.startswith("wings.")]
PACKAGES = find_packages()
# The package's own door and its program may import everything.
FRONT = {"__init__", "__main__", "wings"}
# The only packages that render. All others compute, and don't know how their numbers look.
RENDERING = {"reports", "studies", "view", "api", "cli"}
# In a wing these modules alone render.
RENDERING_MODULES = ("page", "api.py", "command.py", "web/")
MAX_CROSSING_NAMES = 397  # the aim is 300 (architecture.md): lower it whenever a door gets smaller


@cache
def import_nodes() -> dict[Path, list[ast.Import | ast.ImportFrom]]:
    """Return the imports of each file, those inside functions too."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SRC.rglob("*.py")}
    kinds = (ast.Import, ast.ImportFrom)
    return {
        path: [n for n in ast.walk(tree) if isinstance(n, kinds)] for path, tree in trees.items()
    }


def module_of(path: Path) -> str:
    return ".".join(("trueground", *path.relative_to(SRC).with_suffix("").parts))


def room_of(path: Path) -> str:
    return package_of(module_of(path).removesuffix(".__init__"))


@cache
def imports() -> set[tuple[str, str]]:
    """Return pairs of packages: one, and one that it imports, for type checking too."""
    edges = set()
    for path, nodes in import_nodes().items():
        for node in nodes:
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                assert node.level == 0, f"{path}: imports are absolute"
                is_root = node.module == "trueground"
                names = [f"trueground.{a.name}" for a in node.names] if is_root else [node.module]
            targets = {package_of(n) for n in names if n and n.startswith("trueground.")}
            edges |= {(room_of(path), target) for target in targets}
    return {(a, b) for a, b in edges if a != b}


def test_packages_all_have_a_layer() -> None:
    packages = {room_of(path) for path in SRC.rglob("*.py")} - FRONT
    assert packages == set(LAYER)


def test_imports_point_down() -> None:
    wrong = [
        f"{a} imports {b}"
        for a, b in sorted(imports())
        if a not in FRONT and LAYER[a] <= LAYER.get(b, len(LAYERS))
    ]
    assert not wrong


def test_core_imports_no_wing() -> None:
    wrong = [(a, b) for a, b in imports() if a in CORE and b.startswith("wings")]
    assert not wrong


def test_imports_from_other_packages_name_their_door() -> None:
    inner = sorted({c.name for c in find_crossings(read_modules(SRC)) if c.is_inner})
    assert not inner


def test_crossing_names_stay_below_the_limit() -> None:
    names = {c.name for c in find_crossings(read_modules(SRC))}
    assert len(names) <= MAX_CROSSING_NAMES


@cache
def needed_names() -> dict[str, set[str]]:
    return find_needed()


@pytest.mark.parametrize("package", PACKAGES)
def test_door_lists_what_others_import(package: str) -> None:
    assert set(find_exported(package)) == needed_names()[package], "run python -m bench.doors"


@pytest.mark.parametrize("package", [p for p in PACKAGES if find_exported(p)])
def test_architecture_page_lists_the_names_of_each_door(package: str) -> None:
    (row,) = [line for line in PAGE.read_text("utf-8").splitlines() if f"| `{package}` |" in line]
    listed = set(re.findall(r"`(\w+)`", row.rpartition(" | ")[2]))
    assert listed == set(find_exported(package)), "run python -m bench.doors"


@pytest.mark.parametrize("package", PACKAGES)
def test_door_loads_what_it_declares(package: str) -> None:
    """The names for type checkers are those that load, from the same modules."""
    tree = ast.parse(door_of(package).read_text(encoding="utf-8"))
    loaded: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "load_lazily":
            for module, names in ast.literal_eval(node.args[1]).items():
                loaded |= dict.fromkeys(names, f"trueground.{package}.{module}")
    assert loaded == find_exported(package)


@pytest.mark.parametrize("package", sorted(set(LAYER) - WRITTEN_BY_HAND - {"metrics"}))
def test_door_has_nothing_but_its_lists(package: str) -> None:
    if not door_of(package).is_file():
        pytest.skip("a single module")
    tree = ast.parse(door_of(package).read_text(encoding="utf-8"))
    kinds = {type(node).__name__ for node in tree.body}
    assert kinds <= {"Expr", "ImportFrom", "If", "Assign"}


def test_door_names_differ_from_modules() -> None:
    """Once a module is imported, its name hides a name of the door."""
    hidden = defaultdict(list)
    for package in PACKAGES:
        folder = door_of(package).parent
        for name in find_exported(package):
            if (folder / f"{name}.py").exists() or (folder / name).is_dir():
                hidden[package].append(name)
    assert not hidden


def test_packages_that_compute_never_name_reports() -> None:
    """Neither in an import, wherever it is, nor as the name of a module in a text."""
    naming = set()
    for path in SRC.rglob("*.py"):
        package = room_of(path)
        inside = path.relative_to(SRC).as_posix()
        if package.startswith("wings."):
            renders = any(part in inside for part in RENDERING_MODULES)
        else:
            renders = package in RENDERING
        if not renders and "trueground.reports" in path.read_text(encoding="utf-8"):
            naming.add(inside)
    assert naming == set()


def test_modules_have_no_cycle() -> None:
    names = {path: module_of(path) for path in import_nodes()}
    graph = {name.removesuffix(".__init__"): set[str]() for name in names.values()}
    for path, nodes in import_nodes().items():
        name = names[path].removesuffix(".__init__")
        if path.name == "__init__.py" and room_of(path) in {*LAYER, *FRONT}:
            continue  # a door loads its modules later
        for node in nodes:
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                target = whole if whole in graph else node.module
                exported = find_exports(node.module).get(alias.name, target)
                if exported in graph and exported != name:
                    graph[name].add(exported)
    TopologicalSorter(graph).prepare()  # raises CycleError


@cache
def find_exports(module: str) -> dict[str, str]:
    """Return the modules behind the names of a door; nothing for another module."""
    package = module.removeprefix("trueground.")
    return find_exported(package) if package in PACKAGES else {}


def test_no_folder_is_empty() -> None:
    for folder in (p for p in SRC.rglob("*") if p.is_dir() and p.name != "__pycache__"):
        assert any(p.is_file() for p in folder.rglob("*")), folder


def test_the_picture_shows_these_packages() -> None:
    from bench.house import draw

    picture = SRC.parents[1] / "docs" / "rooms.svg"
    assert picture.read_text(encoding="utf-8") == draw(), (
        "python bench/house.py --draw docs/rooms.svg"
    )
