"""Answers to lesson 01."""

SOLUTIONS = {
    "01.1": [4, 5, 3],
    "01.2": [0, 1, 0],
    "01.3": """\
__kernel void add_column(__global const float *x, __global const float *b,
                         __global float *out, int rows, int columns) {
  int i = get_global_id(0);
  if (i < rows * columns)
    out[i] = x[i] + b[i / columns];
}
""",
    "01.4": """\
__kernel void relu(__global const float *x, __global float *out, int n) {
  int i = get_global_id(0);
  if (i < n) out[i] = x[i] < 0 ? 0 : x[i];
}
""",
    "01.5": """\
__kernel void outer(__global const float *a, __global const float *b,
                    __global float *out, int rows, int columns) {
  int c = get_global_id(0), r = get_global_id(1);
  if (r < rows && c < columns)
    out[r * columns + c] = a[r] * b[c];
}
""",
    "01.6": """\
__kernel void add_bias(__global const float *x, __global const float *bias,
                       __global float *out, int N, int C, int L) {
  int i = get_global_id(0);
  if (i < N * C * L)
    out[i] = x[i] + bias[i / L % C];
}
""",
    "01.7": """\
__kernel void scale_add_relu(__global const float *x, __global const float *y,
                             __global float *out, float a, int n) {
  int i = get_global_id(0);
  if (i < n) {
    float v = a * x[i] + y[i];
    out[i] = v < 0 ? 0 : v;
  }
}
""",
}
