/* Matrix products: C = alpha * op(A) @ op(B) + beta * C; op(A) is M x K, op(B) K x N, C M x N.
 *
 * Element (m, k) of op(A) is a[m * a_m + k * a_k], element (k, n) of op(B) is
 * b[k * b_k + n * b_n]: to transpose a matrix, exchange its two strides.
 *
 * A launch computes a batch of products with two axes, outer and inner. The product (o, i) reads
 * A from a + o * a_outer + i * a_inner, and B likewise; a stride of 0 lets all products along an
 * axis share a matrix. The results lie one behind the other in c.
 *
 * Where beta is 0, C is not read: it may hold NaN, and 0 * NaN is NaN.
 */

/* The definition. One work-item computes one element of C. */
__kernel void gemm_naive(__global const T *a, __global const T *b, __global T *c,
                         int M, int N, int K, int inner,
                         int a_outer, int a_inner, int a_m, int a_k,
                         int b_outer, int b_inner, int b_k, int b_n, A alpha, A beta) {
  int n = get_global_id(0), m = get_global_id(1), product = get_global_id(2);
  if (m >= M || n >= N) return;
  a += product / inner * a_outer + product % inner * a_inner;
  b += product / inner * b_outer + product % inner * b_inner;
  c += product * M * N;

  A sum = 0;
  for (int k = 0; k < K; k++)
    sum += a[m * a_m + k * a_k] * b[k * b_k + n * b_n];
  c[m * N + n] = beta == 0 ? alpha * sum : alpha * sum + beta * c[m * N + n];
}

/* Local memory. TILE x TILE work-items compute a tile of C of that size, one element each. They
 * walk along K together: each fetches one element of A and one of B, all use all of them, so a
 * number is read from global memory TILE times less often. Past the edges the tiles hold 0.
 */
#define TILE 16

__kernel void gemm_tiled(__global const T *a, __global const T *b, __global T *c,
                         int M, int N, int K, int inner,
                         int a_outer, int a_inner, int a_m, int a_k,
                         int b_outer, int b_inner, int b_k, int b_n, A alpha, A beta) {
  int n = get_global_id(0), m = get_global_id(1), product = get_global_id(2);
  int x = get_local_id(0), y = get_local_id(1);
  a += product / inner * a_outer + product % inner * a_inner;
  b += product / inner * b_outer + product % inner * b_inner;
  c += product * M * N;
  __local A a_tile[TILE][TILE], b_tile[TILE][TILE];

  A sum = 0;
  for (int k0 = 0; k0 < K; k0 += TILE) {
    a_tile[y][x] = m < M && k0 + x < K ? a[m * a_m + (k0 + x) * a_k] : 0;
    b_tile[y][x] = k0 + y < K && n < N ? b[(k0 + y) * b_k + n * b_n] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILE; k++)
      sum += a_tile[y][k] * b_tile[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (m < M && n < N)
    c[m * N + n] = beta == 0 ? alpha * sum : alpha * sum + beta * c[m * N + n];
}

/* Registers. As above, but a work-item computes EACH x EACH elements of C, TILE apart, and keeps
 * them in registers: for 2 * EACH reads of local memory it does EACH * EACH multiplications.
 */
#define EACH 4
#define SIDE (TILE * EACH)

__kernel void gemm_blocked(__global const T *a, __global const T *b, __global T *c,
                           int M, int N, int K, int inner,
                           int a_outer, int a_inner, int a_m, int a_k,
                           int b_outer, int b_inner, int b_k, int b_n, A alpha, A beta) {
  int n0 = get_group_id(0) * SIDE, m0 = get_group_id(1) * SIDE, product = get_global_id(2);
  int x = get_local_id(0), y = get_local_id(1);
  a += product / inner * a_outer + product % inner * a_inner;
  b += product / inner * b_outer + product % inner * b_inner;
  c += product * M * N;
  __local A a_tile[SIDE][TILE], b_tile[TILE][SIDE];

  A sum[EACH][EACH];
  for (int i = 0; i < EACH; i++)
    for (int j = 0; j < EACH; j++) sum[i][j] = 0;

  for (int k0 = 0; k0 < K; k0 += TILE) {
    for (int i = 0; i < EACH; i++) {
      int m = m0 + y + i * TILE, n = n0 + x + i * TILE;
      a_tile[y + i * TILE][x] = m < M && k0 + x < K ? a[m * a_m + (k0 + x) * a_k] : 0;
      b_tile[y][x + i * TILE] = k0 + y < K && n < N ? b[(k0 + y) * b_k + n * b_n] : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILE; k++) {
      A left[EACH], right[EACH];
      for (int i = 0; i < EACH; i++) {
        left[i] = a_tile[y + i * TILE][k];
        right[i] = b_tile[k][x + i * TILE];
      }
      for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++) sum[i][j] += left[i] * right[j];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  for (int i = 0; i < EACH; i++)
    for (int j = 0; j < EACH; j++) {
      int m = m0 + y + i * TILE, n = n0 + x + j * TILE;
      if (m < M && n < N)
        c[m * N + n] = beta == 0 ? alpha * sum[i][j] : alpha * sum[i][j] + beta * c[m * N + n];
    }
}

/* C[g] = alpha * sum over p of partials[g, p] + beta * C[g]. One work-item adds up one element.
 * For products whose sum was split among work-groups. size is M * N.
 */
__kernel void gemm_combine(__global const A *partials, __global T *c, int size, int parts,
                           A alpha, A beta) {
  int i = get_global_id(0), g = get_global_id(1);
  if (i >= size) return;
  A sum = 0;
  for (int p = 0; p < parts; p++) sum += partials[(g * parts + p) * size + i];
  c += g * size;
  c[i] = beta == 0 ? alpha * sum : alpha * sum + beta * c[i];
}
