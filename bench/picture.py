"""Draw the picture of the README: an answer of the quickstart, as the report shows it.

`python -m bench.picture` scores the answers in docs/quickstart.md, and takes a screenshot of one of
them with Chromium.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import trueground as tg

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "answer.png"
ANSWER_ID = "year"
WIDTH = 1000
HEIGHT = 505
PAGE_MILLISECONDS = 5000
_ANSWERS = re.compile(r"^cat > answers\.jsonl <<'END'\n(.*?)^END$", re.MULTILINE | re.DOTALL)


def read_answers() -> str:
    """Return the JSON lines that the quickstart scores."""
    match = _ANSWERS.search((ROOT / "docs" / "quickstart.md").read_text("utf-8"))
    if match is None:
        raise LookupError("docs/quickstart.md has no block that writes answers.jsonl")
    return match[1]


def main() -> None:
    """Write the picture."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("Found no Chromium on the PATH. Install it, then run this again.")
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "answers.jsonl"
        answers.write_text(read_answers(), "utf-8")
        tg.score(answers, out=f"{folder}/run")
        page = (Path(folder) / "run" / "report.html").as_uri()
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += [f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={PICTURE}"]
        command += [f"--virtual-time-budget={PAGE_MILLISECONDS}", f"{page}#item-{ANSWER_ID}"]
        subprocess.run(command, check=True, capture_output=True)
    print(PICTURE)


if __name__ == "__main__":
    main()
