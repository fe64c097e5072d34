"""The rules of `python -m checks`: each finds its case and leaves its neighbor alone."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from checks.__main__ import LIMITS, write_limits
from checks.docstrings import as_text, needed_sections
from checks.project import ROOT, read_project
from checks.prose import measure_address
from checks.rules import RULES

CASES = [
    ("vague_names", "def f(told): pass", "def f(payload): pass"),
    ("vague_names", "found = 1", "print(found)"),
    ("hard_comprehensions", "x = [a for b in c for a in b]", "x = [a for a in b]"),
    ("hard_comprehensions", "x = [[a for a in b] for b in c]", "x = [list(b) for b in c]"),
    ("hard_comprehensions", "x = [\n    a\n    for a in b\n]", "x = [\n    a for a in b]"),
    ("inner_walruses", "x = a and (b := c)", "if (b := c):\n    pass"),
    ("nested_conditionals", "x = a if b else (c if d else e)", "x = a if b else c"),
    ("conditional_texts", "x = 'a' * (b > c)", "x = 'a' * n"),
    ("conditional_texts", "x = [a] * bool(b)", "x = [a] * 3"),
    ("wide_functions", "def f(a, b, c, d, e, f, g): pass", "def f(self, a, b, c, d, e, f): pass"),
    ("wide_functions", "def f(a, *, b, c, d, e, f, g): pass", "def __init__(s, *rest): pass"),
    ("long_return_tuples", "def f() -> tuple[int, int, str]: ...", "def f() -> tuple[int]: ..."),
    ("attribute_probes", "getattr(a, 'close', None)", "getattr(a, name)"),
    ("late_constants", "def f(): pass\nA = 1\nB = 2\nC = 3", "A = 1\nB = 2\nC = 3\ndef f(): pass"),
    ("idioms_in_comments", '"""What stands here."""', '"""What is here."""'),
    ("idioms_in_comments", "x = 1  # beside y", "x = 1  # next to y"),
    ("idioms_in_messages", "raise ValueError('it stands there alone')", "x = 'stands'"),
]  # fmt: skip


def count_findings(root: Path) -> Counter[str]:
    project = read_project(root)
    rules = [rule for rule in RULES if not rule.imports_package]
    return Counter({rule.name: sum(1 for _ in rule.find(project)) for rule in rules})


def write_module(root: Path, code: str) -> None:
    (root / "src").mkdir(exist_ok=True)
    (root / "src" / "module.py").write_text(code + "\n")


@pytest.mark.parametrize(("rule", "bad", "good"), CASES, ids=[f"{c[0]}-{c[1][:20]}" for c in CASES])
def test_rule_counts_bad_code_only(tmp_path: Path, rule: str, bad: str, good: str) -> None:
    write_module(tmp_path, bad)
    assert count_findings(tmp_path)[rule] == 1
    write_module(tmp_path, good)
    assert count_findings(tmp_path)[rule] == 0


@pytest.mark.parametrize(("n_lines", "count"), [(50, 0), (51, 1)])
def test_long_function_counts_lines_without_docstring(
    tmp_path: Path, n_lines: int, count: int
) -> None:
    body = '    """Return.\n\n    More.\n    """\n' + "    pass\n" * (n_lines - 1)
    write_module(tmp_path, "def f():\n" + body)
    assert count_findings(tmp_path)["long_functions"] == count


def test_documents_without_code_blocks_are_counted(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("It stands beside.\n```\ntold\n```\n")
    (tmp_path / "docs" / "page.md").write_text("You see your score.\n\nNobody reads it.\n")
    (rule,) = [rule for rule in RULES if rule.name == "idioms_in_documents"]
    findings = list(rule.find(read_project(tmp_path)))
    assert [(f.path.name, f.line, f.text) for f in findings] == [
        ("README.md", 1, "stands"), ("README.md", 1, "beside"), ("page.md", 3, "Nobody"),
    ]  # fmt: skip


def test_address_is_a_rate_in_1000_words(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("You see your score.\n")
    assert measure_address(read_project(tmp_path)) == 500.0


def test_old_test_names_are_counted(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    code = "def test_what_is(): ...\ndef test_score_is_one(): ...\ndef what_is(): ...\n"
    (tmp_path / "tests" / "test_x.py").write_text(code)
    assert count_findings(tmp_path)["old_test_names"] == 1


def test_sections_follow_the_signature() -> None:
    def silent() -> None: ...

    def full(text: str) -> int:
        raise ValueError(text)

    assert needed_sections(silent) == []
    assert needed_sections(full) == ["Args", "Returns", "Raises"]
    assert needed_sections(int) == []
    assert as_text(int) == "int"


def test_lower_counts_become_the_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "limits.toml"
    path.write_text("a = 3\n")
    monkeypatch.setattr("checks.__main__.LIMITS", path)
    write_limits({"a": 2, "b": 1.5})
    assert tomllib.loads(path.read_text()) == {"a": 2, "b": 1.5}


def test_every_rule_has_a_limit() -> None:
    limits = tomllib.loads(LIMITS.read_text("utf-8"))
    assert {rule.name for rule in RULES} <= set(limits)


def test_list_shows_places_of_some_files_only() -> None:
    command = [sys.executable, "-m", "checks", "--list", "vague_names", "src/trueground/types.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert all(line.startswith("src/trueground/types.py:") for line in done.stdout.splitlines())
