// __constant memory is read in place.

__constant float W[3] = {1.0f, 2.0f, 1.0f};
__constant int N = 3;
__constant float M[2][3] = {{1, 2, 3}, {4, 5, 6}};
__constant float4 V[2] = {(float4)(1.0f), (float4)(2.0f)};
typedef struct {
  int n;
  float x[2];
} Entry;
__constant Entry TABLE[2] = {{1, {2, 3}}, {4, {5, 6}}};

//: 8 / 8: float[8]
__kernel void program_scope(__global float *a) {
  int i = get_global_id(0);
  a[i] *= W[i % N] + M[i % 2][i % 3] + V[i % 2].y + TABLE[i % 2].x[1];
}

//: 8 / 8: constant float[8], float[8]=0
__kernel void argument(__constant float *c, __global float *o) {
  int i = get_global_id(0);
  float t[3] = {W[0], W[1] * c[i], 0};
  for (int j = 0; j < 3; j++)
    t[j] += W[j];
  o[i] = t[0] + t[1] * t[2];
}

float weighted(__constant float *w, int i) { return w[i] * W[i % 3]; }

//: 8 / 8: constant float[16], float[8]=0
__kernel void helper(__constant float *c, __global float *o) {
  int i = get_global_id(0);
  __constant float *p = c + 2;
  o[i] = weighted(c + 1, i) + weighted(W, i % 3) + p[i] + *(c + i);
}

//: 8 / 8: constant float[32], float[8]=0
__kernel void vectors(__constant float4 *c, __global float *o) {
  int i = get_global_id(0);
  float4 v = c[i];
  o[i] = v.x + c[i].y + c[W[1] > 1 ? 7 - i : i].z + vload4(i, (__constant float *)c).w;
}

//: 8 / 8: float[8], float[8]=0
__kernel void commas_in_indices(__global const float *a, __global float *o) {
  int i = get_global_id(0), j, k = 0;
  float t[8], *p = t;
  __local float rows[2][8];
  for (j = 0; j < 8; j++)
    p[k++, j] = a[k++, j];
  rows[k++, 0][k++, i] = t[k++, i];
  switch (k++, 1) {
    case 1: barrier(CLK_LOCAL_MEM_FENCE);
  }
  o[k++, i] = rows[0][7 - i] + k + W[k++, 2];
}
