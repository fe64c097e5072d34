"""What no made text may hold: characters that nobody sees, marks of the prompt."""

from __future__ import annotations

import re

from trueground.builders.rows import ODD

REASONS = {
    "control_characters": "the text holds control characters, or broken letters",
    "echo": "the text repeats marks of the prompt",
}
# Those that turn the direction of writing around, and tags; not those that join letters.
_UNSEEN = re.compile(r"[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_MARK = re.compile(r"={3,}\s*(?:BEGIN|END)\b")


def odd_form(text: str, original: str) -> tuple[str, str] | None:
    """(one of REASONS, what was found); None where the text holds nothing odd.

    What the original, or the material that was shown, has too is no fault of the text.
    """
    for pattern in (ODD, _UNSEEN):
        for found in pattern.finditer(text):
            if found[0] not in original:
                place = f"U+{ord(found[0]):04X} at character {found.start() + 1}"
                return "control_characters", f"found {place}"
    mark = _MARK.search(text)
    if mark and not _MARK.search(original):
        return "echo", f"found {mark[0]!r}"
    return None
