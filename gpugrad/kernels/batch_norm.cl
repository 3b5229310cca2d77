/* Batch normalisation (Ioffe and Szegedy, 2015): x is (N C S), S all positions of a channel, and mean,
 * var, weight and bias hold one number for each channel.
 *
 * What is computed of a channel is of type A, which also holds the sums of halves and their squares.
 * Memory bounds these kernels, so each makes one pass over x: one work-item computes RUN neighbours of a
 * row, of which there are N C. What is summed over a channel between them, reduce.cl sums.
 */

/* 1 / standard deviation, times the weight where there is one */
A channel_scale(__global const A *var, __global const A *weight, int c, int has_weight, A eps) {
  A variance = var[c];
  A scale = 1 / sqrt(variance + eps);
  if (has_weight) scale *= weight[c];
  return scale;
}

/* out = (x - mean)^2, whose mean over a channel is its variance */
__kernel void batch_norm_square(__global const T *x, __global const A *mean, __global A *out,
                                int rows, int C, int S) {
  int row = get_global_id(1), begin = RUN * get_global_id(0);
  if (row < rows) {
    A middle = mean[row % C];
    int end = min(S, begin + RUN);
    for (int s = begin; s < end; s++) {
      A a = x[row * S + s];
      out[row * S + s] = (a - middle) * (a - middle);
    }
  }
}

/* y = (x - mean) / sqrt(var + eps) * weight + bias */
__kernel void batch_norm(__global const T *x, __global const A *mean, __global const A *var,
                         __global const A *weight, __global const A *bias, __global T *y, int rows,
                         int C, int S, A eps, int has_weight, int has_bias) {
  int row = get_global_id(1), begin = RUN * get_global_id(0);
  if (row < rows) {
    int c = row % C, end = min(S, begin + RUN);
    A middle = mean[c], shift = 0;
    if (has_bias) shift = bias[c];
    A scale = channel_scale(var, weight, c, has_weight, eps);
    for (int s = begin; s < end; s++) {
      A a = x[row * S + s];
      y[row * S + s] = (a - middle) * scale + shift;
    }
  }
}

/* out = g (x - mean): its sum over a channel, over the standard deviation, is the weight's gradient */
__kernel void batch_norm_product(__global const T *g, __global const T *x, __global const A *mean,
                                 __global A *out, int rows, int C, int S) {
  int row = get_global_id(1), begin = RUN * get_global_id(0);
  if (row < rows) {
    A middle = mean[row % C];
    int end = min(S, begin + RUN);
    for (int s = begin; s < end; s++) {
      A a = x[row * S + s], b = g[row * S + s];
      out[row * S + s] = b * (a - middle);
    }
  }
}

/* The gradient of x. Through mean and variance every x of a channel moves every y of it, so with
 * n numbers in a channel, xc = x - mean, and sums over the channel,
 *     dx = weight / sqrt(var + eps) (g - sum(g) / n - xc sum(g xc) / (n (var + eps))). */
__kernel void batch_norm_backward(__global const T *g, __global const T *x, __global const A *mean,
                                  __global const A *var, __global const A *weight,
                                  __global const A *sum_g, __global const A *sum_gx, __global T *dx,
                                  int rows, int C, int S, A eps, int has_weight, A n) {
  int row = get_global_id(1), begin = RUN * get_global_id(0);
  if (row < rows) {
    int c = row % C, end = min(S, begin + RUN);
    A middle = mean[c], variance = var[c], total = sum_g[c], product = sum_gx[c];
    A scale = channel_scale(var, weight, c, has_weight, eps);
    A away = total / n, along = product / (n * (variance + eps));
    for (int s = begin; s < end; s++) {
      A a = x[row * S + s], b = g[row * S + s];
      dx[row * S + s] = scale * (b - away - (a - middle) * along);
    }
  }
}

/* running += momentum (batch - running), of mean and of variance; the batch's variance is made unbiased.
 * One work-item: one channel. */
__kernel void batch_norm_follow(__global T *running_mean, __global T *running_var,
                                __global const A *mean, __global const A *var, int C, A momentum,
                                A unbias) {
  int c = get_global_id(0);
  if (c < C) {
    A m = mean[c], v = var[c], old_mean = running_mean[c], old_var = running_var[c];
    running_mean[c] = (1 - momentum) * old_mean + momentum * m;
    running_var[c] = (1 - momentum) * old_var + momentum * unbias * v;
  }
}
