"""Answers to lesson 10."""

SOLUTIONS = {
    "10.1": 1024,
    "10.2": [0, -1, -8],
    "10.3": [-0.1, -0.1, 0.1],
    "10.4": [1, 1.9],
    "10.5": """\
def kaiming(shape, rng):
    inputs = np.prod(shape[1:])
    return rng.standard_normal(shape) * np.sqrt(2 / inputs)
""",
    "10.6": """\
__kernel void momentum_step(__global float *p, __global const float *g,
                            __global float *m, int n,
                            float lr, float momentum, int first) {
  int i = get_global_id(0);
  if (i < n) {
    m[i] = first ? g[i] : momentum * m[i] + g[i];
    p[i] -= lr * m[i];
  }
}
""",
    "10.7": """\
__kernel void adam_step(__global float *p, __global const float *g,
                        __global float *m, __global float *v, int n,
                        float lr, float beta1, float beta2,
                        float c1, float c2, float eps) {
  int i = get_global_id(0);
  if (i < n) {
    float mean = beta1 * m[i] + (1 - beta1) * g[i];
    float square = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
    m[i] = mean;
    v[i] = square;
    p[i] -= lr * (mean / c1) / (sqrt(square / c2) + eps);
  }
}
""",
    "10.8": """\
class Adam:
    def __init__(self, lr):
        self.lr, self.t, self.m, self.v = lr, 0, 0.0, 0.0

    def step(self, p, g):
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * g
        self.v = 0.999 * self.v + 0.001 * g * g
        m = self.m / (1 - 0.9**self.t)
        v = self.v / (1 - 0.999**self.t)
        return p - self.lr * m / (np.sqrt(v) + 1e-8)
""",
}
