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
    ("retrieval", "graph"),
    ("benchmarks",),
    ("annotation",),
    ("builders",),
    ("web",),
    ("api",),
    ("testing",),
    ("cli",),
    # Here the core ends. What follows are wings, which come in by entry points.
    ("graphs", "search"),
    ("labeling",),
    ("papers",),
)
# Where the modules of each wing are. What is in none of them is core.
WINGS = {
    "graphs": ("graph",),
    "search": ("retrieval",),
    "labeling": ("annotation", "web/labels"),
    "papers": (
        "benchmarks/faitheval",
        "benchmarks/truly_ground",
        "benchmarks/instruct_qa",
        "benchmarks/kalma",
        "builders",
        "studies/errors.py",
        "studies/error_lines.py",
        "studies/errors_command.py",
        "reports/errors.py",
        "reports/build_report.py",
    ),
}
# TEMPORARY, to be deleted with the branch "view" (pages of wings): imports of a wing by the core.
PENDING = {
    ("reports", "graphs"),
    ("reports", "labeling"),
    ("reports", "search"),
}
# Who renders: everything else computes and may not know how its numbers look.
FACES = {"reports", "studies", "web", "api", "cli"}
FACES_OF_WINGS = {"api.py", "command.py"}  # modules
FLOOR = {room: number for number, floor in enumerate(FLOORS) for room in floor}


def room_of(path: Path) -> str:
    """A wing, or a folder under trueground/, or a single file there."""
    relative = path.relative_to(SRC).as_posix()
    for wing, places in WINGS.items():
        if any(relative == place or relative.startswith(f"{place}/") for place in places):
            return wing
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def room_of_module(name: str) -> str:
    """The room of a module, or of a name in a module, such as `trueground.wings.graphs.base.Entity`."""
    path = SRC.joinpath(*name.split(".")[1:])
    while not path.is_dir() and not path.with_suffix(".py").is_file():
        path = path.parent
    return room_of(path if path.is_dir() else path.with_suffix(".py"))


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
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            for name in names:
                if name.startswith("trueground."):
                    edges.add((room_of(path), room_of_module(name)))
    return {(a, b) for a, b in edges if a != b}


def test_every_room_has_its_floor() -> None:
    rooms = {room_of(p) for p in SRC.rglob("*.py")} - {"__init__", "__main__"}
    assert rooms == set(FLOOR)


def test_imports_point_down() -> None:
    doors = {"__init__", "__main__"}  # the package's own faces hand names on
    wrong = [
        f"{a} imports {b}"
        for a, b in sorted(imports() - PENDING)
        if a not in doors and FLOOR[a] <= FLOOR[b]
    ]
    assert not wrong


def test_pending_imports_are_still_there() -> None:
    assert imports() >= PENDING, "delete from PENDING what is gone"


def renders(path: Path) -> bool:
    """Whether a module is a face: it draws what others have computed."""
    parts = path.relative_to(SRC).parts
    return parts[0].removesuffix(".py") in FACES or path.name in FACES_OF_WINGS


def test_packages_that_compute_never_name_reports() -> None:
    """Neither in an import, wherever it is, nor as the name of a module in a text."""
    naming = {
        str(path.relative_to(SRC))
        for path in SRC.rglob("*.py")
        if not renders(path) and "trueground.reports" in path.read_text(encoding="utf-8")
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
