"""Wrong answers to lesson 10."""

from wrong_answers import Wrong, change

WRONG = {
    "10.1": [
        Wrong("the first layer only", 2, says="the others double as well"),
        Wrong("added", 20, says="multiplied, not added"),
        Wrong("one layer too few", 512, says="ten layers"),
        Wrong("base and exponent exchanged", 100, says="not 10 ** 2"),
    ],
    "10.2": [
        Wrong("one step", [0, -1, -2], says="there are three"),
        Wrong("no sign", [0, 1, 8], says="the sign changes three times"),
        Wrong("the derivative without its 2", [0.125, 0, -0.125], says="the 2 comes down"),
        Wrong("converges always", [0, 0, 0], says="element 1"),
    ],
    "10.3": [
        Wrong("SGD", [-10, -0.001, 0.5], says="a step of SGD"),
        Wrong("uphill", [0.1, 0.1, -0.1], says="against the gradient"),
        Wrong("no correction", [-(0.1**0.5), -(0.1**0.5), 0.1**0.5], says="without the correction"),
        Wrong("without the rate", [-1, -1, 1], says="the learning rate"),
    ],
    "10.4": [
        Wrong("the batch's mean", [10, 10], says="takes a tenth"),
        Wrong("nothing forgotten", [1, 2], says="a tenth of the old 1"),
        Wrong("parts exchanged", [9, 9.9], says="the batch has one part"),
    ],
    "10.5": [
        Wrong("nothing returned", change("return ", "result = "), says="is a return missing?"),
        Wrong("channels only", change("np.prod(shape[1:])", "shape[1]"), says="Each output has 400 inputs"),
        Wrong("outputs for inputs", change("np.prod(shape[1:])", "shape[0]"), says="Each output has 30 inputs"),
        Wrong("no root", change("np.sqrt(2 / inputs)", "2 / inputs"), says="the standard deviation is"),
        Wrong("no ReLU thought of", change("2 / inputs", "1 / inputs"), says="the standard deviation is"),
        Wrong("not around 0", change("standard_normal", "random"), says="the mean is"),
        Wrong("always the same", change("rng.", "np.random.default_rng(0)."), says="two calls give the same"),
        Wrong("another generator", change("rng.", "np.random."), says="draw them from rng, and from nothing else"),
        Wrong("transposed", change("standard_normal(shape)", "standard_normal(shape[::-1])"), says="asked for shape"),
    ],
    "10.6": [
        Wrong("uphill", change("p[i] -=", "p[i] +="), says="p[0] is"),
        Wrong("times 0", change("first ? g[i] : momentum * m[i]", "(1 - first) * momentum * m[i]"), says="is nan"),
        Wrong("the gradient's step", change("lr * m[i]", "lr * g[i]"), says="p[0] is"),
        Wrong("the start forgotten", change("first ? g[i] : ", ""), says="at the first step: p[0] is nan"),
        Wrong("first at every step", change("first ? g[i] : momentum * m[i] + g[i]", "g[i]"), says="p[0] is"),
        Wrong("the gradient weighed, too", change("* m[i] + g[i]", "* m[i] + (1 - momentum) * g[i]"), says="p[0] is"),
    ],
    "10.7": [
        Wrong("no correction", change("mean / c1", "mean", "square / c2", "square"), says="with n = 7, t = 1: p[0] is"),
        Wrong("no root", change("sqrt(square / c2)", "square / c2"), says="with n = 7, t = 1: p[0] is"),
        Wrong("no eps", change(" + eps", ""), says="all gradients 0: p[0] is nan"),
        Wrong("eps under the root", change("/ c2) + eps)", "/ c2 + eps))"), says="tiny gradients"),
        Wrong("no guard", change("if (i < n)", ""), says="OUT OF BOUNDS"),
        Wrong("not remembered", change("    v[i] = square;\n", ""), says="v[0] is"),
        Wrong("corrected in memory", change("m[i] = mean;", "m[i] = mean / c1;"), says="m[0] is"),
        Wrong("g not squared", change("g[i] * g[i]", "g[i]"), says="is"),
    ],
    "10.8": [
        Wrong("nothing returned", change("return p -", "p = p -"), says="is a return missing?"),
        Wrong("left as it was", change("(1 - 0.9**self.t)", "1", "(1 - 0.999**self.t)", "1"), says="3.1623 lr, where"),
        Wrong("uphill", change("return p -", "return p +"), says="step 1 moves a parameter by +1.0000 lr"),
        Wrong("only the first mean", change("(1 - 0.999**self.t)", "1"), says="step 1 moves"),
        Wrong("corrected in memory", change("m = self.m /", "m = self.m = self.m /"), says="step 2 moves"),
        Wrong("only right at the first step", change("**self.t", "**1"), says="step 2 moves"),
        Wrong("the sign only", change("m / (np.sqrt(v) + 1e-8)", "np.sign(g)"), says="should be -0.999999"),
        Wrong("not counted", change("self.t += 1", "self.t = 1"), says="step 2 moves"),
    ],
}  # fmt: skip
