/* Average-pooling: out = sum of the window / number of its elements.
 *
 * Shapes: x (planes, H, W), out (planes, OH, OW), where a plane is one channel of one image. The
 * window at (oh, ow) sees x at h = oh * SH - PH + kh, w = ow * SW - PW + kw. What lies outside of x
 * counts as zeros up to the padding's edge if `pads` is set, and not at all otherwise; `divisor`,
 * where it isn't 0, is divided by instead of the number.
 */

/* How many elements along one axis a window counts that starts at `start`. An A, as two of them
 * multiplied can pass the largest int. */
inline A extent(int start, int K, int size, int P, int pads) {
  int end = min(start + K, size + P);
  return pads ? end - start : min(end, size) - max(start, 0);
}

/* As defined: one work-item goes through one window. */
__kernel void avg_pool_window(
    __global const T *x, __global T *out, int H, int W, int KH, int KW, int SH, int SW,
    int PH, int PW, int OH, int OW, int pads, int divisor, int total) {
  int k = get_global_id(0);
  if (k < total) {
    int ow = k % OW, oh = k / OW % OH, plane = k / OW / OH;
    int top = oh * SH - PH, left = ow * SW - PW;
    A sum = 0;
    for (int h = max(top, 0); h < min(top + KH, H); h++)
      for (int w = max(left, 0); w < min(left + KW, W); w++)
        sum += x[(plane * H + h) * W + w];
    A n = extent(top, KH, H, PH, pads) * extent(left, KW, W, PW, pads);
    out[k] = sum / (divisor ? divisor : n);
  }
}

/* For CPUs. One work-item makes one row of out, STRIP windows at a time: for each place in the
 * window it goes along the row, so the innermost loop has no test and neighbours fill a vector. */
#define STRIP 32

__kernel void avg_pool_rows(
    __global const T *x, __global T *out, int H, int W, int KH, int KW, int SH, int SW,
    int PH, int PW, int OH, int OW, int pads, int divisor, int total) {
  int k = get_global_id(0);
  if (k < total) {
    int oh = k % OH, plane = k / OH, top = oh * SH - PH;
    A tall = extent(top, KH, H, PH, pads);
    for (int first = 0; first < OW; first += STRIP) {
      int n = min(STRIP, OW - first), left = first * SW - PW, reach = (n - 1) * SW;
      A sum[STRIP];
      for (int j = 0; j < n; j++)
        sum[j] = 0;
      for (int h = max(top, 0); h < min(top + KH, H); h++)
        for (int w = max(left + reach, 0) - reach; w < min(left + KW, W); w++) {
          /* Window j of the strip sees column w + j * SW; inside x that is start <= j < stop. */
          int from = (plane * H + h) * W + w;
          int start = w < 0 ? (SW - 1 - w) / SW : 0;
          int stop = min(n, (W - w + SW - 1) / SW);
          if (SW == 2)
            for (int j = start; j < stop; j++)
              sum[j] += x[from + j * 2];
          else
            for (int j = start; j < stop; j++)
              sum[j] += x[from + j * SW];
        }
      for (int j = 0; j < n; j++) {
        A wide = extent(left + j * SW, KW, W, PW, pads);
        out[k * OW + first + j] = sum[j] / (divisor ? divisor : tall * wide);
      }
    }
  }
}

/* The gradient: every element of a window gets an equal share of its g. One work-item makes one
 * element of gx: it collects the shares of the windows that see it. No two write to one place. */
__kernel void avg_pool_backward_gather(
    __global const T *g, __global T *gx, int H, int W, int KH, int KW, int SH, int SW,
    int PH, int PW, int OH, int OW, int pads, int divisor, int total) {
  int k = get_global_id(0);
  if (k < total) {
    int w = k % W, h = k / W % H, plane = k / W / H;
    int top = h + PH - KH + 1, left = w + PW - KW + 1;
    int oh_first = top > 0 ? (top + SH - 1) / SH : 0, oh_last = min((h + PH) / SH, OH - 1);
    int ow_first = left > 0 ? (left + SW - 1) / SW : 0, ow_last = min((w + PW) / SW, OW - 1);
    A sum = 0;
    for (int oh = oh_first; oh <= oh_last; oh++)
      for (int ow = ow_first; ow <= ow_last; ow++) {
        A n = extent(oh * SH - PH, KH, H, PH, pads) * extent(ow * SW - PW, KW, W, PW, pads);
        sum += g[(plane * OH + oh) * OW + ow] / (divisor ? divisor : n);
      }
    gx[k] = sum;
  }
}

/* For CPUs. One work-item makes one plane of gx: it gives each window's share to the elements that
 * the window sees, always in the same order. Nobody else writes to its plane. */
__kernel void avg_pool_backward_planes(
    __global const T *g, __global A *gx, int H, int W, int KH, int KW, int SH, int SW,
    int PH, int PW, int OH, int OW, int pads, int divisor, int planes) {
  int plane = get_global_id(0);
  if (plane < planes) {
    for (int i = 0; i < H * W; i++)
      gx[plane * H * W + i] = 0;
    for (int oh = 0; oh < OH; oh++) {
      int top = oh * SH - PH;
      A tall = extent(top, KH, H, PH, pads);
      for (int ow = 0; ow < OW; ow++) {
        int left = ow * SW - PW;
        A n = tall * extent(left, KW, W, PW, pads);
        A share = g[(plane * OH + oh) * OW + ow] / (divisor ? divisor : n);
        for (int h = max(top, 0); h < min(top + KH, H); h++)
          for (int w = max(left, 0); w < min(left + KW, W); w++)
            gx[(plane * H + h) * W + w] += share;
      }
    }
  }
}
