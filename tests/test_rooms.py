"""Imports point one way only: a room may use those below it, none beside it and none above it."""

from __future__ import annotations

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import trueground

SRC = Path(trueground.__file__).parent
# From the ground up; rooms on one line do not import each other (docs/architecture.md).
FLOORS: tuple[tuple[str, ...], ...] = (
    ("types", "_version"),
    ("errors",),
    ("options", "loop", "stats"),
    ("plugins", "protocols", "text"),
    ("functions",),
    ("metrics", "progress", "net"),
    ("records", "models", "encoders", "processes"),
    ("retrieval", "graph"),
    ("claims",),
    ("judges",),
    ("benchmarks", "runs"),
    ("annotation",),
    ("evaluate",),
    ("builders",),
    ("reports",),
    ("studies",),
    ("web",),
    ("api",),
    ("testing",),
    ("cli",),
)
# Who renders: everything else computes and may not know how its numbers look.
FACES = {"reports", "studies", "web", "api", "cli"}
FLOOR = {room: number for number, floor in enumerate(FLOORS) for room in floor}


def room_of(path: Path) -> str:
    """A folder under trueground/, or a single file there."""
    return path.relative_to(SRC).parts[0].removesuffix(".py")


@cache
def import_nodes() -> dict[Path, list[ast.Import | ast.ImportFrom]]:
    """Those of each file, inside functions too."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SRC.rglob("*.py")}
    kinds = (ast.Import, ast.ImportFrom)
    return {
        path: [n for n in ast.walk(tree) if isinstance(n, kinds)] for path, tree in trees.items()
    }


def imports() -> set[tuple[str, str]]:
    """(room, room that it imports), imports inside functions included, type checking too."""
    edges = set()
    for path, nodes in import_nodes().items():
        for node in nodes:
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                assert node.level == 0, f"{path}: imports are absolute"
                module = node.module or ""
                names = [module]
                if module == "trueground":
                    names = [f"trueground.{alias.name}" for alias in node.names]
            for name in names:
                parts = name.split(".")
                if parts[0] == "trueground" and len(parts) > 1:
                    edges.add((room_of(path), parts[1]))
    return {(a, b) for a, b in edges if a != b}


def test_every_room_has_its_floor() -> None:
    rooms = {room_of(p) for p in SRC.rglob("*.py")} - {"__init__", "__main__"}
    assert rooms == set(FLOOR)


def test_imports_point_down() -> None:
    doors = {"__init__", "__main__"}  # the package's own faces hand names on
    wrong = [
        f"{a} imports {b}" for a, b in sorted(imports()) if a not in doors and FLOOR[a] <= FLOOR[b]
    ]
    assert not wrong


def test_packages_that_compute_never_name_reports() -> None:
    """Neither in an import, wherever it is, nor as the name of a module in a text."""
    naming = {
        str(path.relative_to(SRC))
        for path in SRC.rglob("*.py")
        if room_of(path) not in FACES and "trueground.reports" in path.read_text(encoding="utf-8")
    }
    assert naming == set()


def test_modules_have_no_cycle() -> None:
    names = {
        path: ".".join(("trueground", *path.relative_to(SRC).with_suffix("").parts))
        for path in import_nodes()
    }
    graph = {name.removesuffix(".__init__"): set[str]() for name in names.values()}
    for path, nodes in import_nodes().items():
        name = names[path].removesuffix(".__init__")
        for node in nodes:
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                target = whole if whole in graph else node.module
                if target in graph and target != name:
                    graph[name].add(target)
    TopologicalSorter(graph).prepare()  # raises CycleError


def test_no_folder_is_empty() -> None:
    for folder in (p for p in SRC.rglob("*") if p.is_dir() and p.name != "__pycache__"):
        assert any(p.is_file() for p in folder.rglob("*")), folder


def test_the_picture_shows_these_rooms() -> None:
    from bench.house import draw

    picture = SRC.parents[1] / "docs" / "rooms.svg"
    assert picture.read_text(encoding="utf-8") == draw(), (
        "python bench/house.py --draw docs/rooms.svg"
    )
