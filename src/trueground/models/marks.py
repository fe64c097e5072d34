"""Lines around a text that is judged, which the text itself cannot forge.

The lines carry a mark: a hash of what stands between them. So the same texts always make the same
prompt, which can be cached, and no text can hold the mark of the prompt that it stands in.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from hashlib import sha256

_LENGTH = 12


def mark_for(texts: Sequence[str], others: Sequence[str] = ()) -> str:
    """A mark of 12 hexadecimal digits that stands in none of `texts` and `others`.

    It depends on `texts` alone, unless one of all holds it: then on the next hash. So prompts with
    the same texts begin alike, which endpoints that keep beginnings make use of.
    """
    words = "\0".join(f"{len(text)}:{text}" for text in texts)
    for turn in range(1_000_000):
        mark = sha256(f"{turn}\0{words}".encode("utf-8", "replace")).hexdigest()[:_LENGTH]
        if not any(mark in text.lower() for text in (*texts, *others)):
            return mark
    raise AssertionError("a text holds a million hashes of itself")


def block(name: str, text: str, mark: str) -> str:
    """The text between two lines that name it and bear the mark."""
    return f"=== BEGIN {name} {mark} ===\n{text}\n=== END {name} {mark} ==="


def blocks(name: str, texts: Sequence[str], mark: str) -> str:
    """Several texts, numbered; a single one has no number."""
    if len(texts) == 1:
        return block(name, texts[0], mark)
    return "\n\n".join(
        block(f"{name} {number} OF {len(texts)}", text, mark)
        for number, text in enumerate(texts, 1)
    )


def marked_places(
    mark: str, texts: Mapping[str, str | Sequence[str]], *, keep: Container[str] = ()
) -> dict[str, str]:
    """What a prompt's places hold: {mark}, and for each text {name} in marked lines and
    {plain_name} as it is. A blank text, or no text of several, has no lines unless it is in `keep`.
    """
    places = {"mark": mark}
    for name, text in texts.items():
        parts = [text] if isinstance(text, str) else text
        shown = name in keep or (bool(text.strip()) if isinstance(text, str) else bool(parts))
        places[name] = blocks(name.upper(), parts, mark) if shown else ""
        places[f"plain_{name}"] = "\n".join(parts)
    return places
