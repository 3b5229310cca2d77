"""Wrong answers to lesson 12."""

from wrong_answers import Wrong, change

NEAREST = "rest > 4096 || (rest == 4096 && (h & 1))"
SQUARE = "x[row * n + i] * x[row * n + i]"

# One sum rounds: what carries out of the fraction goes on into the exponent.
ONE_SUM = """\
__kernel void to_half(__global const float *x, __global int *bits, int n) {
  int i = get_global_id(0);
  if (i < n) {
    uint word = as_uint(x[i]), kept = (word & 0x7fffffff) - (112 << 23);
    bits[i] = (word >> 31 << 15) | ((kept + 4095 + (kept >> 13 & 1)) >> 13);
  }
}
"""
ANOTHER_WAY = {"12.4": ONE_SUM}

WRONG = {
    "12.1": [
        Wrong("the fraction only", 1.25, says="to which power of two"),
        Wrong("the quarter added", 4.25, says="from 4 to 8"),
        Wrong("15 forgotten", 163840, says="15 is taken off"),
        Wrong("the fraction forgotten", 4, says="the fraction says"),
    ],
    "12.2": [
        Wrong("as in float", [2051, 4097, 4099], says="None of these is a half"),
        Wrong("cut off", [2050, 4096, 4096], says="the nearer one"),
        Wrong("ties down", [2050, 4096, 4100], says="1025 gaps"),
        Wrong("rounded up", [2052, 4100, 4100], says="nearer to 4096"),
    ],
    "12.3": [
        Wrong("the right sum", 100, says="cannot go on"),
        Wrong("where ones stop", 2048, says="steps of 1"),
        Wrong("2048 steps", 20.48, says="powers of two"),
        Wrong("one power too far", 64, says="before that"),
        Wrong("one power too early", 16, says="rounded up"),
    ],
    "12.4": [
        Wrong("the last bits not seen", change("rest = fraction & 8191", "rest = fraction & 8188"), says="bits[5] is"),
        Wrong("cut off", change(NEAREST, "0"), says="bits[2] is"),
        Wrong("ties up", change(NEAREST, "rest >= 4096"), says="0 01111 0000000011, and should be 0 01111 0000000010"),
        Wrong("ties down", change(NEAREST, "rest > 4096"), says="bits[4] is"),
        Wrong("ties to odd", change("(h & 1)", "!(h & 1)"), says="bits[3] is"),
        Wrong("always up", change(NEAREST, "rest > 0"), says="bits[1] is"),
    ],
    "12.5": [
        Wrong("half to half", change("master[i] - lr", "w[i] - lr"), says="nobody has written"),
        Wrong("still scaled", change("(g[i] * inverse)", "g[i]"), says="w[0] is"),
        Wrong("a rounded master", change("    float m =", "    float m = w[i] =", "    w[i] = m;\n", ""),
              says="master["),
        Wrong("no guard", change("if (i < n)", ""), says="OUT OF BOUNDS"),
        Wrong("uphill", change("- lr", "+ lr"), says="is"),
        Wrong("the master left behind", change("    master[i] = m;\n", ""), says="master[0] is"),
    ],
    "12.6": [
        Wrong(
            "kept in half",
            change("float sum = 0", "out[row] = 0", "sum +=", "out[row] +=", "sqrt(sum)", "sqrt(out[row])"),
            says="out[1] is inf, and should be",
        ),
        Wrong("the square in half", change("sum +=", "sum += out[row] ="), says="out[1] is inf"),
        Wrong("no root", change("sqrt(sum)", "sum"), says="out[0] is 49, and should be 7"),
        Wrong("the sum of the sizes", change(SQUARE, "fabs(x[row * n + i])", "sqrt(sum)", "sum"), says="out[0] is 11"),
        Wrong("off by one", change("i < n; i++", "i < n - 1; i++"), says="out[0] is"),
    ],
    "12.7": [
        Wrong("never grows", change("return scale * 2, 0", "return scale, 0"), says="update(8, 2, False, 3)"),
        Wrong("one step late", change("good + 1 == interval", "good == interval"), says="update(8, 2, False, 3)"),
        Wrong("the count goes on", change("scale / 2, 0", "scale / 2, good"), says="update(1024, 2, True, 3)"),
        Wrong("the other way", change("scale / 2", "scale * 2"), says="update(1024, 0, True, 3)"),
        Wrong("one number", change("return scale, good + 1", "return scale"), says="return two numbers"),
        Wrong("always 2000", change("== interval", "== 2000"), says="update(8, 2, False, 3)"),
    ],
}  # fmt: skip
