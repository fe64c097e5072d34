"""Draw the packages, layer by layer: `python bench/house.py --draw FILE.svg`.

An arrow is an import; one that other arrows imply is left out. `bench/structure.py` counts.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def count_rooms(root: Path) -> dict[str, tuple[int, int]]:
    """Modules and lines of each room."""
    from tests.test_rooms import room_of

    found: dict[str, tuple[int, int]] = {}
    for path in (root / "src" / "trueground").rglob("*.py"):
        room = room_of(path)
        modules, lines = found.get(room, (0, 0))
        found[room] = modules + 1, lines + len(path.read_text("utf-8").splitlines())
    return found


def draw() -> str:
    """An SVG of the floors: a box for each room, an arrow for each import of one by another."""
    sys.path.insert(0, str(ROOT))
    from tests.test_rooms import LAYERS, imports

    size = count_rooms(ROOT)
    floors = [
        [room for room in floor if room in size and not room.startswith("_")]
        for floor in reversed(LAYERS)
    ]
    place: dict[str, tuple[float, float]] = {}
    width, step = 1000, 74
    for row, floor in enumerate(floors):
        for column, room in enumerate(floor):
            shift = 60 if row % 2 else -60  # so that arrows between single rooms do not overlap
            x = width * (column + 1) / (len(floor) + 1) + (shift if len(floor) == 1 else 0)
            place[room] = x, 40 + row * step
    below: dict[str, set[str]] = {room: set() for room in place}
    for a, b in imports():
        if a in place and b in place:
            below[a].add(b)
    reached: dict[str, set[str]] = {}
    for floor in reversed(floors):
        for room in floor:
            reached[room] = below[room].union(*(reached[other] for other in below[room]))
    edges = [
        (a, b)
        for a in place
        for b in sorted(below[a])
        if not any(b in reached[other] for other in below[a])
    ]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {40 + len(floors) * step}" '
        'font-family="sans-serif" font-size="13" text-anchor="middle">',
        "<title>Rooms and imports</title>",
        '<marker id="head" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0 L6 3 L0 6 z" fill="#2a6f97"/></marker>',
        f'<rect width="{width}" height="{40 + len(floors) * step}" fill="#fff"/>',
    ]
    for a, b in edges:
        (x1, y1), (x2, y2) = place[a], place[b]
        bend = 0 if y2 - y1 < 1.5 * step else (90 if x1 + x2 >= width else -90)
        parts.append(
            f'<path d="M{x1:.0f} {y1 + 18:.0f} Q{(x1 + x2) / 2 + bend:.0f} {(y1 + y2) / 2:.0f} '
            f'{x2:.0f} {y2 - 18:.0f}" fill="none" stroke="#2a6f97" marker-end="url(#head)"/>'
        )
    for room, (x, y) in place.items():
        parts.append(
            f'<rect x="{x - 55:.0f}" y="{y - 18:.0f}" width="110" height="36" rx="5" '
            f'fill="#f4f7f9" stroke="#2a6f97"/>'
            f'<text x="{x:.0f}" y="{y + 5:.0f}">{room.removeprefix("wings.")}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draw", type=Path, required=True)
    parser.parse_args().draw.write_text(draw(), "utf-8")


if __name__ == "__main__":
    main()
