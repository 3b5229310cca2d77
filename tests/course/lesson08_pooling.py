"""Wrong answers to lesson 08."""

from wrong_answers import Wrong, change

FULL = change("(min(top + K, H) - top) * (min(left + K, W) - left)", "K * K")
LAST = change("!(a <= best)", "!(a < best)")
UNWRITTEN = change("gx[at] = at == winner ? value : 0", "if (at == winner) gx[at] = value")
AGAIN = change("? value :", "? g[k] :", "at == winner", "at == indices[k]")

WRONG = {
    "08.1": [
        Wrong("stride 1", [6, 6, 4], says="side by side"),
        Wrong("ceil_mode forgotten", [3, 3, 4], says="rounds up"),
        Wrong("padding forgotten", [3, 4, 3], says="both sides"),
    ],
    "08.2": [
        Wrong("within the window", [[1, 0], [0, 1]], says="through the whole image"),
        Wrong("the last of equals", [[4, 7], [13, 14]], says="the first wins"),
        Wrong("the numbers", [[5, 0], [7, -1]], says="where they are"),
        Wrong("transposed", [[1, 8], [2, 11]], says="element 0, 1"),
    ],
    "08.3": [
        Wrong("not added up", [0, 1, 0, 0, 1], says="add up"),
        Wrong("as an average", [1, 2, 3, 2, 1], says="only winners"),
        Wrong("times the value", [0, 18, 0, 0, 4], says="whatever its value"),
    ],
    "08.4": [
        Wrong("always all of them", FULL, says="out[0, 3] is"),
        Wrong("only right for square", change("min(left + K, W) - left", "min(left + K, H) - left"), says="is"),
        Wrong("off by one", change("(min(top + K, H) - top)", "(min(top + K, H) - top - 1)"), says="out[0, 0] is"),
        Wrong("constant", change("(min(top + K, H) - top) * (min(left + K, W) - left)", "1"), says="out[0, 0] is"),
    ],
    "08.5": [
        Wrong("still from 0", change("-INFINITY", "0"), says="out[0, 0] is 0"),
        Wrong("NaN is lost", change("best == best && !(a <= best)", "a > best"), says="should be nan"),
        Wrong("NaN is let out again", change("best == best && ", ""), says="should be nan"),
        Wrong("fmax", change("best == best && !(a <= best)", "fmax(a, best) != best"), says="should be nan"),
    ],
    "08.6": [
        Wrong("the last of equals", LAST, says="indices["),
        Wrong("padding counts as 0", change("at = -1", "at = 0", "-INFINITY", "0"), says="out["),
        Wrong("dilation forgotten", change("kw * DW", "kw"), says="is"),
        Wrong("only the first plane", change("(plane * H + h)", "h"), says="[1, "),
        Wrong("-infinity never wins", change("at < 0 || ", ""), says="indices["),
        Wrong("the right edge not seen", change(" && w < W", ""), says="with 3 planes of 9 x 7"),
        Wrong("off by one at the right edge", change("w < W", "w <= W"), says="with 3 planes of 9 x 7"),
        Wrong("an index where only padding is", change("indices[k] = at", "indices[k] = max(at, 0)"), says="be -1"),
    ],
    "08.7": [
        Wrong("the others are not written", UNWRITTEN, says="NEVER WRITTEN"),
        Wrong("all of them get it", change("at == winner ? value : 0", "value"), says="should be 0"),
        Wrong("as an average", change("at == winner ? value : 0", "value / 4"), says="gx[0, 0] is"),
        Wrong("read again and again", AGAIN, says="for 6 windows: use variables"),
        Wrong("only right for one row", change("k / OW * 2 + kh", "kh"), says="gx"),
    ],
}  # fmt: skip
