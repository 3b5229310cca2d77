/* Convolution for CPUs, where a work-item is a whole thread with wide vector registers: no column
 * matrix, each element of x is read where it stands.
 *
 * Outputs side by side see elements of x side by side, for each tap of the kernel. So a work-item
 * computes a tile of VECTORS vectors of outputs, in ROWS output channels, and for each tap loads
 * the vectors that they see and multiplies them by ROWS weights:
 *
 *     y, channel 0   [0 1 2 3 4 5 6 7]         sum[0] += weight of channel 0 * seen
 *     y, channel 1   [0 1 2 3 4 5 6 7]         sum[1] += weight of channel 1 * seen
 *     ...
 *     x, tap kw = 0  [a b c d e f g h] i j     what they see
 *     x, tap kw = 1   a [b c d e f g h i] j    the same, one further
 *
 * So that no tap falls outside, x is first copied with its padding: (N, C, phases, HP, WP). With a
 * stride SW, outputs side by side see every SW-th element; the copy deals the columns out to
 * phases, and side by side they are again:
 *
 *     padded[n, c, phase, r, q] = x[n, c, r - PH, q * SW + phase * apart - PW],  0 outside
 *
 * There are SW phases, 1 apart. A kernel that is narrower than SW sees few of them: then there is
 * one phase for each of its columns, DW apart. Kernel element (c, kh, kw) then lies a fixed distance
 * behind the output's own place, taps[k].
 *
 * V is a vector of LANES A's; VECTORS is 2, but 1 for the weight gradient of few channels. Kernels
 * here dereference pointers to vectors: under PoCL vload8 and fma are calls, which spill the sums,
 * ten times slower.
 */
#define ROWS 4
#define TAPS 6
#define COLUMNS (VECTORS * LANES)
/* A vector that may start at any element. */
typedef V UNALIGNED __attribute__((aligned(sizeof(A))));

/* How far behind an output's place in padded kernel element k = (c, kh, kw) lies. */
int tap(int k, int KH, int KW, int SW, int DH, int DW, int HP, int WP) {
  int c = k / (KH * KW), kh = k / KW % KH, kw = k % KW;
  if (KW < SW) return ((c * KW + kw) * HP + kh * DH) * WP;
  return ((c * SW + kw * DW % SW) * HP + kh * DH) * WP + kw * DW / SW;
}

/* padded, of the images from `first` on. One work-item copies one channel of one image. */
__kernel void conv_pad(__global const T *x, __global A *padded, int first, int C, int H, int W,
                       int SW, int PH, int PW, int phases, int apart, int HP, int WP) {
  int c = get_global_id(0), n = get_global_id(1);
  __global const T *from = x + ((first + n) * C + c) * H * W;
  __global A *to = padded + (n * C + c) * phases * HP * WP;
  for (int phase = 0; phase < phases; phase++)
    for (int r = 0; r < HP; r++) {
      int h = r - PH, w0 = phase * apart - PW; /* q * SW + w0 is inside x for start <= q < stop */
      int start = w0 < 0 ? min((SW - 1 - w0) / SW, WP) : 0;
      int stop = max(min((W - w0 + SW - 1) / SW, WP), start);
      if (h < 0 || h >= H) start = stop = WP;
      for (int q = 0; q < start; q++) to[q] = 0;
      for (int q = start; q < stop; q++) to[q] = from[h * W + q * SW + w0];
      for (int q = stop; q < WP; q++) to[q] = 0;
      to += WP;
    }
}

/* The weights in the order in which conv_blocked takes them, ROWS channels side by side:
 *
 *     panels[g, block, k, i] = the weight between output channel block * ROWS + i and k
 *
 * and taps[k]. R channels in a group of the result, K = channels in a group of x * KH * KW. For the
 * input gradient the roles change: row_stride and channel_stride say where the weight of a row and
 * of a channel lies, and flip turns the kernel round. One work-item writes one k of one panel.
 */
__kernel void conv_pack(__global const T *weight, __global A *panels, __global int *taps, int R,
                        int K, int row_stride, int channel_stride, int flip,
                        int KH, int KW, int SW, int DH, int DW, int HP, int WP) {
  int k = get_global_id(0), block = get_global_id(1), g = get_global_id(2);
  int blocks = (R + ROWS - 1) / ROWS;
  if (k < K) {
    int c = k / (KH * KW), place = k % (KH * KW);
    __global const T *from = weight + g * R * K + c * channel_stride
                           + (flip ? KH * KW - 1 - place : place);
    for (int i = 0; i < ROWS; i++) {
      int row = block * ROWS + i;
      panels[((g * blocks + block) * K + k) * ROWS + i] = row < R ? from[row * row_stride] : 0;
    }
    if (block == 0 && g == 0) taps[k] = tap(k, KH, KW, SW, DH, DW, HP, WP);
  }
}

/* y, of the images from `first` on. One work-item computes a tile: ROWS channels of VECTORS
 * vectors, which lie side by side (rows is 1) or one below the other (rows is 2): the host takes
 * what wastes less at the edges. R channels in a group of y, K taps, image the size of a group in
 * padded.
 */
__kernel void conv_blocked(__global const A *padded, __global const A *panels,
                           __global const int *taps, __global const T *bias, __global T *y,
                           int first, int G, int R, int K, int image, int WP, int SH,
                           int OH, int OW, int rows, int biased) {
  int blocks = (R + ROWS - 1) / ROWS, width = rows == 1 ? COLUMNS : LANES;
  int wide = (OW + width - 1) / width, tile = get_global_id(0);
  int g = get_global_id(1) / blocks, block = get_global_id(1) % blocks, n = get_global_id(2);
  int oh = tile / wide * rows, ow = tile % wide * width;
  __global const A *x = padded + (n * G + g) * image + oh * SH * WP + ow;
  __global const A *weights = panels + (g * blocks + block) * K * ROWS;
  int step = rows == 1 ? LANES : SH * WP;

  V sum[ROWS][VECTORS];
  #pragma unroll
  for (int i = 0; i < ROWS; i++)
    #pragma unroll
    for (int j = 0; j < VECTORS; j++) sum[i][j] = 0;

  for (int k = 0; k < K; k++) {
    V seen[VECTORS];
    #pragma unroll
    for (int j = 0; j < VECTORS; j++)
      seen[j] = *(__global const UNALIGNED *)(x + taps[k] + j * step);
    #pragma unroll
    for (int i = 0; i < ROWS; i++)
      #pragma unroll
      for (int j = 0; j < VECTORS; j++) sum[i][j] += weights[k * ROWS + i] * seen[j];
  }

  A done[ROWS][VECTORS][LANES];
  #pragma unroll
  for (int i = 0; i < ROWS; i++)
    #pragma unroll
    for (int j = 0; j < VECTORS; j++) *(UNALIGNED *)done[i][j] = sum[i][j];

  #pragma unroll
  for (int i = 0; i < ROWS; i++) {
    int channel = g * R + block * ROWS + i;
    if (block * ROWS + i < R) {
      A b = biased ? bias[channel] : 0;
      #pragma unroll
      for (int j = 0; j < VECTORS; j++) {
        int h = rows == 1 ? oh : oh + j, w = rows == 1 ? ow + j * LANES : ow;
        __global T *out = y + (((first + n) * G * R + channel) * OH + h) * OW + w;
        if (h < OH && w + LANES <= OW)
          for (int l = 0; l < LANES; l++) out[l] = done[i][j][l] + b;
        else if (h < OH)
          for (int l = 0; l < OW - w; l++) out[l] = done[i][j][l] + b;
      }
    }
  }
}

/* For the weight gradient the vectors lie along the output channels: dy, of the images from `first`
 * on, with COLUMNS channels side by side (beyond the last one, that one again).
 *
 *     columns[n, g, block, l, i] = dy[first + n, g * R + block * COLUMNS + i, l],  l = oh * OW + ow
 *
 * One work-item copies one block of channels of one image. L is OH * OW.
 */
__kernel void conv_pack_grad(__global const T *dy, __global A *columns, int first, int G, int R,
                             int L) {
  int b = get_global_id(0), n = get_global_id(1), blocks = (R + COLUMNS - 1) / COLUMNS;
  int channel = b % blocks * COLUMNS;
  __global const T *from = dy + ((first + n) * G + b / blocks) * R * L;
  __global A *to = columns + (n * G * blocks + b) * L * COLUMNS;
  int row[COLUMNS];
  #pragma unroll
  for (int i = 0; i < COLUMNS; i++) row[i] = min(channel + i, R - 1) * L;
  for (int l = 0; l < L; l++)
    #pragma unroll
    for (int i = 0; i < COLUMNS; i++) to[l * COLUMNS + i] = from[row[i] + l];
}

/* parts[s, co, k] = the sum of dy[co] times what kernel element k saw, over the images of part s:
 * `images` of them, N in all; with `more`, added to what parts holds. One work-item sums up TAPS
 * elements for COLUMNS output channels: for each place (oh, ow) it loads that many neighbours of
 * dy and multiplies them by TAPS elements of x.
 */
__kernel void conv_weight_blocked(__global const A *padded, __global const A *columns,
                                  __global A *parts, int more, int images, int N,
                                  int G, int R, int K, int KH, int KW, int SH, int SW,
                                  int DH, int DW, int HP, int WP, int image, int OH, int OW) {
  int blocks = (R + COLUMNS - 1) / COLUMNS;
  int k = get_global_id(0) * TAPS, b = get_global_id(1), s = get_global_id(2);

  int at[TAPS];
  #pragma unroll
  for (int t = 0; t < TAPS; t++) at[t] = tap(min(k + t, K - 1), KH, KW, SW, DH, DW, HP, WP);
  V sum[TAPS][VECTORS];
  #pragma unroll
  for (int t = 0; t < TAPS; t++)
    #pragma unroll
    for (int j = 0; j < VECTORS; j++) sum[t][j] = 0;

  for (int n = s * images; n < min((s + 1) * images, N); n++) {
    __global const V *grad =
        (__global const V *)(columns + (n * G * blocks + b) * OH * OW * COLUMNS);
    for (int oh = 0; oh < OH; oh++) {
      __global const A *x = padded + (n * G + b / blocks) * image + oh * SH * WP;
      for (int ow = 0; ow < OW; ow++) {
        V side[VECTORS];
        #pragma unroll
        for (int j = 0; j < VECTORS; j++) side[j] = grad[j];
        #pragma unroll
        for (int t = 0; t < TAPS; t++)
          #pragma unroll
          for (int j = 0; j < VECTORS; j++) sum[t][j] += x[at[t] + ow] * side[j];
        grad += VECTORS;
      }
    }
  }

  A tile[TAPS][COLUMNS];
  #pragma unroll
  for (int t = 0; t < TAPS; t++)
    #pragma unroll
    for (int j = 0; j < VECTORS; j++) *(UNALIGNED *)&tile[t][j * LANES] = sum[t][j];
  int row = b % blocks * COLUMNS;
  parts += (s * G * R + b / blocks * R + row) * K + k;
  for (int i = 0; i < min(COLUMNS, R - row); i++)
    for (int t = 0; t < min(TAPS, K - k); t++)
      parts[i * K + t] = more ? parts[i * K + t] + tile[t][i] : tile[t][i];
}

/* dweight = the sum of the parts. One work-item adds up one element. */
__kernel void conv_weight_sum(__global const A *parts, __global T *dweight, int count, int size) {
  int i = get_global_id(0);
  if (i < size) {
    A sum = 0;
    for (int s = 0; s < count; s++) sum += parts[s * size + i];
    dweight[i] = sum;
  }
}
