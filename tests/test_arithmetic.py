"""What is written is computed with `trueground.stats.arithmetic`, whose bits no machine changes.

These tests read the source. Where one fails, take the function of `trueground.stats` that has the
same name, or `total` for a sum of floats, `sum_counts` for whole numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import trueground

SRC = Path(trueground.__file__).parent
# A network's numbers come from Torch, ONNX Runtime and BLAS, which promise no bits; docs/scale.md
# says so. These modules compute with what networks give.
NETWORKS = (
    "encoders/models.py",
    "judges/comparing/bertscore.py",
    "judges/encoder.py",
    "wings/search/vectors.py",
)

ORDER = "the order of its additions depends on SIMD, BLAS or the version of a library"
LIBRARY = "its last digit depends on the C library or on SIMD"
ORDERED = """
    add.reduce add.reduceat average corrcoef cov dot einsum inner linalg matmul mean nanmean
    nanstd nansum nanvar std sum tensordot trapezoid var vdot
"""
ELEMENTARY = """
    acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh
    cbrt cos cosh dist erf erfc exp exp2 expm1 float_power gamma geomspace hypot interp lgamma log
    log10 log1p log2 logaddexp logaddexp2 logspace polyfit pow power sin sinh sumprod tan tanh
"""
# The generators' other methods call the C library; uniform and whole numbers, and permutations
# come straight from their bits.
RANDOM = """
    betavariate binomial chisquare dirichlet expovariate exponential gammavariate gauss geometric
    laplace lognormal lognormvariate multinomial multivariate_normal normal normalvariate poisson
    standard_exponential standard_gamma standard_normal standard_t
"""
NAMES = {
    **{
        f"{module}.{name}": LIBRARY
        for module in ("math", "cmath", "np")
        for name in ELEMENTARY.split()
    },
    **{f"np.{name}": ORDER for name in ORDERED.split()},
}
METHODS = {
    **dict.fromkeys(("dot", "mean", "std", "sum", "var"), ORDER),
    **dict.fromkeys(RANDOM.split(), LIBRARY),
}
IMPORTS = {
    "scipy": LIBRARY,
    "sklearn": LIBRARY,
    "statistics.NormalDist": LIBRARY,
    "statistics.linear_regression": LIBRARY,
    "statistics.correlation": LIBRARY,
}

# `sum` adds floats one by one up to Python 3.11, and with a correction from 3.12 on. It may add up
# what is a whole number by its form, such as a comparison; attributes, keys and variables with
# these names; and, module by module, these other whole numbers.
COUNTS = """
    bytes calls counts failed is_finished is_positive labeled missing n n_failed positives reasons
    refused
    requests rows spent st_size tokens triples unscored unsupported unused words
"""
OTHER_COUNTS = {
    "cli/run.py": {"outcomes.values()"},
    "metrics/cited_sentences.py": {"(lengths[number - 1] for number in cited)"},
    "judges/lexical/value_index.py": {
        "(high - low for _, low, high in self._ranges(value, about))"
    },
    "benchmarks/statistics.py": {
        "_count_words((context.text for context in record.contexts or []))",
        "values",
    },
    "wings/papers/builders/grounding/plan.py": {"gold"},
    "wings/papers/builders/flow.py": {"map(call.applies, waiting)"},
    "wings/papers/builders/grounding/conflict.py": {
        "(count_phrase(original, one.old) * count_phrase(one.new, phrase) for one in changes)"
    },
    "wings/papers/builders/quality.py": {
        "contains_answer",
        "map(count_words, contexts)",
        "map(count_words, item.contexts)",
    },
    "judges/comparing/q2.py": {
        "(Counter(expected) & Counter(actual)).values()",
        "self.encoder.lengths([premise, hypothesis])",
    },
    "net/cache_contents.py": {"row[1]"},
    "records/checks.py": {"count"},
    "wings/papers/builders/pages.py": {
        "(kind['tasks'] for kind in human['kinds'])",
    },
    "studies/calibration/page.py": {"bin_counts"},
    "studies/comparison_pages.py": {"kept_a"},
    "reports/sentences.py": {"labels", "of"},
    "reports/text.py": {"(column.width for column in columns)"},
    "wings/papers/errors/lines.py": {"k"},
    "studies/leaderboard/results.py": {"first", "second"},
    "wings/labeling/web/watch.py": {"equal", "equal_of_others"},
    "wings/labeling/web/serving.py": {"take_in(connection, new, known, project.seed)"},
}


def modules() -> list[str]:
    paths = (path.relative_to(SRC).as_posix() for path in SRC.rglob("*.py"))
    return sorted(path for path in paths if not path.startswith(("stats/arithmetic/", *NETWORKS)))


def findings(tree: ast.AST, counts: frozenset[str] = frozenset()) -> Iterator[tuple[int, str]]:
    """The line and the reason of each thing that has no one result."""
    for node in ast.walk(tree):
        for reason in reasons(node, counts):
            yield getattr(node, "lineno", 0), reason


def reasons(node: ast.AST, counts: frozenset[str]) -> Iterator[str]:
    if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult):
        yield f"@: {ORDER}"
    elif isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Pow):
        if not (isinstance(node, ast.BinOp) and is_whole(node.left, counts)):
            yield f"**: {LIBRARY}; write x * x"
    elif isinstance(node, ast.Attribute) and (name := dotted(node)) in NAMES:
        yield f"{name}: {NAMES[name]}"
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (f"{name}: {why}" for name, why in IMPORTS.items() if imports(node, name))
        yield from (f"{name}: {why}" for name, why in NAMES.items() if imports(node, name))
    elif isinstance(node, ast.Call):
        yield from reasons_of_call(node, counts)


def reasons_of_call(call: ast.Call, counts: frozenset[str]) -> Iterator[str]:
    if isinstance(call.func, ast.Attribute):
        method = call.func.attr
        if method in METHODS and dotted(call.func) not in NAMES:
            yield f".{method}(): {METHODS[method]}"
    elif isinstance(call.func, ast.Name):
        if call.func.id == "pow":
            yield f"pow: {LIBRARY}"
        elif call.func.id == "sum" and not adds_whole(call, counts):
            yield f"sum({ast.unparse(call.args[0])}): {ORDER}"


def imports(node: ast.Import | ast.ImportFrom, name: str) -> bool:
    """Whether it imports the module or function of this name."""
    if isinstance(node, ast.Import):
        return any(alias.name.split(".")[0] == name for alias in node.names)
    module = node.module or ""
    name = name.replace("np.", "numpy.")
    return module.split(".")[0] == name or any(f"{module}.{a.name}" == name for a in node.names)


def dotted(node: ast.expr) -> str:
    """`np.add.reduce` of the attribute of that name, else ""."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


def adds_whole(call: ast.Call, counts: frozenset[str]) -> bool:
    """Whether `sum` has whole numbers to add, or what has its own addition, such as Counters."""
    added = call.args[0]
    if len(call.args) > 1 and not isinstance(call.args[1], ast.Constant):
        return True
    if ast.unparse(added) in counts:
        return True
    if isinstance(added, ast.GeneratorExp | ast.ListComp):
        return is_whole(added.elt, counts)
    if isinstance(added, ast.Call) and dotted(added.func) == "map":
        return last_name(added.args[0]) in {"len", "bool", "count", *COUNTS.split()}
    return is_whole(added, counts)


def is_whole(node: ast.expr, counts: frozenset[str]) -> bool:
    """Whether the form or the name says that it is a whole number, or a list of such."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int)
    if isinstance(node, ast.BinOp):
        shift = isinstance(node.op, ast.LShift)  # takes whole numbers only
        return shift or (is_whole(node.left, counts) and is_whole(node.right, counts))
    if isinstance(node, ast.IfExp):
        return is_whole(node.body, counts) and is_whole(node.orelse, counts)
    if isinstance(node, ast.BoolOp):
        return is_whole(node.values[-1], counts)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    if ast.unparse(node) in counts:
        return True
    if isinstance(node, ast.Call):
        return last_name(node.func) in {"len", "bool", "int", "count", *COUNTS.split()}
    return isinstance(node, ast.Compare) or last_name(node) in COUNTS.split()


def last_name(node: ast.expr) -> str:
    """`n` of `one.n`, `one["n"]`, `n`, `n[key]`, `n.values()` and `n.get(key, 0)`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return last_name(node.value) if node.attr in ("values", "get") else node.attr
    if isinstance(node, ast.Call):
        return last_name(node.func)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    if isinstance(node, ast.Subscript):
        return last_name(node.value)
    return ""


@pytest.mark.parametrize("room", sorted({path.split("/")[0] for path in modules()}))
def test_what_is_written_has_one_arithmetic(room: str) -> None:
    wrong = []
    for path in modules():
        if path.split("/")[0] == room:
            counts = frozenset(OTHER_COUNTS.get(path, ()))
            tree = ast.parse((SRC / path).read_text("utf-8"))
            wrong += [f"{path}:{line}: {reason}" for line, reason in findings(tree, counts)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "source",
    [
        "a @ b",
        "a @= b",
        "x ** 2",
        "2.0 ** k",
        "np.sum(x)",
        "x.mean()",
        "x.sum(axis=1)",
        "np.linalg.solve(a, b)",
        "np.add.reduceat(x, starts)",
        "np.exp(x)",
        "math.log(x)",
        "pow(x, y)",
        "sum(weights)",
        "sum(one.weight for one in items)",
        "sum(map(score, items))",
        "random.normal(size=3)",
        "from math import exp",
        "from scipy.special import betainc",
        "from statistics import NormalDist",
    ],
)
def test_check_of_arithmetic_rejects(source: str) -> None:
    assert list(findings(ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    [
        "2**63 - 1",
        "x * x",
        "math.fsum(x)",
        "math.sqrt(x)",
        "np.sqrt(x)",
        "np.cumsum(x)",
        "np.count_nonzero(x)",
        "sum(len(one) for one in lists)",
        "sum(one.n for one in sets)",
        'sum(one["n"] for one in sets)',
        "sum(a == b for a, b in pairs)",
        "sum(counters, Counter())",
        "random.integers(0, n, size)",
    ],
)
def test_check_of_arithmetic_accepts(source: str) -> None:
    assert not list(findings(ast.parse(source)))


@pytest.mark.parametrize("path", NETWORKS)
def test_modules_of_networks_are_all_needed(path: str) -> None:
    assert list(findings(ast.parse((SRC / path).read_text("utf-8"))))


def test_other_counts_are_all_needed() -> None:
    for path, counts in OTHER_COUNTS.items():
        tree = ast.parse((SRC / path).read_text("utf-8"))
        for left_out in counts:
            assert list(findings(tree, frozenset(counts - {left_out}))), (path, left_out)
