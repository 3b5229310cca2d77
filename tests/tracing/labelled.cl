// Kernels with known mistakes, and correct ones beside them. The line above a kernel says what the sanitizer must find
// (kind, or "ok") and how to run it; HERE marks the line it must be found at. Arguments: `float[8]` holds numbers,
// `out float[8]` is declared as a result, `empty float[8]` was never filled.

// ---- out of bounds

//: out of bounds | 8 / 8: float[8], float[8]
__kernel void one_too_many(__global float *a, __global float *b) {
  int i = get_global_id(0);
  b[i] = a[i + 1];  // HERE
}

//: out of bounds | 16 / 8: float[10], int=10
__kernel void guard_off_by_one(__global float *a, int n) {
  int i = get_global_id(0);
  if (i <= n)
    a[i] = 1;  // HERE
}

//: out of bounds | 8 / 8: float[8], float[8]
__kernel void left_neighbour(__global const float *a, __global float *b) {
  int i = get_global_id(0);
  b[i] = a[i] - a[i - 1];  // HERE
}

//: out of bounds | 8 / 8: float[8]
__kernel void local_too_small(__global float *a) {
  __local float t[7];
  int l = get_local_id(0);
  t[l] = a[l];  // HERE
  barrier(CLK_LOCAL_MEM_FENCE);
  a[l] = t[l % 7];
}

//: out of bounds | 4,4 / 4,4: float[12], int=4
__kernel void width_for_height(__global float *a, int w) {
  int x = get_global_id(0), y = get_global_id(1);
  a[y * w + x] = y;  // HERE
}

//: out of bounds | 8 / 8: float[8]
__kernel void walk_too_far(__global float *a) {
  __global float *p = a + get_global_id(0);
  float s = 0;
  for (int k = 0; k < 2; k++)
    s += *p++;  // HERE
  if (s > 1e30f) a[0] = s;
}

//: out of bounds | 8 / 8: int[8]
__kernel void private_array(__global int *a) {
  int t[4] = {1, 2, 3, 4};
  int i = get_global_id(0);
  a[i] = t[i / 2 + 1];  // HERE
}

//: out of bounds | 8 / 8: int[4], int[8]
__kernel void atomic_outside(__global int *h, __global const int *a) {
  atomic_inc(&h[get_global_id(0) / 2 + 1]);  // HERE
}

//: ok | 16 / 8: float[10], int=10
__kernel void guarded(__global float *a, int n) {
  int i = get_global_id(0);
  if (i < n)
    a[i] = 1;
}

//: ok | 8 / 8: float[8], out float[8]
__kernel void clamped(__global const float *a, __global float *b) {
  int i = get_global_id(0);
  b[i] = a[min(i + 1, 7)] + (i > 0 ? a[i - 1] : 0);
}

//: ok | 8 / 8: float[8]
__kernel void pointer_one_past_the_end(__global float *a) {
  __global float *end = a + 8;
  for (__global float *p = a + get_global_id(0); p < end; p += 8)
    *p += 1;
}

// ---- row overflow

//: row overflow | 8 / 8: float[8]
__kernel void next_column(__global float *a) {
  __local float t[2][8];
  int l = get_local_id(0);
  t[0][l] = a[l];
  t[1][l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  a[l] = t[0][l + 1];  // HERE
}

//: row overflow + data race | 4,4 / 4,4: float[16]
__kernel void indices_swapped(__global float *a) {
  __local float t[5][3];
  int x = get_local_id(0), y = get_local_id(1);
  t[y][x] = a[y * 4 + x];  // HERE
}

//: row overflow | 8 / 8: float[8]
__kernel void negative_column(__global float *a) {
  __local float t[3][8];
  int l = get_local_id(0);
  for (int r = 0; r < 3; r++) t[r][l] = a[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  a[l] = t[1][l - 1];  // HERE
}

//: row overflow | 8 / 8: float[8]
__kernel void loop_over_the_row(__global float *a) {
  __local float t[4][4];
  int l = get_local_id(0);
  t[l / 2][l % 2] = a[l];
  t[l / 2][l % 2 + 2] = a[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  float s = 0;
  for (int k = 0; k <= 4; k++)
    s += t[l % 3][k];  // HERE
  a[l] = s;
}

//: row overflow | 4 / 4: float[4]
__kernel void third_dimension(__global float *a) {
  __local float t[2][2][4];
  int l = get_local_id(0);
  for (int k = 0; k < 4; k++) t[k / 2][k % 2][l] = k;
  barrier(CLK_LOCAL_MEM_FENCE);
  a[l] = t[0][2][l];  // HERE
}

//: ok | 4,4 / 4,4: float[16]
__kernel void padded_rows(__global float *a) {
  __local float t[4][4 + 1];
  int x = get_local_id(0), y = get_local_id(1);
  t[y][x] = a[y * 4 + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  a[y * 4 + x] = t[x][y];
}

// ---- data race

//: data race | 8 / 8: float[8], out float[1]
__kernel void everybody_writes_one_cell(__global const float *a, __global float *sum) {
  sum[0] = a[get_global_id(0)];  // HERE
}

//: data race | 8 / 8: float[8]
__kernel void barrier_forgotten(__global float *a) {
  __local float t[8];
  int l = get_local_id(0);
  t[l] = a[l];
  a[l] = t[7 - l];  // HERE
}

//: data race | 8 / 8: float[8]
__kernel void second_barrier_forgotten(__global float *a) {
  __local float t[8];
  int l = get_local_id(0);
  for (int k = 0; k < 2; k++) {
    t[l] = a[l];  // HERE
    barrier(CLK_LOCAL_MEM_FENCE);
    a[l] = t[7 - l];
  }
}

//: data race | 16 / 8: int[16], int[4]
__kernel void histogram_without_atomics(__global const int *a, __global int *h) {
  int i = get_global_id(0);
  h[a[i] % 4] += 1;  // HERE
}

//: data race | 16 / 8: float[16]
__kernel void between_groups(__global float *a) {
  int i = get_global_id(0);
  float v = a[(i + 8) % 16];  // HERE
  a[i] = v;
}

//: data race | 8 / 8: float[8]
__kernel void wrong_fence(__global float *a) {
  int l = get_local_id(0);
  a[l] += 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  float v = a[7 - l];  // HERE
  barrier(CLK_GLOBAL_MEM_FENCE);
  a[l] = v;
}

//: data race | 8 / 8: float[8], int[1]
__kernel void plain_read_of_an_atomic(__global float *a, __global int *n) {
  atomic_inc(n);
  a[get_global_id(0)] = *n;  // HERE
}

//: ok | 8 / 8: float[8]
__kernel void barriers_in_place(__global float *a) {
  __local float t[8];
  int l = get_local_id(0);
  for (int k = 0; k < 2; k++) {
    t[l] = a[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    a[l] = t[7 - l];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

//: ok | 16 / 8: int[16], int[4]
__kernel void histogram_with_atomics(__global const int *a, __global int *h) { atomic_inc(&h[a[get_global_id(0)] % 4]); }

void add_float(volatile __global float *p, float v) {
  uint seen, old = as_uint(*p);
  do {
    seen = old;
    old = atomic_cmpxchg((volatile __global uint *)p, seen, as_uint(as_float(seen) + v));
  } while (old != seen);
}

//: ok | 16 / 8: int[16], float[4]
__kernel void compare_and_swap(__global const int *a, __global float *o) { add_float(&o[a[get_global_id(0)] % 4], 1); }

//: ok | 16 / 8: float[16], out float[2]
__kernel void one_writer_for_each_group(__global const float *a, __global float *o) {
  __local float t[8];
  int l = get_local_id(0);
  t[l] = a[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 4; s > 0; s >>= 1) {
    if (l < s) t[l] += t[l + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) o[get_group_id(0)] = t[0];
}

// ---- barrier divergence

//: barrier divergence | 8 / 8: float[8]
__kernel void barrier_in_an_if(__global float *a) {
  __local float t[8];
  int l = get_local_id(0);
  t[l] = a[l];
  if (l < 4) {  // HERE
    barrier(CLK_LOCAL_MEM_FENCE);
    a[l] = t[l + 4];
  }
}

//: barrier divergence | 16 / 8: float[16], int=10
__kernel void early_return(__global float *a, int n) {
  __local float t[8];
  int l = get_local_id(0), i = get_global_id(0);
  if (i >= n) return;  // HERE
  t[l] = a[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  a[i] = t[l];
}

//: barrier divergence | 8 / 8: float[8]
__kernel void different_turns(__global float *a) {
  int l = get_local_id(0);
  for (int k = 0; k < l; k++)  // HERE
    barrier(CLK_LOCAL_MEM_FENCE);
  a[l] = l;
}

//: barrier divergence | 8 / 8: float[8]
__kernel void leaves_the_loop_early(__global float *a) {
  int l = get_local_id(0);
  for (int k = 0; k < 4; k++) {
    if (a[l] > 4 + k) break;  // HERE
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  a[l] = l;
}

void meet(void) { barrier(CLK_LOCAL_MEM_FENCE); }

//: barrier divergence | 8 / 8: int[8]
__kernel void in_a_function_and_a_switch(__global int *a) {
  switch (get_local_id(0) % 2) {  // HERE
    case 0: meet(); break;
    default: a[0] = 1;
  }
}

//: ok | 8 / 8: float[8], int=3
__kernel void all_take_the_same_way(__global float *a, int n) {
  __local float t[8];
  int l = get_local_id(0);
  if (n > 7) return;
  for (int k = 0; k < n; k++) {
    t[l] = a[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    a[l] = t[7 - l];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// ---- uninitialised read

//: uninitialised read | 8 / 8: float[8]
__kernel void half_the_tile(__global float *a) {
  __local float t[8];
  int l = get_local_id(0);
  if (l % 2 == 0) t[l] = a[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  a[l] = t[l];  // HERE
}

//: uninitialised read | 8 / 8: float[8]
__kernel void sum_without_a_start(__global float *a) {
  __local float t[8];
  int l = get_local_id(0);
  t[l] += a[l];  // HERE
  a[l] = t[l];
}

//: uninitialised read | 8 / 8: empty float[8], out float[8]
__kernel void never_filled(__global const float *a, __global float *b) {
  int i = get_global_id(0);
  b[i] = a[i];  // HERE
}

//: uninitialised read | 8 / 8: float[8], local float[8]
__kernel void local_argument(__global float *a, __local float *t) {
  int l = get_local_id(0);
  if (l < 7) t[l] = a[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  a[l] = t[(l + 1) % 8];  // HERE
}

//: uninitialised read | 8 / 8: empty float[8]
__kernel void adds_to_nothing(__global float *a) {
  a[get_global_id(0)] += 1;  // HERE
}

//: uninitialised read | 8 / 8: float[8]
__kernel void flag_nobody_sets(__global float *a) {
  __local int flag;
  int l = get_local_id(0);
  if (a[l] > 1000) flag = 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (flag == 1) a[l] = 0;  // HERE
}

//: ok | 8 / 8: empty float[8]
__kernel void written_then_read(__global float *a) {
  __local float t[8];
  int l = get_local_id(0);
  a[l] = l;
  t[l] = 2 * a[l];
  a[l] += t[l];
}

// ---- never written

//: never written | 8 / 8: float[8], out float[9]
__kernel void last_one_left(__global const float *a, __global float *o) { o[get_global_id(0)] = a[get_global_id(0)]; }

//: never written | 8 / 8: float[8], out float[8]
__kernel void only_the_even(__global const float *a, __global float *o) {
  int i = get_global_id(0);
  if (i % 2 == 0) o[i] = a[i];
}

//: never written | 8 / 8: int[8], out int[50]
__kernel void scattered(__global const int *a, __global int *o) { atomic_inc(&o[a[get_global_id(0)] % 50]); }

//: never written | 4,2 / 4,2: float[8], out float[12]
__kernel void too_narrow(__global const float *a, __global float *o) {
  int x = get_global_id(0), y = get_global_id(1);
  o[y * 6 + x] = a[y * 4 + x];
}

//: never written | 8 / 8: float[8], out float[8], int=5
__kernel void returns_too_soon(__global const float *a, __global float *o, int n) {
  int i = get_global_id(0);
  if (i >= n) return;
  o[i] = a[i];
}

//: ok | 8 / 8: float[8], float[9]
__kernel void partial_by_declaration(__global const float *a, __global float *o) { o[get_global_id(0)] = a[get_global_id(0)]; }

// ---- misaligned

//: misaligned | 8 / 8: float[40]
__kernel void float4_at_any_float(__global float *a) {
  float4 v = *(__global float4 *)(a + get_global_id(0));  // HERE
  if (v.x > 1e30f) a[39] = v.y;
}

//: misaligned | 4 / 4: float[40]
__kernel void float2_store(__global float *a) {
  *(__global float2 *)(a + 2 * get_global_id(0) + 1) = (float2)(1, 2);  // HERE
}

//: misaligned | 2 / 2: float[40]
__kernel void float8_in_steps_of_four(__global float *a) {
  __global float8 *p = (__global float8 *)(a + 4);
  p[get_global_id(0)] += (float8)(1);  // HERE
}

//: misaligned | 4 / 4: float[8]
__kernel void in_local_memory(__global float *a) {
  __local float t[12] __attribute__((aligned(16)));
  int l = get_local_id(0);
  for (int k = 0; k < 3; k++) t[3 * l + k] = a[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  float4 v = *(__local float4 *)(t + 1 + l);  // HERE
  a[l] = v.x;
}

//: misaligned | 4 / 4: uchar[32]
__kernel void int_at_any_byte(__global uchar *a) {
  *(__global int *)(a + 5 * get_global_id(0) + 1) = 7;  // HERE
}

//: ok | 8 / 8: float[40]
__kernel void vload_anywhere(__global float *a) {
  float4 v = vload4(0, a + get_global_id(0));
  if (v.x > 1e30f) a[39] = v.y;
}

// ---- endless loop

//: endless loop | 2 / 2: float[8]
__kernel void while_one(__global float *a) {
  while (1)  // HERE
    a[get_global_id(0)] += 1;
}

//: endless loop | 2 / 2: float[8]
__kernel void wrong_way(__global float *a) {
  for (int k = 1; k > 0; k -= 0)  // HERE
    a[get_global_id(0)] = k;
}

//: endless loop | 1 / 1: int[8]
__kernel void waits_for_nobody(__global int *flag) {
  flag[0] = 0;
  while (atomic_add(flag, 0) == 0) { }  // HERE
}

//: endless loop | 1 / 1: float[8]
__kernel void never_equal(__global float *a) {
  for (float x = 0; x != 1; x += 0.3f)  // HERE
    a[0] = x;
}

//: endless loop | 1 / 1: int[8]
__kernel void forgot_to_halve(__global int *a) {
  int n = 8;
  do {
    a[0] += n;
  } while (n > 1);  // HERE
}

//: ok | 8 / 8: int[8]
__kernel void long_but_ends(__global int *a) {
  for (int k = 0; k < 3000; k++)
    a[get_global_id(0)] ^= k;
}
