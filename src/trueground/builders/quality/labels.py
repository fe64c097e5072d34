"""What people said of a build's tasks, in numbers; how far they and a judge agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from trueground.annotation.base import AnnotationTask, Label
from trueground.annotation.kinds import KINDS

_YES_NO = frozenset(("yes", "no"))
# A field with more different values than this holds texts: their number is told, not they.
_MOST_VALUES = 12
Judged = Mapping[str, Mapping[str, str]]  # task id → field → what a judge said


def tell(
    tasks: Iterable[AnnotationTask], labels: Mapping[str, Mapping[str, Label]], judged: Judged
) -> Any:
    """An account for each kind of task that has labels.

    `labels` are by kind and task id. [{"kind", "tasks", "labelled", "annotators": {"3": 12},
    "fields": [{"field", "decided", "values", "how", "confirmed", "judge"}]}]; `confirmed` counts
    the yes of fields that must be yes, None for others; `judge` tells of the tasks that a judge
    answered too {"n", "raw", "kappa", "kappa_ci"}, None where there are none.
    """
    ids: dict[str, list[str]] = {}
    for task in tasks:
        ids.setdefault(task.kind, []).append(task.id)
    kinds = []
    for kind, mine in ids.items():
        found = {id_: labels[kind][id_] for id_ in mine if id_ in labels.get(kind, {})}
        if found:
            kinds.append(_kind(kind, len(mine), found, judged))
    return kinds


def _kind(kind: str, tasks: int, labels: Mapping[str, Label], judged: Judged) -> dict[str, Any]:
    fields = sorted({name for one in labels.values() for name in (*one.values, *one.how)})
    people = Counter(str(one.annotators) for one in labels.values() if one.annotators)
    return {
        "kind": kind,
        "tasks": tasks,
        "labelled": len(labels),
        "annotators": dict(sorted(people.items())),
        "fields": [_field(kind, name, labels, judged) for name in fields],
    }


def _field(kind: str, name: str, labels: Mapping[str, Label], judged: Judged) -> dict[str, Any]:
    values = Counter(_said(one.values[name]) for one in labels.values() if name in one.values)
    few = len(values) <= _MOST_VALUES
    how = Counter(one.how[name] for one in labels.values() if name in one.how)
    needed = kind in KINDS and name in KINDS[kind].keeps
    return {
        "field": name,
        "decided": values.total(),
        "values": dict(sorted(values.items())) if few else {"different answers": len(values)},
        "how": dict(sorted(how.items())),
        "confirmed": values["yes"] if needed else None,
        "judge": _against_judge(name, labels, judged),
    }


def _against_judge(name: str, labels: Mapping[str, Label], judged: Judged) -> dict[str, Any] | None:
    both = [
        (judged[id_][name], _said(label.values[name]))
        for id_, label in labels.items()
        if name in label.values and name in judged.get(id_, {})
    ]
    pairs = [(one == "yes", other == "yes") for one, other in both if {one, other} <= _YES_NO]
    if not pairs:
        return None
    from trueground.stats.agreement import two_judges

    found = two_judges(pairs)
    ends = found["kappa_ci"]
    return {
        "n": found["n"],
        "raw": found["agree"],
        "kappa": found["kappa"],
        "kappa_ci": list(ends) if ends else None,
    }


def _said(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
