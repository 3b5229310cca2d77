/* im2col: every window of an image becomes a column of a matrix, so that a convolution is a
 * matrix product.
 *
 *     col[n, k, l] = x[n, c, oh * SH - PH + kh * DH, ow * SW - PW + kw * DW],  0 in the padding
 *
 * where row k = (c * KH + kh) * KW + kw is a place in the window, and column l = oh * OW + ow is
 * a place of the window. Shapes: x (N, C, H, W), col (N, C*KH*KW, OH*OW). An element of x that
 * several windows see is copied into each of their columns.
 */

/* The definition. One work-item writes one element of col. */
__kernel void im2col_naive(
    __global const T *x, __global T *col,
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

    A value = 0;
    if (h >= 0 && h < H && w >= 0 && w < W)
      value = x[((n * C + c) * H + h) * W + w];
    col[(n * C * KH * KW + k) * OH * OW + l] = value;
  }
}

/* For CPUs. One work-item writes one row of col. An output row sees a run of neighbours in x, with
 * padding before and behind it, so the inner loops have no test in them and copy whole vectors.
 */
__kernel void im2col_rows(
    __global const T *x, __global T *col,
    int C, int H, int W, int KH, int KW, int SH, int SW,
    int PH, int PW, int DH, int DW, int OH, int OW) {
  int k = get_global_id(0), n = get_global_id(1);
  int c = k / (KH * KW), kh = k / KW % KH, kw = k % KW;
  /* Output column ow sees w = ow * SW + w0; inside x that is for first <= ow < last. */
  int w0 = kw * DW - PW;
  int first = w0 < 0 ? min((SW - 1 - w0) / SW, OW) : 0;
  int last = max(min((W - w0 + SW - 1) / SW, OW), first);

  for (int oh = 0; oh < OH; oh++) {
    int h = oh * SH - PH + kh * DH;
    int from = ((n * C + c) * H + h) * W + w0;
    int to = ((n * C * KH * KW + k) * OH + oh) * OW;
    int inside = h >= 0 && h < H;
    int start = inside ? first : OW, stop = inside ? last : OW;
    for (int ow = 0; ow < start; ow++) col[to + ow] = 0;
    if (SW == 1)
      for (int ow = start; ow < stop; ow++) col[to + ow] = x[from + ow];
    else
      for (int ow = start; ow < stop; ow++) col[to + ow] = x[from + ow * SW];
    for (int ow = stop; ow < OW; ow++) col[to + ow] = 0;
  }
}

/* For GPUs. One work-item takes one channel at one place of the window and writes the KH * KW
 * elements of col that it sees: one division for all of them. Neighbouring work-items read and
 * write neighbouring elements.
 */
__kernel void im2col_window(
    __global const T *x, __global T *col,
    int C, int H, int W, int KH, int KW, int SH, int SW,
    int PH, int PW, int DH, int DW, int OH, int OW) {
  int l = get_global_id(0), c = get_global_id(1), n = get_global_id(2);
  if (l < OH * OW) {
    int h0 = l / OW * SH - PH, w0 = l % OW * SW - PW;
    int to = (n * C + c) * KH * KW * OH * OW + l;
    for (int kh = 0; kh < KH; kh++)
      for (int kw = 0; kw < KW; kw++) {
        int h = h0 + kh * DH, w = w0 + kw * DW;
        A value = 0;
        if (h >= 0 && h < H && w >= 0 && w < W)
          value = x[((n * C + c) * H + h) * W + w];
        col[to + (kh * KW + kw) * OH * OW] = value;
      }
  }
}
