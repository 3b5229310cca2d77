/* Picking by index along one axis, and the way back.
 *
 * x is outer x D x inner, index holds J integers in 0..D-1, out is outer x J x inner.
 * As in strided.cl, a work-item works on RUN neighbours along the last axis.
 */
#ifndef RUN
#define RUN 1
#endif

/* out[o, j, i] = x[o, index[j], i]; a bad index sets the fault flag and gives 0 */
__kernel void index_select(__global const T *x, __global const int *index, __global T *out,
                           __global int *fault, int code, int D, int J, int inner) {
  int first = (int)get_global_id(0) * RUN, j = get_global_id(1), o = get_global_id(2);
  if (j < J) {
    int d = index[j], count = min(RUN, inner - first);
    bool good = d >= 0 && d < D;
    if (!good && atomic_cmpxchg(&fault[0], 0, code) == 0) {
      fault[1] = d;
      fault[2] = j;
    }
    int from = (o * D + d) * inner + first, to = (o * J + j) * inner + first;
    if (good)
      for (int k = 0; k < count; k++) out[to + k] = x[from + k];
    else
      for (int k = 0; k < count; k++) out[to + k] = (T)0;
  }
}

/* The gradient: out[o, d, i] = the sum of g[o, j, i] over those j with index[j] = d.
 *
 * Several j may name the same d. Adding each g where it belongs would take atomic additions, whose
 * order changes from run to run, and the last digits with it. So each sum is gathered by one
 * work-item, in the order of j. */
__kernel void sum_naive(__global const T *g, __global const int *index, __global T *out, int D,
                        int J, int inner) {
  int i = get_global_id(0), d = get_global_id(1), o = get_global_id(2);
  if (i < inner && d < D) {
    A sum = 0;
    for (int j = 0; j < J; j++)
      if (index[j] == d) sum += g[(o * J + j) * inner + i];
    out[(o * D + d) * inner + i] = sum;
  }
}

/* The same without looking through all of index for every d. The positions j are sorted by index
 * first, equal ones in ascending order; then those of each d lie side by side.
 *
 * Sorting, step 1: each block of BLOCK positions by itself. A work-item finds the place of one. */
#define BLOCK 32

__kernel void sort_blocks(__global const int *index, __global int *key, __global int *position,
                          int J) {
  int j = get_global_id(0);
  if (j < J) {
    int start = j - j % BLOCK, end = start + min(BLOCK, J - start);
    int mine = index[j], place = start;
    for (int other = start; other < end; other++)
      place += index[other] < mine || (index[other] == mine && other < j);
    key[place] = mine;
    position[place] = j;
  }
}

/* Where the first key of key[start..end-1] that is not below `wanted` lies; with `after`, the
 * first one above it. */
int search(__global const int *key, int start, int end, int wanted, bool after) {
  while (start < end) {
    int middle = start + (end - start) / 2;
    if (key[middle] < wanted || (after && key[middle] == wanted))
      start = middle + 1;
    else
      end = middle;
  }
  return start;
}

/* Step 2, again and again: two neighbouring sorted runs of `length` become one. An element moves to
 * its place in its own run plus the number of elements of the other run that come before it. */
__kernel void merge_runs(__global const int *key, __global const int *position,
                         __global int *key_out, __global int *position_out, int length, int J) {
  int j = get_global_id(0);
  if (j < J) {
    int run = j / length, start = j - j % length;
    bool left = run % 2 == 0;
    /* A left run may be the last one, and has an empty partner then. */
    int other = left ? start + min(length, J - start) : start - length;
    int before = search(key, other, other + min(length, J - other), key[j], !left) - other;
    int place = (left ? start : other) + j - start + before;
    key_out[place] = key[j];
    position_out[place] = position[j];
  }
}

/* start[d] = where the positions of d begin; start[D] = where those of D - 1 end */
__kernel void run_starts(__global const int *key, __global int *start, int D, int J) {
  int d = get_global_id(0);
  if (d <= D) start[d] = search(key, 0, J, d, false);
}

/* Then the sums. */
__kernel void sum_runs(__global const T *g, __global const int *position,
                       __global const int *start, __global T *out, int D, int J, int inner) {
  int first = (int)get_global_id(0) * RUN, d = get_global_id(1), o = get_global_id(2);
  if (d < D) {
    int count = min(RUN, inner - first), end = start[d + 1], to = (o * D + d) * inner + first;
    A sum[RUN];
    for (int k = 0; k < count; k++) sum[k] = 0;
    for (int p = start[d]; p < end; p++) {
      int from = (o * J + position[p]) * inner + first;
      for (int k = 0; k < count; k++) sum[k] += g[from + k];
    }
    for (int k = 0; k < count; k++) out[to + k] = sum[k];
  }
}

/* out[n, c] = 1 where c is label[n], else 0; a label outside 0..C-1 sets the fault flag */
__kernel void one_hot(__global const int *label, __global int *out, __global int *fault, int code,
                      int N, int C) {
  int c = get_global_id(0), n = get_global_id(1);
  if (c < C && n < N) {
    int mine = label[n];
    if ((mine < 0 || mine >= C) && atomic_cmpxchg(&fault[0], 0, code) == 0) {
      fault[1] = mine;
      fault[2] = n;
    }
    out[n * C + c] = mine == c;
  }
}
