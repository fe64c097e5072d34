"""What several kinds have: a field that is answered yes or no."""

from __future__ import annotations

from trueground.annotation.base import Field

YES_NO = ("yes", "no")


def yes_no(name: str, doc: str, when: tuple[str, str] | None = None) -> Field:
    """A field with the options yes and no."""
    return Field(name, doc, "choice", YES_NO, when=when)
