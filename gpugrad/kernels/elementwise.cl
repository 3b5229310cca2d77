/* Element-wise kernels: one work-item computes one element of the result.
 *
 * The operation is a macro that stands above this text when it is compiled, for example
 *     #define UNARY(a) exp(a)                 #define BINARY(a, b) ((a) + (b))
 * T is what memory holds, A what is computed, R what the result holds (T again, or uchar for a comparison).
 */

#ifdef UNARY
/* out[i] = UNARY(x[i]) */
__kernel void unary(__global const T *x, __global R *out, int n) {
  int i = get_global_id(0);
  if (i < n) {
    A a = x[i];
    out[i] = UNARY(a);
  }
}
#endif

#ifdef BINARY
/* out[i] = BINARY(x[i], y[i]) for two arrays of the same shape */
__kernel void binary(__global const T *x, __global const T *y, __global R *out, int n) {
  int i = get_global_id(0);
  if (i < n) {
    A a = x[i], b = y[i];
    out[i] = BINARY(a, b);
  }
}
#endif
