"""`trueground compare` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.commands import trueground


def write(path: Path, answers: dict[str, str]) -> None:
    rows: list[dict[str, Any]] = [
        {"id": id_, "question": f"What about {id_}?", "references": ["1931"], "response": response}
        for id_, response in answers.items()
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs `one` and `two` over the same items, `three` over others."""
    path = tmp_path_factory.mktemp("runs")
    write(path / "one.jsonl", {"a": "1931", "b": "1931", "c": "in 1931", "d": "1913"})
    write(path / "two.jsonl", {"d": "1931", "c": "1931", "b": "1913", "a": "1931"})
    write(path / "three.jsonl", {"a": "1931", "z": "1931"})
    for name in ("one", "two", "three"):
        done = trueground(
            *("score", f"{name}.jsonl", "--metrics", "exact_match,f1", "--out", name), cwd=path
        )
        assert done.returncode == 0, done.stderr
    return path


def test_text(folder: Path) -> None:
    done = trueground("compare", "one", "two", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line for line in lines if line][:5] == [
        "4 items in both. Differences are two − one.",
        "right?",
        "- no difference can be shown on f1 (it would take about 790 items)",
        "other metrics",
        "- no difference can be shown on exact_match (it would take about 92 items)",
    ]
    assert "f1: 1 worse in two" in lines
    assert "    one  in 1931" in lines
    assert lines[-5:-3] == ["one  one (4 items)", "two  two (4 items)"]
    assert lines[-2:] == ["all statistics: --all", "as a page: --out FOLDER or FILE.html"]
    assert max(map(len, lines)) <= 80


def test_all_statistics(folder: Path) -> None:
    lines = trueground("compare", "one", "two", "--all", cwd=folder).stdout.splitlines()
    (tests,) = (k for k, line in enumerate(lines) if line == "Tests")
    assert lines[tests + 1].split()[:4] == ["metric", "p", "Holm", "p"]
    assert lines[tests + 2].split()[:6] == ["exact_match", "1.0000", "1.0000", "2", "1", "1"]
    assert lines[tests + 2].endswith("exact McNemar (b 1, c 2)")
    assert "Sizes of the effects" in lines
    assert "    →  one/report.html#item-b" in lines


def test_json_holds_what_the_library_gives(folder: Path) -> None:
    from trueground.studies.comparing import compare

    done = trueground(
        *("compare", "one", "two", "--format", "json", "--seed", "3", "--metrics", "f1"),
        *("--resamples", "500", "--level", "0.9", "--flips", "1"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    here = compare(
        [folder / "one", folder / "two"], metrics="f1", seed=3, resamples=500, level=0.9, flips=1
    ).as_dict()
    assert found["pairs"] == json.loads(json.dumps(here))["pairs"]
    assert (found["level"], found["resamples"], found["seed"]) == (0.9, 500, 3)


def test_page(folder: Path) -> None:
    done = trueground("compare", "one", "two", "--out", "c.html", "--quiet", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "exact_match" in (folder / "c.html").read_text(encoding="utf-8")
    told = trueground("compare", "one", "two", "--out", "c.html", cwd=folder).stdout
    assert told.endswith("page   c.html\n")


def test_a_page_in_a_folder(folder: Path) -> None:
    for _ in range(2):  # the second time it is there
        done = trueground("compare", "one", "two", "--out", "page", cwd=folder)
        assert done.stdout.endswith("page   page/comparison.html\n")
    assert [entry.name for entry in (folder / "page").iterdir()] == ["comparison.html"]
    (folder / "page" / "comparison.html").write_text("mine")
    done = trueground("compare", "one", "two", "--out", "page", cwd=folder)
    assert (done.returncode, "is no comparison page of ours" in done.stderr) == (2, True)
    done = trueground("compare", "one", "two", "--out", "one/items.jsonl/page", cwd=folder)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)


def test_the_first_sentence_is_about_the_shares_of_answers(tmp_path: Path) -> None:
    text = {True: "It is in Rome.", False: "It is in Paris."}
    for name, good in (("old", 4), ("new", 18), ("same", 4)):
        rows = [
            {"id": i, "contexts": [text[True]], "response": text[i < good], "group": str(i // 2)}
            for i in range(20)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        metrics = "support,k_precision" if name != "same" else "k_precision,support"
        trueground("score", f"{name}.jsonl", "--metrics", metrics, "--out", name, cwd=tmp_path)
    said = trueground("compare", "old", "new", "--out", "c.html", cwd=tmp_path).stdout
    first, _, *others = said.splitlines()  # names of runs and numbers are long
    assert first.startswith("new has more grounded answers: 90 % against 20 % in old; +70.0 points")
    shares = "partly grounded 0 % → 0 %, not grounded 80 % → 10 %, declined to answer 0 % → 0 %"
    assert " ".join(" ".join(others).split()).startswith(shares)
    assert "grounded?\n- new is better on support" in said
    assert "has more grounded answers" in (tmp_path / "c.html").read_text(encoding="utf-8")
    done = trueground("compare", "old", "new", "--format", "json", cwd=tmp_path)
    found = json.loads(done.stdout)["pairs"][0]["verdicts"]["grounded"]
    assert (found["mean_a"], found["mean_b"], found["n"]) == (0.2, 0.9, 20)
    assert found["difference"] == pytest.approx(0.7)
    assert found["ci"][0] < 0.7 < found["ci"][1]
    said = trueground("compare", "old", "same", cwd=tmp_path).stdout
    assert said.startswith("The same answers are grounded in both: 20 %\n")


def test_a_page_never_takes_the_place_of_another_file(folder: Path) -> None:
    before = (folder / "one" / "items.jsonl").read_bytes()
    done = trueground("compare", "one", "two", "--out", "one/items.jsonl", cwd=folder)
    assert done.returncode == 2
    assert "name a folder or FILE.html" in done.stderr
    assert (folder / "one" / "items.jsonl").read_bytes() == before
    for other in ("one/report.html", "mine.html"):
        path = folder / other
        path.write_text(path.read_text("utf-8") if path.exists() else "<p>mine", "utf-8")
        before = path.read_bytes()
        done = trueground("compare", "one", "two", "--out", other, cwd=folder)
        assert (done.returncode, done.stdout) == (2, "")
        assert "is no comparison page of ours, so it stays" in done.stderr
        assert path.read_bytes() == before
    done = trueground("compare", "one", "two", "--out", "nowhere/c.html", cwd=folder)
    assert (done.returncode, "does not exist" in done.stderr) == (2, True)


def test_what_does_not_match_ends_in_two(folder: Path) -> None:
    done = trueground("compare", "one", "three", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert "3 ids only in one (b, c, d), 1 only in three (z)" in done.stderr
    assert "Traceback" not in done.stderr
    done = trueground("compare", "one", "three", "--allow-mismatch", cwd=folder)
    assert done.returncode == 0
    assert "note: the items differ" in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["one"], "two or more"),
        (["one", "one"], "given twice"),
        (["one", "absent"], "absent/manifest.json: not found"),
        (["one", "two", "--metrics", "nonsense"], "'nonsense': in neither run"),
        (["one", "two", "--level", "95"], "between 0 and 1"),
        (["one", "two", "--detect", "2"], "2 points are --detect 0.02"),
    ],
)
def test_bad_usage_ends_in_two(folder: Path, words: list[str], told: str) -> None:
    done = trueground("compare", *words, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def worse(folder: Path) -> Path:
    """`good` and `bad` over the same 20 items, of which `bad` has 12 wrong, and declines 8 more."""
    right = {f"q{i}": "1931" for i in range(20)}
    write(folder / "good.jsonl", right)
    wrong = {f"q{i}": "1913" if i < 12 else "I don't know." for i in range(20)}
    write(folder / "bad.jsonl", wrong)
    for name in ("good", "bad"):
        words = ("score", f"{name}.jsonl", "--metrics", "exact_match,abstained", "--out", name)
        assert trueground(*words, cwd=folder).returncode == 0
    return folder


@pytest.mark.parametrize(
    ("runs", "gates", "code", "told"),
    [
        ("good bad", ["abstained"], 1, "bad against good, abstained: worse by 0.4000 ["),
        ("good bad", ["abstained=0.1"], 1, "; 0.1 is allowed"),
        ("good bad", ["abstained=0.4"], 0, ""),
        ("good bad", ["exact_match=0.1"], 1, "exact_match: worse by 1.0000; 0.1 is allowed"),
        ("bad good", ["abstained", "exact_match"], 0, ""),
        ("one two", ["f1", "exact_match"], 0, ""),  # by chance
        ("good bad", ["f1"], 2, "--fail-if-worse f1: it was not compared; name one of exact_match"),
        ("good bad", ["abstained=-1"], 2, "cannot be read; write METRIC or METRIC=X"),
        ("good bad", ["=0.1"], 2, "cannot be read"),
        ("good bad", ["abstained=nan"], 2, "cannot be read"),
    ],
)
def test_a_run_that_is_surely_worse_fails(
    worse: Path, runs: str, gates: list[str], code: int, told: str
) -> None:
    words = [word for gate in gates for word in ("--fail-if-worse", gate)]
    done = trueground("compare", *runs.split(), *words, "--quiet", cwd=worse)
    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr
    assert bool(done.stderr) == bool(told)


def test_sentences_name_the_better_run(worse: Path) -> None:
    lines = trueground("compare", "good", "bad", cwd=worse).stdout.splitlines()
    lines = [line for line in lines if line.startswith("- ")]
    assert lines[0] == "- good is better on exact_match: -1.000 for every item"
    assert lines[1].startswith("- good is better on abstained: +0.400 [0.2")
    assert lines[1].endswith("], lower is better")
