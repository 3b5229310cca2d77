"""Wrong answers to lesson 09."""

from wrong_answers import Wrong, change

WRONG = {
    "09.1": [
        Wrong("the sum forgotten", [5, 2], says="comes on top"),
        Wrong("the product forgotten", [2, 2], says="comes on top"),
        Wrong("exchanged", [2, 7], says="element 0"),
    ],
    "09.2": [
        Wrong("exchanged", [3, 4], says="Exchanged"),
        Wrong("not added up", [1, 1], says="adds up"),
        Wrong("everything", [12, 12], says="not used in all"),
    ],
    "09.3": [
        Wrong("the value", [16, 32], says="y itself"),
        Wrong("the first one twice", [32, 32], says="derivative of 4 * x ** 3"),
        Wrong("a factor lost", [32, 16], says="4 * 3"),
    ],
    "09.4": [
        Wrong("the second term forgotten", change("s + x * s * (1 - s)", "s"), says="the gradient is not right"),
        Wrong("g forgotten", change("g * (s + x * s * (1 - s))", "s + x * s * (1 - s)"), says="is not right"),
        Wrong("sign", change("(1 - s)", "(1 + s)"), says="the gradient is not right"),
        Wrong("not recorded", change("g * (s", "g * (s.detach()"), says="the second derivative is not right"),
        Wrong("NumPy", change("(x,) = ctx.saved_tensors", "x = ctx.saved_tensors[0].numpy()"), says="through NumPy"),
    ],
    "09.5": [
        Wrong("left as it was", change("(g * x).sum(dim=0)", "g * x"), says="with x of shape (3, 2)"),
        Wrong("the wrong axis", change("sum(dim=0)", "sum(dim=1)"), says="with x of shape (3, 2)"),
        Wrong("NumPy's word", change("sum(dim=0)", "sum(axis=0)"), says="say dim where NumPy says axis"),
        Wrong("a mean", change("sum(dim=0)", "mean(dim=0)"), says="the gradient is not right"),
        Wrong("only the first row", change("(g * x).sum(dim=0)", "(g * x)[0]"), says="the gradient is not right"),
    ],
    "09.6": [
        Wrong("no guard", change("if (c < C)", ""), says="OUT OF BOUNDS"),
        Wrong("the first image only", change("(n * C + c)", "c"), says="out[0] is"),
        Wrong("only right for square", change("(n * C + c) * L + l", "(n * C + c) * C + l"), says="is"),
        Wrong("a mean", change("= sum;", "= sum / (N * L);"), says="out[0] is"),
        Wrong("channels and pixels exchanged", change("(n * C + c) * L + l", "(n * L + l) * C + c"), says="out[0] is"),
    ],
    "09.7": [
        Wrong("as it was", change("= out[i]", "= tanh(x[i])"), says="it reads x"),
        Wrong("read twice", change("y * y", "out[i] * out[i]"), says="reads out 21 times"),
        Wrong("the square forgotten", change("y * y", "y"), says="gx[0] is"),
        Wrong("g forgotten", change("g[i] * ", ""), says="gx[0] is"),
    ],
}  # fmt: skip
