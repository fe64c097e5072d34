"""How a model is reached and loaded; the fields are options of `trueground run`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from trueground.errors import UsageError

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def check_variable(option: str, name: str) -> None:
    """UsageError for what may be a key itself and no variable's name, without showing it."""
    if not _VARIABLE.fullmatch(name):
        raise UsageError(
            f"{option} expects the name of an environment variable, such as OPENAI_API_KEY, and "
            "was given something else. If it was the key itself: put it into a variable, and give "
            "that name"
        )


@dataclass(frozen=True)
class ModelOptions:
    """Options of one model. What a kind of model has no use for, it ignores.

    `timeout` (seconds) is for one attempt, `deadline` for a call with all its attempts; `rpm` and
    `tpm` are requests and tokens per minute.
    """

    base_url: str | None = None
    api_key_env: str | None = None
    api: Literal["chat", "completions"] = "chat"
    max_connections: int = 32
    rpm: float | None = None
    tpm: float | None = None
    timeout: float = 300.0
    deadline: float = 1_800.0
    max_attempts: int = 6
    wrapper: Path | None = None  # a prompt wrapper for models without a chat template
    batch_size: int = 8
    quantize: Literal["4bit"] | None = None
    device_map: str | None = None
    dtype: str | None = None
    trust_remote_code: bool = False
    extra: dict[str, Any] = field(default_factory=dict)
