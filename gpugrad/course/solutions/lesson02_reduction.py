"""Answers to lesson 02."""

SOLUTIONS = {
    "02.1": 10,
    "02.2": [8, 10, 6, 7, 5, 9, 2, 6],
    "02.3": """\
__kernel void row_max(__global const float *x, __global float *out,
                      int rows, int n) {
  int row = get_global_id(0);
  if (row < rows) {
    float best = -INFINITY;
    for (int i = 0; i < n; i++)
      best = x[row * n + i] > best ? x[row * n + i] : best;
    out[row] = best;
  }
}
""",
    "02.4": """\
__kernel void parted(__global const float *x, __global float *out) {
  __local float part[8];
  int lane = get_local_id(0);
  part[lane] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int width = 4; width > 0; width /= 2) {
    if (lane < width)
      part[lane] += part[lane + width];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0)
    out[get_group_id(0)] = part[0];
}
""",
    "02.5": """\
__kernel void row_sum(__global const float *x, __global float *out, int n) {
  __local float part[64];
  int lane = get_local_id(0), row = get_group_id(0);
  float sum = 0;
  for (int i = lane; i < n; i += 64)
    sum += x[row * n + i];
  part[lane] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int width = 32; width > 0; width /= 2) {
    if (lane < width)
      part[lane] += part[lane + width];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0)
    out[row] = part[0];
}
""",
    "02.6": """\
__kernel void row_range(__global const float *x, __global float *low,
                        __global float *high, int rows, int n) {
  int row = get_global_id(0);
  if (row < rows) {
    float smallest = INFINITY, largest = -INFINITY;
    for (int i = 0; i < n; i++) {
      float v = x[row * n + i];
      smallest = v < smallest ? v : smallest;
      largest = v > largest ? v : largest;
    }
    low[row] = smallest;
    high[row] = largest;
  }
}
""",
}
