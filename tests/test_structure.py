"""The counts of `bench/structure.py`, and the limits that hold for this package."""

from __future__ import annotations

from pathlib import Path

from bench.structure import count_idioms, count_source, find_glued, read_modules

import trueground

MAX_GLUED = 8
UPPER = """
from sample.lower import door
from sample.lower.inner import deep
def wide(a, b, c, d, e, f, g):
    found = "x" * (a > b)
    kept = [x for x in c for y in x]
    return (found if a else (b if c else d)), kept, getattr(a, "close")
def walrus(value):
    return value and (size := len(value))
A = 1
B = 2
C: int = 3
"""
INNER = """
def deep(): pass
A = 1
B = 2
__all__ = ["deep"]
"""


def make_sample(folder: Path) -> Path:
    lower = folder / "sample" / "lower"
    lower.mkdir(parents=True)
    (folder / "sample" / "upper.py").write_text(UPPER)
    (lower / "__init__.py").write_text("def door(): pass\n")
    (lower / "inner.py").write_text(INNER)
    return folder / "sample"


def test_count_source_of_a_small_package_finds_each_case_once(tmp_path: Path) -> None:
    counts = count_source(make_sample(tmp_path))
    assert counts["names from inner modules"] == 1
    assert counts["names that cross packages"] == 2
    once = (
        *("pairs of packages", "functions over 6 parameters", "getattr/hasattr by name"),
        *("modules with late assignments", "walruses inside expressions"),
        *("nested conditionals", "text times condition"),
    )
    assert {name: counts[name] for name in once} == dict.fromkeys(once, 1)


def test_find_glued_ignores_all_and_names_the_module(tmp_path: Path) -> None:
    assert find_glued(read_modules(make_sample(tmp_path))) == ["sample.upper"]


def test_count_idioms_leaves_code_blocks_out(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("It stands beside.\n```\ntold\n```\n")
    assert count_idioms(tmp_path) == 2


def test_modules_of_this_package_have_constants_first() -> None:
    glued = find_glued(read_modules(Path(trueground.__file__).parent))
    assert len(glued) <= MAX_GLUED, glued
