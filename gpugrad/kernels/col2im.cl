/* col2im: the adjoint of im2col. Each element of col is added to the pixel it was copied from.
 *
 *     x[n, c, h, w] = sum of col[n, k, l] over all k = (c, kh, kw) and l = (oh, ow) with
 *                     oh * SH - PH + kh * DH = h   and   ow * SW - PW + kw * DW = w
 *
 * Shapes: col (N, C*KH*KW, OH*OW), x (N, C, H, W). A pixel that no window sees becomes 0.
 */

/* Gather. One work-item sums up one pixel: for each place (kh, kw) in the window it asks which
 * window has the pixel there, if any. Nobody shares a pixel, and the order of the sum is fixed.
 */
__kernel void col2im_gather(
    __global const T *col, __global T *x,
    int C, int H, int W, int KH, int KW, int SH, int SW,
    int PH, int PW, int DH, int DW, int OH, int OW) {
  int i = get_global_id(0);
  int c = get_global_id(1);
  int n = get_global_id(2);
  if (i < H * W) {
    int h = i / W;
    int w = i % W;
    A sum = 0;
    for (int kh = 0; kh < KH; kh++)
      for (int kw = 0; kw < KW; kw++) {
        int top = h + PH - kh * DH;  /* must be oh * SH */
        int left = w + PW - kw * DW; /* must be ow * SW */
        int oh = top / SH;
        int ow = left / SW;
        int k = (c * KH + kh) * KW + kw;
        if (top >= 0 && top % SH == 0 && oh < OH &&
            left >= 0 && left % SW == 0 && ow < OW)
          sum += col[((n * C * KH * KW + k) * OH + oh) * OW + ow];
      }
    x[((n * C + c) * H + h) * W + w] = sum;
  }
}

/* *p += v, where others may add to the same place at the same time. OpenCL 1.2 adds integers only,
 * so: guess the old bits, swap in the new ones if the guess was right, else guess what was seen.
 */
void atomic_add_float(volatile __global float *p, float v) {
  uint guess, seen = 0;
  do {
    guess = seen;
    float sum = as_float(guess) + v;
    seen = atomic_cmpxchg((volatile __global uint *)p, guess, as_uint(sum));
  } while (seen != guess);
}

/* Scatter, for show. im2col_naive turned round: one work-item takes one element of col to its
 * pixel. Several windows have the same pixel, so the addition must be atomic; in which order they
 * come is up to the device, so the last digits differ from run to run. sums holds zeros before.
 */
__kernel void col2im_scatter(
    __global const T *col, __global float *sums,
    int C, int H, int W, int KH, int KW, int SH, int SW,
    int PH, int PW, int DH, int DW, int OH, int OW) {
  int l = get_global_id(0);
  int k = get_global_id(1);
  int n = get_global_id(2);
  if (l < OH * OW) {
    int oh = l / OW;
    int ow = l % OW;
    int c = k / (KH * KW);
    int kh = k / KW % KH;
    int kw = k % KW;
    int h = oh * SH - PH + kh * DH;
    int w = ow * SW - PW + kw * DW;
    if (h >= 0 && h < H && w >= 0 && w < W) {
      float value = col[(n * C * KH * KW + k) * OH * OW + l];
      atomic_add_float(&sums[((n * C + c) * H + h) * W + w], value);
    }
  }
}

/* For CPUs. One work-item sums up one channel of one image, STRIP neighbouring pixels of a row at a
 * time. A place (kh, kw) in the window has a run of neighbours of col for them, which are added a
 * vector at a time, in the order of the gather.
 */
#define STRIP 64

__kernel void col2im_planes(
    __global const T *col, __global T *x,
    int C, int H, int W, int KH, int KW, int SH, int SW,
    int PH, int PW, int DH, int DW, int OH, int OW) {
  int c = get_global_id(0), n = get_global_id(1);
  for (int h = 0; h < H; h++)
    for (int begin = 0; begin < W; begin += STRIP) {
      int end = min(begin + STRIP, W);
      A sum[STRIP];
      for (int j = 0; j < STRIP; j++) sum[j] = 0;

      for (int kh = 0; kh < KH; kh++) {
        int top = h + PH - kh * DH, oh = top / SH;
        if (top < 0 || top % SH != 0 || oh >= OH) continue;
        for (int kw = 0; kw < KW; kw++) {
          int k = (c * KH + kh) * KW + kw;
          int from = ((n * C * KH * KW + k) * OH + oh) * OW;
          /* Window ow has w = ow * SW + w0 there; for first <= ow < last that is in this strip. */
          int w0 = kw * DW - PW, j = w0 - begin;
          int first = j < 0 ? (SW - 1 - j) / SW : 0;
          int last = w0 < end ? min((end - w0 + SW - 1) / SW, OW) : 0;
          if (SW == 1)
            for (int ow = first; ow < last; ow++) sum[ow + j] += col[from + ow];
          else
            for (int ow = first; ow < last; ow++) sum[ow * SW + j] += col[from + ow];
        }
      }
      for (int w = begin; w < end; w++) x[((n * C + c) * H + h) * W + w] = sum[w - begin];
    }
}
