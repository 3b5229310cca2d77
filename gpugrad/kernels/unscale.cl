/* out[i] = inverse * g[i], and found[0] = 1 where some g[i] is infinite or NaN:
 * gradients of a loss that was multiplied by a scale, brought back to their
 * size. Of halves the result is float, which holds what is too small for half.
 * out may be g where T is A.
 *
 * One work-item computes RUN neighbours (see elementwise.cl).
 */
__kernel void unscale(__global const T *g, __global A *out,
                      __global int *found, int n, A inverse) {
  int first = (int)get_global_id(0) * RUN, odd = 0;
  for (int i = first; i < first + min(RUN, n - first); i++) {
    A a = g[i];
    odd |= a - a != 0; /* infinity - infinity is NaN */
    out[i] = a * inverse;
  }
  if (odd) atomic_or(found, 1);
}
