// Local memory and barriers.

//: 8 / 4: float[8]
__kernel void reverse(__global float *a) {
  __local float t[4];
  int l = get_local_id(0), g = get_global_id(0);
  t[l] = a[g];
  barrier(CLK_LOCAL_MEM_FENCE);
  a[g] = t[3 - l];
}

//: 8,4 / 8,4: float[32]
__kernel void transpose_in_place(__global float *a) {
  __local float t[4][8 + 1];
  int x = get_local_id(0), y = get_local_id(1);
  t[y][x] = a[y * 8 + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  a[x * 4 + y] = t[y][x];
}

//: 8 / 8: float[8]
__kernel void two_arrays_in_one_declaration(__global float *a) {
  __local float As[2][4], Bs[8];
  int l = get_local_id(0);
  As[l / 4][l % 4] = a[l];
  Bs[l] = a[l] * 2;
  barrier(CLK_LOCAL_MEM_FENCE);
  a[l] = As[l % 2][l / 2] + Bs[7 - l];
}

//: 8 / 8: float[8]
__kernel void local_scalar(__global float *a) {
  __local float best;
  __local int2 at;
  if (get_local_id(0) == 0) {
    best = a[0];
    at = (int2)(3, 4);
    at.y++;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  a[get_local_id(0)] = best + at.x + at.y;
}

float row_sum(__local float t[4][8], int r) {
  float s = 0;
  for (int i = 0; i < 8; i++)
    s += t[r][i];
  return s;
}

//: 8 / 8: float[32]
__kernel void array_as_parameter(__global float *a) {
  __local float t[4][8];
  int l = get_local_id(0);
  for (int r = 0; r < 4; r++)
    t[r][l] = a[r * 8 + l];
  barrier(CLK_LOCAL_MEM_FENCE);
  a[l] = row_sum(t, l % 4);
}

//: 8 / 8: float[8]
__kernel void pointer_to_a_row(__global float *a) {
  __local float t[4][8];
  int l = get_local_id(0);
  for (int r = 0; r < 4; r++)
    t[r][l] = r * a[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  __local float(*row)[8] = t;
  __local float *q = t[1];
  a[l] = row[2][7 - l] + q[l] + (*row)[l] + (*(row + 3))[l];
}

void sync_add(__local float *t, int l) {
  barrier(CLK_LOCAL_MEM_FENCE);
  float v = t[(l + 1) % 8];
  barrier(CLK_LOCAL_MEM_FENCE);
  t[l] += v;
}

//: 8 / 8: float[8]
__kernel void barrier_in_a_helper(__global float *a) {
  __local float t[8];
  int l = get_local_id(0);
  t[l] = a[l];
  for (int r = 0; r < 3; r++)
    sync_add(t, l);
  a[l] = t[l];
}

//: 16 / 8: float[16], float[2]=0, local float[8]
__kernel void tree_sum(__global const float *x, __global float *out, __local float *s) {
  int l = get_local_id(0);
  s[l] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = get_local_size(0) / 2; step > 0; step /= 2) {
    if (l < step)
      s[l] += s[l + step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0)
    out[get_group_id(0)] = s[0];
}

//: 8 / 8: float[8], int=3
__kernel void barrier_in_a_condition_all_share(__global float *a, int n) {
  __local float t[8];
  int l = get_local_id(0);
  t[l] = a[l];
  if (n > 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    a[l] = t[7 - l];
  } else
    a[l] = 0;
}

//: 8 / 8: float[8], int=2
__kernel void barrier_in_a_switch_all_share(__global float *a, int n) {
  __local float t[8];
  int l = get_local_id(0);
  t[l] = a[l];
  switch (n) {
    case 1: a[l] = 1; break;
    case 2: barrier(CLK_LOCAL_MEM_FENCE); a[l] = t[7 - l]; break;
    default: a[l] = 3;
  }
}

//: 8 / 8: float[8], int=3
__kernel void return_all_share(__global float *a, int n) {
  __local float t[8];
  int l = get_local_id(0);
  if (n > 5)
    return;
  t[l] = a[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  a[l] = t[7 - l];
}

//: 8 / 8: float[8]
__kernel void return_after_the_last_barrier(__global float *a) {
  __local float t[8];
  int l = get_local_id(0);
  t[l] = a[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l > 3)
    return;
  a[l] = t[7 - l];
}

//: 8 / 8: float[8], int=2
__kernel void barriers_in_do_and_while(__global float *a, int n) {
  __local float t[8];
  int l = get_local_id(0), k = 0;
  do {
    t[l] = a[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    a[l] += t[7 - l];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  } while (++k < n);
  while (k-- > 0) {
    t[l] = a[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    a[l] -= 0.5f * t[(l + 1) % 8];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

//: 8 / 8: float[8], int=5
__kernel void break_and_continue_all_share(__global float *a, int n) {
  __local float t[8];
  int l = get_local_id(0);
  for (int k = 0; k < n; k++) {
    if (k == 3)
      break;
    if (k == 1)
      continue;
    t[l] = a[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    a[l] += t[7 - l];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

//: 8 / 8: float[8]
__kernel void global_fence(__global float *a) {
  int l = get_local_id(0);
  a[l] += 1.0f;
  barrier(CLK_GLOBAL_MEM_FENCE);
  float v = a[7 - l];
  barrier(CLK_GLOBAL_MEM_FENCE);
  a[l] = v;
  mem_fence(CLK_GLOBAL_MEM_FENCE);
}

//: 8 / 8: float[8]
__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void aligned_local_array(__global float *a) {
  __local float t[8] __attribute__((aligned(16)));
  int l = get_local_id(0);
  t[l] = a[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  float4 v = *(__local float4 *)(t + 4 * (l / 4));
  a[l] = v.x + v.w;
}

//: 8 / 8: uint[8]
__kernel void unsigned_indices(__global uint *a) {
  __local uint t[2][8];
  uint g = get_global_id(0);
  size_t l = get_local_id(0);
  t[l & 1u][l] = a[g];
  barrier(CLK_LOCAL_MEM_FENCE);
  unsigned int z = 7u - (uint)l;
  a[g] = t[z & 1u][z];
}
