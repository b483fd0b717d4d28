/* The numerical work of an update, seed after seed, so that a seed's numbers stay in the cache.
 *
 * Compiled on first use and called through ctypes by kernels.py; torch forms of the same
 * functions are the reference. Every element is made by the same operations in the same order
 * wherever it lies, so results do not depend on how many seeds lie side by side.
 */
#include <stdint.h>
#include <string.h>

#define LANES 8

typedef uint64_t wide __attribute__((vector_size(8 * LANES)));

static inline float as_float(int32_t i) { float f; memcpy(&f, &i, 4); return f; }
static inline int32_t as_int(float f) { int32_t i; memcpy(&i, &f, 4); return i; }
static inline float fma_(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

/* log(1 + f) for |f| <= sqrt(2) - 1 */
static inline float log_near_1(float f) {
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
    return f + fma_(p * f, s, -0.5f * s);
}

/* log(x) for normal x > 0: x = 2^e m with m in [sqrt(1/2), sqrt(2)) */
static inline float log_(float x) {
    int32_t i = as_int(x);
    int32_t e = (i - 0x3f3504f3) >> 23;
    return fma_((float)e, 0.69314718056f, log_near_1(as_float(i - (e << 23)) - 1.0f));
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

/* log(1 + z) for z in [0, 1]: log(1 + f) or log(2) + log(1 + f) with |f| <= sqrt(2) - 1, where f
 * follows from z without rounding 1 + z. */
static inline float log1p_(float z) {
    int upper = z > 0.41421356f;
    float f = upper ? fma_(0.5f, z, -0.5f) : z;
    return (upper ? 0.69314718056f : 0.0f) + log_near_1(f);
}

typedef float floats __attribute__((vector_size(64)));
typedef int32_t ints __attribute__((vector_size(64)));

/* sum_i mask_i log sigma_i of `n` <= 256 numbers (normal floats, whole vectors): exponents are
 * added up and mantissas multiplied, at most 16 of them to a logarithm. */
static double log_sum(const float *sigma, const float *mask, long n) {
    ints exponents = {0}, one = exponents + 0x3f800000;
    floats product = (floats)one;
    double total = 0.0;
    for (long j = 0; j < n; j += 16) {
        ints bits, counts;
        memcpy(&bits, sigma + j, sizeof bits);
        memcpy(&counts, mask + j, sizeof counts);
        bits = (bits & (counts != 0)) | (one & (counts == 0));
        exponents += (bits >> 23) - 127;
        product *= (floats)((bits & 0x7fffff) | 0x3f800000);
    }
    for (int k = 0; k < 16; k++)
        total += log_(product[k]) + 0.69314718055994531 * exponents[k];
    return total;
}

/* sigma = log(1 + exp(rho)), at least 1e-30, its square, slope = mask d log sigma / d rho =
 * mask sigmoid(rho) / sigma, and log_sums[s] = sum_i mask_i log sigma_si; n in whole 64s. */
void vr_softplus(const float *restrict rho, const float *restrict mask, float *restrict sigma,
                 float *restrict variance, float *restrict slope, float *restrict log_sums,
                 long n_seeds, long n) {
    for (long s = 0; s < n_seeds; s++) {
        const float *r = rho + s * n;
        float *out = sigma + s * n, *squared = variance + s * n, *steep = slope + s * n;
        double total = 0.0;
        for (long i = 0; i < n; i += 256) {
            long end = i + 256 < n ? i + 256 : n;
            for (long j = i; j < end; j++) {
                float x = r[j];
                float z = exp_(x < 0.0f ? x : -x);
                float y = log1p_(z) + (x > 0.0f ? x : 0.0f);
                y = y < 1e-30f ? 1e-30f : y;
                out[j] = y;
                squared[j] = y * y;
                steep[j] = mask[j] * (x < 0.0f ? z : 1.0f) / fma_(z, y, y);
            }
            total += log_sum(out + i, mask + i, end - i);
        }
        log_sums[s] = (float)total;
    }
}

/* ---- Networks --------------------------------------------------------------------------------
 *
 * A seed's minibatch is a matrix [batch, features]; inside here its rows are padded to whole
 * vectors. What the padded columns hold is never used as an input of the next layer.
 */
#if defined(__AVX512F__)
#define VL 16
#elif defined(__AVX__)
#define VL 8
#else
#define VL 4
#endif
#define TILE_ROWS 8
#define TILE_VECTORS 4

typedef float vec __attribute__((vector_size(4 * VL)));

static inline long padded(long n) { return (n + 15) / 16 * 16; }

/* c [rows, vectors * VL] = a b + bias for a tile, a(r, k) = a[r * row_a + k * col_a]. Only the
 * first `width` columns are stored. */
static inline __attribute__((always_inline)) void tile(
    const float *a, long row_a, long col_a, const float *b, long ld_b, float *c, long ld_c,
    const float *bias, long depth, long width, const int rows, const int vectors) {
    vec sum[TILE_ROWS][TILE_VECTORS], line[TILE_VECTORS];
    for (int v = 0; v < vectors; v++) {
        vec start = {0};
        if (bias) memcpy(&start, bias + v * VL, sizeof start);
        for (int r = 0; r < rows; r++) sum[r][v] = start;
    }
    for (long k = 0; k < depth; k++) {
        for (int v = 0; v < vectors; v++) memcpy(&line[v], b + k * ld_b + v * VL, sizeof(vec));
        for (int r = 0; r < rows; r++) {
            float x = a[r * row_a + k * col_a];
            for (int v = 0; v < vectors; v++) sum[r][v] += x * line[v];
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) {
            long left = width - v * VL;
            memcpy(c + r * ld_c + v * VL, &sum[r][v],
                   left >= VL ? sizeof(vec) : (size_t)left * sizeof(float));
        }
}

static inline __attribute__((always_inline)) void panel(
    const float *a, long row_a, long col_a, const float *b, long ld_b, float *c, long ld_c,
    const float *bias, long m, long depth, long width, const int rows, const int vectors) {
    long r = 0;
    for (; r + rows <= m; r += rows)
        tile(a + r * row_a, row_a, col_a, b, ld_b, c + r * ld_c, ld_c, bias, depth, width, rows,
             vectors);
    for (; r < m; r++)
        tile(a + r * row_a, row_a, col_a, b, ld_b, c + r * ld_c, ld_c, bias, depth, width, 1,
             vectors);
}

static inline __attribute__((always_inline)) void panels(
    const float *a, long row_a, long col_a, const float *b, long ld_b, float *c, long ld_c,
    const float *bias, long m, long n, long depth) {
    long vectors = (n + VL - 1) / VL, j = 0;
    for (; vectors > 4 || vectors == 3; vectors -= 3, j += 3 * VL)
        panel(a, row_a, col_a, b + j, ld_b, c + j, ld_c, bias ? bias + j : 0, m, depth, n - j, 8,
              3);
    if (vectors == 4)
        panel(a, row_a, col_a, b + j, ld_b, c + j, ld_c, bias ? bias + j : 0, m, depth, n - j, 4,
              4);
    else if (vectors == 2)
        panel(a, row_a, col_a, b + j, ld_b, c + j, ld_c, bias ? bias + j : 0, m, depth, n - j, 8,
              2);
    else if (vectors == 1)
        panel(a, row_a, col_a, b + j, ld_b, c + j, ld_c, bias ? bias + j : 0, m, depth, n - j, 8,
              1);
}

/* c [m, n] = a [m, depth] b [depth, n] + bias [n], or with a^T: a(r, k) = a[k * ld_a + r]. Each
 * element is a sum over depth in order, whatever tile it falls into. b and bias are read up to
 * 15 floats past their last column. */
static void product(const float *a, long ld_a, const float *b, long ld_b, float *c, long ld_c,
                    const float *bias, long m, long n, long depth) {
    panels(a, ld_a, 1, b, ld_b, c, ld_c, bias, m, n, depth);
}

static void product_transposed(const float *a, long ld_a, const float *b, long ld_b, float *c,
                               long ld_c, long m, long n, long depth) {
    panels(a, 1, ld_a, b, ld_b, c, ld_c, 0, m, n, depth);
}

/* to [cols, padded(rows)] = from [rows, cols] transposed */
static void transpose(const float *restrict from, float *restrict to, long rows, long cols) {
    long ld = padded(rows);
    for (long i = 0; i < rows; i += 16) {
        long end = i + 16 < rows ? i + 16 : rows;
        for (long j = 0; j < cols; j++)
            for (long k = i; k < end; k++) to[j * ld + k] = from[k * cols + j];
    }
}

/* bias gradient [n]: the sum of the rows of g [m, ld] */
static void column_sums(const float *restrict g, long ld, float *restrict out, long m, long n) {
    for (long j = 0; j < n; j++) out[j] = 0.0f;
    for (long b = 0; b < m; b++)
        for (long j = 0; j < n; j++) out[j] += g[b * ld + j];
}

/* A network: `sizes` [layers + 1], where its blocks lie in a row, and the row's length. */
typedef struct {
    long layers;
    const long *sizes, *weight_at, *bias_at;
    long length;
} net;

static net read_net(const long *words) {
    net n = {words[0], words + 1, words + 2 + words[0], words + 2 + 2 * words[0], 0};
    n.length = words[2 + 3 * words[0]];
    return n;
}

/* Zeros where a row holds no parameter. */
static void clear_padding(const net *n, float *row) {
    for (long i = 0; i < n->layers; i++) {
        long weight_end = n->weight_at[i] + n->sizes[i] * n->sizes[i + 1];
        long bias_end = n->bias_at[i] + n->sizes[i + 1];
        long next = i + 1 < n->layers ? n->weight_at[i + 1] : n->length;
        memset(row + weight_end, 0, (size_t)(n->bias_at[i] - weight_end) * sizeof(float));
        memset(row + bias_end, 0, (size_t)(next - bias_end) * sizeof(float));
    }
}

/* Floats of one seed's hidden outputs. */
static long hidden_floats(const net *n, long batch) {
    long total = 0;
    for (long i = 1; i < n->layers; i++) total += batch * padded(n->sizes[i]);
    return total;
}

static long widest(const net *n) {
    long most = 0;
    for (long i = 0; i <= n->layers; i++)
        if (padded(n->sizes[i]) > most) most = padded(n->sizes[i]);
    return most;
}

/* q [n_seeds, batch, A] at x [n_seeds, batch, in]. What the backward pass needs goes to `saved`
 * [n_seeds, hidden_floats]; where `keep` is 0 all seeds use the same hidden_floats. */
void vr_mlp_forward(const long *words, const float *rows, const float *x, float *saved, float *q,
                    long n_seeds, long batch, int keep) {
    net n = read_net(words);
    long n_saved = keep ? hidden_floats(&n, batch) : 0;
    long n_in = n.sizes[0], n_out = n.sizes[n.layers];
    for (long s = 0; s < n_seeds; s++) {
        const float *row = rows + s * n.length, *h = x + s * batch * n_in;
        float *out = saved + s * n_saved;
        long ld = n_in;
        for (long i = 0; i < n.layers; i++) {
            long width = n.sizes[i + 1], ld_out = padded(width);
            int last = i + 1 == n.layers;
            if (last) {
                out = q + s * batch * n_out;
                ld_out = n_out;
            }
            product(h, ld, row + n.weight_at[i], width, out, ld_out, row + n.bias_at[i], batch,
                    width, n.sizes[i]);
            if (!last) {
                for (long k = 0; k < batch * ld_out; k++) out[k] = out[k] > 0.0f ? out[k] : 0.0f;
                h = out;
                ld = ld_out;
                out += batch * ld_out;
            }
        }
    }
}

/* Gradient rows [n_seeds, length] from grad_q [n_seeds, batch, A]; `scratch` holds
 * 2 batch widest + widest^2 floats. */
void vr_mlp_backward(const long *words, const float *rows, const float *x, const float *saved,
                     const float *grad_q, float *grad, float *scratch, long n_seeds, long batch) {
    net n = read_net(words);
    long n_saved = hidden_floats(&n, batch), n_in = n.sizes[0], n_out = n.sizes[n.layers];
    long wide = widest(&n);
    float *flipped = scratch + 2 * batch * wide;
    for (long s = 0; s < n_seeds; s++) {
        const float *row = rows + s * n.length;
        float *out = grad + s * n.length, *g = scratch, *before = scratch + batch * wide;
        const float *top = saved + s * n_saved + n_saved;
        long ld = padded(n_out);
        for (long b = 0; b < batch; b++)
            memcpy(g + b * ld, grad_q + (s * batch + b) * n_out, (size_t)n_out * sizeof(float));
        for (long i = n.layers - 1; i >= 0; i--) {
            long width = n.sizes[i + 1], below = n.sizes[i], ld_h = i ? padded(below) : n_in;
            const float *h = i ? top - batch * ld_h : x + s * batch * n_in;
            product_transposed(h, ld_h, g, ld, out + n.weight_at[i], width, below, width, batch);
            column_sums(g, ld, out + n.bias_at[i], batch, width);
            if (i) {
                transpose(row + n.weight_at[i], flipped, below, width);
                product(g, ld, flipped, ld_h, before, ld_h, 0, batch, below, width);
                for (long k = 0; k < batch * ld_h; k++) before[k] = h[k] > 0.0f ? before[k] : 0.0f;
                float *swap = g;
                g = before;
                before = swap;
                ld = ld_h;
                top = h;
            }
        }
        clear_padding(&n, out);
    }
}

/* What a seed saves of a Gaussian network's forward pass: x^2, then for each hidden layer its
 * output and the square of it, then every layer's standard deviation. */
static long gaussian_floats(const net *n, long batch) {
    long total = batch * n->sizes[0] + 2 * hidden_floats(n, batch);
    for (long i = 1; i <= n->layers; i++) total += batch * padded(n->sizes[i]);
    return total;
}

/* q [n_seeds, batch, A] by local reparameterisation with variances `variance` (rows like mu) and
 * normals `eps` [n_seeds, eps_stride], one a unit, layer by layer, each [batch, units]. `saved`
 * and `keep` as for an MLP. */
void vr_gaussian_forward(const long *words, const float *mu, const float *variance, const float *x,
                         const float *eps, float *saved, float *q, float *scratch, long n_seeds,
                         long batch, long eps_stride, int keep) {
    net n = read_net(words);
    long n_saved = keep ? gaussian_floats(&n, batch) : 0;
    long n_in = n.sizes[0], n_out = n.sizes[n.layers];
    for (long s = 0; s < n_seeds; s++) {
        const float *m = mu + s * n.length, *v = variance + s * n.length;
        const float *e = eps + s * eps_stride, *h = x + s * batch * n_in;
        float *square = saved + s * n_saved, *next = square + batch * n_in;
        float *std = next + 2 * hidden_floats(&n, batch);
        long ld = n_in;
        for (long k = 0; k < batch * n_in; k++) square[k] = h[k] * h[k];
        for (long i = 0; i < n.layers; i++) {
            long width = n.sizes[i + 1], ld_out = padded(width);
            int last = i + 1 == n.layers;
            float *mean = last ? scratch : next;
            product(square, ld, v + n.weight_at[i], width, std, ld_out, v + n.bias_at[i], batch,
                    width, n.sizes[i]);
            product(h, ld, m + n.weight_at[i], width, mean, ld_out, m + n.bias_at[i], batch,
                    width, n.sizes[i]);
            if (last) {
                float *out = q + s * batch * n_out;
                for (long b = 0; b < batch; b++)
                    for (long j = 0; j < width; j++) {
                        float d = __builtin_sqrtf(std[b * ld_out + j]);
                        std[b * ld_out + j] = d;
                        out[b * n_out + j] =
                            fma_(d, e[b * width + j], mean[b * ld_out + j]);
                    }
            } else {
                float *squared = next + batch * ld_out;
                for (long b = 0; b < batch; b++)
                    for (long j = 0; j < width; j++) {
                        long at = b * ld_out + j;
                        float d = __builtin_sqrtf(std[at]);
                        float y = fma_(d, e[b * width + j], mean[at]);
                        y = y > 0.0f ? y : 0.0f;
                        std[at] = d;
                        mean[at] = y;
                        squared[at] = y * y;
                    }
                h = next;
                square = squared;
                ld = ld_out;
                next = squared + batch * ld_out;
            }
            std += batch * ld_out;
            e += batch * width;
        }
    }
}

/* Gradient rows with respect to mu and, in grad_second, to the variances or, where grad_entropy
 * [n_seeds] is given, to rho with slopes as from vr_softplus. `scratch` holds 4 batch widest + widest^2 floats. */
void vr_gaussian_backward(const long *words, const float *mu, const float *variance,
                          const float *x, const float *eps, const float *saved,
                          const float *grad_q, const float *grad_entropy, const float *slope,
                          float *grad_mu, float *grad_second, float *scratch, long n_seeds,
                          long batch, long eps_stride) {
    net n = read_net(words);
    long n_saved = gaussian_floats(&n, batch), n_in = n.sizes[0], n_out = n.sizes[n.layers];
    long wide = widest(&n), units = 0;
    for (long i = 1; i <= n.layers; i++) units += n.sizes[i];
    float *flipped = scratch + 4 * batch * wide;
    for (long s = 0; s < n_seeds; s++) {
        const float *m = mu + s * n.length, *v = variance + s * n.length;
        float *out_m = grad_mu + s * n.length, *out_v = grad_second + s * n.length;
        const float *e = eps + s * eps_stride + batch * units;
        const float *all = saved + s * n_saved, *std = all + n_saved;
        const float *top = all + batch * n_in + 2 * hidden_floats(&n, batch);
        float *g = scratch, *g_before = scratch + batch * wide;
        float *g_var = scratch + 2 * batch * wide, *through = scratch + 3 * batch * wide;
        long ld = padded(n_out);
        for (long b = 0; b < batch; b++)
            memcpy(g + b * ld, grad_q + (s * batch + b) * n_out, (size_t)n_out * sizeof(float));
        for (long i = n.layers - 1; i >= 0; i--) {
            long width = n.sizes[i + 1], below = n.sizes[i], ld_h = i ? padded(below) : n_in;
            const float *h = i ? top - 2 * batch * ld_h : x + s * batch * n_in;
            const float *square = i ? h + batch * ld_h : all;
            e -= batch * width;
            std -= batch * ld;
            /* d z / d variance = eps / (2 std); the floor matters only where sigma is 0. */
            for (long b = 0; b < batch; b++)
                for (long j = 0; j < width; j++) {
                    long at = b * ld + j;
                    float d = std[at] < 1e-20f ? 1e-20f : std[at];
                    g_var[at] = 0.5f * g[at] * e[b * width + j] / d;
                }
            product_transposed(h, ld_h, g, ld, out_m + n.weight_at[i], width, below, width, batch);
            column_sums(g, ld, out_m + n.bias_at[i], batch, width);
            product_transposed(square, ld_h, g_var, ld, out_v + n.weight_at[i], width, below, width, batch);
            column_sums(g_var, ld, out_v + n.bias_at[i], batch, width);
            if (i) {
                transpose(m + n.weight_at[i], flipped, below, width);
                product(g, ld, flipped, ld_h, g_before, ld_h, 0, batch, below, width);
                transpose(v + n.weight_at[i], flipped, below, width);
                product(g_var, ld, flipped, ld_h, through, ld_h, 0, batch, below, width);
                /* h is a ReLU's output; it enters the layer above as h and as h^2. */
                for (long b = 0; b < batch; b++)
                    for (long j = 0; j < below; j++) {
                        long at = b * ld_h + j;
                        float d = fma_(2.0f * h[at], through[at], g_before[at]);
                        g_before[at] = h[at] > 0.0f ? d : 0.0f;
                    }
                float *swap = g;
                g = g_before;
                g_before = swap;
                ld = ld_h;
                top = h;
            }
        }
        clear_padding(&n, out_m);
        clear_padding(&n, out_v);
        if (grad_entropy) {
            const float *steep = slope + s * n.length;
            float by_log = grad_entropy[s];
            for (long i = 0; i < n.length; i++)
                out_v[i] = fma_(2.0f * v[i], out_v[i], by_log) * steep[i];
        }
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
