"""Where downloaded data, the response cache and indexes are kept; whether anything is fetched."""

from __future__ import annotations

import os
from pathlib import Path

HOME_VARIABLE = "TRUEGROUND_HOME"
_YES = ("1", "on", "yes", "true")


def home() -> Path:
    """$TRUEGROUND_HOME, else the platform's cache folder of this user. Nothing is made here."""
    chosen = os.environ.get(HOME_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("trueground", appauthor=False)


def is_offline() -> bool:
    """Whether $HF_HUB_OFFLINE forbids to fetch anything from the Hugging Face Hub."""
    return os.environ.get("HF_HUB_OFFLINE", "").lower() in _YES
