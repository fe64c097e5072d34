"""What is asked, from the options: which combinations can be meant, and what the defaults are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trueground.benchmarks.base import Value
from trueground.benchmarks.values import number_of, path_of, text_of
from trueground.errors import UsageError
from trueground.models.base import Params

MAX_TOKENS = 1024
TEMPERATURE = 0.5  # section 5
KNOWLEDGE = ("given", "gold", "linked")
NO_DEMONSTRATION = "none"
REMOVE_FROM = ("later", "all")
PEOPLE = ("human", "Q5")  # section 3.1
ANY_TYPE = "any"
_HOTTEST = 2.0


@dataclass(frozen=True)
class KalmaSettings:
    """A task with its options read; None where the user has said nothing.

    `knowledge` is what the model is shown: "given", "gold" or "linked". `types` are names or ids of
    classes of which a linked entity must have one, none where it may be anything. `accuracy` is in
    percent.
    """

    task: str
    knowledge: str
    graph: str | None
    recognizer: str
    types: tuple[str, ...]
    minimum: Path | None
    first_round: Path | None
    synthetic: int | None
    minimum_seed: int
    remove: int | None
    remove_from: str
    accuracy: int | None
    replace_seed: int
    temperature: float | None
    demonstration: str | None
    rated: int
    rated_seed: int

    @property
    def own(self) -> bool:
        """Whether the questions are the user's."""
        return self.task == "questions"

    @property
    def asks_graph(self) -> bool:
        """Whether a knowledge graph is asked: one that the user names, or that of all the data."""
        return self.knowledge == "linked" or self.graph is not None

    @property
    def params(self) -> Params:
        """What is asked of the model."""
        at = TEMPERATURE if self.temperature is None else self.temperature
        return Params(temperature=at, max_tokens=MAX_TOKENS)


def read_settings(task: str, options: Mapping[str, Value]) -> KalmaSettings:
    """The settings of a task; UsageError for values that cannot be meant, alone or together."""
    _check_together(options)
    accuracy = number_of(options, "retrieval-accuracy", 0)
    if accuracy is not None and accuracy > 100:
        raise UsageError(f"--retrieval-accuracy {accuracy}: expected a percentage, 0 to 100")
    return KalmaSettings(
        task=task,
        knowledge=_knowledge(options),
        graph=text_of(options, "graph"),
        recognizer=text_of(options, "recognizer") or "dictionary",
        types=_types(task, options),
        minimum=path_of(options, "minimum"),
        first_round=path_of(options, "first-round"),
        synthetic=number_of(options, "synthetic-minimum", 1),
        minimum_seed=number_of(options, "minimum-seed", 0) or 0,
        remove=number_of(options, "remove", 0),
        remove_from=_remove_from(options),
        accuracy=accuracy,
        replace_seed=number_of(options, "replace-seed", 0) or 0,
        temperature=_temperature(options),
        demonstration=text_of(options, "demonstration"),
        rated=number_of(options, "rated", 0) or 0,
        rated_seed=number_of(options, "rated-seed", 0) or 0,
    )


# Options that mean something only beside others.
_NEEDED = {
    "first-round": ("minimum",),
    "remove-from": ("remove", "first-round"),
    "minimum-seed": ("synthetic-minimum",),
    "replace-seed": ("retrieval-accuracy",),
    "rated-seed": ("rated",),
}
_APART = (
    ("minimum", "synthetic-minimum", "take the sets of a file, or draw them"),
    ("remove", "retrieval-accuracy", "study one at a time"),
)


def _check_together(options: Mapping[str, Value]) -> None:
    for name, others in _NEEDED.items():
        for other in others:
            if options[name] is not None and options[other] is None:
                raise UsageError(f"--{name} is for --{other}; give that too, or leave it out")
    for one, other, hint in _APART:
        if options[one] is not None and options[other] is not None:
            raise UsageError(f"--{one} and --{other} exclude each other; {hint}")


def _remove_from(options: Mapping[str, Value]) -> str:
    told = text_of(options, "remove-from") or REMOVE_FROM[0]
    if told not in REMOVE_FROM:
        raise UsageError(f"--remove-from {told}: expected one of {', '.join(REMOVE_FROM)}")
    return told


def _knowledge(options: Mapping[str, Value]) -> str:
    told = text_of(options, "knowledge")
    if told is not None and told not in KNOWLEDGE:
        raise UsageError(f"--knowledge {told}: expected one of {', '.join(KNOWLEDGE)}")
    for name in ("remove", "retrieval-accuracy"):
        if options[name] is not None:
            if told not in (None, "gold"):
                raise UsageError(
                    f"--{name} starts from the gold graphs; leave --knowledge {told} out"
                )
            told = "gold"
    told = told or "given"
    if options["graph"] is not None and told == "given":
        raise UsageError(
            "--graph is for --knowledge gold or linked; --knowledge given takes the graphs that "
            "come with the questions"
        )
    for name in ("recognizer", "types"):
        if options[name] is not None and told != "linked":
            raise UsageError(
                f"--{name} is for --knowledge linked; it finds nothing with --knowledge {told}"
            )
    return told


def _types(task: str, options: Mapping[str, Value]) -> tuple[str, ...]:
    """The classes named, or that of people for the published questions, which are about them."""
    text = text_of(options, "types")
    if text is None:
        return () if task == "questions" else PEOPLE
    named = tuple(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))
    if not named:
        raise UsageError(f"--types {text}: expected classes with commas between, or {ANY_TYPE}")
    return () if named == (ANY_TYPE,) else named


def _temperature(options: Mapping[str, Value]) -> float | None:
    text = text_of(options, "at-temperature")
    if text is None:
        return None
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found <= _HOTTEST:
        raise UsageError(
            f"--at-temperature {text}: expected a number from 0 to {_HOTTEST:g}, such as 0.5"
        )
    return found + 0.0
