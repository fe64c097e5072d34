"""`trueground run` as a user types it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests import commands
from tests.chaos import KEY, ChaosServer
from tests.commands import Done
from tests.evaluate.questions_file import answer, write_questions
from tests.wings.papers.faitheval_files import data_folder


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI")}
    return {**kept, "TRUEGROUND_HOME": str(tmp_path / "home")}


def words(*more: object) -> list[str]:
    return [*commands.PROGRAM, "run", *map(str, more)]


def trueground(*more: object, env: dict[str, str], cwd: Path, code: int = 0) -> Done:
    done = commands.trueground("run", *more, env=env, cwd=cwd)
    assert done.returncode == code, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    return done


def files_below(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_help_tells_tasks_and_the_benchmarks_own_options(
    env: dict[str, str], tmp_path: Path
) -> None:
    assert "faitheval" in trueground("--help", env=env, cwd=tmp_path).stdout
    told = trueground("faitheval/original", "--help", env=env, cwd=tmp_path).stdout
    for word in ("--closed-book", "--of", "--base-url", "--dry-run", "original"):
        assert word in told
    bad = trueground("faitheval/orignal", "--model", "fake:x", env=env, cwd=tmp_path, code=2)
    assert "Did you mean 'original'" in bad.stderr
    bad = trueground("faith", "--model", "fake:x", env=env, cwd=tmp_path, code=2)
    assert "faitheval" in bad.stderr
    bad = trueground("faitheval", env=env, cwd=tmp_path, code=2)
    assert "--model" in bad.stderr


def test_a_dry_run_calls_and_writes_nothing(env: dict[str, str], tmp_path: Path) -> None:
    write_questions(tmp_path / "q.jsonl", 12)
    prices = tmp_path / "prices.json"
    prices.write_text('{"m": {"input": 1.0, "output": 2.0}}')
    with ChaosServer(answer=answer) as server:
        common = ["faitheval/unanswerable", "--model", "m", "--base-url", server.base_url]
        common += ["--data", "q.jsonl", "--prices", prices]
        before = files_below(tmp_path)
        told = trueground(*common, "--dry-run", env=env, cwd=tmp_path).stdout
        assert files_below(tmp_path) == before
        assert not server.calls
        assert "nothing was called, nothing written" in told
        trueground(*common, "--limit", 5, "--quiet", env=env, cwd=tmp_path)
        before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
        done = trueground(*common, "--dry-run", "--format", "json", env=env, cwd=tmp_path)
        assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before
    (found,) = json.loads(done.stdout)
    assert (found["items"], found["cached"], found["calls"]) == (12, 5, 7)
    assert found["usd"] == pytest.approx((found["tokens_in"] + 2 * found["tokens_out"]) / 1e6)
    assert found["tokens_in"] > 7 * 50


def test_a_sweep_over_models_with_endpoints_of_their_own(
    env: dict[str, str], tmp_path: Path
) -> None:
    data_folder(tmp_path / "data")
    prices = tmp_path / "prices.json"
    prices.write_text('{"one": {"input": 1, "output": 2}, "org/two": {"input": 3, "output": 4}}')
    with ChaosServer(answer=lambda _: "unknown") as one, ChaosServer(answer=lambda _: "B") as two:
        done = trueground(
            "faitheval", "--model", "one", "--model", "org/two", "--base-url", one.base_url,
            "--base-url", two.base_url, "--data", "data", "--out", "sweep", "--prices", prices,
            "--format", "json", env=env, cwd=tmp_path,
        )  # fmt: skip
        assert sum(one.calls.values()) == sum(two.calls.values()) == 7
    found: list[dict[str, Any]] = json.loads(done.stdout)
    assert [(f["model"]["name"], f["benchmark"]["task"]) for f in found] == [
        (model, task)
        for model in ("one", "org/two")
        for task in ("unanswerable", "inconsistent", "counterfactual")
    ]
    assert found[0]["metrics"]["phrase_match_strict"]["mean"] == 1.0
    assert found[5]["metrics"]["choice_accuracy"]["mean"] == pytest.approx(2 / 3)
    assert all(f["cost"]["usd"] > 0 for f in found)
    assert (tmp_path / "sweep/org-two/counterfactual/report.html").exists()
    told = commands.trueground("report", "sweep", "--out", "board.html", env=env, cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert "org/two" in told.stdout
    again = trueground(
        "faitheval", "--model", "one", "--model", "org/two", "--base-url", "http://127.0.0.1:9/v1",
        "--data", "data", "--out", "sweep", env=env, cwd=tmp_path,
    )  # fmt: skip
    assert "org/two" in again.stdout  # nothing left to ask, so nobody need be there


def test_without_out_the_unfinished_run_goes_on(env: dict[str, str], tmp_path: Path) -> None:
    write_questions(tmp_path / "q.jsonl", 60)
    with ChaosServer(answer=answer, delay=0.05) as server:
        command = ["faitheval/unanswerable", "--model", "m", "--base-url", server.base_url]
        command += ["--data", "q.jsonl", "--max-connections", 4, "--no-cache"]
        process = subprocess.Popen(
            words(*command), env=env, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        while sum(server.calls.values()) < 20:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=20)
        assert process.returncode == 130, told
        assert b"same command" in told
        (run,) = (tmp_path / "runs").iterdir()
        manifest = json.loads((run / "manifest.json").read_bytes())
        assert manifest["status"] == "interrupted"
        assert manifest["outcomes"]["answered"] >= 16
        second = trueground(*command, env=env, cwd=tmp_path)
        assert f"resuming the unfinished run in runs/{run.name}" in second.stderr
        assert len(server.calls) == 60
        assert sum(server.calls.values()) <= 64
        assert list((tmp_path / "runs").iterdir()) == [run]
        trueground(*command, "--limit", 3, "--quiet", env=env, cwd=tmp_path)
    assert len(list((tmp_path / "runs").iterdir())) == 2


def test_bad_usage_is_told_before_anything_is_paid(env: dict[str, str], tmp_path: Path) -> None:
    write_questions(tmp_path / "q.jsonl", 3)
    (tmp_path / "bad.jsonl").write_text('{"qid": "a", "question": "Who?"}\n')
    (tmp_path / "prompt.txt").write_text("Answer this.")
    with ChaosServer(answer=answer) as server:
        common = ["faitheval/unanswerable", "--model", "m", "--base-url", server.base_url]
        for more, message in (
            (["--data", "bad.jsonl"], "context"),
            (["--data", "gone.jsonl"], "gone.jsonl"),
            (["--data", "q.jsonl", "--prompt", "prompt.txt"], "{question}"),
            (["--data", "q.jsonl", "--prices", "q.jsonl"], "--prices"),
            (["--data", "q.jsonl", "--param", "x"], "NAME=JSON"),
            (["--data", "q.jsonl", "--by", "color"], "color"),
            (["--data", "q.jsonl", "--api-key-env", "NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE"),
            (["--data", "q.jsonl", "--model", "n", "--base-url", "http://x", "--base-url", "y"],
             "--base-url"),
            ([], "data fetch faitheval"),
        ):  # fmt: skip
            done = trueground(*common, *more, env=env, cwd=tmp_path, code=2)
            assert message in done.stderr, (more, done.stderr)
        assert not server.calls
    done = trueground(
        "faitheval/unanswerable", "--model", "gpt-4o", "--data", "q.jsonl",
        env=env, cwd=tmp_path, code=2,
    )  # fmt: skip
    assert "OPENAI_API_KEY" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_nobody_lets_us_in_is_exit_4_and_the_key_stays_secret(
    env: dict[str, str], tmp_path: Path
) -> None:
    write_questions(tmp_path / "q.jsonl", 9)
    with ChaosServer(lambda _text, _call: "401") as closed, ChaosServer(answer=answer) as server:
        done = trueground(
            "faitheval/unanswerable", "--model", "shut", "--model", "m", "--base-url",
            closed.base_url, "--base-url", server.base_url, "--data", "q.jsonl", "--out", "run",
            "--api-key-env", "MY_KEY", env={**env, "MY_KEY": KEY}, cwd=tmp_path, code=4,
        )  # fmt: skip
        assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert "shut cannot be reached" in done.stderr
    assert "m " in done.stdout  # the other model was asked and scored
    assert KEY not in done.stdout + done.stderr
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path


@pytest.mark.long
def test_a_disk_that_is_full_ends_with_5_and_keeps_what_was_answered(
    env: dict[str, str], tmp_path: Path
) -> None:
    write_questions(tmp_path / "q.jsonl", 200)
    with ChaosServer(answer=answer) as server:
        command = words(
            "faitheval/unanswerable", "--model", "m", "--base-url", server.base_url,
            "--data", "q.jsonl", "--out", "run", "--no-cache", "--quiet",
        )  # fmt: skip
        small = ["bash", "-c", 'ulimit -f 20; exec "$@"', "bash", *command]
        done = subprocess.run(small, env=env, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 5, done.stderr
        assert "responses.jsonl failed" in done.stderr
        lines = (tmp_path / "run/responses.jsonl").read_bytes()
        assert lines.endswith(b"\n")
        kept = lines.count(b"\n")
        assert 20 < kept < 200
        made = sum(server.calls.values())
        subprocess.run(command, env=env, cwd=tmp_path, check=True)
        assert sum(server.calls.values()) == made + 200 - kept


@pytest.mark.parametrize("models", [["m"], ["m", "n"]])
def test_what_is_refused_leaves_nothing(
    env: dict[str, str], tmp_path: Path, models: list[str]
) -> None:
    data = write_questions(tmp_path / "q.jsonl", 2)
    (tmp_path / "file").touch()
    before = files_below(tmp_path)
    given = ["faitheval/unanswerable", "--data", data, "--base-url", "http://127.0.0.1:9/v1"]
    given += [word for name in models for word in ("--model", name)] + ["--out", "a/run"]
    told = trueground(*given, "--param", "stream=true", env=env, cwd=tmp_path, code=2)
    assert "'stream' isn't supported" in told.stderr
    unusable = {**env, "TRUEGROUND_HOME": str(tmp_path / "file")}
    told = trueground(*given, env=unusable, cwd=tmp_path, code=2)
    assert "can't be used" in told.stderr
    assert "TRUEGROUND_HOME" in told.stderr
    assert [one for one in files_below(tmp_path) if not one.startswith("home/")] == before
    assert not (tmp_path / "a").exists()


def test_numbers_that_nothing_takes_are_refused(env: dict[str, str], tmp_path: Path) -> None:
    write_questions(tmp_path / "q.jsonl", 1)
    common = ["faitheval/unanswerable", "--model", "fake:x", "--data", "q.jsonl"]
    before = files_below(tmp_path)
    huge = "9" * 20
    for option, value in (
        *((name, huge) for name in ("--seed", "--max-tokens", "--top-k", "--repeats", "--limit")),
        ("--max-tokens", 2**53),
        ("--temperature", "inf"),
        ("--temperature", "nan"),
        ("--top-p", "nan"),
        *((name, value) for name in ("--rpm", "--tpm", "--timeout", "--deadline", "--time-limit")
          for value in ("inf", "nan")),
    ):  # fmt: skip
        done = trueground(*common, option, value, env=env, cwd=tmp_path, code=2)
        assert option in done.stderr, (option, value, done.stderr)
    assert files_below(tmp_path) == before
    trueground(*common, "--seed", 2**63 - 1, "--max-tokens", 2**53 - 1, "--out", "run",
               env=env, cwd=tmp_path)  # fmt: skip
    manifest = json.loads((tmp_path / "run/manifest.json").read_bytes())
    assert (manifest["seed"], manifest["params"]["max_tokens"]) == (2**63 - 1, 2**53 - 1)


def test_a_key_in_the_command_is_neither_shown_nor_kept(
    env: dict[str, str], tmp_path: Path
) -> None:
    write_questions(tmp_path / "q.jsonl", 1)
    common = ["faitheval/unanswerable", "--model", "fake:x", "--data", "q.jsonl", "--out", "run"]
    key = "secretsecret123456"
    for more, message in (
        (["--api-key-env", f"sk-{key}"], "name of an environment variable"),
        (["--api-key-env", "OPENAI_API_KEY", "--api-key-env", key * 4], "name of an environment"),
        (["--param", f'api_key="{key}"'], "--param api_key looks like a secret"),
        (["--param", f"apiKey={key}"], "--param apiKey looks like a secret"),
        (["--param", f"Authorization=Bearer {key}"], "--api-key-env"),
        (["--param", f'extra_headers={{"X-API-Key": "{key}"}}'], "extra_headers … X-API-Key"),
        (["--param", f'a={{"b": [{{"access_token": "{key}"}}]}}'], "a … access_token"),
        (["--param", f"header={key}"], "NAME=JSON"),
    ):
        done = trueground(*common, *more, env=env, cwd=tmp_path, code=2)
        assert message in done.stderr, (more, done.stderr)
        assert key not in done.stderr + done.stdout
        assert not (tmp_path / "run").exists()
    harmless = ("max_completion_tokens=5", "stop_token_ids=[1]", 'prompt_cache_key="a"', 'n="key"')
    schema = 'response_format={"json_schema": {"properties": {"token": {"type": "string"}}}}'
    words = [word for param in (*harmless, schema) for word in ("--param", param)]
    trueground(*common, *words, env=env, cwd=tmp_path)


def test_the_manifest_keeps_no_password_of_an_address(env: dict[str, str], tmp_path: Path) -> None:
    write_questions(tmp_path / "q.jsonl", 1)
    with ChaosServer(answer=answer) as server:
        secret = server.base_url.replace("http://", "http://me:pass-word@") + "?sig=signature"
        for number, words in enumerate((["--base-url", secret], [f"--base-url={secret}"])):
            common = ["faitheval/unanswerable", "--model", "m", "--data", "q.jsonl", "--no-cache"]
            trueground(*common, *words, "--out", f"run{number}", env=env, cwd=tmp_path)
            manifest = (tmp_path / f"run{number}/manifest.json").read_text()
            assert server.base_url in manifest
            assert "pass-word" not in manifest
            assert "signature" not in manifest.replace('"signature":', "")


def test_names_of_models_keep_the_tables_whole(env: dict[str, str], tmp_path: Path) -> None:
    write_questions(tmp_path / "q.jsonl", 2)
    names = ["fake:a\nb\tc\x1b[31m", "fake:" + "x" * 5_000, "fake:" + "x" * 4_999]
    common = ["faitheval/unanswerable", "--data", "q.jsonl", "--out", "sweep"]
    for name in names:
        common += ["--model", name]
    shown = "fake:a�b�c�[31m"
    for table in (
        trueground(*common, "--dry-run", env=env, cwd=tmp_path).stdout,
        trueground(*common, env=env, cwd=tmp_path).stdout,
    ):
        lines = table.split("\n\n")[0].split("\n")
        assert len(lines) == 4
        assert lines[1].startswith(f"{shown}  ")
        assert lines[2].startswith("fake:" + "x" * 26 + "…" + "x" * 20 + "  ")
    report = ("report", "sweep", "--format")
    told = commands.trueground(*report, "text", env=env, cwd=tmp_path)
    rows = told.stdout.split("\n\n")[0].split("\n")
    assert sum(row.startswith("fake:") for row in rows) == 3
    assert max(map(len, rows)) <= 80
    told = commands.trueground(*report, "json", env=env, cwd=tmp_path)
    found = json.loads(told.stdout)["rows"]
    assert {row["model"] for row in found} == set(names)
    assert len({row["name"] for row in found}) == 3
    alone = ["faitheval/unanswerable", "--data", "q.jsonl", "--model", names[0]]
    assert trueground(*alone, env=env, cwd=tmp_path).stdout.startswith(f"{shown} on faitheval/")


def test_a_pipe_of_data_is_told(env: dict[str, str], tmp_path: Path) -> None:
    path = write_questions(tmp_path / "q.jsonl", 2)
    command = words("faitheval/unanswerable", "--model", "fake:x", "--out", "run", "--data")
    done = subprocess.run(
        [*command, "/dev/stdin"], env=env, cwd=tmp_path, capture_output=True, text=True,
        input=path.read_text(),
    )  # fmt: skip
    assert done.returncode == 2
    assert "/dev/stdin is a pipe; data are read more than once" in done.stderr
    assert not (tmp_path / "run").exists()
    with path.open() as file:  # a file that is redirected is a file
        subprocess.run([*command, "/dev/stdin"], env=env, cwd=tmp_path, stdin=file, check=True)


def test_a_field_that_is_null_is_told_as_null(env: dict[str, str], tmp_path: Path) -> None:
    row = {"qid": "1", "context": "C", "subset": "RACE", "answers": ["x"]}
    for change, message in (
        ({"question": None}, "(id '1'), field 'question': found null; expected a str"),
        ({}, "(id '1'), field 'question': found no such field in object {qid, context, subset"),
        ({"question": "Q?", "subset": None}, "field 'subset': found null"),
    ):
        (tmp_path / "q.jsonl").write_text(json.dumps(row | change) + "\n")
        command = ["faitheval/unanswerable", "--model", "fake:x", "--data", "q.jsonl"]
        assert message in trueground(*command, env=env, cwd=tmp_path, code=2).stderr


def test_a_rater_that_never_answers_is_told(env: dict[str, str], tmp_path: Path) -> None:
    write_questions(tmp_path / "q.jsonl", 3)
    with ChaosServer(lambda text, call: "500") as server:
        rater = f"llm:m(base_url={server.base_url},max_attempts=1)"
        also = ("--also", "fluency", "--rater", rater)
        run = ("faitheval/unanswerable", "--data", "q.jsonl", "--model", "fake:unknown", *also)
        done = trueground(
            *run, "--out", "run", "--quiet", env={**env, "OPENAI_API_KEY": KEY}, cwd=tmp_path
        )
    assert "calls of judges, decomposer and rater failed" in done.stderr
    assert KEY not in done.stderr
    summary = json.loads((tmp_path / "run" / "summary.json").read_bytes())
    assert summary["metrics"]["fluency"]["unscored"] == {"error": 3}
