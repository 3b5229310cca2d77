"""Answers to lesson 04."""

SOLUTIONS = {
    "04.1": [60, 60],
    "04.2": 256,
    "04.3": """\
__kernel void product(__global const float *a, __global const float *b,
                      __global float *c, int M, int N, int K) {
  int n = get_global_id(0), m = get_global_id(1);
  if (m < M && n < N) {
    float sum = 0;
    for (int k = 0; k < K; k++)
      sum += a[m * K + k] * b[k * N + n];
    c[m * N + n] = sum;
  }
}
""",
    "04.4": """\
__kernel void product_at(__global const float *a, __global const float *b,
                         __global float *c, int M, int N, int K) {
  int n = get_global_id(0), m = get_global_id(1);
  if (m < M && n < N) {
    float sum = 0;
    for (int k = 0; k < K; k++)
      sum += a[k * M + m] * b[k * N + n];
    c[m * N + n] = sum;
  }
}
""",
    "04.5": """\
#define TILE 4
__kernel void tiled(__global const float *a, __global const float *b,
                    __global float *c, int M, int N, int K) {
  __local float a_tile[TILE][TILE], b_tile[TILE][TILE];
  int n = get_global_id(0), m = get_global_id(1);
  int x = get_local_id(0), y = get_local_id(1);
  float sum = 0;
  for (int k0 = 0; k0 < K; k0 += TILE) {
    a_tile[y][x] = m < M && k0 + x < K ? a[m * K + k0 + x] : 0;
    b_tile[y][x] = k0 + y < K && n < N ? b[(k0 + y) * N + n] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILE; k++)
      sum += a_tile[y][k] * b_tile[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (m < M && n < N)
    c[m * N + n] = sum;
}
""",
    "04.6": """\
__kernel void product(__global const float *a, __global const float *b,
                      __global float *c, int M, int N, int K) {
  int n = get_global_id(0), m = 4 * get_global_id(1);
  if (m < M && n < N) {
    float sum[4] = {0, 0, 0, 0};
    for (int k = 0; k < K; k++) {
      float right = b[k * N + n];
      for (int i = 0; i < 4; i++)
        if (m + i < M)
          sum[i] += a[(m + i) * K + k] * right;
    }
    for (int i = 0; i < 4; i++)
      if (m + i < M)
        c[(m + i) * N + n] = sum[i];
  }
}
""",
    "04.7": """\
__kernel void product(__global const float *a, __global const float *b,
                      __global float *c, int M, int N, int K) {
  int n = 4 * get_global_id(0), m = get_global_id(1);
  if (m < M && n < N) {
    float4 sum = 0;
    for (int k = 0; k < K; k++)
      sum += a[m * K + k] * vload4(0, b + k * N + n);
    vstore4(sum, 0, c + m * N + n);
  }
}
""",
}
