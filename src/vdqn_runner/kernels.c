/* The pointwise work of an update, each as one pass over contiguous float rows.
 *
 * Compiled on first use and called through ctypes by kernels.py; torch forms of the same
 * functions are the reference. Every function treats element i by the same correctly rounded
 * operations wherever it lies, so results do not depend on how a loop is vectorised, on how
 * many seeds lie side by side, or on how a row is aligned.
 */
#include <stdint.h>
#include <string.h>

#define LANES 8

typedef uint64_t wide __attribute__((vector_size(8 * LANES)));

static inline float as_float(int32_t i) { float f; memcpy(&f, &i, 4); return f; }
static inline int32_t as_int(float f) { int32_t i; memcpy(&i, &f, 4); return i; }
static inline float fma_(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

/* log(x) for normal x > 0: x = 2^e m with m in [sqrt(1/2), sqrt(2)), polynomial in m - 1. */
static inline float log_(float x) {
    int32_t i = as_int(x);
    int32_t e = (i - 0x3f3504f3) >> 23;
    float f = as_float(i - (e << 23)) - 1.0f;
    float s = f * f;
    float p = 7.0376836292e-2f;
    p = fma_(p, f, -1.1514610310e-1f);
    p = fma_(p, f, 1.1676998740e-1f);
    p = fma_(p, f, -1.2420140846e-1f);
    p = fma_(p, f, 1.4249322787e-1f);
    p = fma_(p, f, -1.6668057665e-1f);
    p = fma_(p, f, 2.0000714765e-1f);
    p = fma_(p, f, -2.4999993993e-1f);
    p = fma_(p, f, 3.3333331174e-1f);
    float n = (float)e;
    float y = fma_(p * f, s, n * -2.12194440e-4f);
    y = fma_(-0.5f, s, y);
    return fma_(n, 0.693359375f, f + y);
}

/* exp(x) for x <= 0; below -87 the result is that of -87. */
static inline float exp_(float x) {
    x = x < -87.0f ? -87.0f : x;
    float n = __builtin_rintf(x * 1.44269504088896341f);
    float r = fma_(n, -0.693359375f, x);
    r = fma_(n, 2.12194440e-4f, r);
    float p = 1.9875691500e-4f;
    p = fma_(p, r, 1.3981999507e-3f);
    p = fma_(p, r, 8.3334519073e-3f);
    p = fma_(p, r, 4.1665795894e-2f);
    p = fma_(p, r, 1.6666665459e-1f);
    p = fma_(p, r, 5.0000001201e-1f);
    p = fma_(p, r * r, r) + 1.0f;
    return p * as_float(((int32_t)n + 127) << 23);
}

/* Standard normals [n] of one seed from LANES interleaved SFC64 generators (Box and Muller). */
static void normals_row(uint64_t *lanes, float *out, long n) {
    wide a, b, c, d;
    uint64_t *bits = (uint64_t *)out;
    for (int k = 0; k < LANES; k++) {
        a[k] = lanes[4 * k]; b[k] = lanes[4 * k + 1];
        c[k] = lanes[4 * k + 2]; d[k] = lanes[4 * k + 3];
    }
    for (long i = 0; i < n / 2; i += LANES) {
        wide t = a + b + d;
        d += 1;
        a = b ^ (b >> 11);
        b = c + (c << 3);
        c = ((c << 24) | (c >> 40)) + t;
        memcpy(bits + i, &t, sizeof t);
    }
    for (int k = 0; k < LANES; k++) {
        lanes[4 * k] = a[k]; lanes[4 * k + 1] = b[k];
        lanes[4 * k + 2] = c[k]; lanes[4 * k + 3] = d[k];
    }
    long half = n / 2;
    float *first = out, *second = out + half;
    for (long i = 0; i < half; i++) {
        float u = fma_((float)as_int(first[i]), 0x1p-32f, 0.5f);
        u = u < 0x1p-26f ? 0x1p-26f : u;
        float radius = __builtin_sqrtf(-2.0f * log_(u));
        float turn = (float)as_int(second[i]) * 0x1p-32f;
        float q = __builtin_rintf(4.0f * turn);
        float x = fma_(q, -0.25f, turn) * 6.28318530717958648f;
        float s = x * x;
        float sine = fma_(fma_(fma_(-1.9515295891e-4f, s, 8.3321608736e-3f), s,
                               -1.6666654611e-1f), s * x, x);
        float cosine = fma_(fma_(fma_(2.443315711809948e-5f, s, -1.388731625493765e-3f), s,
                                 4.166664568298827e-2f), s * s, fma_(-0.5f, s, 1.0f));
        int32_t quarter = (int32_t)q;
        float c0 = (quarter & 1) ? sine : cosine;
        float s0 = (quarter & 1) ? cosine : sine;
        float c1 = ((quarter + 1) & 2) ? -c0 : c0;
        float s1 = (quarter & 2) ? -s0 : s0;
        first[i] = radius * c1;
        second[i] = radius * s1;
    }
}

void vr_normals(uint64_t *lanes, float *out, long n_seeds, long n) {
    for (long s = 0; s < n_seeds; s++) normals_row(lanes + s * LANES * 4, out + s * n, n);
}

/* sigma = log(1 + exp(rho)), at least 1e-30. */
void vr_softplus(const float *restrict rho, float *restrict sigma, long n) {
    for (long i = 0; i < n; i++) {
        float x = rho[i];
        float z = exp_(x < 0.0f ? x : -x);
        float u = 1.0f + z;
        float y = log_(u) + (z - (u - 1.0f)) / u;
        y += x > 0.0f ? x : 0.0f;
        sigma[i] = y < 1e-30f ? 1e-30f : y;
    }
}

/* out = grad * sigmoid(rho) */
void vr_softplus_backward(const float *restrict grad, const float *restrict rho,
                          float *restrict out, long n) {
    for (long i = 0; i < n; i++) {
        float x = rho[i];
        float z = exp_(x < 0.0f ? x : -x);
        float w = 1.0f / (1.0f + z);
        out[i] = grad[i] * (x < 0.0f ? z * w : w);
    }
}

/* out[s] = sum_i mask_i log sigma_si, in 16 interleaved partial sums. */
void vr_log_sum(const float *restrict sigma, const float *restrict mask, float *restrict out,
                long n_seeds, long n) {
    for (long s = 0; s < n_seeds; s++) {
        float part[16] = {0};
        for (long i = 0; i < n; i += 16)
            for (int k = 0; k < 16; k++)
                part[k] += mask[i + k] * log_(sigma[s * n + i + k]);
        double total = 0.0;
        for (int k = 0; k < 16; k++) total += part[k];
        out[s] = (float)total;
    }
}

/* out[s, i] = grad[s] mask_i / sigma_si */
void vr_log_sum_backward(const float *restrict grad, const float *restrict sigma,
                         const float *restrict mask, float *restrict out, long n_seeds, long n) {
    for (long s = 0; s < n_seeds; s++)
        for (long i = 0; i < n; i++)
            out[s * n + i] = grad[s] * mask[i] / sigma[s * n + i];
}

/* One layer after its two products, n numbers a seed: variance becomes the standard deviation,
 * mean becomes mean + std * eps, through a ReLU if asked, and square its square. */
void vr_gaussian_layer(float *restrict mean, float *restrict variance, const float *restrict eps,
                       float *restrict square, long n_seeds, long n, long eps_stride, int relu) {
    for (long s = 0; s < n_seeds; s++) {
        float *m = mean + s * n, *v = variance + s * n, *q = square + s * n;
        const float *e = eps + s * eps_stride;
        if (relu) {
            for (long i = 0; i < n; i++) {
                float std = __builtin_sqrtf(v[i]);
                float y = fma_(std, e[i], m[i]);
                y = y > 0.0f ? y : 0.0f;
                v[i] = std;
                m[i] = y;
                q[i] = y * y;
            }
        } else {
            for (long i = 0; i < n; i++) {
                float std = __builtin_sqrtf(v[i]);
                v[i] = std;
                m[i] = fma_(std, e[i], m[i]);
            }
        }
    }
}

/* out = grad eps / (2 std): the gradient with respect to a layer's variance. */
void vr_gaussian_variance(const float *restrict grad, const float *restrict eps,
                          const float *restrict std, float *restrict out, long n_seeds, long n,
                          long eps_stride) {
    for (long s = 0; s < n_seeds; s++)
        for (long i = 0; i < n; i++) {
            float d = std[s * n + i];
            d = d < 1e-20f ? 1e-20f : d;
            out[s * n + i] = 0.5f * grad[s * n + i] * eps[s * eps_stride + i] / d;
        }
}

/* grad = (grad + 2 h through) where h > 0, else 0: back through the square and the ReLU. */
void vr_gaussian_input(float *restrict grad, const float *restrict through,
                       const float *restrict h, long n) {
    for (long i = 0; i < n; i++) {
        float g = fma_(2.0f * h[i], through[i], grad[i]);
        grad[i] = h[i] > 0.0f ? g : 0.0f;
    }
}

/* Adam (Kingma and Ba, 2015) on rows [n_seeds, n], with a learning rate for each seed;
 * bias1 = 1 - beta1^t, root_bias2 = sqrt(1 - beta2^t). */
void vr_adam(float *restrict p, const float *restrict g, float *restrict m, float *restrict v,
             const double *restrict lr, long n_seeds, long n, float beta1, float beta2, float eps,
             double bias1, double root_bias2) {
    float rest1 = 1.0f - beta1, rest2 = 1.0f - beta2, scale = (float)(1.0 / root_bias2);
    for (long s = 0; s < n_seeds; s++) {
        float step = (float)(lr[s] / bias1);
        for (long i = s * n; i < (s + 1) * n; i++) {
            float gi = g[i];
            float mi = fma_(beta1, m[i], rest1 * gi);
            float vi = fma_(beta2, v[i], rest2 * gi * gi);
            m[i] = mi;
            v[i] = vi;
            p[i] = fma_(-step, mi / fma_(__builtin_sqrtf(vi), scale, eps), p[i]);
        }
    }
}
