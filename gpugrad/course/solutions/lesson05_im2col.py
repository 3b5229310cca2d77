"""Answers to lesson 05."""

SOLUTIONS = {
    "05.1": [28, 12, 24],
    "05.2": [3, 2],
    "05.3": 9,
    "05.4": """\
__kernel void windows(__global const float *x, __global float *col,
                      int H, int W, int KH, int KW, int OH, int OW) {
  int l = get_global_id(0), k = get_global_id(1);
  if (l < OH * OW) {
    int oh = l / OW, ow = l % OW;
    int kh = k / KW, kw = k % KW;
    col[k * OH * OW + l] = x[(oh + kh) * W + ow + kw];
  }
}
""",
    "05.5": """\
__kernel void padded_windows(__global const float *x, __global float *col,
                             int H, int W, int K, int P, int OH, int OW) {
  int l = get_global_id(0), k = get_global_id(1);
  if (l < OH * OW) {
    int h = l / OW - P + k / K;
    int w = l % OW - P + k % K;
    int inside = h >= 0 && h < H && w >= 0 && w < W;
    col[k * OH * OW + l] = inside ? x[h * W + w] : 0;
  }
}
""",
    "05.6": """\
__kernel void my_im2col(
    __global const float *x, __global float *col,
    int C, int H, int W, int KH, int KW, int SH, int SW,
    int PH, int PW, int DH, int DW, int OH, int OW) {
  int l = get_global_id(0);
  int k = get_global_id(1);
  int n = get_global_id(2);
  if (l < OH * OW) {
    int oh = l / OW, ow = l % OW;
    int c = k / (KH * KW), kh = k / KW % KH, kw = k % KW;
    int h = oh * SH - PH + kh * DH;
    int w = ow * SW - PW + kw * DW;
    float value = 0;
    if (h >= 0 && h < H && w >= 0 && w < W)
      value = x[((n * C + c) * H + h) * W + w];
    col[(n * C * KH * KW + k) * OH * OW + l] = value;
  }
}
""",
}
