"""A local model that is not closed ends with the process and prints nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the hf extra is not installed")
pytest.importorskip("transformers", reason="the hf extra is not installed")

from tests.models import tiny_models as tiny

ROWS = "[{'question': 'Who?', 'answer': 'Paris.', 'contexts': ['Paris is a city.']}]"
SCRIPTS = {
    "judge-object": """
import trueground as tg
from trueground.judges import get_judge
judge = get_judge("llm:hf:{folder}(max_tokens=4)", cache=False)
print(tg.score({rows}, judge=judge).items.height)
""",
    "judge-text": """
import trueground as tg
print(tg.score({rows}, judge="llm:hf:{folder}(max_tokens=4)", cache=False).items.height)
""",
}


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.save_decoder(tmp_path_factory.mktemp("decoder"), window=4_096)


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_unclosed_judge_leaves_no_traceback_at_exit(script: str, decoder: Path) -> None:
    code = script.replace("{folder}", str(decoder)).replace("{rows}", ROWS)
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env=os.environ
    )
    # What `score` says of the columns that it takes.
    lines = [line for line in ended.stderr.splitlines() if "columns: " not in line]
    assert lines == []
    assert ended.stdout.strip() == "1"
    assert ended.returncode == 0
