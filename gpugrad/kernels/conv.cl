/* Convolution as the textbook writes it (a cross-correlation, as in every deep-learning library):
 *
 *     y[n, co, oh, ow] = sum over c, kh, kw of weight[co, c, kh, kw] * x[n, g*CG + c, h, w]
 *
 *     with h = oh * SH - PH + kh * DH, w = ow * SW - PW + kw * DW, and 0 where they lie outside
 *
 * x has C channels and y CO, in G groups: the CO/G outputs of group g see the CG = C/G inputs of
 * group g. Shapes: x (N, C, H, W), weight (CO, CG, KH, KW), y (N, CO, OH, OW).
 *
 * Three kernels, for y and for the gradients of x and weight, given dy, the gradient of y. Each
 * work-item computes one element of its result, from its definition.
 */

__kernel void conv2d_direct(
    __global const T *x, __global const T *weight, __global T *y,
    int C, int H, int W, int CO, int KH, int KW, int SH, int SW,
    int PH, int PW, int DH, int DW, int OH, int OW, int G) {
  int i = get_global_id(0), co = get_global_id(1), n = get_global_id(2);
  if (i < OH * OW) {
    int oh = i / OW, ow = i % OW;
    int CG = C / G, g = co / (CO / G);
    A sum = 0;
    for (int c = 0; c < CG; c++)
      for (int kh = 0; kh < KH; kh++)
        for (int kw = 0; kw < KW; kw++) {
          int h = oh * SH - PH + kh * DH;
          int w = ow * SW - PW + kw * DW;
          if (h >= 0 && h < H && w >= 0 && w < W)
            sum += weight[((co * CG + c) * KH + kh) * KW + kw]
                 * x[((n * C + g * CG + c) * H + h) * W + w];
        }
    y[((n * CO + co) * OH + oh) * OW + ow] = sum;
  }
}

/* dx[n, c, h, w]: every output that saw this pixel, times the weight through which it did. */
__kernel void conv2d_direct_input(
    __global const T *weight, __global const T *dy, __global T *dx,
    int C, int H, int W, int CO, int KH, int KW, int SH, int SW,
    int PH, int PW, int DH, int DW, int OH, int OW, int G) {
  int i = get_global_id(0), c = get_global_id(1), n = get_global_id(2);
  if (i < H * W) {
    int h = i / W, w = i % W;
    int CG = C / G, first = c / CG * (CO / G);
    A sum = 0;
    for (int co = first; co < first + CO / G; co++)
      for (int kh = 0; kh < KH; kh++)
        for (int kw = 0; kw < KW; kw++) {
          int top = h + PH - kh * DH, left = w + PW - kw * DW;
          int oh = top / SH, ow = left / SW;
          if (top >= 0 && top % SH == 0 && oh < OH && left >= 0 && left % SW == 0 && ow < OW)
            sum += weight[((co * CG + c % CG) * KH + kh) * KW + kw]
                 * dy[((n * CO + co) * OH + oh) * OW + ow];
        }
    dx[((n * C + c) * H + h) * W + w] = sum;
  }
}

/* dweight[co, c, kh, kw]: every output, times the pixel that this weight brought to it. */
__kernel void conv2d_direct_weight(
    __global const T *x, __global const T *dy, __global T *dweight,
    int N, int C, int H, int W, int CO, int KH, int KW, int SH, int SW,
    int PH, int PW, int DH, int DW, int OH, int OW, int G) {
  int k = get_global_id(0), co = get_global_id(1);
  int CG = C / G;
  if (k < CG * KH * KW) {
    int c = co / (CO / G) * CG + k / (KH * KW);
    int kh = k / KW % KH, kw = k % KW;
    A sum = 0;
    for (int n = 0; n < N; n++)
      for (int oh = 0; oh < OH; oh++)
        for (int ow = 0; ow < OW; ow++) {
          int h = oh * SH - PH + kh * DH;
          int w = ow * SW - PW + kw * DW;
          if (h >= 0 && h < H && w >= 0 && w < W)
            sum += dy[((n * CO + co) * OH + oh) * OW + ow]
                 * x[((n * C + c) * H + h) * W + w];
        }
    dweight[co * CG * KH * KW + k] = sum;
  }
}
