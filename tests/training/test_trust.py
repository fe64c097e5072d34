"""The tables of docs/trust.md: made whole from small sets, and kept in agreement with the files."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import msgspec
import pytest
from training.offline_judge import sets
from training.trust import __main__ as command, examples, page, papers, tables
from training.trust.measuring import LeftOut, Settings

from trueground.errors import InputError
from trueground.judges.lexical.weights import NAMES, weights
from trueground.judges.people import FILE, LabeledVerdicts

DOCS = Path(__file__).parents[2] / "docs"
MARKERS = (
    "how",
    "sets",
    "sets-correct",
    "ranking",
    "spread",
    "ranks",
    "verdicts",
    "people",
    "rates",
    "calibration",
    "correct",
    "paper-correct",
    "paper-faithful",
)
PLACES = ("Arden", "Bellow", "Corby", "Dunmore", "Elston", "Farley")
THINGS = ("mill", "bridge", "tower", "chapel", "harbour", "school")


def _record(name: str, number: int) -> dict[str, object]:
    place, thing = PLACES[number % 6], THINGS[(number + len(name)) % 6]
    year, right = 1801 + 7 * number, number % 3 != 0
    text = (
        f"The old {thing} of {place} was built in {year} by two brothers. "
        f"It stands by the river and was sold to the town of {place} in {year + 40}."
    )
    said = f"The {thing} was built in {year if right else year + 3} by two brothers."
    if number % 5 == 0:
        said = f"Nobody knows who built the {thing}, though visitors like it."
    label = sets.table()[name].label
    return {
        "id": f"{name}-{number}",
        "question": f"When was the {thing} of {place} built?",
        "contexts": [text] if label == "faithful" else [],
        "references": [] if label == "faithful" else [str(year)],
        "response": said,
        "human": {label: float(right and number % 5 != 0)},
        "group": f"{name}-{number // 2}",
    }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "human"
    folder.mkdir()
    for name in sets.table():
        lines = [msgspec.json.encode(_record(name, number)) for number in range(12)]
        with gzip.open(folder / f"{name}.jsonl.gz", "wb") as file:
            file.write(b"\n".join(lines))
    return folder


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    text = "\n\n".join(f"## {m}\n\n<!-- made: {m} -->\nold\n<!-- end -->" for m in MARKERS)
    (folder / "trust.md").write_text(f"# Trust\n\n{text}\n\nkept\n", "utf-8")
    rows = "\n".join(f"| `{name}` | what it is | 9.999 |" for name in NAMES)
    (folder / "judge.md").write_text(f"# Judge\n\n{rows}\n", "utf-8")
    return folder


def test_people_table_has_the_names_of_verdicts_and_a_row_per_set() -> None:
    counts = msgspec.json.decode(FILE.read_bytes(), type=LabeledVerdicts)
    table = tables.people(counts)
    assert "called partly grounded | called not grounded |" in table
    assert all(f"`{labeled.name}`" in table for labeled in counts.sets)


@pytest.mark.long
def test_the_page_is_made_whole_and_alike(data: Path, docs: Path, tmp_path: Path) -> None:
    given = Settings(data, resamples=20)
    out, counts = tmp_path / "deep" / "found.json", tmp_path / "verdicts.json"
    written = command.main(given, docs, out, counts)
    text = written.read_text("utf-8")
    assert written == docs / "trust.md"
    assert "old" not in text.replace("old mill", "")
    assert text.endswith("\nkept\n")
    assert "| `faithdial_audit` | 0." in text
    ranking = text.partition("<!-- made: ranking -->")[2].partition("<!-- end -->")[0]
    for name in sets.folds("faithful"):
        row = next(line for line in ranking.splitlines() if line.startswith(f"| `{name}`"))
        assert (tables.STAR in row) == sets.table()[name].trains, row
    assert "9.999" not in (docs / "judge.md").read_text("utf-8")
    found = msgspec.json.decode(out.read_bytes())
    assert found["left_out"]["mean"]["auroc"]["sets"] == 14
    verdicts = msgspec.json.decode(counts.read_bytes(), type=LabeledVerdicts)
    assert [one.name for one in verdicts.sets] == list(sets.folds("faithful"))
    assert 0 < verdicts.total.n <= 14 * 12
    assert command.main(given, docs, None, counts).read_text("utf-8") == text


def test_docs_have_the_weights_of_the_file() -> None:
    text = (DOCS / "judge.md").read_text("utf-8")
    assert page.weighed(text, weights().weights, "judge.md") == text, "run `make validate`"
    rows = re.findall(r"(?m)^\| `.*\| \d\.\d{3} \|$", text)
    named = [line.split("`")[1] for line in rows if line.split("`")[1] in NAMES]
    assert named == list(NAMES)


def test_docs_have_every_marker() -> None:
    text = (DOCS / "trust.md").read_text("utf-8")
    filled = page.filled(text, dict.fromkeys(MARKERS, "made"), "trust.md")
    assert filled.count("-->\nmade\n<!-- end -->") == len(MARKERS)


def test_a_page_without_marker_or_row_is_refused() -> None:
    with pytest.raises(InputError, match=r"trust\.md: .*made: sets.* 0 times"):
        page.filled("# Trust\n", {"sets": "x"}, "trust.md")
    twice = "<!-- made: sets -->\n<!-- end -->\n" * 2
    with pytest.raises(InputError, match="2 times"):
        page.filled(twice, {"sets": "x"}, "trust.md")
    with pytest.raises(InputError, match="found 0 rows of a table for the feature 'said'"):
        page.weighed("| `words` | what | 1.000 |", {"said": 0.5}, "judge.md")


EXAMPLE = """\
```sh
cat > {name}.py <<'END'
{code}
END
python {name}.py
```

As it stands:

```text
stale
```
"""


def test_examples_get_their_real_output() -> None:
    plain = "```sh\nls\n```\n\n```text\nkept\n```\n"
    text = plain + EXAMPLE.format(name="two", code="print('é ', 2)\nprint(3)") + plain
    fresh = examples.replayed(text, "trust.md")
    assert fresh == text.replace("stale\n", "é  2\n3\n")
    assert examples.replayed(fresh, "trust.md") == fresh


def test_an_example_that_fails_is_named() -> None:
    text = EXAMPLE.format(name="broken", code="print(1 / 0)")
    with pytest.raises(InputError, match=r"trust\.md, broken\.py: found 'ZeroDivisionError"):
        examples.replayed(text, "trust.md")


def test_numbers() -> None:
    found = {"value": -0.0004, "ci": [-0.0123, 0.02]}
    assert tables.number(found, 3, plus=True) == "0.000 [−0.012,\u00a0+0.020]"
    assert tables.number(found, 2) == "0.00 [−0.01,\u00a00.02]"
    assert tables.number({"value": 0.5, "ci": None}) == "0.50"
    assert tables.number({"value": None, "ci": None}) == tables.number(None) == tables.NONE


def _measures(value: float | None) -> dict[str, dict[str, object]]:
    names = ("auroc", "spearman", "kendall", "balanced_accuracy", "calibration_error")
    ci = None if value is None else [value, value]
    return {name: {"value": value, "ci": ci, "sets": 1} for name in names}


def test_metrics_of_correctness_stand_by_auroc() -> None:
    values = {"f1": 0.6, "meteor(wordnet=/usr/share)": 0.9, "recall": None}
    entries = {name: {"measures": _measures(value)} for name, value in values.items()}
    text = tables.correctness({"sets": [{"name": "tq", "n": 1200, "metrics": entries}]})
    head, _, *rows = text.splitlines()
    assert head.startswith("| `tq`, n = 1,200 | AUROC |")
    assert [row.split("`")[1] for row in rows] == ["meteor", "f1", "recall"]
    assert rows[0].split(" | ")[1] == "0.900 [0.900,\u00a00.900]"
    assert rows[2].count(tables.NONE) == 5


def test_printed_numbers_stand_beside_ours() -> None:
    raw = {
        "sets": [{"name": "a", "metrics": {"k_precision": {"measures": _measures(0.31)}}}],
        "mean": {"k_precision": _measures(0.31)},
    }
    left_out = LeftOut({"a": _measures(0.4)}, {}, {}, _measures(0.4), {}, {}, {})
    text = papers.faithful(raw, left_out)
    assert "| K-Precision | `k_precision` | 49.8 / 43.4 | 31.0 / 31.0 | 31.0 … 31.0 |" in text
    assert "| – | `support`, left out | – | 40.0 / 40.0 | 40.0 … 40.0 |" in text
    assert "| K-F1 | `k_f1` | −10.3 / −8.4 | – | – |" in text
    entries = {"recall": {"measures": _measures(0.5)}}
    text = papers.correct({"sets": [{"name": "tq", "metrics": entries}]})
    assert "| Recall | `recall` | 60.0 / 55.6 | 50.0 / 50.0 |" in text
    assert "correct_support" not in text  # neither printed nor measured
    assert text.count("\n") == 1 + sum(
        one.spearman is not None for one in papers.printed()["correct"]
    )
