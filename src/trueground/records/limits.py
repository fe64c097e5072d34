"""The largest row that is read."""

from __future__ import annotations

from trueground.errors import InputError

LARGEST_ROW = 1 << 26


def too_large(place: str) -> InputError:
    """The error for a row that is larger than any row may be."""
    return InputError(
        f"{place}: one record of more than {LARGEST_ROW >> 20} MiB; a quotation mark or a line end "
        "is probably missing there"
    )
