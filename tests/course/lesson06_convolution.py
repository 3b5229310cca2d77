"""Wrong answers to lesson 06."""

from wrong_answers import Wrong, change

PIXEL = "x[(c * H + oh + kh) * W + ow + kw]"

WRONG = {
    "06.1": [
        Wrong("input channels forgotten", 32 * 14 * 14 * 25, says="all 16 channels"),
        Wrong("output channels forgotten", 14 * 14 * 16 * 25, says="there are 32"),
        Wrong("results only", 32 * 14 * 14, says="each is a sum"),
        Wrong("one pixel", 32 * 16 * 25, says="one pixel of the result"),
    ],
    "06.2": [
        Wrong("without groups", [64, 32, 3, 3], says="without groups"),
        Wrong("one for each group", [32, 1, 3, 3], says="two for each group"),
        Wrong("groups first", [32, 2, 3, 3], says="counts output channels"),
    ],
    "06.3": [
        Wrong("transposed", change("oh + kh) * W + ow + kw", "ow + kw) * W + oh + kh"), says="OUT OF BOUNDS"),
        Wrong("only right for square windows", change("* KH + kh) * KW", "* KW + kh) * KH"), says="is"),
        Wrong("the first channel only", change("(c * H +", "("), says="y[0, 0, 0] is"),
        Wrong("constant", change("= sum", "= 0"), says="y[0, 0, 0] is 0"),
    ],
    "06.4": [
        Wrong("weights transposed", change("weight[co * C + c]", "weight[c * C + co]"), says="is"),
        Wrong("pixels first", change("x[c * L + l]", "x[l * C + c]"), says="is"),
        Wrong("off by one", change("c < C", "c < C - 1"), says="is"),
        Wrong("no guard", change("l < L", "1"), says="OUT OF BOUNDS"),
        Wrong("the result transposed", change("y[co * L + l]", "y[l * get_global_size(1) + co]"), says="y[0, 1] is"),
    ],
    "06.5": [
        Wrong("left as it was", change("kh * K + kw]", "(K - 1 - kh) * K + K - 1 - kw]"), says="y[0, 0] is"),
        Wrong("half mended", change("weight[kh * K + kw]", "weight[kh * K + K - 1 - kw]"), says="y[0, 0] is"),
        Wrong("transposed", change("weight[kh * K + kw]", "weight[kw * K + kh]"), says="y[0, 0] is"),
        Wrong("off by one", change("kh < K;", "kh < K - 1;"), says="y[0, 0] is"),
    ],
    "06.6": [
        Wrong("read four times", change("* pixel", f"* {PIXEL}"), says="right, but it reads x"),
        Wrong("one channel for all", change("weight[((co * C", "weight[((0 * C"), says="y[1, 0, 0] is"),
        Wrong("three channels", change("co < 4; co++)\n      y", "co < 3; co++)\n      y"), says="NEVER WRITTEN"),
        Wrong("all in one sum", change("sum[co] +=", "sum[0] +="), says="y[0, 0, 0] is"),
    ],
}
