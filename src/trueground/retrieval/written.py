"""What a user writes of a retriever that is put together from others."""

from __future__ import annotations

import re

from trueground.errors import UsageError
from trueground.plugins import PartSpec, mask_quoted

_PLUS = re.compile(r"\s\+\s")
# A name, with or without options, and a + right behind it: no retriever is so called.
_TIGHT = re.compile(r"[A-Za-z_][\w-]*\s*(?:\([^()]*\))?\s*\+")


def parts_of(given: PartSpec, example: str) -> list[str]:
    """What it is put together from: its model, split at each ` + ` outside quotes and parentheses.

    UsageError where nothing is named.
    """
    if given.model is None:
        raise UsageError(
            f"the retriever {given.name} is put together from others, and none is named; write "
            f'{given.name}:"{example}"'
        )
    ends = [match.span() for match in _PLUS.finditer(mask_quoted(given.model))]
    cuts = zip([0, *(end for _, end in ends)], [*(at for at, _ in ends), None], strict=True)
    parts = [given.model[start:end].strip() for start, end in cuts]
    if not all(parts):
        raise UsageError(
            f"the retriever {given.name}: found nothing on one side of a + in {given.model!r}; "
            f'write {given.name}:"{example}"'
        )
    if tight := [part for part in parts if _TIGHT.match(part)]:
        raise UsageError(
            f"the retriever {given.name}: found {tight[0]!r}; expected a blank on each side of the "
            f'+ between two retrievers; write {given.name}:"{example}"'
        )
    return parts
