"""One rule from the outcome of a command to its exit code, tried on all commands."""

from __future__ import annotations

import ast
import errno
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from tests.chaos import ChaosServer
from tests.commands import PROGRAM, trueground
from tests.evaluate.questions_file import answer, write_questions
from tests.killing import ProcessTree
from tests.marks import mostly_long
from tests.records.record_files import write
from tests.wings.papers.builders.building import home as builders_home
from tests.wings.papers.builders.little import answering
from tests.wings.papers.builders.scripted_server import scripted
from tests.wings.papers.builders.test_build import command as build_command

import trueground as package
from trueground import errors
from trueground.cli.app import COMMANDS
from trueground.cli.exit_codes import Outcome, exit_code
from trueground.components.plugins import EntryPoint
from trueground.errors import ExitCode

__all__ = ["builders_home"]
TEXT = "The hall was built in 1931 by Edda Rowe."
ROWS = [
    {
        "id": str(number),
        "question": "Who built the hall?",
        "contexts": [TEXT],
        "response": TEXT if number % 2 else "It was Ann Lee in 1800.",
        "references": ["Edda Rowe"],
        "human": {"faithful": number % 2},
    }
    for number in range(12)
]


# ---- the rule itself ----


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.UsageError("x"), 2),
        (errors.InputError("x"), 2),
        (errors.BadRowsError([], 1), 2),
        (errors.MissingExtraError("x", "hf"), 2),
        (errors.OutputError("x"), 2),
        (errors.GraphError("x"), 2),
        (errors.ProtocolError("x"), 2),
        (errors.CoverageError("x"), 3),
        (errors.UnreachableError("x"), 4),
        (errors.WriteError("x"), 5),
        (errors.WorkerError("x"), 5),
        (errors.RunInterrupted("x"), 130),
        (KeyboardInterrupt(), 130),
        (typer.Abort(), 130),
        (typer.BadParameter("x"), 2),
        (BrokenPipeError(), 0),
        (PermissionError(errno.EACCES, "denied", "a file"), 2),
        (OSError(errno.ENOSPC, "full", "a file"), 5),
        (OSError(errno.ENOSPC, "full"), 5),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_exit_code_of_error(error: BaseException, code: int) -> None:
    assert exit_code(Outcome(error)) == code


def test_exit_code_of_defect_is_the_defect_itself() -> None:
    with pytest.raises(ZeroDivisionError):
        exit_code(Outcome(ZeroDivisionError()))


def test_exit_code_covers_every_error_class() -> None:
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.TruegroundError):
            assert kind.exit_code in ExitCode


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ([], 0),
        ([Outcome()], 0),
        ([Outcome(gate_failed=True)], 1),
        ([Outcome(uncovered=True)], 3),
        ([Outcome(gate_failed=True, uncovered=True)], 1),
        ([Outcome(), Outcome(uncovered=True)], 3),
        ([Outcome(uncovered=True), Outcome(errors.UnreachableError("x"))], 4),
        ([Outcome(gate_failed=True), Outcome(errors.UnreachableError("x"))], 4),
        ([Outcome(errors.UnreachableError("x")), Outcome(errors.WriteError("x"))], 5),
        ([Outcome(errors.WriteError("x")), Outcome(errors.RunInterrupted("x"))], 130),
    ],
)
def test_exit_code_of_several_outcomes(outcomes: list[Outcome], code: int) -> None:
    assert exit_code(*outcomes) == code


def test_only_one_module_knows_exit_codes() -> None:
    """No command ends with a number of its own."""
    allowed = {"exit_codes.py", "__init__.py"}
    for path in (Path(package.__file__).parent / "cli").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if path.name in allowed or not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", "")
            assert not (name in ("Exit", "exit", "_exit") and node.args), f"{path}:{node.lineno}"


# ---- all commands ----


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files and finished runs that the commands below read."""
    folder = tmp_path_factory.mktemp("codes")
    write(folder / "rows.jsonl", *ROWS)
    no_contexts = [{k: v for k, v in row.items() if k != "contexts"} for row in ROWS]
    write(folder / "no-contexts.jsonl", *no_contexts)
    write(folder / "worse.jsonl", *[row | {"response": ROWS[0]["response"]} for row in ROWS])
    write(folder / "bare.jsonl", *[{"id": row["id"], "response": TEXT} for row in ROWS])
    write(folder / "bad.jsonl", {"id": "1"})
    write(folder / "corpus.jsonl", {"id": "a", "text": TEXT})
    write(folder / "gold.jsonl", ROWS[0] | {"contexts": [{"id": "a", "text": TEXT, "gold": True}]})
    (folder / "graph.nt").write_text('<urn:a> <http://www.w3.org/2000/01/rdf-schema#label> "Ann" .')
    (folder / "other.nt").write_text("this is no triple\n")
    write_questions(folder / "questions.jsonl", 3)
    replies = [{"id": f"q{number}", "response": "unknown"} for number in range(3)]
    write(folder / "replies.jsonl", *replies)
    shard = ["--shard", "1/1", "--quiet", "--metrics", "support"]
    for words in (
        ["score", "rows.jsonl", "--out", "run", "--metrics", "support,f1,recall"],
        ["score", "worse.jsonl", "--out", "worse", "--metrics", "support,f1,recall"],
        ["index", "build", "corpus.jsonl", "--out", "index"],
        ["graph", "load", "graph.nt", "--out", "graph"],
        ["score", "rows.jsonl", "--out", "shards", *shard],
        ["score", "no-contexts.jsonl", "--out", "empty-shards", *shard],
    ):
        done = trueground(*words, cwd=folder)
        assert done.returncode == 0, (words, done.stderr)
    return folder


def closed_port() -> int:
    """A port of loopback on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        number: int = taken.getsockname()[1]
        return number


RUN = "run faitheval/unanswerable --data questions.jsonl --no-cache --max-attempts 1"
SUPPORT = "--metrics support --quiet --out {out}"
JUDGED = "--judge llm:m(base_url={url},max_attempts=1)"
UNREACHED = "--judge llm:m(base_url={nobody},max_attempts=1)"
# Of each command what comes of it; {url} is the endpoint, {nobody} an address without one.
TABLE = [
    ("list metrics", 0),
    ("list nonsense", 2),
    ("--version", 0),
    ("nonsense", 2),
    ("score --nonsense", 2),
    (f"score rows.jsonl {SUPPORT}", 0),
    ("score absent.jsonl", 2),
    (f"score bad.jsonl {SUPPORT}", 2),
    ("score rows.jsonl --out run --quiet", 2),
    (f"score rows.jsonl {SUPPORT} --fail-under support=0.99", 1),
    (f"score rows.jsonl {SUPPORT} --fail-over support=0.01", 1),
    (f"score rows.jsonl {SUPPORT} --fail-under support=0.1 --min-coverage 1", 0),
    (f"score no-contexts.jsonl {SUPPORT}", 3),
    ("score bare.jsonl --quiet --out {out}", 3),
    (f"score no-contexts.jsonl {SUPPORT},f1 --min-coverage 0.5", 3),
    (f"score no-contexts.jsonl {SUPPORT} --min-coverage 0.5 --fail-under support=0.5", 1),
    (f"score rows.jsonl {SUPPORT} {JUDGED}", 3),
    (f"score rows.jsonl {SUPPORT} {UNREACHED}", 4),
    (f"score no-contexts.jsonl {SUPPORT} --shards 2 --workers 1", 3),
    ("merge shards", 0),
    ("merge empty-shards", 3),
    ("merge run", 2),
    ("merge absent", 2),
    (f"{RUN} --model replay:replies.jsonl --out {{out}}", 0),
    (f"{RUN} --model m --base-url {{url}} --out {{out}}", 3),
    (f"{RUN} --model m --base-url {{url}} --out {{out}} --shard 1/1", 3),
    (f"{RUN} --model m --base-url {{nobody}} --out {{out}}", 4),
    (f"{RUN} --model fake:echo --model m --base-url {{url}} --out {{out}}", 3),
    (f"{RUN} --model fake:echo --model m --base-url {{nobody}} --out {{out}}", 4),
    (f"{RUN} --model m --base-url {{url}} --out {{out}} --dry-run", 0),
    (f"{RUN} --out {{out}}", 2),
    ("run nonsense --model m", 2),
    ("validate rows.jsonl --quiet --metrics support", 0),
    ("validate no-contexts.jsonl --quiet --metrics support", 3),
    (f"validate rows.jsonl --quiet --metrics support {JUDGED}", 3),
    (f"validate rows.jsonl --quiet --metrics support {UNREACHED}", 4),
    ("validate rows.jsonl --quiet --label absent", 2),
    ("judge calibrate rows.jsonl --quiet", 0),
    (f"judge calibrate rows.jsonl --quiet {JUDGED}", 3),
    (f"judge calibrate rows.jsonl --quiet {UNREACHED}", 4),
    ("judge calibrate bad.jsonl --quiet", 2),
    ("judge fit rows.jsonl --quiet --judges lexical,llm:m(base_url={url},max_attempts=1)", 3),
    ("judge fit rows.jsonl --quiet --judges lexical,llm:m(base_url={nobody},max_attempts=1)", 4),
    ("judge fit bad.jsonl --quiet", 2),
    ("compare run worse --quiet", 0),
    ("compare run worse --quiet --fail-if-worse support", 1),
    ("compare run absent --quiet", 2),
    ("errors run --quiet --metric f1", 0),
    ("errors absent --quiet", 2),
    ("report run --quiet", 0),
    ("report absent --quiet", 2),
    ("view run --bundle {out} --quiet", 0),
    ("view absent --bundle {out} --quiet", 2),
    ("annotate export support run --out {out}.jsonl --quiet", 0),
    ("annotate export support absent --out {out}.jsonl --quiet", 2),
    ("annotate import absent.jsonl --out {out} --quiet", 2),
    ("annotate plan absent --out {out} --quiet", 2),
    ("annotate serve {out}.db absent.jsonl", 2),
    ("agreement absent.jsonl --quiet", 2),
    ("agreement rows.jsonl --quiet", 2),
    ("data verify", 2),  # nothing is fetched
    ("data verify nonsense", 2),
    ("data stats absent.jsonl", 2),
    ("index build absent.jsonl --out {out}", 2),
    ("index search index built", 0),
    ("index search absent built", 2),
    ("index evaluate index --queries gold.jsonl --quiet", 0),
    ("index evaluate index --queries rows.jsonl --quiet", 2),
    ("graph load other.nt --out {out} --quiet", 2),
    ("graph query graph SELECT?s{?s?p?o}", 0),
    ("graph query graph nonsense", 2),
    ("graph show graph Ann", 0),
    ("graph show graph Nobody", 2),
    ("cache stats", 0),
    ("cache clear", 2),
    ("cache clear --yes --quiet", 0),
    ("build nonsense", 2),
]


@pytest.fixture(scope="module")
def refusing() -> Iterator[str]:
    """An endpoint that answers every call with an error that no other attempt mends."""
    with ChaosServer(lambda _text, _call: "400", answer=str) as server:
        yield server.base_url


@pytest.mark.parametrize(("words", "code"), TABLE, ids=[words for words, _ in TABLE])
def test_command_ends_with_the_code_of_its_outcome(
    words: str, code: int, folder: Path, refusing: str, tmp_path: Path
) -> None:
    nobody = f"http://127.0.0.1:{closed_port()}/v1"
    places = {"{out}": str(tmp_path / "out"), "{url}": refusing, "{nobody}": nobody}
    typed = words.split()
    for name, value in places.items():
        typed = [word.replace(name, value) for word in typed]
    done = trueground(*typed, cwd=folder)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    if code:
        assert done.stderr.strip(), "it must say why"


def test_table_has_every_command() -> None:
    commands = {*COMMANDS, *(entry.name for entry in EntryPoint.of_group("trueground.commands"))}
    assert {words.split()[0] for words, _ in TABLE} >= commands


@pytest.mark.parametrize(
    ("bad_share", "code"), [(0.0, 0), (1.0, 3)], ids=["some items", "no item is left"]
)
def test_build_ends_with_the_code_of_its_outcome(
    bad_share: float, code: int, builders_home: Path
) -> None:
    with scripted(answering(bad=lambda _: bad_share == 1.0)) as server:
        words = build_command(builders_home, server, "--quiet")
        assert trueground(*words[3:], cwd=builders_home).returncode == code


def test_build_that_reaches_no_model_ends_with_4(builders_home: Path) -> None:
    with scripted(answering()) as server:
        words = build_command(builders_home, server, "--quiet", "--max-attempts", "1")
    nobody = f"http://127.0.0.1:{closed_port()}/v1"
    typed = [nobody if word.startswith("http://") else word for word in words[3:]]
    assert trueground(*typed, cwd=builders_home).returncode == 4


def test_build_of_which_too_many_calls_fail_ends_with_3(builders_home: Path) -> None:
    error = {"error": {"message": "it is sad"}}

    def answer_lines(body: dict[str, object]) -> object:
        return answering()(body) if body["model"] == "w" else (400, error)

    with scripted(answer_lines) as server:
        done = trueground(*build_command(builders_home, server)[3:], cwd=builders_home)
    assert done.returncode == 3
    assert "--max-failed" in done.stderr


# ---- what is written, who reads it, and what interrupts it ----


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_standard_output_ends_with_5(folder: Path) -> None:
    with open("/dev/full", "w") as full:
        words = [*PROGRAM, "list", "metrics"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, cwd=folder, text=True)
    assert done.returncode == 5
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("command", ["run", "score"])
def test_interrupt_ends_with_130(command: str, folder: Path, tmp_path: Path) -> None:
    with ChaosServer(lambda _text, _call: "hang", answer=answer) as server:
        typed = {
            "run": [*RUN.split(), "--model", "m", "--base-url", server.base_url],
            "score": [
                *("score", "rows.jsonl", "--metrics", "support"),
                *("--judge", f"llm:m(base_url={server.base_url})"),
            ],
        }[command]
        with ProcessTree([*PROGRAM, *typed, "--out", str(tmp_path / "out")], cwd=folder) as tree:
            deadline = time.monotonic() + 60
            while not server.calls:
                assert time.monotonic() < deadline
                assert tree.process.poll() is None, tree.output()
                time.sleep(0.01)
            printed = tree.end(signal.SIGINT)
    assert tree.process.returncode == 130
    assert "Traceback" not in printed


def run_with_closed_pipe(words: list[str], folder: Path, stream: str) -> subprocess.Popen[bytes]:
    """Run the command to its end; the reader of one of its streams has gone before it writes."""
    read, written = os.pipe()
    os.close(read)
    other = "stderr" if stream == "stdout" else "stdout"
    streams = {stream: written, other: subprocess.PIPE}
    process = subprocess.Popen([*PROGRAM, *words], cwd=folder, **streams)  # type: ignore[call-overload]
    os.close(written)
    process.wait(60)
    return process  # type: ignore[no-any-return]


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize(
    ("words", "code"),
    mostly_long(
        1,
        [
            ("score rows.jsonl --out {out} --metrics support --fail-under support=0.99", 1),
            ("score rows.jsonl --out {out} --metrics support", 0),
            ("score no-contexts.jsonl --out {out} --metrics support", 3),
            ("list metrics", 0),
        ],
    ),
)
def test_command_whose_reader_has_gone_ends_with_its_own_code(
    words: str, code: int, stream: str, folder: Path, tmp_path: Path
) -> None:
    typed = [word.replace("{out}", str(tmp_path / "out")) for word in words.split()]
    process = run_with_closed_pipe(typed, folder, stream)
    pipe = process.stderr if stream == "stdout" else process.stdout
    assert pipe
    with pipe:
        printed = pipe.read().decode()
    assert process.returncode == code, printed
    assert "Traceback" not in printed
    if "--out" in words:
        assert json.loads((tmp_path / "out/manifest.json").read_bytes())["status"] == "finished"
