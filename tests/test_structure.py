"""The counts of `bench/structure.py`, and the limits that hold for this package."""

from __future__ import annotations

from pathlib import Path

from bench.structure import count_source, find_glued, read_modules

import trueground

MAX_GLUED = 8
UPPER = """
from sample.lower import door
from sample.lower.inner import deep
def first(): pass
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
    assert counts["pairs of packages"] == 1


def test_find_glued_ignores_all_and_names_the_module(tmp_path: Path) -> None:
    assert find_glued(read_modules(make_sample(tmp_path))) == ["sample.upper"]


def test_modules_of_this_package_have_constants_first() -> None:
    glued = find_glued(read_modules(Path(trueground.__file__).parent))
    assert len(glued) <= MAX_GLUED, glued
