"""What to do about a file that cannot be written."""

from __future__ import annotations

import errno

_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


def step(error: OSError) -> str:
    """The next step, as the beginning of a sentence that may go on."""
    if error.errno in _FULL:
        return "make room there"
    if error.errno in _FORBIDDEN:
        return "allow writing there"
    return "fix that"
