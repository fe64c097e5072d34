"""The core does its work without the wings: papers, search, graphs and labeling."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Imports any module but those of the wings, and no entry point of trueground itself.
WITHOUT_WINGS = """
import sys
from importlib.abc import MetaPathFinder

WINGS = (
    "annotation", "web.labels", "retrieval", "graph", "builders", "benchmarks.faitheval",
    "benchmarks.instruct_qa", "benchmarks.kalma", "benchmarks.truly_ground",
)

class NoWings(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        for wing in WINGS:
            if f"{name}.".startswith(f"trueground.{wing}."):
                raise ModuleNotFoundError(f"the core imports {name}", name=name)

sys.meta_path.insert(0, NoWings())
from trueground import entry_points

entry_points._read_all = lambda folders: []
"""
ROWS = """
rows = [
    {"id": str(i), "response": text, "contexts": ["The tower is tall."], "references": ["tall"],
     "human": {"faithful": float(text == "It is tall.")}}
    for i, text in enumerate(["It is tall.", "It is red."] * 20)
]
"""
CODE = {
    "scores": """
result = tg.score(rows, metrics="f1,support,grounding_precision")
assert result.summary["f1"].mean is not None
assert tg.score(rows).summary["support"].n == 40
""",
    "validates": """
assert tg.validate(rows, metrics="support") is not None
""",
    "compares": """
from trueground.studies.compare import compare
tg.score(rows, metrics="f1,support", out="a")
tg.score(rows, metrics="f1,support", out="b")
compare(["a", "b"])
assert open("a/report.html").read(1)
""",
    "reads labels": """
open("labels.jsonl", "w").writelines(f'{{"id": "{i}", "human": {{"faithful": 1}}}}\\n'
                                     for i in range(40))
tg.score(rows, metrics="support", labels="labels.jsonl", labels_drawn="random")
""",
    "views": """
import trueground.web.view
import trueground.cli.app
""",
}


@pytest.mark.parametrize("name", CODE)
def test_core_without_wings_works(name: str, tmp_path: Path) -> None:
    code = f"{WITHOUT_WINGS}\nimport trueground as tg\n{ROWS}\n{CODE[name]}"

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )

    assert done.returncode == 0, done.stderr
