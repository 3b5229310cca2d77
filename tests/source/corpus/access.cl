// How memory is read and written.

//: 8 / 8: float[8], float[8], float[8]=0, int=8
__kernel void load_and_store(__global const float *a, __global const float *b, __global float *out, int n) {
  int i = get_global_id(0);
  if (i < n)
    out[i] = a[i] + b[i];
}

//: 8 / 8: int[8], int[8]
__kernel void compound_assignment(__global int *a, __global int *o) {
  int i = get_global_id(0);
  a[i] += 3; a[i] -= 1; a[i] *= 2; a[i] /= 3; a[i] %= 7; a[i] <<= 2; a[i] >>= 1; a[i] &= 29; a[i] |= 64; a[i] ^= o[i];
  o[i] = a[i] += 5;
}

//: 8 / 8: int[8], int[8]=0
__kernel void increments(__global int *a, __global int *o) {
  int i = get_global_id(0);
  int x = a[i]++, y = ++a[i], z = a[i]--, w = --a[i];
  ++(a[i]);
  (a[i])--;
  o[i] = x * 1000 + y * 100 + z * 10 + w;
}

//: 8 / 8: float[8], float[8]
__kernel void chained_assignment(__global float *a, __global float *b) {
  int i = get_global_id(0);
  float v;
  a[i] = v = b[i] = a[i] * 2.0f;
  b[i] += v;
}

//: 8 / 8: float[16], float[8]=0, int=16
__kernel void short_circuit_and(__global float *a, __global float *o, int n) {
  int i = get_global_id(0);
  o[i] = (2 * i + 3 < n && a[2 * i + 3] > 0) ? 1.0f : 2.0f;
}

//: 8 / 8: float[8], float[8]=0
__kernel void short_circuit_or(__global float *a, __global float *o) {
  int i = get_global_id(0);
  if (i == 0 || a[i - 1] < a[i])
    o[i] = 1.0f;
}

//: 8 / 8: float[8], float[8]=0
__kernel void lazy_conditional(__global float *a, __global float *o) {
  int i = get_global_id(0);
  o[i] = i > 0 ? a[i - 1] : i < 7 ? a[i + 1] : 0.0f;
}

//: 8 / 8: float[32], float[32]
__kernel void comma(__global float *a, __global float *b) {
  int g = get_global_id(0) * 4;
  int i, j;
  for (i = 0, j = 3; i < j; i++, j--)
    a[g + i] = (b[g + i] += 1.0f, b[g + j]);
}

//: 8 / 8: int[8], float[8], float[8]=0
__kernel void index_from_memory(__global const int *at, __global const float *a, __global float *o) {
  int i = get_global_id(0);
  o[at[i] % 8 * 0 + i] = a[at[i] % 8];
}

//: 8 / 8: float[8], float[8]=0
__kernel void subscript_the_other_way_round(__global float *a, __global float *o) {
  int i = get_global_id(0);
  i[o] = i[a] + 0[a + i];
}

//: 8 / 8: double[8], long[8]
__kernel void double_and_long(__global double *a, __global long *b) {
  int i = get_global_id(0);
  a[i] = a[i] * 1.1 + (double)b[i];
  b[i] += (long)a[i] << 33;
}

//: 8 / 8: uchar[8], short[8], char[8], ushort[8]
__kernel void narrow_integers(__global uchar *a, __global short *b, __global char *c, __global ushort *d) {
  int i = get_global_id(0);
  a[i] += 200;
  b[i] = (short)(a[i] * 300);
  c[i] = -c[i] * 3;
  d[i]--;
  b[i] ^= c[i] = d[i];
}

//: 8 / 8: ulong[8], uint[8]
__kernel void unsigned_integers(__global ulong *a, __global uint *b) {
  size_t i = get_global_id(0);
  unsigned int n = 3u;
  unsigned long m = 1UL << 40;
  a[i] = a[i] * m + 0xFFFFFFFFFFUL;
  b[i] = n - b[i];
}

//: 8 / 8: float[8], float[8], float[16]
__kernel void fused_multiply_add(__global float *o, __global const float *a, __global const float *b) {
  int i = get_global_id(0);
  float acc = 0;
  for (int j = 0; j < 8; j++)
    acc += a[j] * b[i + j];
  o[i] += a[i] * b[i];
  float t = a[i] * b[i + 1];
  o[i] = t + o[i];
  o[i] = a[i] * b[i + 2] + acc * b[i];
}

//: 8 / 8: float[8]
__kernel void value_of_an_assignment_is_rounded(__global float *a) {
  int i = get_global_id(0);
  int n = (a[i] = 2.75f + i);
  a[i] += (n = a[i] * 1.5f);
}

//: 8 / 8: float[8], float[8]=0
__kernel void volatile_and_restrict(volatile __global float *restrict a, __global volatile float *o) {
  int i = get_global_id(0);
  o[i] = a[i];
  o[i] += a[i];
}

//: 8 / 8: float[8], float[8]=0
__kernel void sizeof_reads_nothing(__global float *a, __global float *o) {
  int i = get_global_id(0);
  o[i] = sizeof(a[i + 1000]) + sizeof(float4) + sizeof a[i];
}

//: 4,2 / 2,2: int[8]=0
__kernel void two_dimensions(__global int *o) {
  int x = get_global_id(0), y = get_global_id(1);
  o[y * get_global_size(0) + x] = 100 * get_group_id(1) + 10 * get_local_id(0) + get_local_id(1);
}

//: 2,2,2 / 1,2,2: int[8]=0
__kernel void three_dimensions(__global int *o) {
  size_t i = get_global_id(0) + 2 * (get_global_id(1) + 2 * get_global_id(2));
  o[i] = 7 + i;
}
