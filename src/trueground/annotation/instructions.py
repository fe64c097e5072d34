"""What annotators are told of a kind of task, as Markdown."""

from __future__ import annotations

from trueground.annotation.base import TaskKind
from trueground.annotation.values import NONE


def instructions_of(kind: TaskKind) -> str:
    """The page of instructions: what is shown, and what may be filled in."""
    shown = "\n".join(
        f"- `{name}`: {words}{' (may be empty)' if name in kind.optional else ''}"
        for name, words in kind.shows.items()
    )
    fields = "\n".join(f"- `{field.name}`: {field.doc}" for field in kind.fields)
    sets = any(field.form == "choices" for field in kind.fields)
    return f"""# {kind.name}: {kind.doc}

{kind.instructions}
## What you see

{shown}

## What you fill in

{fields}
- `seconds`: how long the task took you, if you know
- `comment`: anything that was hard to decide

In a `.jsonl` file replace the `null` in `answer`; `options` says what may stand there. Several
values are a list: `["1", "3"]`, and `[]` for none. In a spreadsheet write into the empty cells; the
first row says what may stand there.{_several() if sets else ""}
Change nothing else: the other cells are checked. Leave a task empty if you have not done it.
Save a spreadsheet as "CSV UTF-8". You may put your name in place of the number in `annotator`, in
all rows.

After: {kind.source}
"""


def _several() -> str:
    return f" Numbers or words go with spaces between them: `1 3`; `{NONE}` if none applies."
