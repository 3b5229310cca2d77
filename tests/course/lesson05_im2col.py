"""Wrong answers to lesson 05."""

from wrong_answers import Wrong, change

CLAMPED = change("inside ? x[h * W + w] : 0", "x[clamp(h, 0, H - 1) * W + clamp(w, 0, W - 1)]")
EXCHANGED = change("kh = k / KW % KH, kw = k % KW", "kh = k % KH, kw = k / KH % KW")

# Below zero and beyond the edge are one question, as an unsigned number below zero is large.
UNSIGNED = change(
    "int h = oh", "uint h = oh", "int w = ow", "uint w = ow", "h >= 0 && h < H && w >= 0 && w < W", "h < H && w < W"
)
ANOTHER_WAY = {"05.6": UNSIGNED}

WRONG = {
    "05.1": [
        Wrong("dilation forgotten", [28, 12, 26], says="reaches over 5 pixels"),
        Wrong("padding forgotten", [24, 12, 24], says="32 in all"),
        Wrong("off by one", [28, 11, 24], says="11 and a half"),
        Wrong("squared", [784, 144, 576], says="one axis"),
        Wrong("padding on one side", [26, 12, 24], says="on either side, not one"),
        Wrong("the padded image", [32, 14, 26], says="32 is the padded image"),
        Wrong("half", [28, 14, 24], says="halve what it leaves, 23"),
        Wrong("padding and dilation forgotten", [24, 12, 26], says="32 in all"),
        Wrong("stride forgotten", [28, 24, 24], says="every second position only"),
        Wrong("rounded and dilation forgotten", [28, 11, 26], says="up to 22"),
        Wrong("reaches over 6", [28, 12, 23], says="not 6"),
        Wrong("dilation as stride", [28, 12, 12], says="still moves by 1"),
    ],
    "05.2": [
        Wrong("transposed", [2, 3], says="Exchanged"),
        Wrong("within the window", [2, 1], says="the window itself has moved"),
        Wrong("of the window", [1, 1], says="add the place within the window"),
        Wrong("pixel 7", [1, 3], says="Row 7 is not pixel 7"),
        Wrong("of col", [7, 3], says="the element of col"),
        Wrong("three positions in a row", [3, 1], says="2 x 2 positions"),
        Wrong("the column as it is", [3, 3], says="The row is right"),
        Wrong("the row as it is", [2, 2], says="The column is right"),
    ],
    "05.3": [
        Wrong("with channels", 144, says="16 channels, too"),
        Wrong("nothing", 1, says="overlap"),
        Wrong("one axis", 3, says="3 high and 3 wide"),
    ],
    "05.4": [
        Wrong("transposed", change("(oh + kh) * W + ow + kw", "(ow + kw) * W + oh + kh"), says="OUT OF BOUNDS"),
        Wrong("only right for square", change("(oh + kh) * W", "(oh + kh) * H"), says="col[0, 4] is"),
        Wrong("window forgotten", change("(oh + kh) * W + ow + kw", "oh * W + ow"), says="col[1, 0] is"),
        Wrong("constant", change("= x[(oh + kh) * W + ow + kw]", "= 0"), says="col[0, 0] is 0"),
        Wrong(
            "windows side by side", change("oh + kh", "oh * KH + kh", "W + ow + kw", "W + ow * KW + kw"),
            says="OUT OF BOUNDS",
        ),
    ],
    "05.5": [
        Wrong("left as it was", change(" && w < W", ""), says="reads x[15], but x has 15 elements"),
        Wrong("the lower edge forgotten", change("h < H && ", ""), says="OUT OF BOUNDS"),
        Wrong("clamped to the edge", CLAMPED, says="col[0, 0] is"),
        Wrong("only right for square", change("w < W", "w < H"), says="is 0, and should be"),
    ],
    "05.6": [
        Wrong("stride forgotten", change("oh * SH", "oh"), says="is"),
        Wrong("kh and kw exchanged", EXCHANGED, says="is"),
        Wrong("dilation forgotten", change("kw * DW", "kw"), says="is"),
        Wrong("only the first image", change("(n * C + c)", "c"), says="col[1, "),
        Wrong("no guard", change("l < OH * OW", "1"), says="OUT OF BOUNDS"),
        Wrong("the height of a window for the channels", change("n * C * KH", "n * KH * KH"), says="with x (3, 4"),
    ],
}  # fmt: skip
