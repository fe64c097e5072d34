"""Texts such as NAME=VALUE."""

from __future__ import annotations

from trueground.errors import UsageError


def split_pair(
    option: str,
    text: str,
    form: str,
    *,
    last: bool = False,
    secret: bool = False,
    allow_empty: bool = False,
) -> tuple[str, str]:
    """Split `NAME=VALUE` at its equals sign; spaces around name and value are dropped.

    Args:
        option: What the text was given to, such as `--prompt`.
        text: The text of the user.
        form: What to write, such as `NAME=FILE`.
        last: Split at the last equals sign: names such as `k_precision(abstain=zero)` have some.
        secret: Keep the value out of the message of the error.
        allow_empty: Accept a pair without a value.

    Raises:
        UsageError: There is no equals sign, no name, or no value.
    """
    name, equals, value = text.rpartition("=") if last else text.partition("=")
    name, value = name.strip(), value.strip()
    if not (equals and name and (value or allow_empty)):
        shown = text.partition("=")[0].strip() if secret else text.strip()
        raise UsageError(f"{option} {shown!r} cannot be read; write {form}")
    return name, value
