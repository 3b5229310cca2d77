"""Wrong answers to lesson 02."""

from wrong_answers import Wrong, change

BARRIER = "    barrier(CLK_LOCAL_MEM_FENCE);\n"
NO_FIRST_BARRIER = change("  barrier(CLK_LOCAL_MEM_FENCE);\n  for", "  for")
ALONE = """
__kernel void row_sum(__global const float *x, __global float *out, int n) {
  int lane = get_local_id(0), row = get_group_id(0);
  float sum = 0;
  if (lane == 0) {
    for (int i = 0; i < n; i++) sum += x[row * n + i];
    out[row] = sum;
  }
}
"""
EXCHANGED = change("low[row] =", "high[ROW] =", "high[row] =", "low[row] =", "ROW", "row")

A_RUN_EACH = "int run = (n + 63) / 64, i = lane * run; i < min(n, lane * run + run); i++"
ANOTHER_WAY = {"02.5": change("int i = lane; i < n; i += 64", A_RUN_EACH)}

WRONG = {
    "02.1": [
        Wrong("additions, not rounds", 1023, says="how many additions"),
        Wrong("the first width", 512, says="the first round"),
        Wrong("one too many", 11, says="with 0 nothing is left"),
        Wrong("one too few", 9, says="The last round"),
        Wrong("the plain loop", 1024, says="That is how many turns"),
        Wrong("halved once", 256, says="256 is not what happens"),
    ],
    "02.2": [
        Wrong("half as many", [8, 10, 6, 7], says="still has eight cells"),
        Wrong("neighbours added", [4, 1, 5, 1, 14, 9, 8, 6], says="That adds neighbours"),
        Wrong("cleared", [8, 10, 6, 7, 0, 0, 0, 0], says="Nobody clears"),
        Wrong("unchanged", [3, 1, 4, 1, 5, 9, 2, 6], says="element 0"),
    ],
    "02.3": [
        Wrong("zero", change("-INFINITY", "0"), says="out[0] is 0, and should be -"),
        Wrong("the smallest positive number", change("-INFINITY", "FLT_MIN"), says="and should be -"),
        Wrong("a number below most others", change("-INFINITY", "-1000.0f"), says="out[2] is -1000, and should be -"),
        Wrong("the smallest number", change("-INFINITY", "-FLT_MAX"), says="and should be -inf"),
        Wrong("plus infinity", change("-INFINITY", "INFINITY"), says="out[0] is inf"),
        Wrong("the first row's first", change("-INFINITY", "x[0]"), says="is -1."),
        Wrong("another loop", change("i < n", "i <= n"), says="OUT OF BOUNDS"),
        Wrong("every second one", change("i++", "i += 2"), says="out[0] is"),
    ],
    "02.4": [
        Wrong("no barrier in the loop", change(BARRIER, ""), says="DATA RACE"),
        Wrong(
            "left as it was",
            change(" (lane < width)\n", " (lane < width) {\n", BARRIER, BARRIER + "    }\n"),
            says="BARRIER DIVERGENCE, line 7",
        ),
        Wrong("no barrier after the first store", NO_FIRST_BARRIER, says="DATA RACE"),
        Wrong("everybody writes the result", change("if (lane == 0)\n    out", "out"), says="DATA RACE"),
    ],
    "02.5": [
        Wrong("only the first 64", change("i < n; i", "i < min(n, 64); i"), says="out[0] is"),
        Wrong("only right for rows of 64", change("i < n", "i < 64"), says="out[0] is"),
        Wrong("missing barrier", NO_FIRST_BARRIER, says="DATA RACE"),
        Wrong("barrier missing in the loop", change(BARRIER, ""), says="DATA RACE"),
        Wrong("one lane does it all", ALONE, says="only 3 lanes read x, where 150 could"),
        Wrong("too wide", change("width = 32", "width = 64"), says="OUT OF BOUNDS"),
        Wrong("every lane writes its own", change("if (lane == 0)\n", "", "part[0]", "part[lane]"), says="DATA RACE"),
        Wrong("only right for multiples of 64", change("i < n; i += 64", "i < n / 64 * 64; i += 64"), says="out[0] is"),
    ],
    "02.6": [
        Wrong("read twice", change("v > largest ? v", "v > largest ? x[row * n + i]"), says="right, but it reads x"),
        Wrong("exchanged", EXCHANGED, says="low[0] is"),
        Wrong("begun with zero", change("-INFINITY", "0", "INFINITY", "0"), says="low[0] is 0"),
        Wrong("begun with finite numbers", change("INFINITY", "FLT_MAX"), says="and should be"),
        Wrong("off by one", change("int i = 0", "int i = 1"), says="[0] is"),
    ],
}  # fmt: skip
