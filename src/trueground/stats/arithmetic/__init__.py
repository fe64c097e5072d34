"""Arithmetic that gives the same bits on every machine.

Everything that is written (items, summaries, validations, fits, pages) is computed with this
package, so that its bytes do not depend on the machine. IEEE 754 defines `+`, `-`, `*`, `/` and the
square root to the last bit. These do not have one result:

- sums of floats, whose order depends on SIMD width, BLAS, threads and the version of a library;
- `exp`, `log`, `tanh`, `**` and the like, which differ between C libraries, and between CPUs within
  one of them;
- `a * b + c` in compiled code, which some compilers contract to one rounding (NumPy on ARM does).

So sums here are exact or have one order, and functions consist of single IEEE operations, each a
NumPy call or a step of the interpreter. `tests/test_arithmetic.py` rejects the rest elsewhere.

- `scalars`: functions of one number, without NumPy;
- `arrays`: the same functions, elementwise;
- `sums`: sums, means, spreads, products of matrices, small systems of equations;
- `distributions`: quantiles and tails of distributions, and random numbers from them.
"""
