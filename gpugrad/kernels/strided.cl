/* Copies between strided regions: permute, expand, flip, slices, assignments and cat are all this.
 *
 * An element has up to four coordinates (i0, i1, i2, i3). In the source x it lies at
 *     s + i0*s0 + i1*s1 + i2*s2 + i3*s3
 * and in the target out at
 *     t + i0*t0 + i1*t1 + i2*t2 + i3*t3
 * The strides say which operation it is: a transpose swaps two of them, a slice of step 2 doubles
 * one, an axis that is repeated has stride 0, one that is flipped a negative stride.
 * Values are moved as they are, never computed with.
 *
 * One work-item moves RUN neighbours along the last axis: few on a GPU, where neighbouring
 * work-items are to touch neighbouring memory; many on a CPU, where the loop over them becomes
 * vector instructions.
 */
#ifndef RUN
#define RUN 1
#endif

/* out[t + i*t0 + ...] = x[s + i*s0 + ...]; D1, D2, D3 are the sizes of the last three axes */
__kernel void copy_region(__global const T *x, __global T *out, int D1, int D2, int D3,
                          int s, int s0, int s1, int s2, int s3,
                          int t, int t0, int t1, int t2, int t3) {
  int first = (int)get_global_id(0) * RUN;
  int i2 = get_global_id(1), i1 = (int)get_global_id(2) % D1, i0 = (int)get_global_id(2) / D1;
  if (i2 < D2) {
    int count = min(RUN, D3 - first);
    s += i0 * s0 + i1 * s1 + i2 * s2 + first * s3;
    t += i0 * t0 + i1 * t1 + i2 * t2 + first * t3;
    for (int k = 0; k < count; k++) out[t + k * t3] = x[s + k * s3];
  }
}

/* out[t + i*t0 + ...] = value */
__kernel void fill_region(A value, __global T *out, int D1, int D2, int D3,
                          int t, int t0, int t1, int t2, int t3) {
  int first = (int)get_global_id(0) * RUN;
  int i2 = get_global_id(1), i1 = (int)get_global_id(2) % D1, i0 = (int)get_global_id(2) / D1;
  if (i2 < D2) {
    int count = min(RUN, D3 - first);
    t += i0 * t0 + i1 * t1 + i2 * t2 + first * t3;
    for (int k = 0; k < count; k++) out[t + k * t3] = value;
  }
}
