"""Answers to lesson 06."""

SOLUTIONS = {
    "06.1": 32 * 14 * 14 * 16 * 5 * 5,
    "06.2": [64, 1, 3, 3],
    "06.3": """\
__kernel void convolve(__global const float *x, __global const float *weight,
                       __global float *y, int C, int H, int W,
                       int KH, int KW, int OH, int OW) {
  int l = get_global_id(0), co = get_global_id(1);
  if (l < OH * OW) {
    int oh = l / OW, ow = l % OW;
    float sum = 0;
    for (int c = 0; c < C; c++)
      for (int kh = 0; kh < KH; kh++)
        for (int kw = 0; kw < KW; kw++)
          sum += weight[((co * C + c) * KH + kh) * KW + kw]
                 * x[(c * H + oh + kh) * W + ow + kw];
    y[co * OH * OW + l] = sum;
  }
}
""",
    "06.4": """\
__kernel void pointwise(__global const float *x, __global const float *weight,
                        __global float *y, int C, int L) {
  int l = get_global_id(0), co = get_global_id(1);
  if (l < L) {
    float sum = 0;
    for (int c = 0; c < C; c++)
      sum += weight[co * C + c] * x[c * L + l];
    y[co * L + l] = sum;
  }
}
""",
    "06.5": """\
__kernel void convolve_one(__global const float *x, __global const float *weight,
                           __global float *y, int W, int K, int OH, int OW) {
  int l = get_global_id(0);
  if (l < OH * OW) {
    int oh = l / OW, ow = l % OW;
    float sum = 0;
    for (int kh = 0; kh < K; kh++)
      for (int kw = 0; kw < K; kw++) {
        float w = weight[kh * K + kw];
        sum += w * x[(oh + kh) * W + ow + kw];
      }
    y[l] = sum;
  }
}
""",
    "06.6": """\
__kernel void convolve_four(__global const float *x, __global const float *weight,
                            __global float *y, int C, int H, int W,
                            int K, int OH, int OW) {
  int l = get_global_id(0);
  if (l < OH * OW) {
    int oh = l / OW, ow = l % OW;
    float sum[4] = {0, 0, 0, 0};
    for (int c = 0; c < C; c++)
      for (int kh = 0; kh < K; kh++)
        for (int kw = 0; kw < K; kw++) {
          float pixel = x[(c * H + oh + kh) * W + ow + kw];
          for (int co = 0; co < 4; co++)
            sum[co] += weight[((co * C + c) * K + kh) * K + kw] * pixel;
        }
    for (int co = 0; co < 4; co++)
      y[co * OH * OW + l] = sum[co];
  }
}
""",
}
