"""Answers to lesson 13."""

SOLUTIONS = {
    "13.1": [2 * 32 * 128 * 1568, 4 * (32 * 1568 + 1568 * 128 + 32 * 128)],
    "13.2": [60, 40, 5],
    "13.3": [1, 4, 32],
    "13.4": """\
def held_up_by(flops, bytes, peaks):
    intensity = flops / bytes
    ridge = peaks.gflops / peaks.gbytes_per_second
    return "memory" if intensity < ridge else "arithmetic"
""",
    "13.5": """\
#define EACH 8
__kernel void relu(__global const float *x, __global float *out, int n) {
  int first = get_global_id(0);
  for (int k = 0; k < EACH; k++) {
    int i = first + k * get_global_size(0);
    if (i < n) {
      float value = x[i];
      out[i] = value < 0 ? 0 : value;
    }
  }
}
""",
    "13.6": """\
__kernel void flip(__global const float *x, __global float *out, int R, int C) {
  __local float tile[32][33];
  int i = get_local_id(0);
  int c0 = 32 * get_group_id(0), r0 = 32 * get_group_id(1);
  for (int k = get_local_id(1); k < 32; k += get_local_size(1))
    tile[i][k] = x[(r0 + k) * C + c0 + i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = get_local_id(1); k < 32; k += get_local_size(1))
    out[(c0 + k) * R + r0 + i] = tile[k][i];
}
""",
    "13.7": """\
__kernel void relu_pool(__global const float *x, __global float *out,
                        int planes, int H, int W, int OH, int OW) {
  int ow = get_global_id(0), oh = get_global_id(1), plane = get_global_id(2);
  if (ow < OW && oh < OH && plane < planes) {
    float best = 0;
    for (int kh = 0; kh < 2; kh++)
      for (int kw = 0; kw < 2; kw++) {
        float a = x[(plane * H + 2 * oh + kh) * W + 2 * ow + kw];
        if (best == best && !(a <= best))
          best = a;
      }
    out[(plane * OH + oh) * OW + ow] = best;
  }
}
""",
    "13.8": """\
def most_to_gain(launches, peaks):
    def least(t):
        by_bytes = (t.bytes or 0) / (peaks.gbytes_per_second * 1e9)
        by_operations = (t.flops or 0) / (peaks.gflops * 1e9)
        return max(by_bytes, by_operations)

    known = [t for t in launches if t.bytes is not None or t.flops is not None]
    return max(known, key=lambda t: t.seconds - least(t))
""",
}
