/* Optimiser updates: p is a parameter, g its gradient, m and v what the optimiser
 * remembers of it, all n elements.
 *
 * Each rule is a function of one element and stands in two kernels. The first updates
 * one parameter, one work-item an element. The second updates up to eight in one launch:
 * a small network spends more time on launching than on arithmetic. There m and v hold
 * all parameters one behind another, parameter j at first_j, a multiple of SPAN. A
 * work-group takes SPAN elements, which therefore belong to one parameter, and its
 * work-items take turns in them. An unused place has n 0 and a first that no group
 * comes to.
 */

/* p -= lr (g + weight_decay p) */
void sgd_element(__global T *p, __global const T *g, int i, A lr, A weight_decay) {
  A value = p[i], grad = g[i];
  if (weight_decay != 0) grad += weight_decay * value;
  p[i] = value - lr * grad;
}

__kernel void sgd(__global T *p, __global const T *g, int n, A lr, A weight_decay) {
  int i = get_global_id(0);
  if (i < n) sgd_element(p, g, i, lr, weight_decay);
}

/* Elements begin to begin + SPAN - 1, as far as there are n. */
void sgd_span(__global T *p, __global const T *g, int begin, int n, A lr, A weight_decay) {
  int end = min(n, begin + SPAN);
  for (int i = begin + get_local_id(0); i < end; i += get_local_size(0))
    sgd_element(p, g, i, lr, weight_decay);
}

__kernel void sgd_eight(
    __global T *p0, __global const T *g0, int first0, int n0,
    __global T *p1, __global const T *g1, int first1, int n1,
    __global T *p2, __global const T *g2, int first2, int n2,
    __global T *p3, __global const T *g3, int first3, int n3,
    __global T *p4, __global const T *g4, int first4, int n4,
    __global T *p5, __global const T *g5, int first5, int n5,
    __global T *p6, __global const T *g6, int first6, int n6,
    __global T *p7, __global const T *g7, int first7, int n7,
    A lr, A weight_decay) {
  int begin = SPAN * get_group_id(0);
  if (begin < first1)
    sgd_span(p0, g0, begin - first0, n0, lr, weight_decay);
  else if (begin < first2)
    sgd_span(p1, g1, begin - first1, n1, lr, weight_decay);
  else if (begin < first3)
    sgd_span(p2, g2, begin - first2, n2, lr, weight_decay);
  else if (begin < first4)
    sgd_span(p3, g3, begin - first3, n3, lr, weight_decay);
  else if (begin < first5)
    sgd_span(p4, g4, begin - first4, n4, lr, weight_decay);
  else if (begin < first6)
    sgd_span(p5, g5, begin - first5, n5, lr, weight_decay);
  else if (begin < first7)
    sgd_span(p6, g6, begin - first6, n6, lr, weight_decay);
  else
    sgd_span(p7, g7, begin - first7, n7, lr, weight_decay);
}

/* Momentum: m = momentum m + (1 - dampening) g, at the first step m = g; then p -= lr m,
 * or with Nesterov's momentum p -= lr (g + momentum m). i counts in p and g, k in m. */
void momentum_element(__global T *p, __global const T *g, __global T *m, int i, int k,
                      A lr, A weight_decay, A momentum, A dampening, int nesterov,
                      int first_step) {
  A value = p[i], grad = g[i], before = m[k];
  if (weight_decay != 0) grad += weight_decay * value;
  A velocity = first_step ? grad : momentum * before + (1 - dampening) * grad;
  m[k] = velocity;
  p[i] = value - lr * (nesterov ? grad + momentum * velocity : velocity);
}

__kernel void sgd_momentum(__global T *p, __global const T *g, __global T *m, int n, A lr,
                           A weight_decay, A momentum, A dampening, int nesterov, int first_step) {
  int i = get_global_id(0);
  if (i < n)
    momentum_element(p, g, m, i, i, lr, weight_decay, momentum, dampening, nesterov, first_step);
}

void momentum_span(__global T *p, __global const T *g, __global T *m, int begin, int first, int n,
                   A lr, A weight_decay, A momentum, A dampening, int nesterov, int first_step) {
  int end = min(n, begin - first + SPAN);
  for (int i = begin - first + get_local_id(0); i < end; i += get_local_size(0))
    momentum_element(p, g, m, i, first + i, lr, weight_decay, momentum, dampening, nesterov,
                     first_step);
}

__kernel void sgd_momentum_eight(
    __global T *p0, __global const T *g0, int first0, int n0,
    __global T *p1, __global const T *g1, int first1, int n1,
    __global T *p2, __global const T *g2, int first2, int n2,
    __global T *p3, __global const T *g3, int first3, int n3,
    __global T *p4, __global const T *g4, int first4, int n4,
    __global T *p5, __global const T *g5, int first5, int n5,
    __global T *p6, __global const T *g6, int first6, int n6,
    __global T *p7, __global const T *g7, int first7, int n7,
    __global T *m, int start, A lr, A weight_decay, A momentum, A dampening, int nesterov,
    int first_step) {
  int begin = start + SPAN * get_group_id(0);
  if (begin < first1)
    momentum_span(p0, g0, m, begin, first0, n0, lr, weight_decay, momentum, dampening, nesterov,
                  first_step);
  else if (begin < first2)
    momentum_span(p1, g1, m, begin, first1, n1, lr, weight_decay, momentum, dampening, nesterov,
                  first_step);
  else if (begin < first3)
    momentum_span(p2, g2, m, begin, first2, n2, lr, weight_decay, momentum, dampening, nesterov,
                  first_step);
  else if (begin < first4)
    momentum_span(p3, g3, m, begin, first3, n3, lr, weight_decay, momentum, dampening, nesterov,
                  first_step);
  else if (begin < first5)
    momentum_span(p4, g4, m, begin, first4, n4, lr, weight_decay, momentum, dampening, nesterov,
                  first_step);
  else if (begin < first6)
    momentum_span(p5, g5, m, begin, first5, n5, lr, weight_decay, momentum, dampening, nesterov,
                  first_step);
  else if (begin < first7)
    momentum_span(p6, g6, m, begin, first6, n6, lr, weight_decay, momentum, dampening, nesterov,
                  first_step);
  else
    momentum_span(p7, g7, m, begin, first7, n7, lr, weight_decay, momentum, dampening, nesterov,
                  first_step);
}

/* Adam (Kingma and Ba, 2015): m and v are running means of g and g^2, and
 *     p = shrink p - step_size m / (sqrt(v) / root + eps)
 * with step_size = lr / (1 - beta1^t) and root = sqrt(1 - beta2^t) at step t, which make
 * up for m and v having started from 0. share1 and share2 are 1 - beta1 and 1 - beta2,
 * which would lose digits here. Weight decay adds weight_decay p to g; decoupled from it
 * (AdamW, Loshchilov and Hutter, 2019) it makes shrink = 1 - lr weight_decay, not 1. */
void adam_element(__global T *p, __global const T *g, __global T *m, __global T *v, int i,
                  int k, A step_size, A share1, A beta2, A share2, A eps, A weight_decay,
                  A shrink, A root) {
  A value = p[i], grad = g[i], mean = m[k], square = v[k];
  if (weight_decay != 0) grad += weight_decay * value;
  mean += share1 * (grad - mean);
  square = beta2 * square + share2 * grad * grad;
  m[k] = mean;
  v[k] = square;
  p[i] = shrink * value - step_size * mean / (sqrt(square) / root + eps);
}

__kernel void adam(__global T *p, __global const T *g, __global T *m, __global T *v, int n,
                   A step_size, A share1, A beta2, A share2, A eps, A weight_decay, A shrink,
                   A root) {
  int i = get_global_id(0);
  if (i < n)
    adam_element(p, g, m, v, i, i, step_size, share1, beta2, share2, eps, weight_decay, shrink,
                 root);
}

void adam_span(__global T *p, __global const T *g, __global T *m, __global T *v, int begin, int first,
               int n, A step_size, A share1, A beta2, A share2, A eps, A weight_decay, A shrink, A root) {
  int end = min(n, begin - first + SPAN);
  for (int i = begin - first + get_local_id(0); i < end; i += get_local_size(0))
    adam_element(p, g, m, v, i, first + i, step_size, share1, beta2, share2, eps, weight_decay,
                 shrink, root);
}

__kernel void adam_eight(
    __global T *p0, __global const T *g0, int first0, int n0,
    __global T *p1, __global const T *g1, int first1, int n1,
    __global T *p2, __global const T *g2, int first2, int n2,
    __global T *p3, __global const T *g3, int first3, int n3,
    __global T *p4, __global const T *g4, int first4, int n4,
    __global T *p5, __global const T *g5, int first5, int n5,
    __global T *p6, __global const T *g6, int first6, int n6,
    __global T *p7, __global const T *g7, int first7, int n7,
    __global T *m, __global T *v, int start, A step_size, A share1, A beta2, A share2, A eps,
    A weight_decay, A shrink, A root) {
  int begin = start + SPAN * get_group_id(0);
  if (begin < first1)
    adam_span(p0, g0, m, v, begin, first0, n0, step_size, share1, beta2, share2, eps,
              weight_decay, shrink, root);
  else if (begin < first2)
    adam_span(p1, g1, m, v, begin, first1, n1, step_size, share1, beta2, share2, eps,
              weight_decay, shrink, root);
  else if (begin < first3)
    adam_span(p2, g2, m, v, begin, first2, n2, step_size, share1, beta2, share2, eps,
              weight_decay, shrink, root);
  else if (begin < first4)
    adam_span(p3, g3, m, v, begin, first3, n3, step_size, share1, beta2, share2, eps,
              weight_decay, shrink, root);
  else if (begin < first5)
    adam_span(p4, g4, m, v, begin, first4, n4, step_size, share1, beta2, share2, eps,
              weight_decay, shrink, root);
  else if (begin < first6)
    adam_span(p5, g5, m, v, begin, first5, n5, step_size, share1, beta2, share2, eps,
              weight_decay, shrink, root);
  else if (begin < first7)
    adam_span(p6, g6, m, v, begin, first6, n6, step_size, share1, beta2, share2, eps,
              weight_decay, shrink, root);
  else
    adam_span(p7, g7, m, v, begin, first7, n7, step_size, share1, beta2, share2, eps,
              weight_decay, shrink, root);
}
