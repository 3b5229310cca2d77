/* Where the largest (or smallest) element is, over one axis of x, seen as outer x reduced x inner:
 *
 *     values[o, i]  = max over r of x[o, r, i]        indices[o, i] = the first r that has it
 *
 * BEATS(a, b), a macro above this text when it is compiled, is ((a) > (b)) for a maximum and ((a) < (b)) for a
 * minimum; START loses against everything. A NaN beats every number, and of equals the first one wins. T is what
 * x holds, A what is computed, R what values holds.
 */

#define IS_NAN(a) ((a) != (a))

/* Does w at place j win against v at place i? */
inline int wins(A w, int j, A v, int i) {
  if (IS_NAN(v))
    return IS_NAN(w) && j < i;
  return IS_NAN(w) || BEATS(w, v) || (w == v && j < i);
}

/* The plain loop: one work-item finds one maximum. */
__kernel void argmax_serial(__global const T *x, __global R *values, __global int *indices,
                            int outer, int reduced, int inner) {
  int k = get_global_id(0);
  if (k < outer * inner) {
    int o = k / inner, i = k % inner, at = 0;
    A best = x[o * reduced * inner + i];
    for (int r = 1; r < reduced; r++) {
      A a = x[(o * reduced + r) * inner + i];
      if (wins(a, r, best, at)) {
        best = a;
        at = r;
      }
    }
    values[k] = best;
    indices[k] = at;
  }
}

/* One work-item finds the maximum of one chunk of the axis: values and indices are outer x chunks x inner. In a
 * second pass (given != 0) x holds the maxima of chunks, and places says where each of them was found. */
__kernel void argmax_blocked(__global const T *x, __global const int *places, int given,
                             __global R *values, __global int *indices,
                             int reduced, int inner, int chunk, int chunks, int total) {
  int k = get_global_id(0);
  if (k < total) {
    int i = k % inner, p = k / inner % chunks, o = k / inner / chunks;
    int first = p * chunk, n = min(chunk, reduced - first);
    int start = (o * reduced + first) * inner + i, at = 0;
    A best = x[start];
    for (int r = 1; r < n; r++) {
      A a = x[start + r * inner];
      if (wins(a, r, best, at)) {
        best = a;
        at = r;
      }
    }
    values[k] = best;
    indices[k] = given ? places[start + at * inner] : first + at;
  }
}

/* A tree: one work-group of GROUP work-items finds the maximum of one chunk. */
__kernel void argmax_tree(__global const T *x, __global const int *places, int given,
                          __global R *values, __global int *indices,
                          int reduced, int inner, int chunk, int chunks) {
  __local A best[GROUP];
  __local int at[GROUP];
  int lane = get_local_id(0), k = get_group_id(0);
  int i = k % inner, p = k / inner % chunks, o = k / inner / chunks;
  int first = p * chunk, n = min(chunk, reduced - first);
  int start = (o * reduced + first) * inner + i;
  A mine = START;
  int mine_at = INT_MAX;
  for (int r = lane; r < n; r += GROUP) {
    A a = x[start + r * inner];
    if (wins(a, r, mine, mine_at)) {
      mine = a;
      mine_at = r;
    }
  }
  best[lane] = mine;
  at[lane] = mine_at;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int width = GROUP / 2; width > 0; width /= 2) {
    if (lane < width && wins(best[lane + width], at[lane + width], best[lane], at[lane])) {
      best[lane] = best[lane + width];
      at[lane] = at[lane + width];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0) {
    values[k] = best[0];
    indices[k] = given ? places[start + at[0] * inner] : first + at[0];
  }
}
