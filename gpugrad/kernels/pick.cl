/* One element for each position along an axis, by index; x is outer x n x inner, the rest outer x inner.
 * An index outside 0..n-1 stands for none.
 */

/* out[o, i] = x[o, indices[o, i], i], or 0 for none; one work-item makes one element of out. */
__kernel void pick(__global const T *x, __global const int *indices, __global T *out,
                   int n, int inner, int total) {
  int k = get_global_id(0);
  if (k < total) {
    int o = k / inner, i = k % inner, at = indices[k];
    A a = 0;
    if (at >= 0 && at < n)
      a = x[(o * n + at) * inner + i];
    out[k] = a;
  }
}

/* The other way round: x[o, r, i] = g[o, i] where r is indices[o, i], else 0; one work-item makes one element
 * of x, so nothing needs to be cleared first and no two write to one place. */
__kernel void place(__global const T *g, __global const int *indices, __global T *x,
                    int n, int inner, int total) {
  int k = get_global_id(0);
  if (k < total) {
    int i = k % inner, r = k / inner % n, o = k / inner / n;
    int at = o * inner + i;
    A a = 0;
    if (indices[at] == r)
      a = g[at];
    x[k] = a;
  }
}
