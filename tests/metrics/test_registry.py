"""Names, options, keys and metrics from other packages."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import trueground as tg
from trueground.claims.registry import decomposers
from trueground.errors import UsageError
from trueground.judges.registry import judges
from trueground.metrics import registry
from trueground.metrics.batch import Column, Options
from trueground.metrics.context import BatchContext
from trueground.metrics.registry import METRICS


def test_keys_hold_what_differs_from_the_default() -> None:
    spec = METRICS.parse(" k_precision ( abstain = zero , normalizer=squad ) ")
    assert spec.key == "k_precision(abstain=zero)"
    assert spec.signature == (
        "k_precision|v:1|normalizer:squad|lang:en|abstain:zero|abstention_passage:false"
        "|rules:rules-3"
    )
    assert METRICS.parse(spec.key) == spec


def test_the_table_of_metrics_is_true() -> None:
    named: dict[str, list[str]] = {}
    needs = {}
    for module, need, *names in registry._MODULES:
        named.setdefault(module, []).extend(names)
        needs |= dict.fromkeys(names, need)
    for module, names in named.items():
        metrics = import_module(f"trueground.metrics.{module}").METRICS
        assert {metric.name for metric in metrics} == set(names)
        for metric in metrics:
            need = needs[metric.name]
            assert registry.METRICS.is_default(metric.name) == (need != "-")
            assert need in ("-", "any", *metric.default_needs)


def test_modules_are_imported_for_their_metrics_only() -> None:
    code = (
        "import sys; from trueground.metrics.registry import METRICS\n"
        "fields = ['references', 'contexts', 'question', 'answerable', 'gold_facts']\n"
        "METRICS.default_specs(fields)\n"
        "lazy = ('metrics.compared', 'metrics.passages', 'metrics.ratings', 'benchmarks')\n"
        "print([n for n in lazy if f'trueground.{n}' in sys.modules])\n"
        "print(METRICS.resolve('q2_f1').name, 'trueground.metrics.compared' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\nq2_f1 True\n"


def test_lists_split_outside_parentheses() -> None:
    text = "f1, k_precision(abstain=zero,lang=de) ,recall"
    assert METRICS.split(text) == ["f1", "k_precision(abstain=zero,lang=de)", "recall"]
    assert [s.key for s in METRICS.parse_all(["f1,f1", "f1()"])] == ["f1"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("recal", "Did you mean 'recall'"),
        ("f1(normalizer)", "write option=value"),
        ("f1(normalizer=)", "write option=value"),
        ("f1(lang=de,lang=en)", "given twice"),
        ("f1(normalizer=squad", "cannot read the metric"),
        ("", "cannot read the metric"),
        ("f1)(", "cannot read the metric"),
    ],
)
def test_parse_rejects_invalid_metric(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says.replace("(", r"\(")):
        METRICS.parse(text)


def _length(evidence: BatchContext, _options: Options) -> Column:
    return Column.of(np.array([len(u) for u in evidence.batch.responses]))


def test_a_metric_of_a_script() -> None:
    tg.metric("chars", doc="length in characters")(_length)
    try:
        assert tg.score([{"response": "four"}], metrics="chars").summary["chars"].mean == 4
        assert "chars" not in tg.score([{"response": "four"}]).summary
        with pytest.raises(UsageError, match="exists already"):
            tg.metric("chars", doc="another")(_length)
    finally:
        del METRICS["chars"]


def test_a_metric_of_another_package(tmp_path: Path) -> None:
    """An installed package: a module, and one entry-point line. Worker processes find it too."""
    (tmp_path / "their_metrics.py").write_text(
        "import numpy as np\n"
        "import trueground as tg\n"
        "from trueground.metrics.batch import Column\n"
        "@tg.metric('words', doc='number of words')\n"
        "def words(evidence, options):\n"
        "    return Column.of(np.array([len(u.split()) for u in evidence.batch.responses]))\n"
    )
    (tmp_path / "their_judge.py").write_text(
        "import trueground as tg\n"
        "@tg.judge('strict')\n"
        "class Strict(tg.testing.FakeJudge):\n"
        "    def __init__(self): super().__init__(default=0.0); self.name = 'lexical'\n"
    )
    info = tmp_path / "their_metrics-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-metrics\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[trueground.metrics]\nwords = their_metrics\n[trueground.judges]\nstrict = their_judge\n"
    )
    code = (
        "import trueground as tg\n"
        "if __name__ == '__main__':\n"
        "    rows = [{'response': 'It is.', 'contexts': ['It is.']}] * 3\n"
        "    names = 'words,grounding_precision'\n"
        "    for w in (1, 2):\n"
        "        found = tg.score(rows, metrics=names, judge='strict', workers=w).summary\n"
        "        print([found[name].mean for name in names.split(',')])\n"
    )
    script = tmp_path / "use.py"
    script.write_text(code)
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout.split("\n")[:2] == ["[2.0, 0.0]", "[2.0, 0.0]"], done.stderr


def test_default_set_with_field_of_another_package_has_its_metrics(tmp_path: Path) -> None:
    (tmp_path / "their_metrics.py").write_text(
        "import numpy as np\n"
        "from trueground.metrics.base import Metric\n"
        "from trueground.metrics.batch import Column\n"
        "from trueground.metrics.registry import register_metrics\n"
        "def graphs(context, options):\n"
        "    return Column.of(np.array([len(graphs) for graphs in context.batch.graphs]))\n"
        "new = Metric(name='graphs', family='other', needs=('knowledge',), compute=graphs,\n"
        "             doc='number of graphs', source='here')\n"
        "register_metrics([new], field='knowledge', before='f1')\n"
    )
    info = tmp_path / "their_metrics-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-metrics\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[trueground.metrics]\nknowledge = their_metrics\n")
    code = (
        "import sys\n"
        "from trueground.metrics.registry import METRICS\n"
        "print('graphs' in [spec.key for spec in METRICS.default_specs(['references'])])\n"
        "print('their_metrics' in sys.modules)\n"
        "names = [spec.key for spec in METRICS.default_specs(['references', 'knowledge'])]\n"
        "print(names.index('graphs') + 1 == names.index('f1'), 'citation_correctness' in names)\n"
    )
    script = tmp_path / "use.py"
    script.write_text(code)

    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path
    )

    assert done.stdout == "False\nFalse\nTrue True\n", done.stderr


def test_a_judge_and_a_decomposer_of_a_script() -> None:
    tg.judge("never")(lambda: tg.testing.FakeJudge(default=0.0))
    tg.decomposer("bars")(tg.testing.FakeDecomposer)
    rows = [{"response": "a|b", "contexts": ["a b"]}]
    try:
        result = tg.score(rows, metrics="grounding_precision", judge="never", decomposer="bars")
    finally:
        del judges["never"], decomposers["bars"]
    assert result.summary["grounding_precision"].mean == 0
    with pytest.raises(UsageError, match="exists already"):
        tg.judge("lexical")(tg.testing.FakeJudge)


def test_parts_that_break_their_promise() -> None:
    class Short(tg.testing.FakeJudge):
        def judge(self, requests: object) -> list[tg.Verdict]:
            return []

    row = {"response": "a", "contexts": ["a b"]}
    with pytest.raises(tg.errors.ProtocolError, match="0 verdicts for 1 request"):
        tg.score([row], metrics="grounding_precision", judge=Short())
    with pytest.raises(UsageError, match="isn't a field"):
        tg.metric("odd", doc="", needs=("model",))(_length)
    with pytest.raises(UsageError, match="doesn't use verdicts such as supported"):
        tg.metrics.k_precision(["a"], contexts=[["a"]], supported=[[1]])


def test_choices_as_records_have_them() -> None:
    shapes = (
        [{"label": "A", "text": "x"}, {"label": "B", "text": "y"}],
        [("A", "x"), ("B", "y")],
        {"A": "x", "B": "y"},
    )
    for choices in shapes:
        assert tg.metrics.choice_accuracy(["B"], choices=[choices], references=[["B"]])[0] == 1
    with pytest.raises(UsageError, match=r"responses\[0\] is NoneType"):
        tg.metrics.f1([None], references=[["x"]])


def test_direction_of_every_key_of_results() -> None:
    lower = ("p_g", "abstained", "p_g(rules=x)", "p_g@lexical", "llm_p_g(prompt=a@b)")
    assert [METRICS.higher_is_better(key) for key in lower] == [False] * len(lower)
    higher = ("p_ir", "f1", "citation_f1_micro", "citation_f1_micro(variant=paper)@x")
    assert [METRICS.higher_is_better(key) for key in higher] == [True] * len(higher)
    assert METRICS.higher_is_better("length") is None
    assert METRICS.higher_is_better("no_such_micro") is None
