/* softmax and log-softmax over one axis of x, seen as outer x n x inner:
 *
 *     softmax      out = exp(x - m) / s            s = sum over the axis of exp(x - m)
 *     log-softmax  out = x - m - log(s)            m = the axis's maximum, for any m the same
 *
 * Subtracting the maximum changes nothing on paper, and keeps exp from overflowing. LOG, put above
 * this text when it is compiled, asks for the logarithm. A line of -infinity only gives NaN.
 */

/* A work-item that goes along a whole line adds it up in parts of PART elements, and then the parts:
 * in one row of a million additions, each rounded, float32 loses all but two of its seven digits. */
#define PART 256

#ifdef LOG
#define RESULT(x, m, s) ((x) - (m) - log(s))
#else
#define RESULT(x, m, s) (exp((x) - (m)) / (s))
#endif

/* The formula without the maximum: right until exp overflows, in float32 above 88. One work-item
 * makes one line (the n elements along the axis). */
__kernel void softmax_naive(__global const T *x, __global T *out, int outer, int n, int inner) {
  int k = get_global_id(0);
  if (k < outer * inner) {
    int start = k / inner * n * inner + k % inner;
    A s = 0;
    for (int i = 0; i < n; i++)
      s += exp((A)x[start + i * inner]);
    for (int i = 0; i < n; i++)
      out[start + i * inner] = RESULT((A)x[start + i * inner], (A)0, s);
  }
}

/* Stable, reading a line three times: for the maximum, the sum, the result. One work-item makes
 * one line. */
__kernel void softmax_stable(__global const T *x, __global T *out, int outer, int n, int inner) {
  int k = get_global_id(0);
  if (k < outer * inner) {
    int start = k / inner * n * inner + k % inner;
    A m = -INFINITY, s = 0;
    for (int i = 0; i < n; i++) {
      A a = x[start + i * inner];
      m = a > m ? a : m;
    }
    for (int i = 0; i < n;) {
      A part = 0;
      for (int end = i + min(PART, n - i); i < end; i++)
        part += exp((A)x[start + i * inner] - m);
      s += part;
    }
    for (int i = 0; i < n; i++)
      out[start + i * inner] = RESULT((A)x[start + i * inner], m, s);
  }
}

/* s of some elements, measured from their maximum m, measured from `to` instead. Of no elements (m
 * is -infinity) it stays 0. */
inline A rescaled(A s, A m, A to) {
  return m == -INFINITY ? s : s * exp(m - to);
}

/* Online: maximum and sum in one reading. A larger element rescales the sum so far, and so do two
 * parts of a line that meet; so a work-group of GROUP work-items can share one line. */
__kernel void softmax_online(__global const T *x, __global T *out, int n, int inner) {
  __local A maximum[GROUP];
  __local A sum[GROUP];
  int lane = get_local_id(0), k = get_group_id(0);
  int start = k / inner * n * inner + k % inner;
  A m = -INFINITY, s = 0;
  for (int i = lane; i < n; i += GROUP) {
    A a = x[start + i * inner];
    if (a > m) {
      s = rescaled(s, m, a) + exp(a - a); /* 1, or NaN for infinity */
      m = a;
    } else if (a != -INFINITY)
      s += exp(a - m);
  }
  maximum[lane] = m;
  sum[lane] = s;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int width = GROUP / 2; width > 0; width /= 2) {
    if (lane < width) {
      A other = maximum[lane + width], both = other > maximum[lane] ? other : maximum[lane];
      sum[lane] = rescaled(sum[lane], maximum[lane], both) + rescaled(sum[lane + width], other, both);
      maximum[lane] = both;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  m = maximum[0];
  s = sum[0];
  for (int i = lane; i < n; i += GROUP)
    out[start + i * inner] = RESULT((A)x[start + i * inner], m, s);
}

/* The gradient, from g and the result y; one work-item makes one line:
 *
 *     softmax      gx = y * (g - sum(g * y))
 *     log-softmax  gx = g - exp(y) * sum(g)
 */
#ifdef LOG
#define TERM(g, y) (g)
#define GRADIENT(g, y, s) ((g) - exp(y) * (s))
#else
#define TERM(g, y) ((g) * (y))
#define GRADIENT(g, y, s) ((y) * ((g) - (s)))
#endif

__kernel void softmax_backward(__global const T *g, __global const T *y, __global T *gx,
                               int outer, int n, int inner) {
  int k = get_global_id(0);
  if (k < outer * inner) {
    int start = k / inner * n * inner + k % inner;
    A s = 0;
    for (int i = 0; i < n;) {
      A part = 0;
      for (int end = i + min(PART, n - i); i < end; i++)
        part += TERM((A)g[start + i * inner], (A)y[start + i * inner]);
      s += part;
    }
    for (int i = 0; i < n; i++)
      gx[start + i * inner] = GRADIENT((A)g[start + i * inner], (A)y[start + i * inner], s);
  }
}

/* The same with a work-group of GROUP work-items for each line. */
__kernel void softmax_backward_tree(__global const T *g, __global const T *y, __global T *gx,
                                    int n, int inner) {
  __local A part[GROUP];
  int lane = get_local_id(0), k = get_group_id(0);
  int start = k / inner * n * inner + k % inner;
  A s = 0;
  for (int i = lane; i < n; i += GROUP)
    s += TERM((A)g[start + i * inner], (A)y[start + i * inner]);
  part[lane] = s;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int width = GROUP / 2; width > 0; width /= 2) {
    if (lane < width)
      part[lane] += part[lane + width];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  s = part[0];
  for (int i = lane; i < n; i += GROUP)
    gx[start + i * inner] = GRADIENT((A)g[start + i * inner], (A)y[start + i * inner], s);
}

/* For CPUs: one work-item makes LANES lines, side by side in a vector V of A's. exp of a vector costs
 * about as much there as exp of a number, and no addition waits for the one before it in its line.
 * Beyond the last line it is that line again, whose result is left out. */
#ifdef LANES
/* A vector that may start at any element. */
typedef V UNALIGNED __attribute__((aligned(sizeof(A))));

/* What LANES lines, which begin at start[0], start[1] ..., hold `offset` further. */
inline V side_by_side(__global const T *x, const int *start, int offset) {
  A side[LANES];
  for (int j = 0; j < LANES; j++)
    side[j] = x[start[j] + offset];
  return *(UNALIGNED *)side;
}

/* Put the first `count` of them where they belong. */
inline void put(__global T *out, const int *start, int offset, V v, int count) {
  A side[LANES];
  *(UNALIGNED *)side = v;
  for (int j = 0; j < LANES; j++)
    if (j < count)
      out[start[j] + offset] = side[j];
}

__kernel void softmax_lanes(__global const T *x, __global T *out, int outer, int n, int inner) {
  int first = get_global_id(0) * LANES, count = outer * inner - first;
  if (count > 0) {
    int start[LANES];
    for (int j = 0; j < LANES; j++) {
      int k = first + min(j, count - 1);
      start[j] = k / inner * n * inner + k % inner;
    }
    V m = -INFINITY, s = 0;
    for (int i = 0; i < n; i++) {
      V a = side_by_side(x, start, i * inner);
      m = a > m ? a : m;
    }
    for (int i = 0; i < n;) {
      V part = 0;
      for (int end = i + min(PART, n - i); i < end; i++)
        part += exp(side_by_side(x, start, i * inner) - m);
      s += part;
    }
    for (int i = 0; i < n; i++)
      put(out, start, i * inner, RESULT(side_by_side(x, start, i * inner), m, s), count);
  }
}

__kernel void softmax_backward_lanes(__global const T *g, __global const T *y, __global T *gx,
                                     int outer, int n, int inner) {
  int first = get_global_id(0) * LANES, count = outer * inner - first;
  if (count > 0) {
    int start[LANES];
    for (int j = 0; j < LANES; j++) {
      int k = first + min(j, count - 1);
      start[j] = k / inner * n * inner + k % inner;
    }
    V s = 0;
    for (int i = 0; i < n;) {
      V part = 0;
      for (int end = i + min(PART, n - i); i < end; i++)
        part += TERM(side_by_side(g, start, i * inner), side_by_side(y, start, i * inner));
      s += part;
    }
    for (int i = 0; i < n; i++) {
      V a = side_by_side(g, start, i * inner), b = side_by_side(y, start, i * inner);
      put(gx, start, i * inner, GRADIENT(a, b, s), count);
    }
  }
}
#endif
