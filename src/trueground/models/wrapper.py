"""Messages as one text, for models without a chat template.

A wrapper is a text with the places {user} and {system}; braces elsewhere are text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from trueground.errors import UsageError
from trueground.models.base import Message

_PLACE = re.compile(r"\{(system|user)\}")


def lay_out(messages: Sequence[Message], wrapper: str | None) -> str:
    """The messages in the wrapper; without one: system text, empty line, user text, newline.

    A conversation of several turns names the speaker of each. A system text for which the wrapper
    has no place stands before the user's.
    """
    system = "\n\n".join(m.content for m in messages if m.role == "system")
    turns = [m for m in messages if m.role != "system"]
    if len(turns) == 1:
        user = turns[0].content
    else:
        user = "\n\n".join(f"{m.role.capitalize()}: {m.content}" for m in turns)
    if wrapper is None or "{system}" not in wrapper:
        user = f"{system}\n\n{user}" if system else user
    if wrapper is None:
        return f"{user}\n"
    # In one pass: a text that itself holds "{user}" must stay as it is.
    return _PLACE.sub(lambda place: system if place[1] == "system" else user, wrapper)


def read_wrapper(path: Path) -> str:
    """The wrapper in a file. Raises UsageError."""
    try:
        wrapper = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"the prompt wrapper {path} cannot be read: {error.strerror or error}; give the path "
            "of a text file"
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"the prompt wrapper {path} is not UTF-8 (byte {error.start}); save it as UTF-8 text"
        ) from error
    if "{user}" not in wrapper:
        raise UsageError(
            f"the prompt wrapper {path} has no place {{user}}; write {{user}} where the question "
            "goes, and {system} where instructions go, if anywhere"
        )
    return wrapper
