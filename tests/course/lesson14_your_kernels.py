"""Wrong answers to lesson 14."""

from wrong_answers import Wrong, change

AS_IT_WAS = change("(o * reduced + r) * inner + i", "(o * inner + i) * reduced + r")
READS_C = change("beta == 0 ? alpha * sum : ", "")
FIRST = change("c += product * M * N;", "")
WITHIN = change("indices[o] == h * W + w", "indices[o] == kh * KW + kw")
EPS = change("sqrt(square) / root + eps", "sqrt(square + eps) / root")
OLD = change("- step_size * mean", "- step_size * m[i]", "m[i] = mean;\n    v[i] = square;\n", "",
             "+ eps);", "+ eps);\n    m[i] = mean;\n    v[i] = square;")  # fmt: skip
BARRIER = "barrier(CLK_LOCAL_MEM_FENCE); /* the tile has been read */"
TILED = """
__kernel void my_gemm(
    __global const float *a, __global const float *b, __global float *c,
    int M, int N, int K, int inner,
    int a_outer, int a_inner, int a_m, int a_k,
    int b_outer, int b_inner, int b_k, int b_n,
    float alpha, float beta) {
  __local float s[16][16], u[16][16];
  int n = get_global_id(0), m = get_global_id(1), x = get_local_id(0), y = get_local_id(1);
  int product = get_global_id(2);
  a += product / inner * a_outer + product % inner * a_inner;
  b += product / inner * b_outer + product % inner * b_inner;
  c += product * M * N;
  float sum = 0;
  for (int t = 0; t < K; t += 16) {
    s[y][x] = m < M && t + x < K ? a[m * a_m + (t + x) * a_k] : 0;
    u[y][x] = n < N && t + y < K ? b[(t + y) * b_k + n * b_n] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; k++) sum += s[y][k] * u[k][x];
    barrier(CLK_LOCAL_MEM_FENCE); /* the tile has been read */
  }
  if (m < M && n < N)
    c[m * N + n] = beta == 0 ? alpha * sum : alpha * sum + beta * c[m * N + n];
}
"""
ANOTHER_WAY = {"14.4": TILED}
FORWARD = "relu(x, out, n, global_size=(n + 63) // 64 * 64, local_size=64)"
WHERE = "out = gg.where(x < 0, gg.zeros_like(x), x)"
NUMPY = "out = gg.from_numpy(np.where(x.detach().numpy() < 0, 0, x.detach().numpy()))"
BACK = "gx = gg.from_numpy((out.detach().numpy() > 0) * g.numpy())"
STARTED = "relu_backward(out, g, gx, n, global_size=(n + 63) // 64 * 64, local_size=64)"

WRONG = {
    "14.1": [
        Wrong("all of it", [True, True, True, True], says="going forwards"),
        Wrong("all gradients", [False, True, True, True], says="begins at the last layer"),
        Wrong("both convolutions", [False, True, True, False], says="a product"),
        Wrong("the second one", [False, False, True, False], says="other way round"),
        Wrong("nothing", [False, False, False, False], says="Who?"),
    ],
    "14.2": [
        Wrong("a gradient for the images", 12, says="gradient of the images"),
        Wrong("forwards only", 4, says="the way back"),
        Wrong("one each way", 8, says="another one for the input"),
        Wrong("backwards only", 7, says="alone"),
    ],
    "14.3": [
        Wrong("left as it was", AS_IT_WAS, says="10 of 10 elements are wrong"),
        Wrong("only the first of outer", change("(o * reduced + r)", "r"), says="out[1, 0] is"),
        Wrong("constant", change("out[k] = sum", "out[k] = 0"), says="out[0, 0] is 0"),
        Wrong("one too many", change("r < reduced", "r <= reduced"), says="OUT OF BOUNDS"),
        Wrong(
            "only right where inner is 1", change("(o * reduced + r) * inner + i", "k * reduced + r"),
            says="out[0, 0] is",
        ),
    ],
    "14.4": [
        Wrong("no strides", change("a[m * a_m + k * a_k]", "a[m * K + k]"), says="A transposed: c[0, 0, 0, 0] is"),
        Wrong("reads c where beta is 0", READS_C, says="nobody has written"),
        Wrong("only the first product", FIRST, says="DATA RACE"),
        Wrong("no guard", change("m < M && n < N", "1"), says="OUT OF BOUNDS"),
        Wrong("tiles, and one barrier of two", TILED.replace(BARRIER, ""), says="DATA RACE"),
        Wrong("the first tile alone", TILED.replace("t < K; t += 16", "t < 16; t += 16"), says="c[0, 0, 0, 0] is"),
        Wrong("alpha forgotten", change("? alpha * sum", "? sum"), says="c[0, 0, 0, 0] is"),
    ],
    "14.5": [
        Wrong("the last one stays", change("sum += g[o]", "sum = g[o]"), says="gx[0, 0, 2] is"),
        Wrong("an index within the window", WITHIN, says="gx["),
        Wrong("everybody gets it", change("if (indices[o] == h * W + w)", "if (KH > 0)"), says="gx[0"),
        Wrong("dilation forgotten", change("kh * DH", "kh", "kw * DW", "kw"), says="gx["),
        Wrong("only the first plane", change("(plane * OH + oh)", "oh"), says="gx[1"),
    ],
    "14.6": [
        Wrong("eps under the root", EPS, says="p["),
        Wrong("no eps", change(" + eps)", ")"), says="7 of 7 elements are wrong"),
        Wrong("moved by the old mean", OLD, says="p[0] is"),
        Wrong("nothing kept", change("m[i] = mean;", ""), says="m[0] is"),
        Wrong("weight decay forgotten", change(" + weight_decay * value", ""), says="step 3"),
    ],
    "14.7": [
        Wrong("fmax loses NaN", change("x[i] < 0 ? 0 : x[i]", "fmax(x[i], 0.0f)"), says="x is nan, and should"),
        Wrong("the gradient passes everywhere", change("out[i] > 0 ? g[i] : 0", "g[i]"), says="backward gives"),
        Wrong("at 0 as well", change("out[i] > 0", "out[i] >= 0"), says="backward gives"),
        Wrong("a kernel of the package", change(STARTED, "gx = g * (out > 0)"), says="of the package has run"),
        Wrong("another kernel of the package", change(FORWARD, WHERE), says="the package has run"),
        Wrong("NumPy on the way there", change(FORWARD, NUMPY), says="forward has started no kernel of yours"),
        Wrong("NumPy on the way back", change(STARTED, BACK), says="backward has started no kernel of yours"),
        Wrong("never started", change(STARTED, "pass"), says="backward has started no kernel of yours"),
    ],
}  # fmt: skip
