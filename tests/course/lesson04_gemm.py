"""Wrong answers to lesson 04."""

from wrong_answers import Wrong, change

LEAVES = change("  float sum = 0;", "  if (m >= M || n >= N) return;\n  float sum = 0;")
AFTER_READING = change("];\n    barrier(CLK_LOCAL_MEM_FENCE);\n  }", "];\n  }")
AFTER_WRITING = change(": 0;\n    barrier(CLK_LOCAL_MEM_FENCE);", ": 0;")

WRONG = {
    "04.1": [
        Wrong("each once", [15, 20], says="each is read several times"),
        Wrong("elements of C", [12, 12], says="a row and a column are read"),
        Wrong("rows and columns exchanged", [45, 80], says="once for each column of C"),
        Wrong("one number", 120, says="a list of 2 numbers"),
    ],
    "04.2": [
        Wrong("naive", 1024, says="what the naive kernel reads"),
        Wrong("each once", 128, says="two groups need each tile"),
        Wrong("divided by the tile's elements", 64, says="a factor of 4"),
        Wrong("half as good", 512, says="Count both steps"),
    ],
    "04.3": [
        Wrong("b transposed", change("b[k * N + n]", "b[n * K + k]"), says="c[0, 0] is"),
        Wrong("only right for square", change("b[k * N + n]", "b[k * M + n]"), says="c[0, 0] is"),
        Wrong("rows as wide as C", change("a[m * K + k]", "a[m * N + k]"), says="c[1, 0] is"),
        Wrong("a sum", change("k] * b", "k] + b"), says="c[0, 0] is"),
        Wrong(
            "ids exchanged",
            change("n = get_global_id(0), m = get", "m = get_global_id(0), n = get"),
            says="NEVER WRITTEN",
        ),
    ],
    "04.4": [
        Wrong("not transposed", change("a[k * M + m]", "a[m * K + k]"), says="c[0, 0] is"),
        Wrong("only right for square", change("a[k * M + m]", "a[k * N + m]"), says="OUT OF BOUNDS"),
        Wrong("no guard", change("if (m < M && n < N) {", "{"), says="OUT OF BOUNDS"),
        Wrong("off by one", change("k < K", "k <= K"), says="OUT OF BOUNDS"),
    ],
    "04.5": [
        Wrong("left as it was", LEAVES, says="BARRIER DIVERGENCE"),
        Wrong("one barrier, after reading", AFTER_WRITING, says="DATA RACE"),
        Wrong("one barrier, after writing", AFTER_READING, says="DATA RACE"),
        Wrong("writes beyond the edge", change("  if (m < M && n < N)\n", ""), says="OUT OF BOUNDS"),
        Wrong("reads beyond the edge", change("m < M && k0 + x < K", "k0 + x < K"), says="OUT OF BOUNDS"),
        Wrong("only right for whole tiles", change("k0 < K;", "k0 + TILE <= K;"), says="c[0, 0] is"),
    ],
    "04.6": [
        Wrong("b in the inner loop", change("k] * right", "k] * b[k * N + n]"), says="right, but it reads b"),
        Wrong("only right for a multiple of 4", change("if (m + i < M)", "if (m < M)"), says="OUT OF BOUNDS"),
        Wrong("the first row only", change("a[(m + i) * K + k]", "a[m * K + k]"), says="c[1, 0] is"),
        Wrong("one row", change("i < 4", "i < 1"), says="NEVER WRITTEN"),
        Wrong("fetched beyond the last row", change("m < M && n < N", "n < N"), says="beyond the last row"),
    ],
    "04.7": [
        Wrong("counted in fours", change("vload4(0, b + k * N + n)", "vload4(n, b + k * N)"), says="OUT OF BOUNDS"),
        Wrong("four of A", change("a[m * K + k] *", "vload4(0, a + m * K) *"), says="c[0, 0] is"),
        Wrong("one column", change("vstore4(sum, 0, c + m * N + n)", "c[m * N + n] = sum.x"), says="NEVER WRITTEN"),
        Wrong("only right for square", change("b + k * N + n", "b + k * M + n"), says="c["),
    ],
}
