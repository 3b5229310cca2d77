"""Answers to lesson 08."""

SOLUTIONS = {
    "08.1": [3, 4, 4],
    "08.2": [[1, 2], [8, 11]],
    "08.3": [0, 2, 0, 0, 1],
    "08.4": """\
__kernel void averages(__global const float *x, __global float *out,
                       int H, int W, int K, int OH, int OW) {
  int k = get_global_id(0);
  if (k < OH * OW) {
    int top = k / OW * K, left = k % OW * K;
    float sum = 0;
    for (int h = top; h < min(top + K, H); h++)
      for (int w = left; w < min(left + K, W); w++)
        sum += x[h * W + w];
    int n = (min(top + K, H) - top) * (min(left + K, W) - left);
    out[k] = sum / n;
  }
}
""",
    "08.5": """\
__kernel void largest(__global const float *x, __global float *out,
                      int H, int W, int K, int OH, int OW) {
  int k = get_global_id(0);
  if (k < OH * OW) {
    int top = k / OW * K, left = k % OW * K;
    float best = -INFINITY;
    for (int h = top; h < top + K; h++)
      for (int w = left; w < left + K; w++) {
        float a = x[h * W + w];
        if (best == best && !(a <= best))
          best = a;
      }
    out[k] = best;
  }
}
""",
    "08.6": """\
__kernel void my_max_pool(
    __global const float *x, __global float *out, __global int *indices,
    int H, int W, int KH, int KW, int SH, int SW,
    int PH, int PW, int DH, int DW, int OH, int OW, int total) {
  int k = get_global_id(0);
  if (k < total) {
    int ow = k % OW, oh = k / OW % OH, plane = k / (OH * OW);
    float best = -INFINITY;
    int at = -1;
    for (int kh = 0; kh < KH; kh++)
      for (int kw = 0; kw < KW; kw++) {
        int h = oh * SH - PH + kh * DH;
        int w = ow * SW - PW + kw * DW;
        if (h >= 0 && h < H && w >= 0 && w < W) {
          float a = x[(plane * H + h) * W + w];
          if (at < 0 || (best == best && !(a <= best))) {
            best = a;
            at = h * W + w;
          }
        }
      }
    out[k] = best;
    indices[k] = at;
  }
}
""",
    "08.7": """\
__kernel void give_back(__global const float *g, __global const int *indices,
                        __global float *gx, int W, int OH, int OW) {
  int k = get_global_id(0);
  if (k < OH * OW) {
    float value = g[k];
    int winner = indices[k];
    for (int kh = 0; kh < 2; kh++)
      for (int kw = 0; kw < 2; kw++) {
        int at = (k / OW * 2 + kh) * W + k % OW * 2 + kw;
        gx[at] = at == winner ? value : 0;
      }
  }
}
""",
}
