"""What a command does not need is not imported: imports are most of the time that it takes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HEAVY = {
    *("numpy", "polars", "scipy", "rich", "aiohttp", "orjson", "pyoxigraph", "spacy"),
    *("ahocorasick", "faiss", "bm25s", "Stemmer", "nltk", "torch", "onnxruntime"),
}
COMMANDS = ("", "score", "validate", "index build", "index search", "graph load", "data", "cache")
CODE: dict[str, set[str]] = {
    "import trueground": {*HEAVY, "msgspec", "typer"},
    "import trueground.files.writing": {*HEAVY, "sqlite3"},
    "import trueground.metrics.meteor_matching": {"nltk"},
    "import trueground.wings.graphs.command": {*HEAVY, "msgspec", "regex"},
    "import trueground.cli.data, trueground.cli.cache": {*HEAVY, "msgspec", "sqlite3"},
    "from trueground.benchmarks.base import all_benchmarks; assert all_benchmarks()": {
        *("numpy", "polars", "aiohttp")
    },
    "import trueground.claims": {"trueground.claims.llm"},
    "from trueground.claims import get_decomposer as get; get('llm:m(base_url=http://x)')": {
        *("bm25s", "Stemmer", "torch", "polars")
    },
    "from trueground.wings.search.bm25 import BM25; BM25(['a b', 'b c'], stem=True)": {
        *("bm25s", "Stemmer", "tqdm")
    },
    **{f"typed({f'{words} --help'!r})": HEAVY for words in COMMANDS},
    "typed('score --help')": {*HEAVY, "msgspec", "jinja2", "asyncio"},
    "typed('score a.jsonl --quiet --out o')": {"scipy"},
}
# A fork of one process that has imported nothing yet is quicker than a process for each.
TRIES = """
import json, os, sys

def typed(words):
    from trueground.cli import main
    sys.argv = ["trueground", *words.split()]
    try:
        main()
    except SystemExit as end:
        assert not end.code, end.code

for code, heavy in json.loads(sys.argv[1]).items():
    if not os.fork():
        told = os.fdopen(os.dup(1), "w", 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        try:
            exec(code)
            if found := sorted(set(heavy) & sys.modules.keys()):
                print(code, found, file=told)
        except BaseException as error:
            print(code, repr(error), file=told)
        os._exit(0)
    os.wait()
"""


def test_what_is_heavy_is_imported_where_it_is_needed(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"response": "x y", "references": ["y"]}\n' * 3)
    words = json.dumps({code: sorted(heavy) for code, heavy in CODE.items()})
    command = [sys.executable, "-c", TRIES, words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
