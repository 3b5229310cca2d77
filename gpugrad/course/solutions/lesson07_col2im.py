"""Answers to lesson 07."""

SOLUTIONS = {
    "07.1": [4, 6, 9],
    "07.2": [1, 4],
    "07.3": """\
__kernel void gather(__global const float *col, __global float *x,
                     int W, int K, int OW) {
  int w = get_global_id(0);
  if (w < W) {
    float sum = 0;
    for (int kw = 0; kw < K; kw++) {
      int ow = w - kw;
      if (ow >= 0 && ow < OW)
        sum += col[kw * OW + ow];
    }
    x[w] = sum;
  }
}
""",
    "07.4": """\
void atomic_add_float(volatile __global float *p, float v) {
  uint guess, seen = 0;
  do {
    guess = seen;
    float sum = as_float(guess) + v;
    seen = atomic_cmpxchg((volatile __global uint *)p, guess, as_uint(sum));
  } while (seen != guess);
}

__kernel void scatter(__global const float *col, __global float *x, int OW) {
  int ow = get_global_id(0), kw = get_global_id(1);
  if (ow < OW)
    atomic_add_float(&x[ow + kw], col[kw * OW + ow]);
}
""",
    "07.5": """\
__kernel void my_col2im(
    __global const float *col, __global float *x,
    int C, int H, int W, int KH, int KW, int SH, int SW,
    int PH, int PW, int DH, int DW, int OH, int OW) {
  int i = get_global_id(0);
  int c = get_global_id(1);
  int n = get_global_id(2);
  if (i < H * W) {
    int h = i / W, w = i % W;
    float sum = 0;
    for (int kh = 0; kh < KH; kh++)
      for (int kw = 0; kw < KW; kw++) {
        int top = h + PH - kh * DH, left = w + PW - kw * DW;
        int oh = top / SH, ow = left / SW;
        int k = (c * KH + kh) * KW + kw;
        if (top >= 0 && top % SH == 0 && oh < OH && left >= 0 && left % SW == 0 && ow < OW)
          sum += col[((n * C * KH * KW + k) * OH + oh) * OW + ow];
      }
    x[((n * C + c) * H + h) * W + w] = sum;
  }
}
""",
    "07.6": """\
def weight_gradient(dy, col):
    return sum(dy[n] @ col[n].T for n in range(len(dy)))
""",
}
