// Statements.

//: 8 / 8: int[8], int[8]
__kernel void switch_with_fall_through(__global int *a, __global int *o) {
  int i = get_global_id(0);
  switch (a[i] % 4) {
    case 0: o[i] = a[i]; break;
    case 1: { o[i] = 1; }
    case 2: o[i] += 5; break;
    default: o[i] = -a[i];
  }
}

//: 8 / 8: int[8]
__kernel void do_with_continue(__global int *o) {
  int i = get_global_id(0), j = 0;
  do {
    if (j == 2)
      continue;
    o[i] += j;
  } while (++j < 4);
}

//: 8 / 8: int[8]
__kernel void for_with_continue(__global int *o) {
  int i = get_global_id(0);
  for (int j = 0; j < 6; o[i]++, j++) {
    if (j % 2)
      continue;
    o[i] += 10 * j;
  }
}

//: 8 / 8: int[8]
__kernel void endless_for_with_break(__global int *o) {
  int i = get_global_id(0);
  for (;;) {
    if (o[i] > 60)
      break;
    o[i] += 7;
  }
}

//: 8 / 8: int[8]
__kernel void while_on_memory(__global int *o) {
  int i = get_global_id(0);
  while (o[i] > 3)
    o[i] /= 2;
}

//: 8 / 8: int[8], int[8]=0
__kernel void early_return(__global int *a, __global int *o) {
  int i = get_global_id(0);
  if (i > 5)
    return;
  for (int k = 0; k < 8; k++)
    if (a[k] > a[i]) {
      o[i] = k;
      return;
    }
  o[i] = -1;
}

//: 8 / 8: int[8]
__kernel void dangling_else(__global int *o) {
  int i = get_global_id(0);
  if (i > 2)
    if (o[i] > 25)
      o[i] = 1;
    else
      o[i] = 2;
  else if (i == 1)
    o[i] = 3;
}

//: 8 / 8: int[8]
__kernel void goto_forwards(__global int *o) {
  int i = get_global_id(0);
  if (o[i] > 25)
    goto done;
  o[i] = 1;
done:
  o[i] += 1;
}

//: 8 / 8: float[8]
__kernel void unrolled(__global float *a) {
  int i = get_global_id(0);
#pragma unroll
  for (int k = 0; k < 4; k++)
    a[i] += k;
#pragma unroll 2
  for (int k = 0; k < 4; k++)
    a[i] *= 1.5f;
  __attribute__((opencl_unroll_hint(4))) for (int k = 0; k < 4; k++) a[i] -= 0.25f;
}

//: 8 / 8: int[8]
__kernel void names_in_inner_scopes(__global int *a) {
  int i = get_global_id(0), k = 1;
  {
    int k = 2;
    a[i] += k;
    for (int k = 0; k < 3; k++) {
      int i = k;
      a[get_global_id(0)] += i;
    }
  }
  a[i] += k;
}

//: 8 / 8: int[8], int[8]
__kernel void name_of_a_type_as_a_variable(__global int *a, __global int *b) {
  int i = get_global_id(0);
  typedef __global int *ints;
  ints p = a;
  { int ints = 3; p[i] *= ints; }
  b[i] = p[i];
}

//: 8 / 8: float[8], float[8]=0
__kernel void private_arrays(__global const float *a, __global float *o) {
  const int i = get_global_id(0);
  float acc[2][3], z[] = {1, 2, 3}, w[4] = {0};
  for (int y = 0; y < 2; y++)
    for (int x = 0; x < 3; x++)
      acc[y][x] = a[i] * (y + x) + z[x];
  float *p = acc[1];
  p[1] += 1;
  w[i % 4] = 2;
  o[i] = acc[1][1] + acc[0][2] + w[2];
}

int fib(int n) {
  int a = 0, b = 1;
  while (n-- > 0) {
    int t = a + b;
    a = b;
    b = t;
  }
  return a;
}

//: 8 / 8: int[8]=0
__kernel void function_of_values(__global int *o) { o[get_global_id(0)] = fib(get_global_id(0)); }

//: 8 / 8: int[8], int[8]
__kernel void empty_statements(__global int *a, __global int *b) {
  ;
  for (int k = 0; k < 3; b[get_global_id(0)]++, k++)
    ;
  if (a[get_global_id(0)] > 3) {
  } else
    ;
  (void)a[0];
}

//: 8 / 8: float[8]
__kernel void pragmas_and_labels_without_braces(__global float *a) {
  int i = get_global_id(0);
  for (int k = 0; k < 3; k++)
    #pragma unroll
    for (int j = 0; j < 4; j++)
      a[i] += k * j;
  if (a[i] > 5)
    #pragma unroll 2
    for (int j = 0; j < 2; j++) a[i] *= 0.5f;
  else
    a[i] -= 1;
  switch (i & 1) case 1: a[i] += 100;
  for (int k = 0; k < 2; k++)
  lonely:
    a[i] += 0.25f;
  switch (i) {
    case 1: case 2: a[i] = 3;
    default: ;
  }
}

//: 8 / 8: float[8], float[8]=0
__kernel void values_from_before(__global const float *a, __global float *o) {
  int i = get_global_id(0), k = 0;
  float x = a[i], t[2] = {x, 0.1f};
  uchar c = 255;
  float was = x++, then = t[k++]--;
  int from = c++;
  o[i] = was + 2 * then + t[0] * k + from + c;
}
