/* Max-pooling: out = the largest element of the window, indices = h * W + w, its place in the plane.
 *
 * Shapes: x (planes, H, W), out (planes, OH, OW), where a plane is one channel of one image. The
 * window at (oh, ow) sees x at h = oh * SH - PH + kh * DH, w = ow * SW - PW + kw * DW; what lies
 * outside of x is padding: it never wins.
 */

/* A number beats what is smaller, a NaN beats every number, and of equals the first one stays. */
#define BEATS(a, best) (((best) == (best)) & !((a) <= (best)))

/* The first place inside the image of a window that starts at `start` and goes on by `step`. */
inline int inside(int start, int step) {
  return start < 0 ? start + (step - 1 - start) / step * step : start;
}

/* Max-pooling as defined: out = max of the window, indices = h * W + w of the first element that
 * has it. One work-item looks through one window. A window that sees padding only (with dilation
 * there are such) gives -infinity and the index -1. */
__kernel void max_pool_window(
    __global const T *x, __global T *out, __global int *indices,
    int H, int W, int KH, int KW, int SH, int SW,
    int PH, int PW, int DH, int DW, int OH, int OW, int total) {
  int k = get_global_id(0);
  if (k < total) {
    int ow = k % OW, oh = k / OW % OH, plane = k / OW / OH;
    int top = oh * SH - PH, left = ow * SW - PW;
    A best = -INFINITY;
    int at = -1;
    for (int h = inside(top, DH); h < min(top + KH * DH, H); h += DH)
      for (int w = inside(left, DW); w < min(left + KW * DW, W); w += DW) {
        A a = x[(plane * H + h) * W + w];
        if (at < 0 || BEATS(a, best)) {
          best = a;
          at = h * W + w;
        }
      }
    out[k] = best;
    indices[k] = at;
  }
}

/* For CPUs. One work-item makes one row of out, STRIP windows at a time: for each place in the
 * window it goes along the row, so the innermost loop has no test and neighbours fill a vector. */
#define STRIP 32
#define SWEEP(STEP)                                     \
  for (int j = start; j < stop; j++) {                  \
    A a = x[from + j * STEP], b = best[j];              \
    int wins = BEATS(a, b) | (at[j] < 0);               \
    best[j] = wins ? a : b;                             \
    at[j] = wins ? h * W + w + j * STEP : at[j];        \
  }

__kernel void max_pool_rows(
    __global const T *x, __global T *out, __global int *indices,
    int H, int W, int KH, int KW, int SH, int SW,
    int PH, int PW, int DH, int DW, int OH, int OW, int total) {
  int k = get_global_id(0);
  if (k < total) {
    int oh = k % OH, plane = k / OH, top = oh * SH - PH;
    for (int first = 0; first < OW; first += STRIP) {
      int n = min(STRIP, OW - first), left = first * SW - PW, reach = (n - 1) * SW;
      A best[STRIP];
      int at[STRIP];
      for (int j = 0; j < n; j++) {
        best[j] = -INFINITY;
        at[j] = -1;
      }
      for (int h = inside(top, DH); h < min(top + KH * DH, H); h += DH)
        for (int w = inside(left + reach, DW) - reach; w < min(left + KW * DW, W); w += DW) {
          /* Window j of the strip sees column w + j * SW; inside x that is start <= j < stop. */
          int from = (plane * H + h) * W + w;
          int start = w < 0 ? (SW - 1 - w) / SW : 0;
          int stop = min(n, (W - w + SW - 1) / SW);
          if (SW == 2)
            SWEEP(2)
          else
            SWEEP(SW)
        }
      for (int j = 0; j < n; j++) {
        out[k * OW + first + j] = best[j];
        indices[k * OW + first + j] = at[j];
      }
    }
  }
}

/* For CPUs, 2 x 2 windows with stride 2 and no padding. One work-item makes one row of out, 4
 * windows at a time; the last 4 overlap the ones before where OW (4 or more) is no multiple of 4. */
__kernel void max_pool_2x2(__global const T *x, __global T *out, __global int *indices,
                           int H, int W, int OH, int OW, int total) {
  int k = get_global_id(0);
  if (k < total) {
    int oh = k % OH, plane = k / OH;
    for (int strip = 0; strip < OW; strip += 4) {
      int first = min(strip, OW - 4);
      int corner = 2 * oh * W + 2 * first, from = plane * H * W + corner;
      A best[4];
      int at[4];
      for (int j = 0; j < 4; j++) {
        A a = x[from + 2 * j], b = x[from + 2 * j + 1];
        A c = x[from + W + 2 * j], d = x[from + W + 2 * j + 1];
        int i = corner + 2 * j, wins = BEATS(b, a);
        a = wins ? b : a;
        i = wins ? corner + 2 * j + 1 : i;
        wins = BEATS(c, a);
        a = wins ? c : a;
        i = wins ? corner + W + 2 * j : i;
        wins = BEATS(d, a);
        best[j] = wins ? d : a;
        at[j] = wins ? corner + W + 2 * j + 1 : i;
      }
      for (int j = 0; j < 4; j++) {
        out[k * OW + first + j] = best[j];
        indices[k * OW + first + j] = at[j];
      }
    }
  }
}

/* The gradient: g[o] belongs to the element that won window o. One work-item makes one element of
 * gx: it asks every window that sees it whether it won there. No two write to one place. */
__kernel void max_pool_backward_gather(
    __global const T *g, __global const int *indices, __global T *gx,
    int H, int W, int KH, int KW, int SH, int SW,
    int PH, int PW, int DH, int DW, int OH, int OW, int total) {
  int k = get_global_id(0);
  if (k < total) {
    int w = k % W, h = k / W % H, plane = k / W / H;
    int top = h + PH - (KH - 1) * DH, left = w + PW - (KW - 1) * DW;
    int oh_first = top > 0 ? (top + SH - 1) / SH : 0, oh_last = min((h + PH) / SH, OH - 1);
    int ow_first = left > 0 ? (left + SW - 1) / SW : 0, ow_last = min((w + PW) / SW, OW - 1);
    A sum = 0;
    for (int oh = oh_first; oh <= oh_last; oh++)
      for (int ow = ow_first; ow <= ow_last; ow++) {
        int o = (plane * OH + oh) * OW + ow;
        if (indices[o] == h * W + w)
          sum += g[o];
      }
    gx[k] = sum;
  }
}

/* For CPUs. One work-item makes one plane of gx: it adds each g where it belongs, always in the
 * same order. Nobody else writes to its plane, so it needs no atomics. */
__kernel void max_pool_backward_planes(__global const T *g, __global const int *indices,
                                       __global A *gx, int size, int out_size, int planes) {
  int plane = get_global_id(0);
  if (plane < planes) {
    for (int i = 0; i < size; i++)
      gx[plane * size + i] = 0;
    for (int o = 0; o < out_size; o++) {
      int at = indices[plane * out_size + o];
      if (at >= 0 && at < size)
        gx[plane * size + at] += g[plane * out_size + o];
    }
  }
}

/* The gradient's gradient: out[o] = x[indices[o]], plane by plane; 0 where there is no such element.
 * One work-item makes one element of out. */
__kernel void max_pool_pick(__global const T *x, __global const int *indices, __global T *out,
                            int size, int out_size, int total) {
  int k = get_global_id(0);
  if (k < total) {
    int at = indices[k];
    A a = 0;
    if (at >= 0 && at < size)
      a = x[k / out_size * size + at];
    out[k] = a;
  }
}
