"""A benchmark's tasks under several values of its options: what a sweep asks, and under which name.

An option that a benchmark declares as varied may be given several times. Every combination of the
values is a task of its own, so that one command compares settings, instructions or retrievers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from trueground.benchmarks.base import Benchmark, Sources, Task, Value
from trueground.errors import UsageError
from trueground.reports.leaderboard.prompt_names import DEFAULT
from trueground.runs.directory import safe_name

_PROMPT = "prompt"  # the common option that may be given several times
Given = Mapping[str, Value | Sequence[str]]


@dataclass(frozen=True)
class Variant:
    """A task with its options settled.

    `folder` tells it from the others, "" where it is alone; `label` says in words which one it is:
    the task, and the options and prompts that differ ("specific, remove=1").
    """

    folder: str
    task: Task
    label: str


def variants(
    benchmark: Benchmark,
    tasks: Sequence[str],
    options: Given,
    sources: Sources,
    prompts: Sequence[str] = (),
) -> list[Variant]:
    """Every task with every combination of the varied options and prompts, each different one once.

    `prompts` are files, and `default` for the benchmark's own; without any, `sources` names it.

    An option may have no say beside another one (a retriever where nothing is retrieved): then the
    first of the equal tasks stands for all. `options` has a list where an option was given several
    times. UsageError: one value twice, and whatever `prepare` raises.
    """
    several = {
        option.name: _values(option.name, options[option.name], option.default)
        for option in benchmark.options
        if option.varied and option.name in options
    }
    if prompts:
        several[_PROMPT] = _values(_PROMPT, prompts, None)
    names = {name: folders(_shown(name, values)) for name, values in several.items()}
    found: list[Variant] = []
    # For each value of an option, whatever the others, which task stands for it.
    standing: dict[tuple[str, int], list[int]] = {}
    for task in tasks:
        for places in product(*(range(len(values)) for values in several.values())):
            chosen = dict(zip(several, places, strict=True))
            single = {name: several[name][place] for name, place in chosen.items()}
            told = [names[name][place] for name, place in chosen.items() if len(names[name]) > 1]
            words = [safe_name(task)] * (len(tasks) > 1) + told
            own, prompt = {**options, **single}, sources
            if prompts:
                prompt = replace(sources, prompt=prompt_path(str(own.pop(_PROMPT))))
            prepared = benchmark.prepare(task, own, prompt)  # type: ignore[arg-type]
            same = [at for at, one in enumerate(found) if _same(prepared, one.task)]
            if not same:
                differ = [
                    f"{n}={names[n][chosen[n]] if n == _PROMPT else single[n]}"
                    for n in several
                    if len(several[n]) > 1
                ]
                found.append(Variant("-".join(words), prepared, ", ".join([task, *differ])))
            for value in chosen.items():
                standing.setdefault(value, []).append(same[0] if same else len(found) - 1)
    _tell(several, standing, found, sources)
    return found


def prompt_path(given: str) -> Path | None:
    """The prompt file; None for `default`, the benchmark's own. Such a file is `./default`."""
    return None if given == DEFAULT else Path(given)


def _shown(name: str, values: Sequence[Value]) -> list[str]:
    """What the values of an option are called; prompts by the names of their files."""
    return [Path(str(v)).stem if name == _PROMPT else str(v) for v in values]


def _tell(
    several: Mapping[str, Sequence[Value]],
    standing: Mapping[tuple[str, int], Sequence[int]],
    found: Sequence[Variant],
    sources: Sources,
) -> None:
    """Note values that are the same in all that is asked, and options without any effect."""
    for name, values in several.items():
        alike: dict[tuple[int, ...], list[str]] = {}
        for place, value in enumerate(values):
            alike.setdefault(tuple(standing[name, place]), []).append(str(value))
        for equal in alike.values():
            if len(equal) > 1:
                sources.note(
                    f"--{name}: {' and '.join(equal)} ask the same here; one run stands for them"
                )
    first = found[0].task.unused if found else ()
    if idle := [n for n in first if all(n in one.task.unused for one in found)]:
        given = ", ".join(f"--{name}" for name in idle)
        sources.note(f"without effect on what is asked here: {given}")


def _same(a: Task, b: Task) -> bool:
    return (a.name, a.options, a.prompts) == (b.name, b.options, b.prompts)


def _values(name: str, given: Value | Sequence[str], default: Value) -> list[Value]:
    one = given is None or isinstance(given, str | bool)
    values: list[Value] = [given] if one else [*given]  # type: ignore[list-item, misc]
    if twice := [value for value in values if values.count(value) > 1]:
        raise UsageError(f"--{name} {twice[0]} is given twice; give each value once")
    return values or [default]


def folders(names: Iterable[str]) -> list[str]:
    """A folder name for each name, different ones for different names."""
    found: list[str] = []
    for name in names:
        folder = safe_name(name)
        number = 2
        while folder in found:
            folder, number = f"{safe_name(name)}-{number}", number + 1
        found.append(folder)
    return found
