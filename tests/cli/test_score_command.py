"""The command as a user types it."""

from __future__ import annotations

import csv
import json
import os
import resource
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.commands import PROGRAM, trueground
from tests.marks import mostly_long
from tests.records.broken_inputs import BROKEN, Broken

from trueground.testing import synthetic_records

EXAMPLES = Path(__file__).parents[2] / "examples" / "answers.jsonl"


def run(*words: str | Path, cwd: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """In a process of its own."""
    return subprocess.run(
        [*PROGRAM, *map(str, words)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        **{"encoding": "utf-8", **options},
    )


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("columns", ["80", "100"])
def test_first_screen_of_the_examples_has_at_most_45_lines(tmp_path: Path, columns: str) -> None:
    env = {**os.environ, "COLUMNS": columns}
    done = trueground("score", EXAMPLES, "--by", "model", cwd=tmp_path, env=env)
    lines = done.stdout.splitlines()
    assert len(lines) <= 45
    assert all(len(line) <= 80 for line in lines)
    for words in (
        "95% intervals; verdicts by",
        "by model",
        "worst 3 of 64",
        "--all",
        "page   runs/",
    ):
        assert words in done.stdout


def test_examples_end_to_end(tmp_path: Path) -> None:
    done = trueground("score", EXAMPLES, "--by", "meta.kind", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for word in ("Of 64 answers", "grounding_f1", "by meta.kind", "worst 3 of 64", "report.html"):
        assert word in done.stdout
    assert "k_precision" not in done.stdout  # not among the most telling ones here
    names = {p.name for p in (tmp_path / "out").iterdir()}
    assert names == {
        "manifest.json",
        "summary.json",
        "items.jsonl",
        "records.jsonl.zst",
        "report.html",
    }


def test_all_metrics_and_those_asked_for(tmp_path: Path) -> None:
    def shown(*words: str) -> str:
        done = trueground("score", EXAMPLES, "--out", "o", "--overwrite", *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    every = shown("--all", "--worst", "0")
    for word in ("Of 64 answers", "exact_match", "k_precision", "abstention rate", "rules-3"):
        assert word in every
    assert "worst" not in every
    asked = shown("--metrics", "k_precision,rouge_1", "--worst", "2")
    assert "k_precision" in asked
    assert "rouge_1" in asked
    assert "worst 2 of 64: lowest k_precision first" in asked
    assert "Of 64 answers" not in asked  # nobody checked claims


def test_all_answers_as_csv_worst_first(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "question": "When?", "contexts": ["It was built in 1889."], "response": text}
        for text in ("It was built in 1889.",)
    ]
    rows += [rows[0] | {"id": 2, "response": 'It was "built" in 1913,\nby 5 men.'}]
    rows += [rows[0] | {"id": 3, "response": "I don't know."}]
    source = write(tmp_path / "a.jsonl", rows)
    words = ("score", source, "--out", "o", "--overwrite", "--out-csv", "w.csv")
    assert trueground(*words, "--quiet", cwd=tmp_path).stdout == ""
    with (tmp_path / "w.csv").open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert list(found[0]) == [
        *("rank", "id", "question", "response", "verdict", "score", "unsupported", "reasons")
    ]
    assert [row["rank"] for row in found] == ["1", "2", "3"]
    assert [row["id"] for row in found] == ["2", "1", "3"]
    assert [row["verdict"] for row in found] == ["not_grounded", "grounded", "abstained"]
    assert found[0]["response"] == rows[1]["response"]
    assert "1913" in found[0]["unsupported"]
    assert "1913" in found[0]["reasons"]
    assert (found[1]["unsupported"], found[2]["score"]) == ("", "")
    (tmp_path / "there.csv").write_text("mine")
    taken = trueground("score", source, "--out", "p", "--out-csv", "there.csv", cwd=tmp_path)
    assert (taken.returncode, "exists" in taken.stderr) == (2, True)
    assert (tmp_path / "there.csv").read_text() == "mine"
    own = trueground(*words[:-1], source, cwd=tmp_path)
    assert (own.returncode, "is an input file" in own.stderr) == (2, True)


def test_json_on_standard_output_and_default_folder(tmp_path: Path) -> None:
    source = write(tmp_path / "my answers.jsonl", list(synthetic_records(5)))
    done = trueground("score", source, "--metrics", "f1", "--format", "json", cwd=tmp_path)
    summary = json.loads(done.stdout)
    assert summary["n"] == 5
    assert set(summary["metrics"]["f1"]) == {"mean", "ci", "ci_level", "n", "scored", "unscored"}
    out = Path(summary["out"])
    assert out.parent == Path("runs")
    assert out.name.endswith("Z-my-answers")
    assert json.loads((tmp_path / out / "summary.json").read_text())["n"] == 5


def test_standard_input_mapping_and_quiet(tmp_path: Path) -> None:
    text = json.dumps({"answer": "Paris", "gold": ["Paris"]})
    done = trueground(
        *("score", "-", "--map", "response=answer,references=gold", "--metrics", "f1"),
        *("--out", "o", "--quiet"),
        cwd=tmp_path,
        stdin=text,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert json.loads((tmp_path / "o" / "summary.json").read_text())["metrics"]["f1"]["mean"] == 1


def test_gates(tmp_path: Path) -> None:
    rows = [{"response": "Paris", "references": ["Paris"]}, {"response": "Rome"}]
    write(tmp_path / "a.jsonl", rows)

    def gate(*words: str) -> tuple[int, str]:
        done = trueground("score", "a.jsonl", "--out", "o", "--overwrite", *words, cwd=tmp_path)
        return done.returncode, done.stderr

    code, said = gate("--fail-under", "f1=1", "--fail-under", "recall=0.5")
    assert (code, said.startswith("trueground: WARNING: no record has contexts")) == (0, True)
    assert said.count("\n") == 1
    code, said = gate("--fail-under", "f1=1.01")
    assert (code, "f1 is 1.0000, 1.01 wanted" in said) == (1, True)
    code, said = gate("--metrics", "f1", "--min-coverage", "0.6")
    assert (code, "50.0% of the items" in said) == (3, True)
    assert gate("--metrics", "f1", "--min-coverage", "0.5")[0] == 0
    code, said = gate("--metrics", "k_precision", "--fail-under", "k_precision=0")
    assert (code, "no scored item" in said) == (1, True)
    code, said = gate("--metrics", "f1", "--fail-under", "k_precision=0.5")
    assert (code, "not in the run" in said) == (2, True)
    code, said = gate("--fail-over", "f1=1")
    assert (code, "note: higher is better for f1; this gate is a ceiling" in said) == (0, True)
    code, said = gate("--fail-over", "abstained=-0.1")
    assert (code, "abstained is 0.0000, at most -0.1 wanted" in said) == (1, True)
    assert gate("--fail-over", "abstained")[0] == 2
    code, said = gate("--fail-under", "f1>0.5")
    assert (code, "METRIC=NUMBER" in said) == (2, True)
    code, _ = gate("--metrics", "f1(abstain=x)")
    assert code == 2
    key = "k_precision(normalizer=faitheval)"
    rows[0]["contexts"] = ["Paris"]
    write(tmp_path / "a.jsonl", rows)
    assert gate("--metrics", key, "--fail-under", f"{key}=0.9")[0] == 0


def test_gates_on_shares_of_answers_and_other_names(tmp_path: Path) -> None:
    row = {"query": "Where?", "documents": ["It is in Rome."], "response": "It is in Rome."}
    write(tmp_path / "a.jsonl", [row, row, row | {"response": "It is in Paris."}])

    def gate(*words: str) -> tuple[int, list[str]]:
        done = trueground(
            "score", "a.jsonl", "--out", "o", "--overwrite", "--quiet", *words, cwd=tmp_path
        )
        return done.returncode, done.stderr.splitlines()

    assert gate("--fail-under", "grounded=0.6", "--fail-over", "not_grounded=0.4") == (0, [])
    code, said = gate("--fail-under", "grounded=0.7", "--fail-over", "not_grounded=0.3")
    assert code == 1
    assert said == [
        "trueground: gate failed: grounded is 0.6667 (share of answers), 0.7 wanted",
        "trueground: gate failed: not_grounded is 0.3333 (share of answers), at most 0.3 wanted",
    ]
    code, said = gate("--fail-over", "not=0.4", "--fail-over", "declined=0")
    assert code == 0
    assert said == [
        "trueground: note: this gate reads not as not_grounded",
        "trueground: note: this gate reads declined as abstained",
    ]
    code, said = gate("--fail-under", "declined=0")
    assert code == 0
    assert "trueground: note: lower is better for abstained; this gate is a floor" in said
    assert gate("--fail-over", "abstained=0", "--metrics", "abstained") == (0, [])
    assert gate("--fail-over", "abstained=0", "--metrics", "support") == (0, [])
    code, said = gate("--fail-under", "abstained=0.1", "--metrics", "support")
    assert said[0] == "trueground: gate failed: abstained is 0.0000 (share of answers), 0.1 wanted"
    code, said = gate("--fail-under", "grounded=70")
    assert (code, "between 0 and 1" in said[0]) == (2, True)
    code, said = gate("--fail-under", "grounded=0.5", "--metrics", "rouge_1")
    assert (code, "checks the claims" in said[0], "support" in said[0]) == (2, True, True)
    code, said = gate("--fail-under", "faithfulness=0.5")
    assert (code, said) == (
        0,
        ["trueground: note: this gate reads faithfulness as grounding_precision"],
    )


def test_gate_on_abstained_reads_metric_of_answer_without_contexts(tmp_path: Path) -> None:
    row = {"contexts": ["It is in Rome."], "response": "It is in Rome."}
    write(tmp_path / "a.jsonl", [row, row, {"response": "I don't know."}])
    done = trueground(
        "score", "a.jsonl", "--quiet", "--metrics", "abstained,grounding_precision",
        "--fail-over", "abstained=0.1", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 1
    assert "gate failed: abstained is 0.3333, at most 0.1 wanted" in done.stderr


def test_coverage_of_several_metrics_is_one_line(tmp_path: Path) -> None:
    row = {"contexts": ["It is in Rome."], "response": "It is in Rome."}
    write(tmp_path / "a.jsonl", [row, {"response": "It is in Rome."}])
    words = ("--metrics", "support,support_min,k_precision,k_f1", "--min-coverage", "0.6")
    done = trueground("score", "a.jsonl", "--out", "o", "--quiet", *words, cwd=tmp_path)
    assert done.returncode == 3
    assert done.stderr.splitlines() == [
        "trueground: coverage too low: support was scored for 50.0% of the items, support_min for "
        "50.0%, k_precision for 50.0%, 1 more metric for too few, 60.0% wanted"
    ]


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_broken_inputs_exit_2_and_leave_nothing(case: Broken, tmp_path: Path) -> None:
    (tmp_path / case.file).write_bytes(case.data)
    before = {p.name for p in tmp_path.iterdir()}
    mapping = [f"--map={case.columns}"] if case.columns else []
    done = trueground("score", case.file, "--out", "out", *mapping, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    for part in case.says:
        assert part in done.stderr
    assert {p.name for p in tmp_path.iterdir()} == before


BAD_USAGE = {
    "unknown metric": (["--metrics", "k_precisoin"], "Did you mean 'k_precision'"),
    "unknown option of a metric": (["--metrics", "f1(abstain=zero)"], "f1 has no option 'abstain'"),
    "bad value of an option": (["--metrics", "k_f1(abstain=no)"], "as_is, exclude, one, zero"),
    "unknown judge": (["--judge", "lexcial"], "Did you mean 'lexical'"),
    "judge without llm": (["--judge", "gpt-4o"], "write 'llm:gpt-4o'"),
    "unknown decomposer": (["--decomposer", "x"], "unknown decomposer 'x'"),
    "unknown mapping": (["--map", "answer=response"], "'answer'"),
    "broken mapping": (["--map", "question"], "question"),
    "absent breakdown": (["--by", "topic"], "--by topic"),
    "limit of nothing": (["--limit", "0"], "--limit"),
    "workers of nothing": (["--workers", "0"], "--workers"),
    "coverage above one": (["--min-coverage", "2"], "--min-coverage"),
    "unknown format": (["--format", "xml"], "--format"),
    "unknown flag": (["--metric", "f1"], "--metric"),
    "option without a value": (["--metrics"], "--metrics"),
    "no metric": (["--metrics", ","], "--metrics is empty"),
    "options that do not close": (["--metrics", "f1(normalizer=squad"], "cannot read the metric"),
    "metric from an extra": (["--metrics", "meteor(wordnet=/nowhere)"], "/nowhere"),
}


@pytest.mark.parametrize("name", BAD_USAGE)
def test_bad_usage_exits_2_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    words, says = BAD_USAGE[name]
    write(tmp_path / "a.jsonl", [{"response": "x", "references": ["x"]}])
    done = trueground("score", "a.jsonl", "--out", "out", *words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_output_folder_that_cannot_be_used(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [{"response": "x"}])
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("precious")
    (tmp_path / "file").write_text("x")
    for out, says in (
        ("full", "holds files but no run, so it is left alone"),
        ("file", "is a file"),
        ("file/below", "cannot use"),
        ("/proc/nowhere", "cannot use"),
    ):
        done = trueground("score", "a.jsonl", "--out", out, cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert says in done.stderr
        assert "--out" in done.stderr
    assert (tmp_path / "full" / "thesis.txt").read_text() == "precious"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_unwritable_output_folder(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [{"response": "x"}])
    (tmp_path / "locked").mkdir(mode=0o555)
    done = trueground("score", "a.jsonl", "--out", "locked", cwd=tmp_path)
    assert done.returncode == 2
    assert "not writable" in done.stderr


def test_skipped_rows_are_listed(tmp_path: Path) -> None:
    lines = ['{"response": "x"}', '{"response": 5}', "{", '{"response": "y"}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    options = ("--metrics", "abstained", "--on-bad-row", "skip", "--out", "o")
    done = trueground("score", "a.jsonl", *options, cwd=tmp_path)
    assert done.returncode == 0
    assert "2 bad rows skipped" in done.stdout
    summary = json.loads((tmp_path / "o" / "summary.json").read_text())
    assert (summary["n"], summary["skipped"]) == (2, 2)
    assert "line 2" in summary["skipped_rows"][0]


def test_a_disk_that_fills_up_ends_with_5_and_keeps_whole_lines(tmp_path: Path) -> None:
    """A limit on the size of files stands for the full disk: both stop a write midway."""
    write(tmp_path / "a.jsonl", list(synthetic_records(6_000, 0, 60, 100)))

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    words = ("score", "a.jsonl", "--out", "o", "--metrics", "f1,k_precision", "--workers", "1")
    done = run(*words, cwd=tmp_path, preexec_fn=small_files)
    assert done.returncode == 5, done.stderr
    assert "items.jsonl" in done.stderr
    assert "intact" in done.stderr
    lines = (tmp_path / "o" / "items.jsonl").read_text().splitlines()
    assert 1_000 < len(lines) < 6_000
    assert [json.loads(line)["id"] for line in lines] == [f"r{i}" for i in range(len(lines))]
    manifest = json.loads((tmp_path / "o" / "manifest.json").read_text())
    assert (manifest["status"], manifest["scored"]) == ("failed", len(lines))
    assert not (tmp_path / "o" / "summary.json").exists()


@pytest.mark.parametrize("workers", mostly_long(1, ["1", "2"]))
def test_interrupt_keeps_what_was_done(workers: str, tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", list(synthetic_records(12_000, 0, 200, 300)))
    process = subprocess.Popen(
        [*PROGRAM, "score", "a.jsonl", "--out=o", "--workers", workers],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    items = tmp_path / "o" / "items.jsonl"
    deadline = time.monotonic() + 60
    # The piece that is being written may be cut off again: wait until it is the second one.
    while time.monotonic() < deadline:
        if items.exists() and items.read_bytes().count(b"\n") > 1_024:
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "items are in" in said
    assert "Traceback" not in said
    lines = items.read_text().splitlines()
    assert lines
    assert all("scores" in json.loads(line) for line in lines)
    manifest = json.loads((tmp_path / "o" / "manifest.json").read_text())
    assert (manifest["status"], manifest["scored"]) == ("interrupted", len(lines))


def test_list_and_version(tmp_path: Path) -> None:
    done = trueground("list", "metrics", "--format", "json", cwd=tmp_path)
    entries = {e["name"]: e for e in json.loads(done.stdout)}
    assert entries["f1"]["needs"] == ["references"]
    assert entries["k_precision"]["options"]["abstain"]["default"] == "as_is"
    assert "lexical" in trueground("list", "judges", cwd=tmp_path).stdout
    options = trueground("list", "benchmarks", cwd=tmp_path).stdout
    assert "default 'direct'" in options
    assert "default None" not in options
    assert "metrics:" in trueground("list", cwd=tmp_path).stdout
    assert trueground("list", "metric", cwd=tmp_path).returncode == 2
    assert trueground("--version", cwd=tmp_path).stdout.startswith("trueground ")


def test_a_terminal_without_some_characters(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [{"response": "x", "references": ["y"]}])
    environment = {**os.environ, "PYTHONIOENCODING": "cp437"}
    done = run("score", "a.jsonl", "--out", "o", cwd=tmp_path, env=environment, encoding="cp437")
    assert done.returncode == 0, done.stderr
    assert "f1" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_standard_output_is_told_in_one_line(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*PROGRAM, "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 5
    assert done.stderr.splitlines() == [
        "trueground: writing to standard output failed: No space left on device"
    ]


def test_default_folders_never_meet(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [{"response": "x"}])
    for _ in range(3):
        done = trueground("score", "a.jsonl", "--metrics", "abstained", "--quiet", cwd=tmp_path)
        assert done.returncode == 0
    runs = list((tmp_path / "runs").iterdir())
    assert len(runs) == 3
    assert all((folder / "report.html").exists() for folder in runs)


def test_json_prints_even_when_quiet(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [{"response": "x"}])
    done = trueground("score", "a.jsonl", "--quiet", "--format", "json", cwd=tmp_path)
    assert json.loads(done.stdout)["n"] == 1


def test_a_floor_for_what_should_be_low_is_noted(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [{"response": "Paris", "answerable": True}])
    done = trueground("score", "a.jsonl", "--fail-under", "p_g=0", "--out", "o", cwd=tmp_path)
    assert done.returncode == 0
    assert "lower is better for p_g" in done.stderr


def test_a_gate_on_another_judge(tmp_path: Path) -> None:
    row = {"response": "It leaves at nine.", "contexts": ["The ferry leaves at nine. It is old."]}
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    common = ["score", "a.jsonl", "--metrics", "grounding_precision(scope=input)", "--quiet"]
    common += ["--judge", "lexical", "--judge", "lexical(threshold=0.999)"]
    gate = "grounding_precision@lexical#2=0.5"
    done = trueground(*common, "--out", "one", "--fail-under", gate, cwd=tmp_path)
    assert done.returncode == 1
    assert "grounding_precision@lexical#2 is 0.0000" in done.stderr
    passed = trueground(
        *common, "--out", "two", "--fail-under", "grounding_precision=0.5", cwd=tmp_path
    )
    assert passed.returncode == 0
    other = trueground(*common, "--out", "three", "--fail-under", "support@x=1", cwd=tmp_path)
    assert other.returncode == 2
    assert "grounding_precision@lexical#2" in other.stderr
