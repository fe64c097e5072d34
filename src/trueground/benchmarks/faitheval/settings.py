"""What is asked, from the options: which combinations can be meant, and what `auto` stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trueground.benchmarks.base import Value
from trueground.errors import UsageError
from trueground.models.base import Params

_SCHEMES = {
    "direct": Params(temperature=0.0),
    "cot": Params(temperature=0.0),
    "sampling": Params(temperature=0.3, top_p=0.9),
}
# The options that only some tasks have a use for, and the value that says nothing.
_SPECIAL: dict[str, tuple[Value, str]] = {
    "documents": ("both", "inconsistent"),
    "of": ("unanswerable", "original"),
    "closed-book": (False, "original"),
    "only-phrase-filtered": ("off", "counterfactual"),
}


@dataclass(frozen=True)
class FaithEvalSettings:
    """A task with its options settled; `of` is the task whose questions are asked."""

    task: str
    of: str
    scheme: str
    instruction: bool
    documents: str
    closed_book: bool
    phrases: str
    original: Path | None

    @property
    def params(self) -> Params:
        """What the scheme asks of the model (section 3.3)."""
        return _SCHEMES[self.scheme]

    @property
    def choices(self) -> bool:
        """Multiple choice, not an open question."""
        return self.of == "counterfactual"

    @property
    def single(self) -> bool:
        """One of the two inconsistent documents alone."""
        return self.documents != "both"

    @property
    def options(self) -> dict[str, Value]:
        """The options that fix the questions; the file of originals is named by its checksum."""
        found: dict[str, Value] = {
            "scheme": self.scheme,
            "task-instruction": "on" if self.instruction else "off",
        }
        if self.task == "inconsistent":
            found["documents"] = self.documents
        elif self.task == "original":
            found |= {"of": self.of, "closed-book": self.closed_book}
        elif self.task == "counterfactual":
            found["only-phrase-filtered"] = self.phrases
        return found


def read_settings(task: str, options: Mapping[str, Value]) -> FaithEvalSettings:
    """The settings of a task; UsageError for options that it has no use for, or that miss one."""
    for name, (silent, owner) in _SPECIAL.items():
        if task != owner and options[name] != silent:
            raise UsageError(
                f"--{name} is for the task {owner}, not for {task}; "
                f"run faitheval/{owner}, or leave the option out"
            )
    documents, closed_book = str(options["documents"]), bool(options["closed-book"])
    of = str(options["of"]) if task == "original" else task
    original = Path(str(options["original"])) if options["original"] is not None else None
    if task == "original":
        _check_original(of, closed_book)
    elif original is not None and documents == "both":
        raise UsageError(
            "--original is for the task original, and for inconsistent with --documents original "
            f"or new; faitheval/{task} has no use for it here"
        )
    return FaithEvalSettings(
        task=task,
        of=of,
        scheme=str(options["scheme"]),
        instruction=_instruction(task, of, documents, str(options["task-instruction"])),
        documents=documents,
        closed_book=closed_book,
        phrases=str(options["only-phrase-filtered"]),
        original=original,
    )


def _check_original(of: str, closed_book: bool) -> None:
    if of == "counterfactual" and not closed_book:
        raise UsageError(
            "the questions of counterfactual come from ARC-Challenge, which has no contexts: "
            "there is no original context to ask with. Add --closed-book to ask without one, "
            "scored by the original key"
        )
    if closed_book and of != "counterfactual":
        raise UsageError(
            f"--closed-book is for --of counterfactual; the questions of {of} cannot be answered "
            "without their context"
        )


def _instruction(task: str, of: str, documents: str, wanted: str) -> bool:
    """Whether "unknown" or "conflict" is offered (sections 3.3 and 5)."""
    if wanted == "auto":
        return task in ("unanswerable", "inconsistent") and documents == "both"
    if wanted == "on" and of == "counterfactual":
        raise UsageError(
            "the paper has no task instruction for counterfactual; leave --task-instruction out"
        )
    return wanted == "on"
