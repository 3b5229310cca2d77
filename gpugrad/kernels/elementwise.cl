/* Element-wise kernels: every element of the result comes from one element of each operand.
 *
 * The operation is a macro that is put above this text before it is compiled, for example
 *     #define UNARY(a) exp(a)            #define BINARY(a, b) a + b
 * T is what memory holds, A what is computed in, R what the result holds: T again, or uchar for
 * a comparison, or the type that a cast goes to.
 *
 * One work-item computes RUN neighbours: a single element on a GPU, where neighbouring work-items
 * then touch neighbouring memory; more on a CPU, where the loop over them becomes vector
 * instructions.
 */
#ifndef RUN
#define RUN 1
#endif

#ifdef UNARY
/* out[i] = UNARY(x[i]) */
__kernel void unary(__global const T *x, __global R *out, int n) {
  int first = (int)get_global_id(0) * RUN;
  for (int i = first; i < first + min(RUN, n - first); i++) {
    A a = x[i];
    out[i] = UNARY(a);
  }
}
#endif

#ifdef BINARY
/* a to the power of b, by squaring; a negative b leaves 0, unless a is 1 or -1. */
inline int int_power(int a, int b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
  int result = 1;
  for (; b > 0; b >>= 1) {
    if (b & 1) result *= a;
    a *= a;
  }
  return result;
}

/* out[i] = BINARY(x[i], y[i]), for two arrays of the same shape */
__kernel void binary(__global const T *x, __global const T *y, __global R *out, int n) {
  int first = (int)get_global_id(0) * RUN;
  for (int i = first; i < first + min(RUN, n - first); i++) {
    A a = x[i], b = y[i];
    out[i] = BINARY(a, b);
  }
}

/* out[i] = BINARY(x[i], b), for an array and a number */
__kernel void binary_right(__global const T *x, A b, __global R *out, int n) {
  int first = (int)get_global_id(0) * RUN;
  for (int i = first; i < first + min(RUN, n - first); i++) {
    A a = x[i];
    out[i] = BINARY(a, b);
  }
}

/* out[i] = BINARY(a, y[i]), for a number and an array */
__kernel void binary_left(A a, __global const T *y, __global R *out, int n) {
  int first = (int)get_global_id(0) * RUN;
  for (int i = first; i < first + min(RUN, n - first); i++) {
    A b = y[i];
    out[i] = BINARY(a, b);
  }
}

/* out[i, j, k] = BINARY(x[i, j, k], y[i, j, k]) with broadcasting; out is D0 x D1 x D2.
 *
 * (x0, x1, x2) and (y0, y1, y2) say how far apart neighbours along each axis lie in x and in y:
 * 0 along an axis where an operand has one element that serves for all. Along the last axis that
 * is 0 or 1.
 */
__kernel void binary_broadcast(__global const T *x, __global const T *y, __global R *out,
                               int x0, int x1, int x2, int y0, int y1, int y2,
                               int D0, int D1, int D2) {
  int i = get_global_id(2), j = get_global_id(1), first = (int)get_global_id(0) * RUN;
  if (i < D0 && j < D1) {
    int row = (i * D1 + j) * D2, x_row = i * x0 + j * x1, y_row = i * y0 + j * y1;
    for (int k = first; k < first + min(RUN, D2 - first); k++) {
      A a = x[x2 ? x_row + k : x_row];
      A b = y[y2 ? y_row + k : y_row];
      out[row + k] = BINARY(a, b);
    }
  }
}
#endif

#ifdef WHERE
/* out[i, j, k] = condition[i, j, k] ? x[i, j, k] : y[i, j, k] with broadcasting, as above */
__kernel void where(__global const uchar *condition, __global const T *x, __global const T *y,
                    __global T *out, int c0, int c1, int c2, int x0, int x1, int x2,
                    int y0, int y1, int y2, int D0, int D1, int D2) {
  int i = get_global_id(2), j = get_global_id(1), first = (int)get_global_id(0) * RUN;
  if (i < D0 && j < D1) {
    int row = (i * D1 + j) * D2, c_row = i * c0 + j * c1;
    int x_row = i * x0 + j * x1, y_row = i * y0 + j * y1;
    for (int k = first; k < first + min(RUN, D2 - first); k++) {
      A a = x[x2 ? x_row + k : x_row];
      A b = y[y2 ? y_row + k : y_row];
      out[row + k] = condition[c2 ? c_row + k : c_row] ? a : b;
    }
  }
}
#endif

#ifdef CLAMP
/* out[i] = x[i] brought into low..high; comparisons with NaN are false, so NaN stays */
__kernel void clamp_to(__global const T *x, A low, A high, __global T *out, int n) {
  int first = (int)get_global_id(0) * RUN;
  for (int i = first; i < first + min(RUN, n - first); i++) {
    A a = x[i];
    a = a < low ? low : a;
    out[i] = a > high ? high : a;
  }
}

/* Its gradient: out[i] = g[i] where low <= x[i] <= high, else 0 */
__kernel void clamp_backward(__global const T *g, __global const T *x, A low, A high,
                             __global T *out, int n) {
  int first = (int)get_global_id(0) * RUN;
  for (int i = first; i < first + min(RUN, n - first); i++) {
    A a = x[i], b = g[i];
    out[i] = a >= low && a <= high ? b : 0;
  }
}
#endif

#ifdef FILL
/* out[i] = value */
__kernel void fill(__global T *out, A value, int n) {
  int first = (int)get_global_id(0) * RUN;
  for (int i = first; i < first + min(RUN, n - first); i++) out[i] = value;
}
#endif
