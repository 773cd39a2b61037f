"""Writes figures.txt: what tests/figures.rs compares with.

    python3 -m venv venv && venv/bin/pip install scipy==1.17.1 numpy==2.4.6
    venv/bin/python make.py > figures.txt

Quantiles are SciPy's. Lines and moments are computed exactly, in fractions, from the very doubles that the test makes
by the same formulas, and rounded once at the end; SciPy's own must agree with them, but on the hard cases it has fewer
digits, and a test should not have to allow for that.
"""

from decimal import Decimal, getcontext
from fractions import Fraction

import numpy
from scipy import stats

getcontext().prec = 60

CASES = {
    "golden": (6, lambda i: float([38, 91, 93, 94, 85, 81][i])),
    "three": (3, lambda i: [1.0, 2.5, 2.0][i]),
    "falling": (50, lambda i: 1000.0 - 3.25 * i + float(i * i * 31 % 17)),
    "noise": (1_000, lambda i: float(i * 7919 % 1009)),
    "gaps": (7_000, lambda i: float(i % 100 + 1) if i % 7 == 0 else 0.0),
    "rare": (86_401, lambda i: 12.5 if i in (0, 40_000, 86_400) else 0.0),
    "near_1e9": (100_000, lambda i: 1e9 + float(i * 7919 % 1000) * 1e-3),
    "near_1e9_rising": (100_000, lambda i: 1e9 + float(i) * 1e-3 + float(i * 31 % 101) * 1e-3),
    "near_minus_1e9_few": (4, lambda i: -1e9 + float(i * i) * 1e-3),
    "tiny": (200, lambda i: float(i * 37 % 53) * 1e-12),
}
DEGREES = [*range(1, 40), 50, 75, 100, 150, 200, 300, 400, 499, 500, 501, 700, 1_000, 10_000, 99_998, 10**6, 10**8]
LEVELS = [0.90, 0.95, 0.99]


def root(square: Fraction) -> Decimal:
    return (Decimal(square.numerator) / Decimal(square.denominator)).sqrt()


def figures(values: list[float]) -> list[float]:
    n = len(values)
    ys = [Fraction(value) for value in values]
    mean_x, mean_y = Fraction(n + 1, 2), sum(ys) / n
    squares_x = Fraction(n * (n * n - 1), 12)
    squares_y = sum(y * y for y in ys) - n * mean_y**2
    products = sum(x * y for x, y in enumerate(ys, 1)) - n * mean_x * mean_y
    slope = products / squares_x
    left_over = squares_y - slope * products
    error = root(left_over / (n - 2) / squares_x)
    widths = [float(Decimal(float(stats.t.ppf((1 + level) / 2, n - 2))) * error) for level in LEVELS]

    theirs = stats.linregress(numpy.arange(1, n + 1), values)
    ours = [float(slope), float(mean_y - slope * mean_x), float(error)]
    assert numpy.allclose([theirs.slope, theirs.intercept, theirs.stderr], ours, rtol=1e-4), (theirs, ours)
    deviation = float(root(squares_y / (n - 1)))
    assert numpy.isclose(numpy.std(values, ddof=1), deviation, rtol=1e-4)
    return [float(mean_y), deviation, ours[1], ours[0], *widths]


print("# made by make.py: do not edit")
for degrees in DEGREES:
    print("quantiles", degrees, *(repr(float(stats.t.ppf((1 + level) / 2, degrees))) for level in LEVELS))
for name, (n, value) in CASES.items():
    print(name, n, *map(repr, figures([value(i) for i in range(n)])))
