"""The rules, each with what it counts and the count to reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from checks import code, docstrings, prose, testing
from checks.project import Finding, Project


class Rule(NamedTuple):
    """One thing that is counted.

    Attributes:
        name: Key in limits.toml.
        goal: The largest count that the style guide accepts.
        find: Yields the places.
        imports_package: Whether it looks at the installed package, not at the files of a project.
    """

    name: str
    goal: int
    find: Callable[[Project], Iterator[Finding]]
    imports_package: bool = False


RULES = (
    Rule("vague_names", 400, code.find_vague_names),
    Rule("hard_comprehensions", 150, code.find_hard_comprehensions),
    Rule("inner_walruses", 10, code.find_inner_walruses),
    Rule("nested_conditionals", 0, code.find_nested_conditionals),
    Rule("conditional_texts", 0, code.find_conditional_texts),
    Rule("long_functions", 15, code.find_long_functions),
    Rule("wide_functions", 20, code.find_wide_functions),
    Rule("long_return_tuples", 0, code.find_long_return_tuples),
    Rule("late_constants", 8, code.find_late_constants),
    Rule("attribute_probes", 10, code.find_attribute_probes),
    Rule("idioms_in_documents", 20, prose.find_idioms_in_documents),
    Rule("idioms_in_comments", 50, prose.find_idioms_in_comments),
    Rule("idioms_in_messages", 50, prose.find_idioms_in_messages),
    Rule("missing_sections", 0, docstrings.find_missing_sections, imports_package=True),
    Rule("missing_examples", 20, docstrings.find_missing_examples, imports_package=True),
    Rule("any_in_signatures", 0, docstrings.find_any, imports_package=True),
    Rule("old_test_names", 20, testing.find_old_test_names),
)
