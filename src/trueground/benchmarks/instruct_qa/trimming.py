"""What of a reply is scored, where a model does not stop by itself."""

from __future__ import annotations

from collections.abc import Callable

# With these a line begins another turn, question or passage; the last two only behind an answer.
_BEGINNINGS = ("user:", "User:", "assistant:", "- Title:", "Question:")
_ANSWERS = ("Agent:", "Answer:")


def trimmer(name: str) -> Callable[[str], str] | None:
    """The function of `--post-process`; None leaves replies as they are."""
    return {"first-line": first_line, "turns": own_turn}.get(name)


def first_line(reply: str) -> str:
    """The first line behind leading line breaks."""
    return reply.lstrip("\n").partition("\n")[0]


def own_turn(reply: str) -> str:
    """The lines that are not blank, up to one that begins another turn, question or passage."""
    kept: list[str] = []
    for line in filter(str.strip, reply.split("\n")):
        if line.startswith(_BEGINNINGS) or (kept and line.startswith(_ANSWERS)):
            break
        kept.append(line)
    return "\n".join(kept)
