// Pointers that move, and that go from hand to hand.

//: 8 / 8: float[32], float[8]=0, int=4
__kernel void walk(__global const float *a, __global float *o, int n) {
  int i = get_global_id(0);
  __global const float *p = a + i * n, *e = p + n;
  float s = 0;
  while (p < e)
    s += *p++;
  *(o + i) = s;
}

//: 8 / 8: float[8], float[8]
__kernel void late_assignment(__global float *a, __global float *o) {
  int i = get_global_id(0);
  __global float *q;
  q = o;
  q += i;
  *q *= 2;
  (*q)--;
  q = a;
  q[i] = 1.0f;
}

//: 8 / 8: float[32]
__kernel void before_and_after(__global float *a) {
  __global float *p = a + 4 * get_global_id(0);
  *p++ = 1;
  *++p = 2;
  *p-- += 3;
  *--p -= 4;
}

//: 8 / 8: float[8], float[8]
__kernel void chosen(__global float *a, __global float *b) {
  int i = get_global_id(0);
  __global float *p = (i & 1) ? a : b;
  p[i] += 1.0f;
  ((i & 2) ? a : b)[i] *= 2.0f;
}

//: 8 / 8: float[8], float[8]
__kernel void array_of_pointers(__global float *a, __global float *b) {
  int i = get_global_id(0);
  __global float *ps[2] = {a, b};
  ps[i % 2][i] -= 3.0f;
}

void skip(__global float **p, int n) { *p += n; }

//: 8 / 8: float[8], float[8]
__kernel void pointer_to_pointer(__global float *a, __global float *b) {
  __global float *p = a;
  p = b;
  skip(&p, get_global_id(0));
  *p = 4.0f;
}

__global float *advance(__global float *p, int n) { return p + n; }

//: 8 / 8: float[8]
__kernel void pointer_from_a_function(__global float *a) {
  *advance(a, get_global_id(0)) += 1.0f;
  advance(a, 1)[(int)get_global_id(0) - 1] *= 2.0f;
}

void put(__global float *dst, float v) { *dst = v; }
float dot_n(__global const float *a, __local const float *b, int n) {
  float s = 0;
  for (int i = 0; i < n; i++)
    s += a[i] * b[i];
  return s;
}

//: 8 / 8: float[16], float[8]=0, local float[8]
__kernel void helpers_with_two_spaces(__global const float *a, __global float *o, __local float *t) {
  int l = get_local_id(0);
  t[l] = a[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  put(&o[l], dot_n(a + l, t, 4));
}

float second(__global const float *);

//: 8 / 8: float[16], float[8]=0
__kernel void prototype(__global const float *a, __global float *o) { o[get_global_id(0)] = second(a + get_global_id(0)); }

float second(__global const float *p) { return p[1]; }

float inner(__global const float *p, int i) { return p[i] + 1.0f; }
float outer(__global const float *p, int i) { return inner(p + 1, i) * inner(p, i); }

//: 8 / 8: float[16], float[8]=0
__kernel void helper_in_helper(__global const float *a, __global float *o) {
  int i = get_global_id(0);
  o[i] = outer(a, i) + outer(&a[2], i);
}

//: 8 / 8: uint[8], float[8]
__kernel void cast_to_another_type(__global uint *a, __global float *b) {
  int i = get_global_id(0);
  __global int *p = (__global int *)b;
  p[i] ^= 1;
  ((__global float *)a)[i] = 1.5f;
  *(__global uint *)(b + i) += 2;
}

//: 8 / 8: float[64], float[8]=0
__kernel void cast_to_float8(__global const float *a, __global float *o) {
  int i = get_global_id(0);
  float8 v = ((__global const float8 *)a)[i];
  float4 w = *(__global const float4 *)(a + 8 * i + 4);
  __global const float8 *p = (__global const float8 *)a;
  o[i] = dot(v.lo, w) + v.s5 + p[i].s3;
}

//: 8 / 8: float[64]
__kernel void store_through_float8(__global float *a) {
  int i = get_global_id(0);
  ((__global float8 *)a)[i] = (float8)(i);
  ((__global float8 *)a)[i] += (float8)(1, 2, 3, 4, 5, 6, 7, 8);
}

//: 8 / 8: float[8], int[8]=0
__kernel void pointer_difference_and_order(__global float *a, __global int *o) {
  int i = get_global_id(0);
  __global float *p = a + i;
  o[i] = (int)(p - a) + (p > a) + (p != a ? 10 : 0) + (&a[3] <= p);
}

//: 8 / 8: int[8]
__kernel void through_an_integer(__global int *a) {
  ulong p = (ulong)(a + get_global_id(0));
  *(__global int *)p = 5;
}

//: 8 / 8: float[8]
__kernel void argument_that_moves(__global float *a) {
  a += get_global_id(0);
  *a += 1;
}

//: 8 / 8: float[8], float[8]
__kernel void swap_pointers(__global float *a, __global float *b) {
  int i = get_global_id(0);
  __global float *p = a, *q = b, *t;
  for (int k = 0; k < 3; k++) {
    p[i] = q[i] + k;
    t = p, p = q, q = t;
  }
}

//: 8 / 8: float[8], float[8]=0
__kernel void pointers_to_private(__global float *a, __global float *o) {
  int i = get_global_id(0);
  float t[4] = {1, 2, 3, a[i]}, *p = t, *end = &t[4];
  float s = 0, c;
  while (p != end)
    s += *p++;
  o[i] = sincos(s, &c) + c;
}

typedef struct {
  int count;
  float parts[3];
} Private;

float *later(float *p, int n) {
  return p + n;
}

void count(Private *s, float (*rows)[2]) {
  s->count++;
  s[0].parts[1] += rows[1][s->count & 1];
  rows[0][1] *= 2;
}

//: 8 / 8: float[8], float[8]=0
__kernel void pointers_between_functions(__global float *a, __global float *o) {
  int i = get_global_id(0);
  float t[3][2] = {{1, 2}, {3, 4}, {a[i], 6}};
  Private s = {i, {1, 2, 3}}, *p = &s;
  count(p, t);
  count(&s, t + 1);
  for (int k = 0, *n = &k; k < 3; (*n)++)
    *later(s.parts, k) += k;
  float *q = i & 1 ? t[1] : p->parts, **pp = &q;
  (*pp)[1] += vload2(0, later(q, 0)).x;
  vstore2((float2)(q[0], q[1]), 1, &t[0][0]);
  o[i] = t[1][0] + 10 * t[1][1] + 100 * s.parts[1] + s.count + *(*(t + 2) + 0) + ((uchar *)&i)[0];
}
