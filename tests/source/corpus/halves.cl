// half is a way to store: T is half and A is float in this file's build.

//: 8 / 8: half[8], half[8], half[8]=0
__kernel void half_add(__global const T *a, __global const T *b, __global T *out) {
  int i = get_global_id(0);
  out[i] = a[i] + b[i];
}

//: 8 / 8: half[32], half[8]=0
__kernel void half_walk(__global const T *a, __global T *o) {
  int i = get_global_id(0);
  __global const T *p = a + 4 * i;
  A s = 0;
  for (int k = 0; k < 4; k++)
    s += *p++;
  o[i] = s;
}

//: 8 / 8: half[8], float[8]=0
__kernel void half_assignments(__global T *a, __global float *o) {
  int i = get_global_id(0);
  a[i] += 1.25f;
  a[i] *= 1.1f;
  ++a[i];
  o[i] = a[i]--;
  o[i] += a[i] = o[i] / 3;
  o[i] += (a[i] -= 0.1f);
}

//: 8 / 8: half[8], half[8]=0
__kernel void half_in_private_variables(__global const T *a, __global T *o) {
  int i = get_global_id(0);
  T v = a[i], w[2] = {v, (T)2};
  T *p = w;
  o[i] = p[1] * v + w[0];
}

T half_helper(__global const T *p, T scale) { return *p * scale; }
void half_put(__global T *p, T v) { *p = v; }

//: 8 / 8: half[8], half[8]=0
__kernel void half_helpers(__global const T *a, __global T *o) {
  int i = get_global_id(0);
  half_put(o + i, half_helper(&a[i], 3));
}

//: 8 / 8: half[8], half[8]=0, local half[8]
__kernel void half_in_local_memory(__global const T *a, __global T *o, __local T *t) {
  __local T u[2][4];
  __local A s[8];
  int l = get_local_id(0);
  t[l] = a[l];
  u[l / 4][l % 4] = a[l] * 0.3f;
  s[l] = a[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = t[7 - l] + u[l % 2][l / 2] + s[l ^ 1];
}

//: 8 / 8: half[8], float[8]=0
__kernel void half_moves(__global half *h, __global float *o) {
  int i = get_global_id(0);
  o[i] = vload_half(i, h) * 2.1f;
  vstore_half(o[i], i, h);
  vstore_half_rtz(o[i] / 3, 0, &h[i]);
}

//: 8 / 8: half[64], half[64]=0, float[32]=0
__kernel void half_vectors(__global const half4 *a, __global half4 *o, __global float4 *f) {
  int i = get_global_id(0);
  f[i] = a[i] * 1.5f;
  o[i] = f[i] + a[i + 8];
  o[i].x += 2.0f;
  o[i].yz = a[i].wx;
  o[i + 8] = vload4(i, (__global const half *)a).wzyx;
  vstore2((float2)(1.5f, 2.5f), 0, (__global half *)&o[i + 8]);
}

//: 8 / 8: constant half[8], half[8]=0
__kernel void half_constant(__constant T *c, __global T *o) {
  int i = get_global_id(0);
  o[i] = c[i] * 2 + *(c + i);
}

typedef T real;

//: 8 / 8: half[8], int[8]=0
__kernel void half_under_another_name(__global real *a, __global int *o) {
  int i = get_global_id(0);
  real v = a[i];
  __global real *p = a;
  p[i] = v * v;
  o[i] = sizeof(real) + sizeof(*p) + (p[i] > 1.0h);
}
