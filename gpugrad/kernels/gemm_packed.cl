/* Matrix products on a CPU, where a work-item runs as a thread with wide vector registers.
 *
 * One work-item computes ROWS x COLUMNS elements of C and shares nothing with others. For each k
 * it multiplies ROWS elements of op(A) by COLUMNS neighbours of op(B). With 6 x 16 floats the sums
 * fill 12 of the 16 registers of AVX2; the others hold the neighbours and one element of A.
 *
 * The neighbours must lie side by side, and be in the cache still when the next ROWS rows of C
 * need them. Where op(B) as it stands offers neither, gemm_pack copies it into panels before: the
 * panel of COLUMNS columns, k by k. Likewise ROWS rows of op(A), where a step along k jumps far.
 *
 * V is a vector of 8 A's, and VECTORS of them hold COLUMNS. Vectors are read through pointers to
 * them and multiplied by * and +: vload8 and fma are calls in PoCL, during which every sum goes
 * to memory and back, and are ten times slower.
 */
#define ROWS 6
#define COLUMNS (VECTORS * 8)

#ifdef WIDTH
/* panels[g, p, k, r] = x(g, p * WIDTH + r, k), and x(g, row, k) is x[g * x_batch + row * x_r + k * x_k].
 *
 * One work-item copies DEPTH k's of SPAN rows: one pointer for each row, as many as fit registers.
 * Rows beyond the last, R - 1, repeat it; what is computed from them goes nowhere.
 */
#define SPAN (WIDTH % 8 == 0 ? 8 : WIDTH)
#define DEPTH 256

__kernel void gemm_pack(__global const T *x, __global A *panels, int R, int K,
                        int x_batch, int x_r, int x_k) {
  int k0 = get_global_id(0) * DEPTH, r0 = get_global_id(1) * SPAN, g = get_global_id(2);
  int rows = get_global_size(1) * SPAN;
  x += g * x_batch;
  panels += (g * rows + r0 / WIDTH * WIDTH) * K + r0 % WIDTH;

  int row[SPAN];
  #pragma unroll
  for (int r = 0; r < SPAN; r++) row[r] = min(r0 + r, R - 1) * x_r;
  for (int k = k0; k < min(k0 + DEPTH, K); k++)
    #pragma unroll
    for (int r = 0; r < SPAN; r++) panels[k * WIDTH + r] = x[row[r] + k * x_k];
}

#else
/* A vector that may start at any element. */
typedef V UNALIGNED __attribute__((aligned(sizeof(A))));

/* The products (outer, inner) as in gemm.cl; a result is the sum of `summed` products next to each other
 * along inner. Depth is K, but last_K in the last product along inner.
 *
 * Panel p of op(A) has its element (m, k) at a[p * a_panel + m * a_m + k * a_k], that of op(B) its row k
 * at b[p * b_panel + k * b_k]. C(m, n) is c[m * c_m + n * c_n].
 */
__kernel void gemm_packed(__global const A *a, __global const A *b, __global T *c,
                          int M, int N, int K, int last_K, int inner, int summed,
                          int a_outer, int a_inner, int a_panel, int a_m, int a_k,
                          int b_outer, int b_inner, int b_panel, int b_k, int last_n,
                          int c_m, int c_n, A alpha, A beta) {
  int results = (inner + summed - 1) / summed;  /* along inner */
  int result = get_global_id(2), first = result % results * summed;
  int m0 = get_global_id(0) * ROWS, own_n = get_global_id(1) * COLUMNS;
  /* Where B is not packed, a last panel of fewer columns starts earlier and is full; the columns
   * before own_n are the neighbour's to store. */
  int n0 = min(own_n, last_n);
  a += result / results * a_outer + first * a_inner + (int)get_global_id(0) * a_panel;
  b += result / results * b_outer + first * b_inner + (int)get_global_id(1) * b_panel - (own_n - n0);
  c += result * M * N;

  int row[ROWS];
  V sum[ROWS][VECTORS];
  #pragma unroll
  for (int i = 0; i < ROWS; i++) {
    row[i] = min(i, M - 1 - m0) * a_m;
    #pragma unroll
    for (int j = 0; j < VECTORS; j++) sum[i][j] = 0;
  }

  for (int s = first; s < min(first + summed, inner); s++) {
    int depth = s == inner - 1 ? last_K : K;
    for (int k = 0; k < depth; k++) {
      V right[VECTORS];
      #pragma unroll
      for (int j = 0; j < VECTORS; j++) right[j] = *(__global const UNALIGNED *)(b + k * b_k + j * 8);
      #pragma unroll
      for (int i = 0; i < ROWS; i++) {
        A left = a[row[i] + k * a_k];
        #pragma unroll
        for (int j = 0; j < VECTORS; j++) sum[i][j] += left * right[j];
      }
    }
    a += a_inner;
    b += b_inner;
  }

  if (sizeof(T) == sizeof(A) && c_n == 1 && n0 == own_n && n0 + COLUMNS <= N) {
    #pragma unroll
    for (int i = 0; i < ROWS; i++)
      if (m0 + i < M)
        #pragma unroll
        for (int j = 0; j < VECTORS; j++) {
          __global UNALIGNED *to = (__global UNALIGNED *)(c + (m0 + i) * c_m + n0 + j * 8);
          *to = beta == 0 ? alpha * sum[i][j] : alpha * sum[i][j] + beta * *to;
        }
  } else {
    A tile[ROWS][COLUMNS];
    #pragma unroll
    for (int i = 0; i < ROWS; i++)
      #pragma unroll
      for (int j = 0; j < VECTORS; j++) *(UNALIGNED *)&tile[i][j * 8] = sum[i][j];
    for (int m = m0; m < min(m0 + ROWS, M); m++)
      for (int n = own_n; n < min(n0 + COLUMNS, N); n++) {
        __global T *to = c + m * c_m + n * c_n;
        A result = alpha * tile[m - m0][n - n0];
        *to = beta == 0 ? result : result + beta * *to;
      }
  }
}
#endif
