"""Wrong answers to lesson 07."""

from wrong_answers import Wrong, change

ATOMIC = "atomic_add_float(&x[ow + kw], col[kw * OW + ow])"
SUM = "sum(dy[n] @ col[n].T for n in range(len(dy)))"

# Every window is asked whether it has seen this pixel.
ASKED = """\
__kernel void my_col2im(
    __global const float *col, __global float *x,
    int C, int H, int W, int KH, int KW, int SH, int SW,
    int PH, int PW, int DH, int DW, int OH, int OW) {
  int i = get_global_id(0), c = get_global_id(1), n = get_global_id(2);
  if (i >= H * W) return;
  __global const float *mine = col + (n * C + c) * KH * KW * OH * OW;
  float sum = 0;
  for (int k = 0; k < KH * KW; k++)
    for (int l = 0; l < OH * OW; l++, mine++)
      if (l / OW * SH - PH + k / KW * DH == i / W && l % OW * SW - PW + k % KW * DW == i % W)
        sum += *mine;
  x[(n * C + c) * H * W + i] = sum;
}
"""
ANOTHER_WAY = {"07.5": ASKED}

WRONG = {
    "07.1": [
        Wrong("without padding", [1, 3, 9], says="without padding"),
        Wrong("all alike", [9, 9, 9], says="fewer neighbours"),
        Wrong("neighbours only", [3, 5, 8], says="the pixel itself"),
    ],
    "07.2": [
        Wrong("stride 1", [4, 9], says="with stride 1"),
        Wrong("one axis", [1, 2], says="along both axes"),
        Wrong("no overlap", [1, 1], says="neighbours share"),
    ],
    "07.3": [
        Wrong("the way forth", change("w - kw", "w + kw"), says="x[0] is"),
        Wrong("turned round", change("w - kw", "kw - w"), says="is"),
        Wrong("off by one", change("w - kw", "w - kw - 1"), says="x[0] is 0"),
        Wrong("the window's place forgotten", change("w - kw", "w"), says="x[1] is"),
        Wrong("the last window only", change("sum +=", "sum ="), says="x[1] is"),
    ],
    "07.4": [
        Wrong("left as it was", change(ATOMIC, "x[ow + kw] += col[kw * OW + ow]"), says="DATA RACE"),
        Wrong("overwritten", change(ATOMIC, "x[ow + kw] = col[kw * OW + ow]"), says="DATA RACE"),
        Wrong("the other way round", change("&x[ow + kw]", "&x[ow - kw]"), says="OUT OF BOUNDS"),
        Wrong("mirrored", change("x[ow + kw]", "x[OW - 1 - ow + kw]"), says="x[0] is"),
    ],
    "07.5": [
        Wrong("stride not asked", change("top % SH == 0 && ", ""), says="is"),
        Wrong("negative windows", change("top >= 0 && ", ""), says="is"),
        Wrong("the last window forgotten", change("oh < OH &&", "oh < OH - 1 &&"), says="is"),
        Wrong("only one image", change("(n * C * KH * KW + k)", "k"), says="x[1, "),
        Wrong("the height of a window for the channels", change("n * C * KH", "n * KH * KH"), says="with x (3, 4"),
        Wrong(
            "only right for square",
            change("int h = i / W, w = i % W", "int h = i / H, w = i % H"),
            says="OUT OF BOUNDS",
        ),
    ],
    "07.6": [
        Wrong("nothing returned", change("return ", "result = "), says="is a return missing?"),
        Wrong("the first image only", change(SUM, "dy[0] @ col[0].T"), says="element [0, 0] is"),
        Wrong("transposed", change(SUM, "sum(col[n] @ dy[n].T for n in range(len(dy)))"), says="has shape (4, 3)"),
        Wrong("not summed", change(SUM, "dy @ col.transpose(0, 2, 1)"), says="has shape (2, 3, 4)"),
        Wrong("mean", change(SUM, SUM + " / len(dy)"), says="element [0, 0] is"),
        Wrong("shapes that do not fit", change(SUM, "dy[0] @ col[0]"), says="line 2 raises ValueError"),
    ],
}
