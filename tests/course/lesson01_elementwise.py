"""Wrong answers to lesson 01."""

from wrong_answers import Wrong, change

WRONG = {
    "01.1": [
        Wrong("the last axis does not stretch", [4, 5, 1], says="In the last column"),
        Wrong("aligned at the left", [5, 1, 3], says="aligned at the right"),
        Wrong("one operand's", [4, 1, 3], says="stretches"),
        Wrong("too few axes", [5, 3], says="a list of 3 numbers"),
    ],
    "01.2": [
        Wrong("the result's", [15, 3, 1], says="strides of the result"),
        Wrong("the last axis moves", [0, 1, 1], says="Along the last axis b has one element"),
        Wrong("the result's for the middle", [0, 3, 0], says="3 steps lead to the next row of the result"),
        Wrong("the size for the stride", [0, 5, 0], says="5 is how many elements b has there"),
        Wrong("nothing moves", [0, 0, 0], says="five elements of its own"),
        Wrong("only the last axis moves", [0, 0, 1], says="five elements of its own"),
        Wrong("the first axis moves", [1, 1, 0], says="Along the first axis"),
        Wrong("aligned at the left", [1, 0, 0], says="middle axis"),
    ],
    "01.3": [
        Wrong("the column, not the row", change("i / columns", "i % columns"), says="reads b[3], but b has 3 elements"),
        Wrong("only right for square", change("i / columns", "i / rows"), says="reads b[3], but b has 3 elements"),
        Wrong("constant", change("x[i] + b[i / columns]", "0"), says="out[0, 0] is 0, and should be"),
        Wrong("always the first", change("b[i / columns]", "b[0]"), says="out[1, 0] is"),
        Wrong("only right for powers of two", change("i / columns", "i >> (31 - clz(columns))"), says="OUT OF BOUNDS"),
    ],
    "01.4": [
        Wrong("NaN lost in a comparison", change("< 0 ? 0 : x[i]", "> 0 ? x[i] : 0"), says="is 0, and should be nan"),
        Wrong("NaN lost in fmax", change("x[i] < 0 ? 0 : x[i]", "fmax(x[i], 0.0f)"), says="is 0, and should be nan"),
        Wrong("the sign turned", change("x[i] < 0 ? 0 : x[i]", "fabs(x[i])"), says="and should be 0"),
        Wrong("off by one", change("i < n", "i < n - 1"), says="NEVER WRITTEN"),
    ],
    "01.5": [
        Wrong("transposed", change("r * columns + c", "c * rows + r"), says="out[0, 1] is"),
        Wrong("only right for square", change("r * columns + c", "r * rows + c"), says="DATA RACE"),
        Wrong("rows not guarded", change("r < rows && ", ""), says="OUT OF BOUNDS"),
        Wrong("the operands' indices exchanged", change("a[r] * b[c]", "a[c] * b[r]"), says="OUT OF BOUNDS"),
    ],
    "01.6": [
        Wrong("left as it was", change(" % C", ""), says="reads bias[3], but bias has 3 elements"),
        Wrong("the position, not the channel", change("i / L % C", "i % C"), says="out[0, 0, 1] is"),
        Wrong("only right for one image", change("i / L % C", "min(i / L, C - 1)"), says="out[1, 0, 0] is"),
        Wrong("only right where C is L", change("i / L % C", "i / C % C"), says="out[0, 0, 3] is"),
    ],
    "01.7": [
        Wrong(
            "through memory",
            change("float v = a", "out[i] = a", "v < 0 ? 0 : v", "out[i] < 0 ? 0 : out[i]"),
            says="right, but it reads out",
        ),
        Wrong("in two stores", change("float v =", "float v = out[i] ="), says="right, but it writes out 10 times"),
        Wrong("read twice", change("v < 0 ? 0 : v", "v < 0 ? 0 : a * x[i] + y[i]"), says="reads an input"),
        Wrong("ReLU before the sum", change("v < 0 ? 0 : v", "fmax(a * x[i], 0.0f) + y[i]"), says="is"),
        Wrong("no ReLU", change("v < 0 ? 0 : v", "v"), says="and should be 0"),
    ],
}  # fmt: skip
