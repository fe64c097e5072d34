"""What judges and people said of a build, in words and tables that page and card share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trueground.reports import build_view as view

HOW = ("agreed", "majority", "tie", "open")
_HEAD = ("task", "field", "what they said", "how decided", "decided", "said yes, as needed")
_JUDGE = ("the judge says the same", "Cohen's kappa")
# What a reader may take for a measure of the judge, and is none.
LEFT = (
    "All of these items passed the checks of every stage, so that this tells what kinds of items "
    "are left, and nothing of how good the judge is."
)


def answerable(judged: Mapping[str, Any]) -> str:
    """What a judge said of the items that are left."""
    yes, asked = judged["yes"], judged["asked"]
    return (
        f"Of {view.several(asked, 'item')} that {'is' if asked == 1 else 'are'} left a judge model "
        f"called {yes:,} answerable from the contexts ({view.percent(yes, asked)})."
    )


def labelled(human: Mapping[str, Any]) -> str:
    """How many tasks people labelled during the build."""
    tasks = sum(kind["tasks"] for kind in human["kinds"])
    done = sum(kind["labelled"] for kind in human["kinds"])
    return (
        f"People have labelled {done:,} of {view.several(tasks, 'task')}, those of items among "
        "them that they voted down and that are not in the dataset."
    )


def table(kinds: Sequence[Mapping[str, Any]]) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Head and rows of the table of what people said; columns of the judge where one was asked."""
    fields = [(kind, field) for kind in kinds for field in kind["fields"]]
    judged = any(field["judge"] for _, field in fields)
    rows = [[*_row(kind, field), *(_judge(field) if judged else ())] for kind, field in fields]
    return (*_HEAD, *(_JUDGE if judged else ())), rows


def _row(kind: Mapping[str, Any], field: Mapping[str, Any]) -> list[str]:
    needed = field["confirmed"]
    return [
        kind["kind"],
        field["field"],
        counts(field["values"]),
        how_decided(field["how"]),
        f"{field['decided']:,} of {kind['tasks']:,}",
        "–" if needed is None else view.percent(needed, field["decided"]),
    ]


def _judge(field: Mapping[str, Any]) -> list[str]:
    one = field["judge"]
    if not one:
        return ["–", "–"]
    same = f"{100 * one['raw']:.1f} % of {one['n']:,}"
    return [same, view.kappa(one["kappa"], one["kappa_ci"])]


def how_decided(how: Mapping[str, int]) -> str:
    """ "12 agreed, 3 majority": how labels of several people became one."""
    known = [*HOW, *sorted(set(how) - set(HOW))]
    return ", ".join(f"{how[word]:,} {word}" for word in known if how.get(word))


def counts(values: Mapping[str, int]) -> str:
    """ "no 3, yes 12": how often each value was given."""
    return ", ".join(f"{value or '(none)'} {n:,}" for value, n in values.items())
