"""`trueground judge calibrate` as a user types it."""

from __future__ import annotations

import gzip
import json
import os
import stat
from pathlib import Path

import pytest
from tests.commands import Done, trueground

TEXT = "The old mill was built in 1903 by two brothers. It stands by the river Elm."
CLAIMS = (
    ("The mill was built in 1903.", 1),
    ("It stands by the river Elm.", 1),
    ("Two brothers built the mill.", 1),
    ("The mill was built in 1930.", 0),
    ("It stands by the river Oak.", 0),
    ("Bread is baked there every morning.", 0),
)


def run(*words: str | Path, cwd: Path) -> Done:
    return trueground("judge", "calibrate", *words, cwd=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """one.jsonl and two.jsonl.gz: the same claims with other ids; plain.jsonl has no label."""
    path = tmp_path_factory.mktemp("labeled")
    for name in ("one", "two", "plain"):
        human = [{} if name == "plain" else {"human": {"faithful": y}} for _, y in CLAIMS]
        text = "".join(
            json.dumps({"id": f"{name}{i}", "response": c, "contexts": [TEXT], **human[i]}) + "\n"
            for i, (c, _) in enumerate(CLAIMS)
        )
        (path / f"{name}.jsonl").write_text(text, encoding="utf-8")
        (path / f"{name}.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    return path


def test_text(folder: Path) -> None:
    done = run("one.jsonl", "two.jsonl.gz", "--resamples", "100", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    first = " ".join(lines[:4])
    assert first.startswith("On records held out lexical calls 100 % of the positive and 100 % of")
    assert "balanced accuracy 1.0000" in first
    assert "AUROC 1.0000" in first
    assert "12 records that people labeled faithful, 6 positive." in lines
    assert any(line.startswith("default") and " 0.5000 " in line for line in lines)
    assert any(line.startswith("two.jsonl.gz") for line in lines)


def test_json_and_file_are_the_same(folder: Path) -> None:
    done = run("one.jsonl", "--format", "json", "--out", "c.json", cwd=folder)
    assert done.returncode == 0
    assert done.stderr.startswith("trueground: WARNING: c.json: fitted to 6 labels, 3 of the rarer")
    found = json.loads(done.stdout)
    assert found == json.loads((folder / "c.json").read_text(encoding="utf-8"))
    assert found["files"][0]["path"] == "one.jsonl"
    again = run("one.jsonl", "--out", "c.json", cwd=folder)
    assert again.returncode == 2
    assert "pass --overwrite" in again.stderr
    quiet = run("one.jsonl", "--out", "c.json", "--overwrite", "--quiet", cwd=folder)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", done.stderr)
    assert json.loads((folder / "c.json").read_text(encoding="utf-8")) == found


def test_a_page_alone_or_in_a_folder_beside_the_file(folder: Path) -> None:
    done = run("one.jsonl", "two.jsonl.gz", "--out", "both", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("out    both\n")
    assert sorted(p.name for p in (folder / "both").iterdir()) == [
        "calibration.html",
        "calibration.json",
    ]
    page = (folder / "both" / "calibration.html").read_text(encoding="utf-8")
    for words in ("What each threshold would give", "Scores by label", "calls 100 % of the"):
        assert words in page
    again = run("one.jsonl", "two.jsonl.gz", "--out", "both", cwd=folder)
    assert (again.returncode, "pass --overwrite" in again.stderr) == (2, True)
    alone = run(
        "one.jsonl", "two.jsonl.gz", "--out", "p.html", "--quiet", "--format", "json", cwd=folder
    )
    assert alone.returncode == 0, alone.stderr
    assert (folder / "p.html").read_text(encoding="utf-8") == page
    for out in ("both", "p.html"):
        assert run("one.jsonl", "--out", out, "--overwrite", cwd=folder).returncode == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["one.jsonl", "--out", "x.txt"], "name a folder, FILE.json or FILE.html"),
        (["plain.jsonl"], "no record has a human label"),
        (["one.jsonl", "--label", "fluent"], "unknown label 'fluent'. Known: faithful."),
        (["one.jsonl", "--judge", "lexcial"], "Did you mean 'lexical'"),
        (["none.jsonl"], "none.jsonl"),
        (["one.jsonl", "--out", "no/c.json"], "the folder no does not exist"),
        (["one.jsonl", "--positive-above", "2"], "0 of 6 labeled records"),
        (["one.jsonl", "--objective", "auc"], "--objective"),
        (["one.jsonl", "--method", "spline"], "--method"),
        (["one.jsonl", "--method", "isotonic"], "expected 20 or more of each"),
        (["one.jsonl", "--precision", "1.5"], "above 0, and at most 1"),
        (["one.jsonl", "--precision", "0.9", "--objective", "f1"], "leave the other out"),
        (["one.jsonl", "one.jsonl"], "given twice"),
    ],
)
def test_bad_input_is_2_and_writes_nothing(folder: Path, words: list[str], told: str) -> None:
    before = sorted(folder.iterdir())
    done = run(*words, *([] if "--out" in words else ["--out", "new.json"]), cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert sorted(folder.iterdir()) == before


def test_standard_input_and_other_column_names(folder: Path) -> None:
    text = (folder / "one.jsonl").read_text(encoding="utf-8").replace('"response"', '"claim"')
    done = trueground("judge", "calibrate", "-", "--map", "response=claim", stdin=text)
    assert (done.returncode, done.stderr) == (0, "")
    assert "6 records that people labeled faithful, 3 positive" in done.stdout


def test_only_a_calibration_is_ever_replaced(folder: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.json"
    notes.write_text("mine", encoding="utf-8")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for out, words in ((notes, "no calibration file"), (pipe, "no regular file")):
        done = run("one.jsonl", "--out", out, "--overwrite", "--resamples", "10", cwd=folder)
        assert done.returncode == 2
        assert words in done.stderr
    assert notes.read_text(encoding="utf-8") == "mine"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    again = tmp_path / "c.json"
    for words in ((), ("--overwrite",)):
        done = run("one.jsonl", "--out", again, *words, "--resamples", "10", cwd=folder)
        assert done.returncode == 0, done.stderr


def test_a_judge_without_scores_is_refused_before_it_is_asked(folder: Path) -> None:
    model = "llm:m(base_url=http://127.0.0.1:9/v1)"
    for asked in (("--objective", "kappa"), ("--precision", "0.9")):
        done = run("one.jsonl", "--judge", model, *asked, cwd=folder)
        assert done.returncode == 2  # 4 if anybody had been asked
        assert "no threshold to choose" in done.stderr


def test_a_judge_without_scores_gets_probabilities(folder: Path, tmp_path: Path) -> None:
    """A model that says True to every statement tells nothing apart; its replies are real ones."""
    done = run("one.jsonl", "--judge", "llm:fake:True", "--out", tmp_path / "c.json", cwd=folder)
    assert done.returncode == 2
    assert "all 6 verdicts are True" in done.stderr
    assert not (tmp_path / "c.json").exists()


def test_precision_and_method_stand_in_the_report(folder: Path) -> None:
    rows = [
        {"id": f"{i}{k}", "response": c, "contexts": [TEXT], "human": {"faithful": y}}
        for k in range(10)
        for i, (c, y) in enumerate(CLAIMS)
    ]
    (folder / "many.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    done = run("many.jsonl", "--precision", "0.7", "--method", "isotonic", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Chosen for a precision of 0.7, the lowest that reaches it" in done.stdout
    assert "isotonic (kept)" in done.stdout
    assert "with 95% confidence, one-sided" in done.stdout


VOICES = ("faithful:a", "faithful:b", "faithful:c", "faithful:d")


def test_annotators_and_the_level_of_the_intervals(folder: Path, tmp_path: Path) -> None:
    rows = [
        {
            "response": c,
            "contexts": [TEXT],
            "human": dict(zip(VOICES, (y, y, 1 - y, y), strict=True))
            if i % 6
            else dict(zip(VOICES[:2], (1, 0), strict=True)),
        }
        for i, c in enumerate([c for c, _ in CLAIMS] * 20)
        for y in (int(i % 6 < 3) ^ int(i % 7 == 3),)  # some are wrong
    ]
    (tmp_path / "votes.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    wide, narrow = (
        json.loads(run("votes.jsonl", "--level", level, "--format", "json", cwd=tmp_path).stdout)
        for level in ("0.99", "0.5")
    )
    assert (wide["n"], wide["positives"], wide["unscored"]) == (100, 44, {"tied": 20})
    assert (wide["ci_level"], narrow["ci_level"]) == (0.99, 0.5)
    low, high = (found["default"]["balanced_accuracy_ci"] for found in (wide, narrow))
    assert low[0] < high[0] <= high[1] < low[1]
    done = run("votes.jsonl", "--labels", "none.jsonl", cwd=tmp_path)
    assert done.returncode == 2
    assert "none.jsonl" in done.stderr


def test_score_takes_the_file(folder: Path, tmp_path: Path) -> None:
    """From labels to a run whose signatures tell the calibration."""
    path = tmp_path / "c.json"
    assert run("one.jsonl", "--out", path, "--quiet", cwd=folder).returncode == 0
    words = ["score", "one.jsonl", "--metrics", "support", "--no-progress", "--quiet"]
    out = tmp_path / "scored"
    done = trueground(*words, "--judge-calibration", path, "--out", out, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert "|calibration:" in manifest["judge"]["signature"]
    for judge, file, told in (
        ("llm:fake:True", path, "the judges here are llm; add --judge lexical"),
        ("lexical", tmp_path / "none.json", "No such file"),
        (f"lexical(calibration={path})", path, "leave that or --judge-calibration out"),
    ):
        done = trueground(*words, "--judge", judge, "--judge-calibration", file, cwd=folder)
        assert (done.returncode, done.stdout) == (2, "")
        assert told in done.stderr


def test_run_takes_the_file(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    assert run("one.jsonl", "--out", path, "--quiet", cwd=folder).returncode == 0
    words = ["run", "truly-ground", "--model", "fake:x", "--dry-run", "--judge", "llm:fake:True"]
    done = trueground(*words, "--judge-calibration", path, cwd=folder)
    assert done.returncode == 2
    assert "it is for the judge 'lexical', but the judges here are llm" in done.stderr


def test_two_files_and_a_file_without_use(folder: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    assert run("one.jsonl", "--out", first, "--quiet", cwd=folder).returncode == 0
    second.write_bytes(first.read_bytes())
    quiet = ("--quiet", "--no-progress")
    one, two = ("--judge-calibration", first), ("--judge-calibration", second)
    ask = ("run", "truly-ground", "--model", "fake:x", "--dry-run")
    for words in (
        ("score", "one.jsonl", "--metrics", "support", *quiet),
        ("validate", "one.jsonl", "--metrics", "support", *quiet),
        ask,
    ):
        done = trueground(*words, *one, *two, cwd=folder)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{first} and {second} are both for the judge lexical" in done.stderr
    told = f"--judge-calibration {first} was not used: none of the metrics asks a judge"
    score = ("score", "one.jsonl", "--metrics", "k_precision", "--out", tmp_path / "s", *quiet)
    done = trueground(*score, *one, cwd=folder)
    assert (done.returncode, done.stderr) == (0, f"trueground: {told}\n")
