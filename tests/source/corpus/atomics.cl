// Atomic functions. Results are sums and extremes, so that no order shows.

//: 16 / 8: int[16], int[12]=0
__kernel void histogram(__global const int *a, __global int *h) {
  int i = get_global_id(0);
  atomic_add(&h[a[i] % 4], 1);
  atomic_inc(&h[4]);
  atomic_dec(h + 5);
  atomic_sub(h + 6, 2);
  atomic_max(&h[7], a[i]);
  atomic_min(&h[8], -a[i]);
  atomic_or(&h[9], 1 << (i % 8));
  atomic_xor(&h[10], a[i]);
  atomic_and(&h[11], 7);
}

//: 8 / 8: int[8], int[8]=0
__kernel void returned_values(__global int *h, __global int *o) {
  int i = get_global_id(0);
  o[i] = atomic_xchg(&h[i], 9) + atomic_cmpxchg(&h[i], 9, 5) + atomic_cmpxchg(&h[i], 9, 6) + atom_add(&h[i], 1);
}

//: 8 / 8: int[8], int[2]=0, local int[1]
__kernel void in_local_memory(__global const int *a, __global int *o, __local int *l) {
  int i = get_local_id(0);
  if (i == 0)
    l[0] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(l, a[i]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i == 0)
    atomic_or(&o[1], l[0]);
}

void atomic_max_float(volatile __global float *p, float v) {
  uint seen, old = as_uint(*p);
  do {
    seen = old;
    if (as_float(seen) >= v)
      return;
    old = atomic_cmpxchg((volatile __global uint *)p, seen, as_uint(v));
  } while (old != seen);
}

//: 16 / 8: float[16], float[1]=0
__kernel void compare_and_swap_loop(__global const float *a, __global float *o) { atomic_max_float(&o[0], a[get_global_id(0)]); }

void add_float(volatile __global float *p, float v) {
  union { uint u; float f; } o, n;
  do {
    o.f = *p;
    n.f = o.f + v;
  } while (atomic_cmpxchg((volatile __global uint *)p, o.u, n.u) != o.u);
}

//: 16 / 8: int[16], float[4]=0
__kernel void compare_and_swap_through_a_union(__global const int *a, __global float *o) {
  add_float(&o[get_global_id(0) % 4], a[get_global_id(0)]);
}

//: 8 / 8: float[8], float[8]=0
__kernel void exchange_of_floats(__global float *a, __global float *o) {
  int i = get_global_id(0);
  o[i] = atomic_xchg(&a[i], 2.5f);
}
