/* Random numbers from a counter: Philox4x32-10, of Salmon, Moraes, Dror and Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3" (SC 2011).
 *
 * Block b of a stream is four 32-bit words that depend on the key (the seed) and on b alone. No state
 * passes from number to number, so each work-item computes one block, and every device finds the same
 * bits. Indices are unsigned here: the padding of the last work-group may pass the largest int.
 */

/* c = Philox(c, key). A round multiplies two words by constants, swaps the halves of the products and
 * mixes in the key. Four scalars, not a uint4, and 64-bit products, not mul_hi: 9 times faster on PoCL. */
void philox(uint *c, uint key0, uint key1) {
  uint c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3];
  for (int round = 0; round < 10; round++) {
    ulong p = (ulong)0xD2511F53u * c0;
    ulong q = (ulong)0xCD9E8D57u * c2;
    c0 = (uint)(q >> 32) ^ c1 ^ key0;
    c1 = (uint)q;
    c2 = (uint)(p >> 32) ^ c3 ^ key1;
    c3 = (uint)p;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  c[0] = c0;
  c[1] = c1;
  c[2] = c2;
  c[3] = c3;
}

/* Block `offset + b` of the stream of `seed`. */
void stream_block(uint *words, ulong seed, ulong offset, uint b) {
  ulong counter = offset + b;
  words[0] = (uint)counter;
  words[1] = (uint)(counter >> 32);
  words[2] = 0;
  words[3] = 0;
  philox(words, (uint)seed, (uint)(seed >> 32));
}

/* The random bits of a block's number j, at the top of 64: one word for float, two for double. */
ulong number_bits(const uint *words, uint j) {
  if (sizeof(A) == 8) return (ulong)words[2 * j] << 32 | words[2 * j + 1];
  return (ulong)words[j] << 32;
}

/* out[4b .. 4b+3] = Philox(c + b, key): the words themselves. The counter has 128 bits, c0 the lowest
 * of them; b is added to the lower 64. One work-item: one block. */
__kernel void random_words(__global int *out, int n, uint c0, uint c1, uint c2, uint c3,
                           uint key0, uint key1) {
  uint b = get_global_id(0);
  ulong low = ((ulong)c1 << 32 | c0) + b;
  uint words[4] = {(uint)low, (uint)(low >> 32), c2, c3};
  philox(words, key0, key1);
  for (uint j = 0; j < 4; j++) {
    uint i = 4 * b + j;
    if (i < (uint)n) out[i] = (int)words[j];
  }
}

/* out[i] = middle + reach * c, c in [-1, 1): the top `bits` random bits as a signed number, over
 * 2^(bits - 1). T holds c exactly; so middle = reach = 1/2 gives exact multiples of 2^-bits in [0, 1),
 * and middle = 0 rounds once, alike on every device. scale = 2^(1 - bits).
 * One work-item: one block, 4 floats or 2 doubles. */
__kernel void uniform(__global T *out, int n, ulong seed, ulong offset, int bits, A scale, A middle,
                      A reach) {
  uint b = get_global_id(0), each = sizeof(A) == 8 ? 2 : 4;
  uint words[4];
  stream_block(words, seed, offset, b);
  for (uint j = 0; j < each; j++) {
    uint i = each * b + j;
    long c = (long)(number_bits(words, j) >> (64 - bits)) - (1L << (bits - 1));
    if (i < (uint)n) out[i] = middle + reach * ((A)c * scale);
  }
}

/* The z that a standard normal number stays below with probability p = x / 2^64.
 *
 * log, sqrt and cos differ between devices by several units in the last place, + and * do not. So z is
 * a polynomial from a table, c0 + c1 t + c2 t^2 ..., whose later terms are small corrections to c0.
 * Each halving of p below 1/4 is cut into 8 segments, a row of `table` each, in which t runs from -1 to
 * 1. Row 0 serves the middle, 1/4 <= p <= 1/2: there z = y (c0 + c1 t + ...) with y = 1/2 - p and
 * t = 32 y^2 - 1, which keeps its digits as z goes to 0. p > 1/2 mirrors all this.
 * kernels/random.py computes the table, segments x terms. */
A quantile(ulong x, __global const A *table, int terms) {
  int below = x >> 63 == 0;
  ulong m = below ? x : 0 - x;
  int halvings = (int)clz(m);
  int middle = halvings == 1;
  ulong inside = m << halvings << 1; /* what stands behind the leading 1 */
  int row = middle ? 0 : 1 + 8 * (halvings - 2) + (int)(inside >> 61);
  A y = (A)((1UL << 63) - m) * (A)5.421010862427522e-20; /* 2^-64 */
  A t = middle ? 32 * y * y - 1
               : (A)(long)(inside << 3 ^ 1UL << 63) * (A)1.0842021724855044e-19; /* 2^-63 */
  A z = table[row * terms + terms - 1];
  for (int k = terms - 2; k >= 0; k--) z = z * t + table[row * terms + k];
  if (middle) z *= y;
  return below ? -z : z;
}

/* out[i] = mean + std * z, z standard normal, from one uniform number each.
 * One work-item: one block, 4 floats or 2 doubles. */
__kernel void normal(__global T *out, __global const A *table, int n, int terms, ulong seed,
                     ulong offset, A mean, A std) {
  uint b = get_global_id(0), each = sizeof(A) == 8 ? 2 : 4;
  uint words[4];
  stream_block(words, seed, offset, b);
  /* The bits name a cell of p; its middle is never 0 or 1. */
  ulong half_cell = sizeof(A) == 8 ? 1 : 1UL << 31;
  for (uint j = 0; j < each; j++) {
    uint i = each * b + j;
    ulong x = number_bits(words, j) | half_cell;
    if (i < (uint)n) out[i] = mean + std * quantile(x, table, terms);
  }
}

/* out[i] = 1 where word i of the stream is below `threshold` (probability threshold / 2^32), else 0.
 * One work-item: one block, 4 elements. */
__kernel void bernoulli(__global T *out, int n, ulong seed, ulong offset, ulong threshold) {
  uint b = get_global_id(0);
  uint words[4];
  stream_block(words, seed, offset, b);
  for (uint j = 0; j < 4; j++) {
    uint i = 4 * b + j;
    if (i < (uint)n) out[i] = words[j] < threshold ? 1 : 0;
  }
}

/* out[i] = 0 where word i of the stream is below `threshold`, else scale * x[i].
 * The mask is a function of the counter: backward computes it again, and nobody keeps it.
 * One work-item: one block, 4 elements. */
__kernel void dropout(__global const T *x, __global T *out, int n, ulong seed, ulong offset,
                      ulong threshold, A scale) {
  uint b = get_global_id(0);
  uint words[4];
  stream_block(words, seed, offset, b);
  for (uint j = 0; j < 4; j++) {
    uint i = 4 * b + j;
    if (i < (uint)n) {
      A kept = x[i];
      out[i] = words[j] < threshold ? (A)0 : scale * kept;
    }
  }
}
