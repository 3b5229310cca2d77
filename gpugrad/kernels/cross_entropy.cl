/* Cross-entropy of scores x with class numbers t, log-softmax included:
 *
 *     loss = - sum over c of q[c] * log_softmax(x)[c]
 *     q[c] = (1 - smoothing) * weight[t] * (c == t) + smoothing / C * weight[c]
 *
 * for every position; x is (N, C, inner), target (N, inner), L is the type of its numbers. A weight
 * is 1 where `weighted` is 0. Positions with t = ignore count nothing, and so do numbers that are
 * no class; those set the fault flag besides (see guards.py).
 */

/* Sums over the classes go in parts of PART, and then the parts are added: no number goes through a
 * long row of roundings. */
#define PART 256

/* The class at a position, or -1 for none. */
inline int class_at(__global const L *target, int position, int C, int ignore,
                    __global int *fault, int code) {
  int t = target[position];
  if (t == ignore)
    return -1;
  if (t >= 0 && t < C)
    return t;
  if (atomic_cmpxchg(&fault[0], 0, code) == 0) {
    fault[1] = t;
    fault[2] = position;
  }
  return -1;
}

/* One work-item makes one position: its loss, in terms[0, k], and where `means` is set the weight
 * that it counts with in a mean, in terms[1, k]. For the gradient it leaves the maximum of its scores
 * and the logarithm of the sum of exp(x - maximum) in logs, and the sum of q in mass. */
__kernel void cross_entropy(
    __global const T *x, __global const L *target, __global const T *weight, int weighted,
    __global A *terms, __global A *logs, __global A *mass, __global int *fault, int code,
    int C, int inner, int ignore, A smoothing, int means, int positions) {
  int k = get_global_id(0);
  if (k < positions) {
    int start = k / inner * C * inner + k % inner;
    int t = class_at(target, k, C, ignore, fault, code);
    A m = -INFINITY, s = 0;
    for (int c = 0; c < C; c++) {
      A a = x[start + c * inner];
      m = a > m ? a : m;
    }
    for (int c = 0; c < C;) {
      A part = 0;
      for (int end = c + min(PART, C - c); c < end; c++)
        part += exp((A)x[start + c * inner] - m);
      s += part;
    }

    /* m - x first: those two are of a size, log(s) is small. */
    A loss = 0, w = 0, q = 0, log_s = log(s);
    if (t >= 0) {
      w = weighted ? (A)weight[t] : (A)1;
      q = (1 - smoothing) * w;
      loss = q * ((m - (A)x[start + t * inner]) + log_s);
      if (smoothing != 0)
        for (int c = 0; c < C;) {
          A mass_part = 0, loss_part = 0;
          for (int end = c + min(PART, C - c); c < end; c++) {
            A share = smoothing / C * (weighted ? (A)weight[c] : (A)1);
            mass_part += share;
            loss_part += share * ((m - (A)x[start + c * inner]) + log_s);
          }
          q += mass_part;
          loss += loss_part;
        }
    }
    terms[k] = loss;
    if (means)
      terms[positions + k] = w;
    logs[k] = m;
    logs[positions + k] = log_s;
    mass[k] = q;
  }
}

/* Of the sums of losses and weights: the mean, and what each loss counts in it. One work-item. */
__kernel void cross_entropy_mean(__global const A *totals, __global T *mean, __global A *share) {
  mean[0] = totals[0] / totals[1];
  share[0] = 1 / totals[1];
}

/* The gradient: gx[c] = g * share * (softmax(x)[c] * sum of q - q[c]). One work-item makes one
 * element. g is one number, or one for each position (`each`); share is read where `means` is set. */
__kernel void cross_entropy_backward(
    __global const T *g, __global const T *x, __global const L *target,
    __global const T *weight, int weighted, __global const A *logs, __global const A *mass,
    __global const A *share, __global T *gx,
    int C, int inner, int ignore, A smoothing, int each, int means, int positions, int total) {
  int k = get_global_id(0);
  if (k < total) {
    int i = k % inner, c = k / inner % C, position = k / inner / C * inner + i;
    int t = target[position];
    A a = 0;
    if (t != ignore && t >= 0 && t < C) {
      A p = exp(((A)x[k] - logs[position]) - logs[positions + position]);
      A q = smoothing / C * (weighted ? (A)weight[c] : (A)1);
      if (c == t)
        q += (1 - smoothing) * (weighted ? (A)weight[t] : (A)1);
      a = (p * mass[position] - q) * (A)g[each ? position : 0];
      if (means)
        a *= share[0];
    }
    gx[k] = a;
  }
}

/* What nll_loss needs of class numbers: the class or -1 for none, and its weight or 0. One work-item
 * makes one position. */
__kernel void class_weights(
    __global const L *target, __global const T *weight, int weighted,
    __global int *classes, __global T *weights, __global int *fault, int code,
    int C, int ignore, int positions) {
  int k = get_global_id(0);
  if (k < positions) {
    int t = class_at(target, k, C, ignore, fault, code);
    A w = 0;
    if (t >= 0)
      w = weighted ? (A)weight[t] : (A)1;
    classes[k] = t;
    weights[k] = w;
  }
}
