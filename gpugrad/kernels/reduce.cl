/* Reductions over one axis of x, seen as outer x reduced x inner:
 *
 *     out[o, i] = x[o, 0, i] * x[o, 1, i] * ... * x[o, reduced-1, i]
 *
 * where * stands for COMBINE(a, b), a macro above this text when it is compiled, such as ((a) + (b)), and START
 * is the value that changes nothing (0 for a sum, minus infinity for a maximum). T is what x holds, A what is
 * computed, R what out holds.
 *
 * The faster kernels cut the reduced axis into chunks, so that there is work for everybody and no number goes
 * through a long row of roundings: out is then outer x chunks x inner, and is reduced again.
 */

#ifdef COMBINE

/* The plain loop: one work-item makes one element of out. */
__kernel void reduce_serial(__global const T *x, __global R *out,
                            int outer, int reduced, int inner) {
  int k = get_global_id(0);
  if (k < outer * inner) {
    int o = k / inner, i = k % inner;
    A a = START;
    for (int r = 0; r < reduced; r++)
      a = COMBINE(a, (A)x[(o * reduced + r) * inner + i]);
    out[k] = a;
  }
}

/* A tree: one work-group of GROUP work-items makes one element of out. Each work-item takes every GROUP-th element
 * of the chunk; then half of the work-items take over what the other half has, then half of those, down to one. */
__kernel void reduce_tree(__global const T *x, __global R *out,
                          int reduced, int inner, int chunk, int chunks) {
  __local A part[GROUP];
  int lane = get_local_id(0), k = get_group_id(0);
  int i = k % inner, p = k / inner % chunks, o = k / inner / chunks;
  int first = p * chunk, n = min(chunk, reduced - first);
  A a = START;
  for (int r = lane; r < n; r += GROUP)
    a = COMBINE(a, (A)x[(o * reduced + first + r) * inner + i]);
  part[lane] = a;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int width = GROUP / 2; width > 0; width /= 2) {
    if (lane < width)
      part[lane] = COMBINE(part[lane], part[lane + width]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0)
    out[k] = part[0];
}

/* Rows (inner is 1), for CPUs: one work-item makes one element of out, in LANES results side by side. Neighbours in
 * memory go to neighbouring results, which fill a vector register. */
__kernel void reduce_rows(__global const T *x, __global R *out,
                          int reduced, int chunk, int chunks, int total) {
  int k = get_global_id(0);
  if (k < total) {
    int first = k % chunks * chunk, n = min(chunk, reduced - first);
    int start = k / chunks * reduced + first;
    A a[LANES];
    for (int j = 0; j < LANES; j++)
      a[j] = START;
    int r = 0;
    for (; r + LANES <= n; r += LANES)
      for (int j = 0; j < LANES; j++)
        a[j] = COMBINE(a[j], (A)x[start + r + j]);
    for (int j = 0; j < LANES; j++) /* what is left */
      if (r + j < n)
        a[j] = COMBINE(a[j], (A)x[start + r + j]);
    for (int width = LANES / 2; width > 0; width /= 2)
      for (int j = 0; j < width; j++)
        a[j] = COMBINE(a[j], a[j + width]);
    out[k] = a[0];
  }
}

/* Columns (inner above 1): one work-item makes STRIP neighbouring elements of out, going down the rows of a chunk.
 * A CPU reads a vector of STRIP at a time; on a GPU STRIP is 1 and neighbouring work-items read side by side. */
__kernel void reduce_strips(__global const T *x, __global R *out,
                            int reduced, int inner, int chunk, int chunks, int total) {
  int k = get_global_id(0), strips = (inner + STRIP - 1) / STRIP;
  if (k < total) {
    int i = k % strips * STRIP, p = k / strips % chunks, o = k / strips / chunks;
    int first = p * chunk, n = min(chunk, reduced - first);
    int from = (o * reduced + first) * inner + i, to = (o * chunks + p) * inner + i;
    if (i + STRIP <= inner) {
      A a[STRIP];
      for (int j = 0; j < STRIP; j++)
        a[j] = START;
      for (int r = 0; r < n; r++)
        for (int j = 0; j < STRIP; j++)
          a[j] = COMBINE(a[j], (A)x[from + r * inner + j]);
      for (int j = 0; j < STRIP; j++)
        out[to + j] = a[j];
    } else {
      for (int j = 0; i + j < inner; j++) {
        A a = START;
        for (int r = 0; r < n; r++)
          a = COMBINE(a, (A)x[from + r * inner + j]);
        out[to + j] = a;
      }
    }
  }
}

/* out[i] = x[i] / n: what makes a mean of a sum; out may be x */
__kernel void reduce_divide(__global const T *x, __global R *out, int size, int n) {
  int i = get_global_id(0);
  if (i < size)
    out[i] = x[i] / n;
}

#endif
