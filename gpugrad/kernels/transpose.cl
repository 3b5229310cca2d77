/* The transpose of N matrices: out[n, c, r] = x[n, r, c]; x is N x R x C, out is N x C x R.
 *
 * Reading along rows means writing along columns. Whoever does both element by element wastes
 * most of each cache line (on a GPU: of each memory transaction) on one of the two sides.
 */

/* One work-item moves one element. Neighbours read side by side and write R apart. */
__kernel void transpose_naive(__global const T *x, __global T *out, int R, int C) {
  int c = get_global_id(0), r = get_global_id(1), n = get_global_id(2);
  if (r < R && c < C) out[(n * C + c) * R + r] = x[(n * R + r) * C + c];
}

/* One work-item moves one block of BLOCK_R x BLOCK_C elements, small enough that the cache lines
 * it reads and those it writes all stay in the cache until each of their elements was used. */
#ifdef BLOCK_R
__kernel void transpose_blocked(__global const T *x, __global T *out, int R, int C) {
  int c0 = (int)get_global_id(0) * BLOCK_C, r0 = (int)get_global_id(1) * BLOCK_R;
  int n = get_global_id(2);
  int rows = min(BLOCK_R, R - r0), columns = min(BLOCK_C, C - c0);
  for (int c = c0; c < c0 + columns; c++)
    for (int r = r0; r < r0 + rows; r++) out[(n * C + c) * R + r] = x[(n * R + r) * C + c];
}
#endif

/* One work-group of TILE x ROWS work-items moves one tile through local memory: it reads rows of
 * x and writes rows of out, side by side both times. The tile's rows are one element longer than
 * they need be, so that its columns lie in different banks of local memory. */
#ifdef TILE
__kernel void transpose_tiled(__global const T *x, __global T *out, int R, int C) {
  __local A tile[TILE][TILE + 1];
  int i = get_local_id(0), j = get_local_id(1), n = get_global_id(2);
  int c0 = get_group_id(0) * TILE, r0 = get_group_id(1) * TILE;
  for (int k = j; k < TILE; k += ROWS)
    if (r0 + k < R && c0 + i < C) tile[k][i] = x[(n * R + r0 + k) * C + c0 + i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = j; k < TILE; k += ROWS)
    if (r0 + i < R && c0 + k < C) out[(n * C + c0 + k) * R + r0 + i] = tile[i][k];
}
#endif
