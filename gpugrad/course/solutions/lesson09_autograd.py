"""Answers to lesson 09."""

SOLUTIONS = {
    "09.1": [7, 2],
    "09.2": [4, 3],
    "09.3": [32, 48],
    "09.4": """\
class Swish(gg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x.sigmoid()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        s = x.sigmoid()
        return g * (s + x * s * (1 - s))
""",
    "09.5": """\
class Scale(gg.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x, scale)
        return x * scale

    @staticmethod
    def backward(ctx, g):
        x, scale = ctx.saved_tensors
        return g * scale, (g * x).sum(dim=0)
""",
    "09.6": """\
__kernel void bias_gradient(__global const float *g, __global float *out,
                            int N, int C, int L) {
  int c = get_global_id(0);
  if (c < C) {
    float sum = 0;
    for (int n = 0; n < N; n++)
      for (int l = 0; l < L; l++)
        sum += g[(n * C + c) * L + l];
    out[c] = sum;
  }
}
""",
    "09.7": """\
__kernel void tanh_gradient(__global const float *x, __global const float *out,
                            __global const float *g, __global float *gx, int n) {
  int i = get_global_id(0);
  if (i < n) {
    float y = out[i];
    gx[i] = g[i] * (1 - y * y);
  }
}
""",
}
