"""summary.json and manifest.json of a build → what its page and its data card tell alike.

Nothing here tells a time, a cost or a folder of this machine beyond the sources as they were named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from trueground.reports.blocks import several

LENGTHS = {
    "question": "words of a question",
    "contexts": "words of all contexts of an item",
    "answer": "words of an answer",
    "contexts_per_item": "contexts of an item",
}
DOUBLES = {
    "both": "the same question with the same contexts",
    "question": "the same question",
    "contexts": "the same contexts",
    "near_question": "nearly the same question",
}
SIZES = {
    "items": "items",
    "questions_distinct": "different questions",
    "contexts": "contexts",
    "contexts_distinct": "different contexts",
    "answers": "answers",
    "words": "words in questions and contexts",
}
# What a reader may take for a measure of the judge, and is none.
LEFT = (
    "All of these items passed the checks of every stage, so that this tells what kinds of items "
    "are left, and nothing of how good the judge is."
)
_HOW = ("agreed", "majority", "tie", "open")
_HEAD = ("task", "field", "what they said", "how decided", "decided", "said yes, as needed")
_JUDGE = ("the judge says the same", "Cohen's kappa")
# Of thousands of source files page and card show the first; manifest.json has all.
MOST_SOURCES = 50
# Models that are called by a file or a folder.
_FILES = ("fake", "replay", "hf")


def title(summary: Mapping[str, Any]) -> str:
    """What the page is about."""
    return f"Built benchmark: {summary['builder']}"


def models(manifest: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(role, name, how it was asked) of every model."""
    found = []
    for role, model in (manifest.get("models") or {}).items():
        params = (model.get("params") or {}).items()
        said = ", ".join(f"{key} {v}" for key, v in params if v not in (None, "", [], {}))
        found.append((role, shown_model(str(model.get("name", ""))), said))
    return found


def shown_model(name: str) -> str:
    """A model's name without the folders of this machine, where it is one of a file or folder."""
    kind, colon, rest = name.partition(":")
    if not colon or kind not in _FILES:
        return name
    at = "@" if rest.startswith("@") else ""
    if kind == "fake" and not at:
        return name
    if kind == "hf" and not PurePath(rest).is_absolute():
        return name  # a name at the hub
    path = rest.removeprefix("@")
    return f"{kind}:{at}{PurePath(path).name or path}"


def sources(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(path as it was given, checksum) of every file that was read."""
    return [
        (str(one.get("path", "")), str(one.get("sha256") or ""))
        for one in manifest.get("inputs") or ()
    ]


def settings(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The options that change what comes out, the seed and the limit."""
    found = {**(manifest.get("options") or {}), "seed": manifest.get("seed")}
    if manifest.get("limit") is not None:
        found["limit"] = manifest["limit"]
    return [(name, _said(value)) for name, value in found.items()]


def _said(value: object) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def left_out(summary: Mapping[str, Any]) -> list[str]:
    """What a limit has left unread, in a sentence; nothing without one."""
    n = summary.get("left_out") or 0
    return [f"The limit left out {several(n, 'source item')}."] if n else []


def command(summary: Mapping[str, Any]) -> str:
    """The command that takes the dataset, from within the folder of the build."""
    return str(summary["run"]).replace("{dataset}", "dataset")


def spreads(quality: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """(words, spread) of all that was measured: lengths, numbers of the builder."""
    lengths = [(LENGTHS[key], quality["lengths"][key]) for key in LENGTHS]
    return [(said, one) for said, one in [*lengths, *quality["numbers"].items()] if one]


def doubles(quality: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """(words, account) of each way of being there twice."""
    return [(words, quality["duplicates"][key]) for key, words in DOUBLES.items()]


def sizes(quality: Mapping[str, Any]) -> list[tuple[str, int]]:
    """(words, number) of what there is."""
    return [(words, quality["sizes"][key]) for key, words in SIZES.items()]


def amount(value: float) -> str:
    """A number for people: whole ones as they are, others with up to four digits."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"


def percent(part: float, whole: float) -> str:
    """A share in percent; a dash of nothing."""
    return f"{100 * part / whole:.1f} %" if whole else "–"


def kappa(value: float | None, ends: Sequence[float] | None = None) -> str:
    """A statistic of agreement with its interval; what is undefined is said to be."""
    if value is None:
        return "undefined"
    low_high = f" ({_four(ends[0])} … {_four(ends[1])})" if ends else ""
    return _four(value) + low_high


def _four(value: float) -> str:
    """Four digits; what rounds to nothing has no sign."""
    return f"{round(value, 4) + 0.0:.4f}"


def answerable(judged: Mapping[str, Any]) -> str:
    """What a judge said of the items that are left."""
    yes, asked = judged["yes"], judged["asked"]
    return (
        f"Of {several(asked, 'item')} that {'is' if asked == 1 else 'are'} left a judge model "
        f"called {yes:,} answerable from the contexts ({percent(yes, asked)})."
    )


def labelled(human: Mapping[str, Any]) -> str:
    """How many tasks people labelled during the build."""
    tasks = sum(kind["tasks"] for kind in human["kinds"])
    done = sum(kind["labelled"] for kind in human["kinds"])
    return (
        f"People have labelled {done:,} of {several(tasks, 'task')}, those of items among "
        "them that they voted down and that are not in the dataset."
    )


def labels_table(
    kinds: Sequence[Mapping[str, Any]],
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
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
        "–" if needed is None else percent(needed, field["decided"]),
    ]


def _judge(field: Mapping[str, Any]) -> list[str]:
    one = field["judge"]
    if not one:
        return ["–", "–"]
    same = f"{100 * one['raw']:.1f} % of {one['n']:,}"
    return [same, kappa(one["kappa"], one["kappa_ci"])]


def how_decided(how: Mapping[str, int]) -> str:
    """ "12 agreed, 3 majority": how labels of several people became one."""
    known = [*_HOW, *sorted(set(how) - set(_HOW))]
    return ", ".join(f"{how[word]:,} {word}" for word in known if how.get(word))


def counts(values: Mapping[str, int]) -> str:
    """ "no 3, yes 12": how often each value was given."""
    return ", ".join(f"{value or '(none)'} {n:,}" for value, n in values.items())
