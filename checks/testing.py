"""Rules for tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from checks.code import FUNCTIONS, make_finding
from checks.project import Finding, Project

_OLD_TEST_NAME = re.compile(r"^test_what_|cannot_be_meant|_told|nobody|somebody")


def find_old_test_names(project: Project) -> Iterator[Finding]:
    """Yield tests whose names don't say unit, condition and expected result."""
    for module in project.tests:
        for node in ast.walk(module.tree):
            if isinstance(node, FUNCTIONS) and is_old_test_name(node.name):
                yield make_finding(module, node, node.name)


def is_old_test_name(name: str) -> bool:
    """Whether a function is a test with a name of the old kind."""
    return name.startswith("test_") and _OLD_TEST_NAME.search(name) is not None
