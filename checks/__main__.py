"""Compare what the rules count with limits.toml: `python -m checks`.

A count above its limit fails. A count below it lowers the limit in the file, so counts only fall.
`--list RULE` shows each place, `--list RULE PATH …` those in some files or folders.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from pathlib import Path

from checks.project import ROOT, Finding, read_project
from checks.prose import measure_address
from checks.rules import RULES

LIMITS = Path(__file__).parent / "limits.toml"
MIN_ADDRESS = "min_you_per_1000_words"
HEADER = """\
# What `python -m checks` counted: a count may only fall, the last one only rise.
"""


def main() -> int:
    """Run the command; 1 if a count is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m checks")
    parser.add_argument("--list", metavar="RULE", choices=[rule.name for rule in RULES])
    parser.add_argument("paths", nargs="*", type=Path)
    arguments = parser.parse_args()
    if arguments.list:
        list_findings(arguments.list, arguments.paths)
        return 0
    return compare()


def list_findings(name: str, paths: list[Path]) -> None:
    """Print the places that one rule counts."""
    (rule,) = [rule for rule in RULES if rule.name == name]
    folders = [path.resolve() for path in paths]
    for finding in rule.find(read_project()):
        path = finding.path.resolve()
        if not folders or any(path.is_relative_to(folder) for folder in folders):
            print(format_finding(finding))


def format_finding(finding: Finding) -> str:
    """Return a place as editors read it."""
    path = finding.path.resolve()
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    return f"{shown}:{finding.line}: {finding.text}"


def compare() -> int:
    """Print counts, limits and goals; lower the limits that can be lowered."""
    limits = tomllib.loads(LIMITS.read_text("utf-8"))
    project = read_project()
    counts: dict[str, float] = {}
    failed = []
    for rule in RULES:
        counts[rule.name] = sum(1 for _ in rule.find(project))
        limit = limits.get(rule.name, counts[rule.name])
        print(f"{rule.name:24}{counts[rule.name]:>7,}  limit {limit:>7,}  goal {rule.goal:>5,}")
        if counts[rule.name] > limit:
            failed.append(rule.name)
    counts[MIN_ADDRESS] = measure_address(project)
    minimum = limits.get(MIN_ADDRESS, counts[MIN_ADDRESS])
    print(f"{MIN_ADDRESS:24}{counts[MIN_ADDRESS]:>7}  limit {minimum:>7}  goal     8")
    for name in failed:
        print(f"{name}: worse than the limit; `python -m checks --list {name}` shows each place")
    is_distant = counts[MIN_ADDRESS] < minimum
    if is_distant:
        print(f'{MIN_ADDRESS}: below the limit; say "you" in the documents that you changed')
    if failed or is_distant:
        return 1
    write_limits(counts)
    return 0


def write_limits(counts: dict[str, float]) -> None:
    """Write the counts as the new limits, if they differ."""
    text = HEADER + "".join(f"{name} = {count}\n" for name, count in counts.items())
    if text != LIMITS.read_text("utf-8"):
        LIMITS.write_text(text, "utf-8")


if __name__ == "__main__":
    sys.exit(main())
