"""The hook by which a run gets its page.

Packages that compute know no presentation. They call the hook they get once all numbers are
written, while they still hold the run directory and before its manifest says `finished`. The
functions in `trueground.api` and the commands pass one; without it a run has no page.
"""

from pathlib import Path
from typing import Protocol


class PageWriter(Protocol):
    """A function that writes the page of a run directory."""

    def __call__(self, run_dir: Path, *, is_sample: bool = False) -> Path:
        """Write the page and return its path.

        Args:
            run_dir: The folder with the files of the run.
            is_sample: Whether the folder has only some items of a larger run.

        Returns:
            The page, in `run_dir`.
        """
        ...
