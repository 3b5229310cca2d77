/* Matrix products on a GPU: gemm_blocked, laid out for its warps of 32 work-items.
 *
 * A work-group computes BM x BN elements of C and walks along K in steps of BK. While it multiplies
 * two tiles, the next two are on their way from global memory: fetched to registers before the
 * multiplications, put into the other half of local memory after them.
 *
 * A work-item computes TM x TN elements, in pieces of W x W. The LANES_M x LANES_N work-items of a
 * warp take neighbouring pieces, and read the tiles in vectors V of 16 bytes, W elements: together
 * they read each word of local memory once, and no two words of one bank at a time.
 *
 * The products (outer, inner) are as in gemm.cl. A result is the sum of `summed` products next to
 * each other along inner. They are K deep, the last one along inner last_K. R is what C holds: T, or
 * for parts of a sum of halves float.
 */
#define BK 8
#define LANES_M 8
#define LANES_N (32 / LANES_M)
#define WARPS_M (BM / (TM * LANES_M))
#define GROUP (BM / TM * (BN / TN)) /* work-items: a multiple of 32, of BM and of BN */
#define PAD 4 /* moves each row of a tile by some banks, for those who write along a column */
#define BAND 8 /* tiles of C are computed in bands so high: the groups at work share A and B in L2 */

/* next = this work-item's elements of a tile, `size` rows from r0 and BK columns from k0, of the
 * rows x depth matrix x(r, k) = x[r * x_r + k * x_k]; 0 past its edges. Neighbouring work-items take
 * elements that lie side by side in memory.
 */
inline void fetch(__global const T *x, int x_r, int x_k, int rows, int depth, int r0, int k0,
                  int size, A *next) {
  int me = get_local_id(0);
  if (x_k == 1) {
    int r = r0 + me / BK, k = k0 + me % BK;
    #pragma unroll
    for (int i = 0; i < size * BK / GROUP; i++, r += GROUP / BK)
      next[i] = r < rows && k < depth ? x[r * x_r + k] : 0;
  } else {
    int r = r0 + me % size, k = k0 + me / size;
    #pragma unroll
    for (int i = 0; i < size * BK / GROUP; i++, k += GROUP / size)
      next[i] = r < rows && k < depth ? x[r * x_r + k * x_k] : 0;
  }
}

/* tile[k][r] = the elements that fetch fetched. */
inline void keep(__local A *tile, int x_k, int size, const A *next) {
  int me = get_local_id(0);
  #pragma unroll
  for (int i = 0; i < size * BK / GROUP; i++) {
    int r = x_k == 1 ? me / BK + i * (GROUP / BK) : me % size;
    int k = x_k == 1 ? me % BK : me / size + i * (GROUP / size);
    tile[k * (size + PAD) + r] = next[i];
  }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_warp(__global const T *a, __global const T *b, __global R *c,
               int M, int N, int K, int last_K, int inner, int summed,
               int a_outer, int a_inner, int a_m, int a_k,
               int b_outer, int b_inner, int b_k, int b_n, A alpha, A beta) {
  __local A tiles[2 * BK * (BM + PAD + BN + PAD)] __attribute__((aligned(16)));
  __local A *a_tiles = tiles, *b_tiles = tiles + 2 * BK * (BM + PAD);

  /* Which result, which products. */
  int results = (inner + summed - 1) / summed, result = get_group_id(2);
  int product = result % results * summed, end = min(product + summed, inner);
  a += result / results * a_outer + product * a_inner;
  b += result / results * b_outer + product * b_inner;
  c += result * M * N;

  /* Which tile of it: down a band of BAND tiles, then to the right. */
  int tiles_m = (M + BM - 1) / BM, tiles_n = (N + BN - 1) / BN, tile = get_group_id(0);
  int band = tile / (BAND * tiles_n) * BAND, height = min(BAND, tiles_m - band);
  int m0 = (band + tile % (BAND * tiles_n) % height) * BM;
  int n0 = tile % (BAND * tiles_n) / height * BN;

  /* Which pieces of the tile: (row, column) and every LANES pieces from there. */
  int lane = get_local_id(0) % 32, warp = get_local_id(0) / 32;
  int row = warp % WARPS_M * TM * LANES_M + lane % LANES_M * W;
  int column = warp / WARPS_M * TN * LANES_N + lane / LANES_M * W;

  A next_a[BM * BK / GROUP], next_b[BN * BK / GROUP];
  A sum[TM][TN] __attribute__((aligned(16)));
  #pragma unroll
  for (int i = 0; i < TM; i++)
    #pragma unroll
    for (int j = 0; j < TN; j++) sum[i][j] = 0;

  int depth = product == inner - 1 ? last_K : K, k0 = 0;
  int steps = (end - product - 1) * ((K + BK - 1) / BK);
  steps += ((end == inner ? last_K : K) + BK - 1) / BK;

  /* Step -1 only fetches, the last step only multiplies. */
  for (int step = -1; step < steps; step++) {
    int now = step & 1, more = step + 1 < steps;
    if (more) {
      fetch(a, a_m, a_k, M, depth, m0, k0, BM, next_a);
      fetch(b, b_n, b_k, N, depth, n0, k0, BN, next_b);
      k0 += BK;
      if (k0 >= depth) { /* on to the next product */
        product++;
        a += a_inner;
        b += b_inner;
        depth = product == inner - 1 ? last_K : K;
        k0 = 0;
      }
    }
    if (step >= 0) {
      #pragma unroll
      for (int k = 0; k < BK; k++) {
        A left[TM] __attribute__((aligned(16))), right[TN] __attribute__((aligned(16)));
        #pragma unroll
        for (int i = 0; i < TM; i += W)
          *(V *)&left[i] = *(__local V *)&a_tiles[(now * BK + k) * (BM + PAD) + row + i * LANES_M];
        #pragma unroll
        for (int j = 0; j < TN; j += W)
          *(V *)&right[j] = *(__local V *)&b_tiles[(now * BK + k) * (BN + PAD) + column + j * LANES_N];
        #pragma unroll
        for (int i = 0; i < TM; i++)
          #pragma unroll
          for (int j = 0; j < TN; j++) sum[i][j] += left[i] * right[j];
      }
    }
    if (more) {
      keep(a_tiles + !now * BK * (BM + PAD), a_k, BM, next_a);
      keep(b_tiles + !now * BK * (BN + PAD), b_k, BN, next_b);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  /* W rows of every work-item's pieces at a time go to local memory, and from there side by side to C. */
  int own = (warp % WARPS_M * LANES_M + lane % LANES_M) * W;
  #pragma unroll
  for (int i = 0; i < TM; i += W) {
    #pragma unroll
    for (int r = 0; r < W; r++)
      #pragma unroll
      for (int j = 0; j < TN; j += W)
        *(__local V *)&tiles[(own + r) * BN + column + j * LANES_N] = *(V *)&sum[i + r][j];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int at = get_local_id(0); at < W * (BM / TM) * BN; at += GROUP) {
      int r = at / BN, n = n0 + at % BN;
      int m = m0 + r / (LANES_M * W) * LANES_M * TM + i * LANES_M + r % (LANES_M * W);
      if (m < M && n < N)
        c[m * N + n] = beta == 0 ? alpha * tiles[at] : alpha * tiles[at] + beta * c[m * N + n];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
