"""Answers to lesson 14."""

SOLUTIONS = {
    "14.1": [False, True, False, False],
    "14.2": 11,
    "14.3": """\
__kernel void my_sums(__global const float *x, __global float *out,
                      int outer, int reduced, int inner) {
  int k = get_global_id(0);
  if (k < outer * inner) {
    int o = k / inner, i = k % inner;
    float sum = 0;
    for (int r = 0; r < reduced; r++)
      sum += x[(o * reduced + r) * inner + i];
    out[k] = sum;
  }
}
""",
    "14.4": """\
__kernel void my_gemm(
    __global const float *a, __global const float *b, __global float *c,
    int M, int N, int K, int inner,
    int a_outer, int a_inner, int a_m, int a_k,
    int b_outer, int b_inner, int b_k, int b_n,
    float alpha, float beta) {
  int n = get_global_id(0), m = get_global_id(1);
  int product = get_global_id(2);
  if (m < M && n < N) {
    a += product / inner * a_outer + product % inner * a_inner;
    b += product / inner * b_outer + product % inner * b_inner;
    c += product * M * N;
    float sum = 0;
    for (int k = 0; k < K; k++)
      sum += a[m * a_m + k * a_k] * b[k * b_k + n * b_n];
    c[m * N + n] = beta == 0 ? alpha * sum : alpha * sum + beta * c[m * N + n];
  }
}
""",
    "14.5": """\
__kernel void my_max_pool_backward(
    __global const float *g, __global const int *indices,
    __global float *gx, int H, int W,
    int KH, int KW, int SH, int SW, int PH, int PW,
    int DH, int DW, int OH, int OW, int total) {
  int k = get_global_id(0);
  if (k < total) {
    int w = k % W, h = k / W % H, plane = k / (H * W);
    float sum = 0;
    for (int kh = 0; kh < KH; kh++)
      for (int kw = 0; kw < KW; kw++) {
        int top = h + PH - kh * DH, left = w + PW - kw * DW;
        int oh = top / SH, ow = left / SW;
        int o = (plane * OH + oh) * OW + ow;
        if (top >= 0 && top % SH == 0 && oh < OH && left >= 0 && left % SW == 0 && ow < OW)
          if (indices[o] == h * W + w)
            sum += g[o];
      }
    gx[k] = sum;
  }
}
""",
    "14.6": """\
__kernel void my_adam(
    __global float *p, __global const float *g,
    __global float *m, __global float *v, int n,
    float step_size, float share1, float beta2, float share2,
    float eps, float weight_decay, float shrink, float root) {
  int i = get_global_id(0);
  if (i < n) {
    float value = p[i];
    float grad = g[i] + weight_decay * value;
    float mean = m[i] + share1 * (grad - m[i]);
    float square = beta2 * v[i] + share2 * grad * grad;
    m[i] = mean;
    v[i] = square;
    p[i] = shrink * value - step_size * mean / (sqrt(square) / root + eps);
  }
}
""",
    "14.7": """\
relu = gg.kernel(\"\"\"
__kernel void relu(__global const float *x, __global float *out, int n) {
  int i = get_global_id(0);
  if (i < n) out[i] = x[i] < 0 ? 0 : x[i];
}
\"\"\")
relu_backward = gg.kernel(\"\"\"
__kernel void relu_backward(__global const float *out, __global const float *g,
                            __global float *gx, int n) {
  int i = get_global_id(0);
  if (i < n) gx[i] = out[i] > 0 ? g[i] : 0;
}
\"\"\")


class Relu(gg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out, n = gg.zeros_like(x), x.array.size
        relu(x, out, n, global_size=(n + 63) // 64 * 64, local_size=64)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, g):
        (out,) = ctx.saved_tensors
        gx, n = gg.zeros_like(g), g.array.size
        relu_backward(out, g, gx, n, global_size=(n + 63) // 64 * 64, local_size=64)
        return gx
""",
}
