/* Padding with a constant: out[n, oh, ow] = x[n, oh - top, ow - left] where that lies inside x,
 * and value elsewhere. x is N x H x W, out is N x OH x OW. Negative top or left cut x off.
 *
 * One work-item writes RUN neighbours along a row of out (see strided.cl).
 */
#ifndef RUN
#define RUN 1
#endif

__kernel void pad(__global const T *x, __global T *out, A value, int H, int W, int OH, int OW,
                  int top, int left) {
  int first = (int)get_global_id(0) * RUN, oh = get_global_id(1), n = get_global_id(2);
  if (oh < OH) {
    int count = min(RUN, OW - first), h = oh - top;
    for (int ow = first; ow < first + count; ow++) {
      int w = ow - left;
      bool inside = h >= 0 && h < H && w >= 0 && w < W;
      out[(n * OH + oh) * OW + ow] = inside ? x[(n * H + h) * W + w] : (T)value;
    }
  }
}
