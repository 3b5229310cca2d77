"""Answers to lesson 00."""

SOLUTIONS = {
    "00.1": [1024, 64, 128],
    "00.2": """\
__kernel void square(__global const float *x, __global float *out, int n) {
  int i = get_global_id(0);
  if (i < n) out[i] = x[i] * x[i];
}
""",
    "00.3": """\
__kernel void reverse(__global const float *x, __global float *out, int n) {
  int i = get_global_id(0);
  if (i < n) out[i] = x[n - 1 - i];
}
""",
}
