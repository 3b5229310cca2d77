// What the preprocessor does first. WIDTH comes from outside, as by -D.

#define TS 4
#define IDX(r, c, ld) ((r) * (ld) + (c))
#define A(r, c) a[IDX(r, c, n)]

//: 8 / 8: float[32], int=4
__kernel void index_macro(__global float *a, int n) {
  int i = get_global_id(0);
  A(i, 0) = A(i, 1) + A(i, TS - 1);
}

#define STEP(j)    \
  acc += A(i, j); \
  o[IDX(i, j, n)] = acc;

//: 8 / 8: float[24], float[24]=0, int=3
__kernel void macro_of_statements(__global const float *a, __global float *o, int n) {
  int i = get_global_id(0);
  float acc = 0;
  STEP(0) STEP(1)
  STEP(2)
}

#define JOIN(a, b) a##b
#define TEXT(x) #x
#define SQ(x) ((x) * (x))

//: 8 / 8: float[8]
__kernel void paste_and_nest(__global float *a) {
  int i = get_global_id(0);
  float JOIN(fo, ur) = SQ(SQ(a[i]));
  a[i] = four + sizeof(TEXT(a "b" + c));
}

#define MANY(f, ...) f(__VA_ARGS__)

//: 8 / 8: float[8]
__kernel void variadic(__global float *a) {
  int i = get_global_id(0);
  a[i] = MANY(fmin, a[i], 0.5f) + MANY(fabs, a[i]);
}

#if defined(WIDTH) && WIDTH * 2 == 8
#define CHOSEN 1.0f
#elif WIDTH > 100
#error not this
#else
#define CHOSEN 2.0f
#endif
#ifdef NOT_THERE
this is not C
#endif
#ifndef M_PI_F
#define M_PI_F 3.0f
#endif

//: 8 / 8: float[8]
__kernel void conditions(__global float *a) {
  int i = get_global_id(0);
#if (-7 / 2 == -3) && (7 % 3 == 1) && 'A' == 65 && !(1 > 2) && (0x10 >> 2 | 3) == 7
  a[i] += CHOSEN * WIDTH;
#endif
  a[i] += M_PI_F; /* a comment
  over lines */ a[i] *= 2; // and one to the end
}

#undef TS
#define TS (TS_HALF + TS_HALF)
#define TS_HALF 2
#define selfish (selfish + 1)

//: 8 / 8: float[8]
__kernel void redefined_and_self_referring(__global float *a) {
  int i = get_global_id(0);
  int n = TS;
#undef selfish
  int selfish = 3;
#define selfish (selfish + 1)
  a[i] += n * selfish + __LINE__ * 0;
}

#define FOR(i, n) for (int i = 0; i < n; i++)
#define G __global

//: 8 / 8: float[8]
kernel void keywords_by_macro(G float *a) {
  FOR(k, 3)
    a[get_global_id(0)] += k;
}

#pragma OPENCL EXTENSION cl_khr_fp64 : enable

//: 8 / 8: float[8]
__kernel void numbers(__global float *a) {
  int i = get_global_id(0);
  a[i] = 0x1.0p-3f + 1e-3f + 1.f + .5f + M_PI_F + (INFINITY > 1);
  uint u = 0xFFu;
  ulong w = 1UL << 40;
  a[i] += u + (float)(w >> 20) + 017 + 'c' + (float)1e2;
}
