"""Wrong answers to lesson 03."""

from wrong_answers import Wrong, change

RESCALED = "        s = s * exp(m - a) + 1;\n"
TOO_LATE = change(RESCALED + "        m = a;\n", "        m = a;\n" + RESCALED)
THREE_READINGS = change(
    "      if (a > m) {\n" + RESCALED + "        m = a;\n      } else\n        s += exp(a - m);\n",
    "      m = a > m ? a : m;\n    }\n    for (int i = 0; i < n; i++) {\n      s += exp(x[row * n + i] - m);\n",
)
NO_MAXIMUM = change("if (a > m)", "if (m == -INFINITY)", "m = a;", "m = 0;", "+ 1;", "+ exp(a);")
FIRST = change("if (a > m)", "if (i == 0)")
LAST = change("m = -INFINITY", "m = x[row * n + n - 1]", "if (a > m)", "if (0)")
LOG_OF_SOFTMAX = change("x[row * n + i] - m - log(s)", "log(exp(x[row * n + i] - m) / s)")
FROM_OUT = change(
    "out[row * n + i] = exp(x[row * n + i] - m) / s;",
    "out[row * n + i] = exp(x[row * n + i] - m);\n    for (int i = 0; i < n; i++)\n      out[row * n + i] /= s;",
)

# The same sum without a branch: the larger of two takes the other's place.
BRANCHLESS = change(
    "if (a > m) {\n        s = s * exp(m - a) + 1;\n        m = a;\n      } else\n        s += exp(a - m);",
    "float larger = fmax(a, m);\n      s = s * exp(m - larger) + exp(a - larger);\n      m = larger;",
)
ANOTHER_WAY = {"03.5": BRANCHLESS}

WRONG = {
    "03.1": [
        Wrong("scores added up", [400, 0.25], says="not scores"),
        Wrong("powers of 0 are 0", [0, 0.25], says="exp(0) is 1"),
        Wrong("the naive kernel", [float("inf"), float("nan")], says="subtracts the maximum"),
        Wrong("only the probability", 0.25, says="a list of 2 numbers"),
    ],
    "03.2": [
        Wrong("without the first", 3, says="The first score counts"),
        Wrong("every score", 8, says="leave m as it is"),
        Wrong("one too many", 5, says="nothing is larger"),
        Wrong("none", 0, says="0 is not what happens"),
    ],
    "03.3": [
        Wrong("no maximum", change(" - m)", ")"), says="out[1, 0] is nan"),
        Wrong("not in the result", change("] - m) / s", "]) / s"), says="out[0, 0] is"),
        Wrong("not divided", change(" / s;", ";"), says="out[0, 0] is"),
        Wrong("one for all rows", change("exp(x[row * n + i] - m);\n", "exp(x[i] - m);\n"), says="out[1, 0] is"),
    ],
    "03.4": [
        Wrong("log of softmax", LOG_OF_SOFTMAX, says="is -inf"),
        Wrong("the maximum forgotten", change("- m - log(s)", "- log(s)"), says="out[0, 0] is"),
        Wrong("no maximum subtracted", change("exp(x[row * n + i] - m)", "exp(x[row * n + i])"), says="out["),
        Wrong("off by one", change("i < n; i++)\n      s", "i < n - 1; i++)\n      s"), says="out[0, 0] is"),
        Wrong("the logarithm of the mean", change("log(s)", "log(s / n)"), says="out[0, 0] is"),
    ],
    "03.5": [
        Wrong("smaller scores forgotten", change(" else\n        s += exp(a - m);", ""), says="out[1] is"),
        Wrong("smaller scores the wrong way round", change("s += exp(a - m)", "s += exp(m - a)"), says="out[1] is"),
        Wrong("left as it was", TOO_LATE, says="out[0] is"),
        Wrong("rescaled the wrong way", change("exp(m - a)", "exp(a - m)"), says="out[0] is"),
        Wrong("begun anew", change("s * exp(m - a) + 1", "1"), says="out[0] is"),
        Wrong("the one forgotten", change(" + 1;", ";"), says="out[0] is"),
    ],
    "03.6": [
        Wrong("three readings", THREE_READINGS, says="right, but it reads x"),
        Wrong("divided in a loop of its own", FROM_OUT, says="right, but it reads out"),
        Wrong("no maximum", NO_MAXIMUM, says="out[1, 0] is"),
        Wrong("begun with zero", change("m = -INFINITY", "m = 0"), says="out[2, 0] is nan"),
        Wrong("the first score for the maximum", FIRST, says="out[0, 0] is nan"),
        Wrong("the last score for the maximum", LAST, says="out[1, "),
    ],
    "03.7": [
        Wrong("not divided by N", change(" / N", ""), says="dx[0, 0] is"),
        Wrong("divided by C", change(" / N", " / C"), says="dx[0, 0] is"),
        Wrong("truth minus probability", change("p[i] - truth", "truth - p[i]"), says="dx[0, 0] is"),
        Wrong("only right for square", change("i / C", "i / N"), says="OUT OF BOUNDS"),
        Wrong("transposed", change("i % C == target[i / C]", "i / N == target[i % N]"), says="dx["),
    ],
}  # fmt: skip
