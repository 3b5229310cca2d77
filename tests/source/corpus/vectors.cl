// Vector types, their components, and moves of vectors.

//: 8 / 8: float[32], float[64]
__kernel void component_stores(__global float4 *a, __global float8 *b) {
  int i = get_global_id(0);
  float4 v = a[i];
  v.xy = v.zw;
  a[i].x = v.w;
  a[i].zw = v.yx;
  a[i].y += 2.0f;
  b[i].lo = v;
  b[i].s7 = a[i].x;
  b[i].s01 *= 3.0f;
}

//: 8 / 8: float[64]
__kernel void component_of_a_component(__global float8 *b) {
  int i = get_global_id(0);
  b[i].hi.xy = b[i].lo.wz;
  b[i].even.s3 = b[i].odd.x;
  b[i].hi.lo.y += 1.0f;
}

//: 8 / 8: float[32]
__kernel void component_by_arrow(__global float4 *a) {
  __global float4 *p = a + get_global_id(0);
  p->x = p->w;
  p->zw += (float2)(1.0f, 2.0f);
  p->y++;
}

//: 8 / 8: float[32], int[8]
__kernel void component_by_number(__global float4 *a, __global int *at) {
  int i = get_global_id(0);
  float4 v = a[i];
  float4 *p = &v;
  (*p).x = 3.0f;
  a[i] = v.xxyy + (float4)(1.0f, v.zw, 2.0f);
}

//: 8 / 8: float[32]
__kernel void repeated_components(__global float4 *a) {
  int i = get_global_id(0);
  float4 v = a[i].wwxx;
  float2 w = a[i].yy;
  a[i] = v + w.xyxy;
}

//: 8 / 8: float[64]
__kernel void vector_literals(__global float8 *a) {
  float4 z = (float4)(1.0f), v = (float4)(1, 2, 3, 4);
  a[get_global_id(0)] += (float8)(v, z.wzyx);
}

//: 8 / 8: float[40], float[32]=0
__kernel void vector_moves(__global const float *a, __global float *o) {
  int i = get_global_id(0);
  float4 v = vload4(i, a);
  float3 w = vload3(i, a + 1);
  vstore4(v + (float4)(w, 1.0f), i, o);
  vstore2(v.xy, 0, &o[4 * i + 2]);
}

//: 8 / 8: float[128], float[128]=0
__kernel void wide_moves(__global const float *a, __global float *o) {
  int i = get_global_id(0);
  float16 v = vload16(i, a);
  float8 w = vload8(2 * i + 1, a);
  vstore16(v, i, o);
  vstore8(w.s76543210, 0, o + 16 * i);
}

//: 8 / 8: float[32], local float[32]
__kernel void moves_in_local_memory(__global float *a, __local float *t) {
  int l = get_local_id(0);
  vstore4(vload4(l, a), l, t);
  barrier(CLK_LOCAL_MEM_FENCE);
  vstore4(vload4(7 - l, t), l, a);
}

//: 8 / 8: float[32]
__kernel void three_components(__global float3 *a) {
  int i = get_global_id(0);
  float3 v = a[i];
  a[i] = v.zyx;
  a[i].y = v.x + a[i].z;
  a[i].xz = v.yy;
}

//: 8 / 8: uchar[32], float[32]
__kernel void conversions(__global const uchar4 *a, __global float4 *o) {
  int i = get_global_id(0);
  o[i] = convert_float4(a[i]) * 0.5f;
  o[i].w = as_float(as_int(o[i].x) ^ 1);
  int4 m = o[i] > (float4)(9.0f);
  o[i] = select(o[i], (float4)(1, 2, 3, 4), m);
}

//: 8 / 8: float[32], int[8]=0
__kernel void comparisons(__global float4 *a, __global int *o) {
  int i = get_global_id(0);
  int4 m = a[i] > a[(i + 1) % 8];
  o[i] = any(m) + 2 * all(m) + (m.x ? 4 : 0);
}

//: 8 / 8: float[32], float[8]=0
__kernel void accumulators(__global const float4 *a, __global float *o) {
  float4 acc[2];
  for (int r = 0; r < 2; r++)
    acc[r] = (float4)(0.0f);
  int i = get_global_id(0);
  for (int k = 0; k < 4; k++)
    for (int r = 0; r < 2; r++)
      acc[r] += a[(i + k + r) % 8] * (float)(k + 1);
  o[i] = dot(acc[0], acc[1]) + acc[0].s2;
}

//: 8 / 8: int[16], int[16]=0
__kernel void integer_vectors(__global const int2 *a, __global int2 *o) {
  int i = get_global_id(0);
  int2 v = a[i] << 1;
  o[i] = -v + ~a[i] * 3;
  o[i].x ^= v.y;
}

typedef float4 loose4 __attribute__((aligned(sizeof(float))));

//: 8 / 8: float[40], float[40]
__kernel void vectors_at_any_element(__global const float *a, __global float *o) {
  int i = get_global_id(0);
  loose4 v = *(__global const loose4 *)(a + 4 * i + 1);
  __global loose4 *p = (__global loose4 *)(o + 4 * i + 3);
  *p = v;
  p->xy += v.zw;
  p->w = p[0].x;
}
