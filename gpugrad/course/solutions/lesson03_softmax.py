"""Answers to lesson 03."""

SOLUTIONS = {
    "03.1": [4, 0.25],
    "03.2": 4,
    "03.3": """\
__kernel void softmax(__global const float *x, __global float *out,
                      int rows, int n) {
  int row = get_global_id(0);
  if (row < rows) {
    float m = -INFINITY, s = 0;
    for (int i = 0; i < n; i++)
      m = x[row * n + i] > m ? x[row * n + i] : m;
    for (int i = 0; i < n; i++)
      s += exp(x[row * n + i] - m);
    for (int i = 0; i < n; i++)
      out[row * n + i] = exp(x[row * n + i] - m) / s;
  }
}
""",
    "03.4": """\
__kernel void log_softmax(__global const float *x, __global float *out,
                          int rows, int n) {
  int row = get_global_id(0);
  if (row < rows) {
    float m = -INFINITY, s = 0;
    for (int i = 0; i < n; i++)
      m = x[row * n + i] > m ? x[row * n + i] : m;
    for (int i = 0; i < n; i++)
      s += exp(x[row * n + i] - m);
    for (int i = 0; i < n; i++)
      out[row * n + i] = x[row * n + i] - m - log(s);
  }
}
""",
    "03.5": """\
__kernel void log_sum_exp(__global const float *x, __global float *out,
                          int rows, int n) {
  int row = get_global_id(0);
  if (row < rows) {
    float m = -INFINITY, s = 0;
    for (int i = 0; i < n; i++) {
      float a = x[row * n + i];
      if (a > m) {
        s = s * exp(m - a) + 1;
        m = a;
      } else
        s += exp(a - m);
    }
    out[row] = m + log(s);
  }
}
""",
    "03.6": """\
__kernel void softmax(__global const float *x, __global float *out,
                      int rows, int n) {
  int row = get_global_id(0);
  if (row < rows) {
    float m = -INFINITY, s = 0;
    for (int i = 0; i < n; i++) {
      float a = x[row * n + i];
      if (a > m) {
        s = s * exp(m - a) + 1;
        m = a;
      } else
        s += exp(a - m);
    }
    for (int i = 0; i < n; i++)
      out[row * n + i] = exp(x[row * n + i] - m) / s;
  }
}
""",
    "03.7": """\
__kernel void cross_entropy_gradient(__global const float *p,
                                     __global const int *target,
                                     __global float *dx, int N, int C) {
  int i = get_global_id(0);
  if (i < N * C) {
    float truth = i % C == target[i / C] ? 1 : 0;
    dx[i] = (p[i] - truth) / N;
  }
}
""",
}
