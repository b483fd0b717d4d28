/* The numerical work of an update, seed after seed, so that a seed's numbers stay in the cache.
 *
 * Compiled on first use and called through ctypes by kernels.py; the torch code of the algorithms
 * is the reference. Every element is made by the same operations in the same order wherever it
 * lies, so results do not depend on how many seeds lie side by side.
 */
#include <stdint.h>
#include <string.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#define VL 16
#elif defined(__AVX__)
#include <immintrin.h>
#define VL 8
#else
#define VL 4
#endif

typedef float vec __attribute__((vector_size(4 * VL)));

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

typedef int32_t ints __attribute__((vector_size(4 * VL)));

/* 1 / sqrt(x) and 1 / x for normal x > 0, to about one unit in the last place. */
static inline vec inverse_root(vec x) {
#if VL == 16
    vec r = (vec)_mm512_rsqrt14_ps((__m512)x);
    return r * (1.5f - 0.5f * x * r * r);
#else
    vec r;
    for (int k = 0; k < VL; k++) r[k] = 1.0f / __builtin_sqrtf(x[k]);
    return r;
#endif
}

static inline vec inverse(vec x) {
#if VL == 16
    vec r = (vec)_mm512_rcp14_ps((__m512)x);
    return r * (2.0f - x * r);
#else
    return 1.0f / x;
#endif
}

static inline vec load(const float *p) { vec v; memcpy(&v, p, sizeof v); return v; }
static inline void store(float *p, vec v) { memcpy(p, &v, sizeof v); }
static inline vec all(float x) { return (vec){0} + x; }

/* x y + sum, rounded once where the processor can. Said outright, since compilers for some
 * processors (Zen) round twice in sums that are short, and bits would hang on a tile's size. */
static inline vec fused(float x, vec y, vec sum) {
#if VL == 16
    return (vec)_mm512_fmadd_ps(_mm512_set1_ps(x), (__m512)y, (__m512)sum);
#elif VL == 8 && defined(__FMA__)
    return (vec)_mm256_fmadd_ps(_mm256_set1_ps(x), (__m256)y, (__m256)sum);
#else
    return x * y + sum;
#endif
}

static inline vec at_least(vec x, float least) {
#if VL == 16
    return (vec)_mm512_max_ps((__m512)x, (__m512)all(least));
#else
    for (int k = 0; k < VL; k++) x[k] = x[k] > least ? x[k] : least;
    return x;
#endif
}

static inline vec at_most(vec x, float most) {
#if VL == 16
    return (vec)_mm512_min_ps((__m512)x, (__m512)all(most));
#else
    for (int k = 0; k < VL; k++) x[k] = x[k] < most ? x[k] : most;
    return x;
#endif
}

/* `at_least`, but what is not a number stays so. */
static inline vec at_least_or_nan(vec x, float least) {
#if VL == 16
    return (vec)_mm512_max_ps((__m512)all(least), (__m512)x);
#else
    for (int k = 0; k < VL; k++) x[k] = x[k] < least ? least : x[k];
    return x;
#endif
}

/* a where x < bound, else b */
static inline vec where_less(vec x, float bound, vec a, vec b) {
#if VL == 16
    return (vec)_mm512_mask_blend_ps(
        _mm512_cmp_ps_mask((__m512)x, (__m512)all(bound), _CMP_LT_OQ), (__m512)b, (__m512)a);
#else
    for (int k = 0; k < VL; k++) a[k] = x[k] < bound ? a[k] : b[k];
    return a;
#endif
}

/* x where y > 0, else 0 */
static inline vec where_positive(vec y, vec x) {
#if VL == 16
    return (vec)_mm512_maskz_mov_ps(
        _mm512_cmp_ps_mask((__m512)y, _mm512_setzero_ps(), _CMP_GT_OQ), (__m512)x);
#else
    for (int k = 0; k < VL; k++) x[k] = y[k] > 0.0f ? x[k] : 0.0f;
    return x;
#endif
}

static inline float lane_sum(vec v) {
#if VL == 16
    return _mm512_reduce_add_ps((__m512)v);
#else
    float sum = 0.0f;
    for (int k = 0; k < VL; k++) sum += v[k];
    return sum;
#endif
}

/* The first `count` < VL numbers of v. */
static inline void store_some(float *p, vec v, long count) {
#if VL == 16
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << count) - 1), (__m512)v);
#else
    memcpy(p, &v, (size_t)count * sizeof(float));
#endif
}

/* exp(x) for x <= 0, to about two units in the last place; 0 or tiny below -87. */
static inline vec exp_(vec x) {
#if VL == 16
    vec n = (vec)_mm512_roundscale_ps((__m512)(x * 1.44269504088896341f), 0);
#else
    const float round = 0x1.8p23f;
    x = at_least(x, -87.0f);
    vec n = (x * 1.44269504088896341f + round) - round;
#endif
    vec r = n * -0.693359375f + x;
    r = n * 2.12194440e-4f + r;
    vec p = r * 0.00829764759515f + 0.041915431265f;
    p = p * r + 0.166675750963f;
    p = p * r + 0.499988944161f;
    p = p * r + 0.999999691807f;
    p = p * r + 1.0000000717f;
#if VL == 16
    return (vec)_mm512_scalef_ps((__m512)p, (__m512)n);
#else
    return p * (vec)((__builtin_convertvector(n, ints) + 127) << 23);
#endif
}

/* log(1 + z) = 2 atanh(z / (2 + z)) for z in [0, 1], to about two units in the last place. */
static inline vec log1p_(vec z) {
    vec s = z * inverse(z + 2.0f), t = s * s;
    vec p = t * 0.281783342454f + 0.279606028928f;
    p = p * t + 0.400249102733f;
    p = p * t + 0.666663146822f;
    p = p * t + 2.00000000792f;
    return p * s;
}

/* A sum of logarithms of normal floats: exponents are added up and mantissas multiplied. */
typedef struct {
    vec product, exponents;
} logs;

static inline logs no_logs(void) { return (logs){all(1.0f), all(0.0f)}; }

/* Add log(x) where mask is 1, not 0; at most 64 times between two calls of `settled`. */
static inline logs add_logs(logs sum, vec x, vec mask) {
    x = where_less(mask, 0.5f, all(1.0f), x);
#if VL == 16
    sum.exponents += (vec)_mm512_getexp_ps((__m512)x);
    sum.product *= (vec)_mm512_getmant_ps((__m512)x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
#else
    ints bits = (ints)x, one = (ints)all(1.0f);
    sum.exponents += __builtin_convertvector((bits >> 23) - 127, vec);
    sum.product *= (vec)((bits & 0x7fffff) | one);
#endif
    return sum;
}

/* The same sum with a small product. */
static inline logs settled(logs sum) {
    ints bits = (ints)sum.product, one = (ints)all(1.0f);
    sum.exponents += __builtin_convertvector((bits >> 23) - 127, vec);
    sum.product = (vec)((bits & 0x7fffff) | one);
    return sum;
}

static double total_of(logs sum) {
    double total = 0.0;
    for (int k = 0; k < VL; k++)
        total += log_(sum.product[k]) + 0.69314718055994531 * sum.exponents[k];
    return total;
}

/* variance = sigma^2 with sigma = softplus(rho) = log(1 + exp(rho)), at least 1e-30, and slope =
 * mask d log sigma / d rho = mask sigmoid(rho) / sigma; adds mask log sigma to the sum. */
static inline logs softplus(vec rho, vec mask, float *variance, float *slope, logs sum) {
    vec z = exp_(at_most(rho, 0.0f) - at_least(rho, 0.0f));
    vec sigma = at_least_or_nan(log1p_(z) + at_least_or_nan(rho, 0.0f), 1e-30f);
    store(variance, sigma * sigma);
    store(slope, mask * where_less(rho, 0.0f, z, all(1.0f)) * inverse(z * sigma + sigma));
    return add_logs(sum, sigma, mask);
}

/* The same for rows [n_seeds, n], n in whole 64s; log_sums [n_seeds]. */
void vr_softplus(const float *rho, const float *mask, float *variance, float *slope,
                 float *log_sums, long n_seeds, long n) {
    for (long s = 0; s < n_seeds; s++) {
        logs sum = no_logs();
        for (long i = 0; i < n; i += 64) {
            for (long j = i; j < i + 64; j += VL) {
                long at = s * n + j;
                sum = softplus(load(rho + at), load(mask + j), variance + at, slope + at, sum);
            }
            sum = settled(sum);
        }
        log_sums[s] = (float)total_of(sum);
    }
}

/* ---- Products --------------------------------------------------------------------------------
 *
 * A seed's minibatch is a matrix [batch, features]; inside here its rows are padded to whole
 * 16s. Padded columns are computed like the others, from what lies behind a weight's row, and
 * never used as an input of the next layer.
 */
#define TILE_ROWS 8
#define TILE_VECTORS 4

/* Rows of a tile so many vectors wide: its sums stay in registers, of which there are 32 or 16. */
#if VL == 16
#define ROWS_BY(vectors) ((vectors) == 4 ? 4 : 8)
#else
#define ROWS_BY(vectors) ((vectors) == 4 ? 2 : (vectors) == 1 ? 8 : 4)
#endif

static inline long padded(long n) { return (n + 15) / 16 * 16; }

/* c [rows, vectors * VL] = a b + bias for a tile, a(r, k) = a[r * row_a + k * col_a]. Only the
 * first `width` columns are stored. */
static inline __attribute__((always_inline)) void tile(
    const float *a, long row_a, long col_a, const float *b, long ld_b, float *c, long ld_c,
    const float *bias, long depth, long width, const int rows, const int vectors) {
    vec sum[TILE_ROWS][TILE_VECTORS], line[TILE_VECTORS];
    for (int v = 0; v < vectors; v++) {
        vec start = {0};
        if (bias) start = load(bias + v * VL);
        for (int r = 0; r < rows; r++) sum[r][v] = start;
    }
    for (long k = 0; k < depth; k++) {
        for (int v = 0; v < vectors; v++) line[v] = load(b + k * ld_b + v * VL);
        for (int r = 0; r < rows; r++) {
            float x = a[r * row_a + k * col_a];
            for (int v = 0; v < vectors; v++) sum[r][v] = fused(x, line[v], sum[r][v]);
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) {
            long left = width - v * VL;
            if (left >= VL) store(c + r * ld_c + v * VL, sum[r][v]);
            else store_some(c + r * ld_c + v * VL, sum[r][v], left);
        }
}

static inline __attribute__((always_inline)) void panel(
    const float *a, long row_a, long col_a, const float *b, long ld_b, float *c, long ld_c,
    const float *bias, long m, long depth, long width, const int vectors) {
    const int rows = ROWS_BY(vectors);
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
        panel(a, row_a, col_a, b + j, ld_b, c + j, ld_c, bias ? bias + j : 0, m, depth, n - j, 3);
    if (vectors == 4)
        panel(a, row_a, col_a, b + j, ld_b, c + j, ld_c, bias ? bias + j : 0, m, depth, n - j, 4);
    else if (vectors == 2)
        panel(a, row_a, col_a, b + j, ld_b, c + j, ld_c, bias ? bias + j : 0, m, depth, n - j, 2);
    else if (vectors == 1)
        panel(a, row_a, col_a, b + j, ld_b, c + j, ld_c, bias ? bias + j : 0, m, depth, n - j, 1);
}

/* c [m, n] = a [m, depth] b [depth, n] + bias [n], or with a^T: a(r, k) = a[k * ld_a + r]. Each
 * element is a sum over depth in order, whatever tile it falls into. b and bias are read in whole
 * vectors, so up to 15 floats past their last column. */
static void product(const float *a, long ld_a, const float *b, long ld_b, float *c, long ld_c,
                    const float *bias, long m, long n, long depth) {
    panels(a, ld_a, 1, b, ld_b, c, ld_c, bias, m, n, depth);
}

static void product_transposed(const float *a, long ld_a, const float *b, long ld_b, float *c,
                               long ld_c, long m, long n, long depth) {
    panels(a, 1, ld_a, b, ld_b, c, ld_c, 0, m, n, depth);
}

#if VL == 16
/* to [16, 16] = from [16, 16] transposed */
static inline void transpose_block(const float *from, long ld_from, float *to, long ld_to) {
    __m512 a[16], b[16];
    for (int i = 0; i < 16; i++) a[i] = _mm512_loadu_ps(from + i * ld_from);
    for (int i = 0; i < 16; i += 2) {
        b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
    }
    for (int i = 0; i < 16; i += 4)
        for (int k = 0; k < 2; k++) {
            __m512d low = (__m512d)b[i + k], high = (__m512d)b[i + k + 2];
            a[i + 2 * k] = (__m512)_mm512_unpacklo_pd(low, high);
            a[i + 2 * k + 1] = (__m512)_mm512_unpackhi_pd(low, high);
        }
    for (int i = 0; i < 16; i += 8)
        for (int k = 0; k < 4; k++) {
            b[i + k] = _mm512_shuffle_f32x4(a[i + k], a[i + k + 4], 0x88);
            b[i + k + 4] = _mm512_shuffle_f32x4(a[i + k], a[i + k + 4], 0xdd);
        }
    for (int k = 0; k < 8; k++) {
        a[k] = _mm512_shuffle_f32x4(b[k], b[k + 8], 0x88);
        a[k + 8] = _mm512_shuffle_f32x4(b[k], b[k + 8], 0xdd);
    }
    for (int i = 0; i < 16; i++) _mm512_storeu_ps(to + i * ld_to, a[i]);
}
#endif

/* to [cols, padded(rows)] = from [rows, cols] transposed, zeros where no row is. */
static void transpose(const float *restrict from, float *restrict to, long rows, long cols) {
    long ld = padded(rows);
    for (long i = 0; i < ld; i += 16) {
        long end = i + 16 < rows ? i + 16 : rows, j = 0;
#if VL == 16
        if (end == i + 16)
            for (; j + 16 <= cols; j += 16)
                transpose_block(from + i * cols + j, cols, to + j * ld + i, ld);
#endif
        for (; j < cols; j++) {
            for (long k = i; k < end; k++) to[j * ld + k] = from[k * cols + j];
            for (long k = end; k < i + 16; k++) to[j * ld + k] = 0.0f;
        }
    }
}

/* out [n]: the sum of the rows of g [m, ld] */
static void column_sums(const float *restrict g, long ld, float *restrict out, long m, long n) {
    for (long j = 0; j < n; j += VL) {
        vec sum = {0};
        for (long b = 0; b < m; b++) sum += load(g + b * ld + j);
        if (n - j >= VL) store(out + j, sum);
        else store_some(out + j, sum, n - j);
    }
}

/* ---- Networks --------------------------------------------------------------------------------
 *
 * A network: `sizes` [layers + 1], where its blocks lie in a row, and the row's length. It has a
 * hidden layer at least.
 */
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

/* How many pre-activations a tuple has. */
static long units_of(const net *n) {
    long units = 0;
    for (long i = 1; i <= n->layers; i++) units += n->sizes[i];
    return units;
}

/* One seed's observations: vectors [batch, in], or numbers s [batch] of which the network sees
 * x_i = 1 for i < s, else 0 (a thermometer). */
typedef struct {
    const float *vectors;
    const int32_t *states;
} input;

static input input_of(const float *vectors, const int32_t *states, long s, long batch, long n_in) {
    input in = {vectors ? vectors + s * batch * n_in : 0, states ? states + s * batch : 0};
    return in;
}

#define MOST_LAYERS 32

/* Working space for one seed. For each hidden layer i: output h[i], its square, and spread[i] =
 * eps / (2 std). Everything of a minibatch is [batch, padded(width)]. */
typedef struct {
    float *grad, *grad_second;        /* rows; the padding in them is zero and stays so */
    float *theta, *eps_row, *eps;
    float *h[MOST_LAYERS], *square[MOST_LAYERS], *spread[MOST_LAYERS], *x_square;
    int32_t *order, *sorted, *counts; /* of thermometers: see sort_states */
    int32_t *places, *ends;           /* of vectors: see list_places */
    int few;
    float *flipped, *flipped_var;     /* a layer's weights transposed */
    float *top, *top_var;             /* gradients of the last layer's weights, transposed */
    float *g, *g_var, *below, *through;
    float *q, *d, *slope, *spread_top;
} space;

static float *take(float **free, long count) {
    float *at = *free;
    *free += padded(count);
    return at;
}

/* Up to how many places that are not zero a minibatch of vectors is worth a list of them. */
static long most_places(long n_in, long batch) { return n_in < 64 ? 0 : batch * n_in / 8; }

/* Lay the space out from `base`; return how many floats it takes. */
static long lay_out(space *s, float *base, const net *n, long batch, int states) {
    float *free = base;
    long widest = 0, units = units_of(n), n_out = n->sizes[n->layers];
    for (long i = 1; i <= n->layers; i++)
        if (padded(n->sizes[i]) > widest) widest = padded(n->sizes[i]);
    s->grad = take(&free, n->length);
    s->grad_second = take(&free, n->length);
    s->theta = take(&free, n->length + 16);
    s->eps_row = take(&free, n->length + 64);
    long normals = batch * units > n->length ? batch * units : n->length;
    s->eps = take(&free, normals + 128);
    for (long i = 0; i + 1 < n->layers; i++) {
        long count = batch * padded(n->sizes[i + 1]);
        s->h[i] = take(&free, count);
        s->square[i] = take(&free, count);
        s->spread[i] = take(&free, count);
    }
    s->x_square = take(&free, states ? 0 : batch * n->sizes[0]);
    s->order = (int32_t *)take(&free, states ? batch : 0);
    s->sorted = (int32_t *)take(&free, states ? batch : 0);
    s->counts = (int32_t *)take(&free, states ? n->sizes[0] + 2 : 0);
    s->places = (int32_t *)take(&free, states ? 0 : most_places(n->sizes[0], batch));
    s->ends = (int32_t *)take(&free, states ? 0 : batch);
    s->flipped = take(&free, widest * widest);
    s->flipped_var = take(&free, widest * widest);
    s->top = take(&free, n_out * widest);
    s->top_var = take(&free, n_out * widest);
    s->g = take(&free, batch * widest);
    s->g_var = take(&free, batch * widest);
    s->below = take(&free, batch * widest);
    s->through = take(&free, batch * widest);
    s->q = take(&free, batch * n_out);
    s->d = take(&free, batch);
    s->slope = take(&free, batch);
    s->spread_top = take(&free, batch);
    return free - base;
}

/* How many floats of working space, zero at first, a network needs. */
long vr_space(const long *words, long batch, int states) {
    net n = read_net(words);
    space s;
    return lay_out(&s, 0, &n, batch, states);
}

/* The minibatch in the order of its states: sorted[k] is the state of order[k]. */
static void sort_states(const int32_t *states, long n_in, space *s, long batch) {
    memset(s->counts, 0, (size_t)(n_in + 2) * sizeof *s->counts);
    for (long b = 0; b < batch; b++) s->counts[states[b] + 1]++;
    for (long i = 0; i < n_in; i++) s->counts[i + 1] += s->counts[i];
    for (long b = 0; b < batch; b++) {
        long k = s->counts[states[b]]++;
        s->order[k] = (int32_t)b;
        s->sorted[k] = states[b];
    }
}

/* Which of VL numbers are not zero, as bits. */
static inline uint32_t not_zero(const float *x) {
#if VL == 16
    return _mm512_cmp_ps_mask(_mm512_loadu_ps(x), _mm512_setzero_ps(), _CMP_NEQ_UQ);
#else
    uint32_t bits = 0;
    for (int k = 0; k < VL; k++) bits |= (uint32_t)(x[k] != 0.0f) << k;
    return bits;
#endif
}

/* Where vectors [batch, n_in] are not zero, if there are few such places (one, in a one-hot code):
 * those of tuple b end at s->ends[b], and s->few is 1. */
static void list_places(const float *x, long n_in, space *s, long batch) {
    long most = most_places(n_in, batch), count = 0;
    s->few = 0;
    for (long b = 0; b < batch && most; b++) {
        const float *row = x + b * n_in;
        long i = 0;
        for (; i + VL <= n_in; i += VL)
            for (uint32_t bits = not_zero(row + i); bits; bits &= bits - 1) {
                if (count == most) return;
                s->places[count++] = (int32_t)(i + __builtin_ctz(bits));
            }
        for (; i < n_in; i++)
            if (row[i] != 0.0f) {
                if (count == most) return;
                s->places[count++] = (int32_t)i;
            }
        s->ends[b] = (int32_t)count;
    }
    s->few = most > 0;
}

/* `product` of a first layer, so many columns of it, that leaves zeros out. What they would add to
 * a sum leaves it as it is. */
static inline __attribute__((always_inline)) void product_of_few(
    const float *x, long n_in, const float *b, long ld_b, float *c, long ld_c, const float *bias,
    const space *s, long m, const int vectors) {
    for (long r = 0, k = 0; r < m; r++) {
        vec sum[4];
        for (int v = 0; v < vectors; v++) sum[v] = load(bias + v * VL);
        for (; k < s->ends[r]; k++) {
            long place = s->places[k];
            float by = x[r * n_in + place];
            for (int v = 0; v < vectors; v++)
                sum[v] = fused(by, load(b + place * ld_b + v * VL), sum[v]);
        }
        for (int v = 0; v < vectors; v++) store(c + r * ld_c + v * VL, sum[v]);
    }
}

/* c [batch, ld] = x [batch, in] times the first layer's weights, plus its bias. */
static void first_product(const net *n, const float *x, const float *weight, const float *bias,
                          float *c, const space *s, long batch) {
    long n_in = n->sizes[0], width = n->sizes[1], ld = padded(width), j = 0;
    if (!s->few) {
        product(x, n_in, weight, width, c, ld, bias, batch, ld, n_in);
        return;
    }
    for (; j + 4 * VL <= ld; j += 4 * VL)
        product_of_few(x, n_in, weight + j, width, c + j, ld, bias + j, s, batch, 4);
    for (; j < ld; j += VL)
        product_of_few(x, n_in, weight + j, width, c + j, ld, bias + j, s, batch, 1);
}

/* out [n_in, width] = x^T g, with g [batch, ld], that leaves zeros of x out. */
static void gradient_of_few(const float *x, const float *g, long ld, float *out, long width,
                            long n_in, const space *s, long batch) {
    memset(out, 0, (size_t)(n_in * width) * sizeof(float));
    for (long b = 0, k = 0; b < batch; b++)
        for (; k < s->ends[b]; k++) {
            float by = x[b * n_in + s->places[k]], *to = out + s->places[k] * width;
            long j = 0;
            for (; j + VL <= width; j += VL)
                store(to + j, fused(by, load(g + b * ld + j), load(to + j)));
            for (; j < width; j++) to[j] = fma_(by, g[b * ld + j], to[j]);
        }
}

/* ReLU of so many vectors of one tuple's first layer. */
static inline __attribute__((always_inline)) void rectify(float *h, const vec *sum,
                                                          const int vectors) {
    for (int v = 0; v < vectors; v++) store(h + v * VL, at_least(sum[v], 0.0f));
}

/* The same under noise `e`; also the square, and spread = e / (2 std). */
static inline __attribute__((always_inline)) void rectify_noisy(
    float *h, float *square, float *spread, const vec *mean, const vec *variance, const float *e,
    const int vectors) {
    for (int v = 0; v < vectors; v++) {
        vec eps = load(e + v * VL);
        vec root = inverse_root(at_least(variance[v], 1e-36f));
        vec y = at_least(mean[v] + variance[v] * root * eps, 0.0f);
        store(h + v * VL, y);
        store(square + v * VL, y * y);
        store(spread + v * VL, 0.5f * eps * root);
    }
}

/* First layer at thermometers, so many columns of it: a state s sees the sum of the first s rows
 * of the weights, so the sums run once through the rows. */
static inline __attribute__((always_inline)) void first_of_states(
    const net *n, const float *row, space *s, long batch, long column, const int vectors) {
    long width = n->sizes[1], ld = padded(width), i = 0;
    const float *weight = row + n->weight_at[0] + column, *bias = row + n->bias_at[0] + column;
    vec sum[4];
    for (int v = 0; v < vectors; v++) sum[v] = load(bias + v * VL);
    for (long k = 0; k < batch; k++) {
        for (; i < s->sorted[k]; i++)
            for (int v = 0; v < vectors; v++) sum[v] += load(weight + i * width + v * VL);
        rectify(s->h[0] + s->order[k] * ld + column, sum, vectors);
    }
}

static inline __attribute__((always_inline)) void first_noisy_of_states(
    const net *n, const float *mu, const float *variance, const float *eps, space *s, long batch,
    long column, const int vectors) {
    long width = n->sizes[1], ld = padded(width), i = 0;
    long at_w = n->weight_at[0] + column, at_b = n->bias_at[0] + column;
    vec mean[4], spread[4];
    for (int v = 0; v < vectors; v++) {
        mean[v] = load(mu + at_b + v * VL);
        spread[v] = load(variance + at_b + v * VL);
    }
    for (long k = 0; k < batch; k++) {
        for (; i < s->sorted[k]; i++)
            for (int v = 0; v < vectors; v++) {
                /* The square of a thermometer is itself. */
                mean[v] += load(mu + at_w + i * width + v * VL);
                spread[v] += load(variance + at_w + i * width + v * VL);
            }
        long b = s->order[k], at = b * ld + column;
        rectify_noisy(s->h[0] + at, s->square[0] + at, s->spread[0] + at, mean, spread,
                      eps + b * width + column, vectors);
    }
}

/* Gradient of the first layer's weights at thermometers, so many columns of it: that of row i is
 * the sum of g over the tuples whose state is above i. Of the last vector `left` are stored. */
static inline __attribute__((always_inline)) void gradient_of_states(
    const float *g, long ld, float *out, long width, long n_in, const space *s, long batch,
    long left, const int vectors) {
    vec sum[4] = {{0}};
    long i = n_in;
    for (long k = batch; k-- > 0;) {
        for (; i > s->sorted[k]; i--)
            for (int v = 0; v < vectors; v++) {
                float *to = out + (i - 1) * width + v * VL;
                if (left >= (v + 1) * VL) store(to, sum[v]);
                else if (left > v * VL) store_some(to, sum[v], left - v * VL);
            }
        for (int v = 0; v < vectors; v++) sum[v] += load(g + s->order[k] * ld + v * VL);
    }
    for (; i > 0; i--)
        for (int v = 0; v < vectors; v++) {
            float *to = out + (i - 1) * width + v * VL;
            if (left >= (v + 1) * VL) store(to, sum[v]);
            else if (left > v * VL) store_some(to, sum[v], left - v * VL);
        }
}

/* Gradient of the first layer's weights from that of its outputs, g [batch, ld]. */
static void first_layer_gradient(const net *n, const float *vectors, const float *g, float *out,
                                 const space *s, long batch) {
    long n_in = n->sizes[0], width = n->sizes[1], ld = padded(width), j = 0;
    if (vectors && s->few) {
        gradient_of_few(vectors, g, ld, out, width, n_in, s, batch);
        return;
    }
    if (vectors) {
        product_transposed(vectors, n_in, g, ld, out, width, n_in, width, batch);
        return;
    }
    for (; j + 4 * VL <= ld; j += 4 * VL)
        gradient_of_states(g + j, ld, out + j, width, n_in, s, batch, width - j, 4);
    for (; j < ld; j += VL)
        gradient_of_states(g + j, ld, out + j, width, n_in, s, batch, width - j, 1);
}

/* Hidden layers of an MLP with ReLU. */
static void mlp_hidden(const net *n, const float *row, input in, space *s, long batch) {
    long first = 0;
    if (in.states) {
        long ld = padded(n->sizes[1]), j = 0;
        sort_states(in.states, n->sizes[0], s, batch);
        for (; j + 4 * VL <= ld; j += 4 * VL) first_of_states(n, row, s, batch, j, 4);
        for (; j < ld; j += VL) first_of_states(n, row, s, batch, j, 1);
        first = 1;
    } else
        list_places(in.vectors, n->sizes[0], s, batch);
    for (long i = first; i + 1 < n->layers; i++) {
        long width = n->sizes[i + 1], ld = padded(width), depth = n->sizes[i];
        const float *weight = row + n->weight_at[i], *bias = row + n->bias_at[i];
        float *h = s->h[i];
        if (i == 0) first_product(n, in.vectors, weight, bias, h, s, batch);
        else product(s->h[i - 1], padded(depth), weight, width, h, ld, bias, batch, ld, depth);
        for (long k = 0; k < batch * ld; k += VL) store(h + k, at_least(load(h + k), 0.0f));
    }
}

/* Hidden layers by local reparameterisation, with variances `variance` (a row like mu) and one
 * normal a unit, layer by layer, each [batch, units]. Returns the last layer's normals. */
static const float *gaussian_hidden(const net *n, const float *mu, const float *variance, input in,
                                    const float *eps, space *s, long batch) {
    long first = 0;
    if (in.states) {
        long ld = padded(n->sizes[1]), j = 0;
        sort_states(in.states, n->sizes[0], s, batch);
        for (; j + 4 * VL <= ld; j += 4 * VL)
            first_noisy_of_states(n, mu, variance, eps, s, batch, j, 4);
        for (; j < ld; j += VL) first_noisy_of_states(n, mu, variance, eps, s, batch, j, 1);
        eps += batch * n->sizes[1];
        first = 1;
    } else {
        list_places(in.vectors, n->sizes[0], s, batch);
        for (long k = 0; k < batch * n->sizes[0]; k++)
            s->x_square[k] = in.vectors[k] * in.vectors[k];
    }
    for (long i = first; i + 1 < n->layers; i++) {
        long width = n->sizes[i + 1], ld = padded(width), depth = n->sizes[i];
        long at_w = n->weight_at[i], at_b = n->bias_at[i], ld_x = padded(depth);
        float *h = s->h[i], *square = s->square[i], *spread = s->spread[i];
        if (i == 0) {
            first_product(n, s->x_square, variance + at_w, variance + at_b, spread, s, batch);
            first_product(n, in.vectors, mu + at_w, mu + at_b, h, s, batch);
        } else {
            product(s->square[i - 1], ld_x, variance + at_w, width, spread, ld, variance + at_b,
                    batch, ld, depth);
            product(s->h[i - 1], ld_x, mu + at_w, width, h, ld, mu + at_b, batch, ld, depth);
        }
        for (long b = 0; b < batch; b++)
            for (long j = 0; j < ld; j += VL) {
                long at = b * ld + j;
                vec mean = load(h + at), v = load(spread + at);
                rectify_noisy(h + at, square + at, spread + at, &mean, &v, eps + b * width + j, 1);
            }
        eps += batch * width;
    }
    return eps;
}

static inline float dot(const float *a, const float *b, long ld) {
    vec sum = {0};
    for (long j = 0; j < ld; j += VL) sum += load(a + j) * load(b + j);
    return lane_sum(sum);
}

/* The last layer's weights transposed, in s->flipped. */
static void flip_last(const net *n, const float *row, float *flipped) {
    long last = n->layers - 1;
    transpose(row + n->weight_at[last], flipped, n->sizes[last], n->sizes[last + 1]);
}

/* q [batch, A] from the hidden layers of an MLP. */
static void mlp_values(const net *n, const float *row, space *s, float *q, long batch) {
    long last = n->layers - 1, ld = padded(n->sizes[last]), n_out = n->sizes[n->layers];
    const float *bias = row + n->bias_at[last], *h = s->h[last - 1];
    flip_last(n, row, s->flipped);
    for (long b = 0; b < batch; b++)
        for (long a = 0; a < n_out; a++)
            q[b * n_out + a] = bias[a] + dot(h + b * ld, s->flipped + a * ld, ld);
}

/* q [batch, A] from the hidden layers by local reparameterisation and the last normals. */
static void gaussian_values(const net *n, const float *mu, const float *variance, const float *eps,
                            space *s, float *q, long batch) {
    long last = n->layers - 1, ld = padded(n->sizes[last]), n_out = n->sizes[n->layers];
    const float *bias = mu + n->bias_at[last], *bias_var = variance + n->bias_at[last];
    flip_last(n, mu, s->flipped);
    flip_last(n, variance, s->flipped_var);
    for (long b = 0; b < batch; b++)
        for (long a = 0; a < n_out; a++) {
            float v = bias_var[a] + dot(s->square[last - 1] + b * ld, s->flipped_var + a * ld, ld);
            float m = bias[a] + dot(s->h[last - 1] + b * ld, s->flipped + a * ld, ld);
            q[b * n_out + a] = fma_(__builtin_sqrtf(v), eps[b * n_out + a], m);
        }
}

/* q [n_seeds, batch, A] of an MLP. */
void vr_mlp_forward(const long *words, const float *rows, const float *x, const int32_t *states,
                    float *q, float *working, long n_seeds, long batch) {
    net n = read_net(words);
    space s;
    lay_out(&s, working, &n, batch, states != 0);
    for (long k = 0; k < n_seeds; k++) {
        const float *row = rows + k * n.length;
        mlp_hidden(&n, row, input_of(x, states, k, batch, n.sizes[0]), &s, batch);
        mlp_values(&n, row, &s, q + k * batch * n.sizes[n.layers], batch);
    }
}

/* q [n_seeds, batch, A] by local reparameterisation; eps [n_seeds, eps_stride]. */
void vr_gaussian_forward(const long *words, const float *mu, const float *variance, const float *x,
                         const int32_t *states, const float *eps, float *q, float *working,
                         long n_seeds, long batch, long eps_stride) {
    net n = read_net(words);
    space s;
    lay_out(&s, working, &n, batch, states != 0);
    long units = units_of(&n);
    for (long k = 0; k < n_seeds; k++) {
        const float *m = mu + k * n.length, *v = variance + k * n.length;
        /* Whole vectors are read: a copy has room behind its end. */
        memcpy(s.eps, eps + k * eps_stride, (size_t)(batch * units) * sizeof(float));
        const float *rest = gaussian_hidden(
            &n, m, v, input_of(x, states, k, batch, n.sizes[0]), s.eps, &s, batch);
        gaussian_values(&n, m, v, rest, &s, q + k * batch * n.sizes[n.layers], batch);
    }
}

/* ---- An update -------------------------------------------------------------------------------
 *
 * Seed by seed from its minibatch to its new parameters: targets, loss, gradient, Adam, and what
 * follows from the new parameters.
 */
enum sample { POINT, ONE_A_BATCH, ONE_A_TUPLE };
enum noise { INDEPENDENT, FACTORISED };
enum second { NONE, SIGMA, RHO };
enum loss { SQUARED, HUBER };

typedef struct {
    const long *words;
    long n_seeds, batch;
    /* Which theta is drawn, and how sigma is parameterised. */
    long sample, target_sample, noise, second, loss;
    /* The minibatch [n_seeds, batch, ...]; discount = gamma (1 - terminal). */
    const float *x, *x_next;
    const int32_t *states, *states_next;
    const int64_t *action;
    const float *reward, *discount;
    /* Rows [n_seeds, length]; of the target the variances (ONE_A_TUPLE) or sigmas. */
    float *mu, *row2, *moment1, *moment2, *moment1_row2, *moment2_row2;
    const float *target_mu, *target_row2;
    float *variance, *slope, *log_sum;
    uint64_t *lanes, *target_lanes;
    float *working;
    /* A seed's loss is weight sum_j l(q_j - d_j) - entropy_weight H. */
    const float *weight, *entropy_weight;
    const double *lr;
    double beta1, beta2, eps, bias1, root_bias2;
    /* Sums over the minibatch, and the gradient's norm, [n_seeds]. */
    double *squares, *losses, *values, *norm;
} update;

static long whole_64s(long n) { return (n + 63) / 64 * 64; }

/* eps_W = f(e_in) f(e_out)^T and eps_b = f(e_out), f(x) = sign(x) sqrt|x| (Fortunato 2017) */
static void factorised_row(const net *n, uint64_t *lanes, float *draws, float *row) {
    long count = 0;
    for (long i = 0; i < n->layers; i++) count += n->sizes[i] + n->sizes[i + 1];
    normals_row(lanes, draws, whole_64s(count));
    for (long k = 0; k < count; k++)
        draws[k] = draws[k] < 0.0f ? -__builtin_sqrtf(-draws[k]) : __builtin_sqrtf(draws[k]);
    for (long i = 0; i < n->layers; i++) {
        long n_in = n->sizes[i], n_out = n->sizes[i + 1];
        const float *f_in = draws, *f_out = draws + n_in;
        float *weight = row + n->weight_at[i], *bias = row + n->bias_at[i];
        for (long k = 0; k < n_in; k++)
            for (long j = 0; j < n_out; j++) weight[k * n_out + j] = f_in[k] * f_out[j];
        memcpy(bias, f_out, (size_t)n_out * sizeof(float));
        draws += n_in + n_out;
    }
}

/* One theta for the minibatch; its noise stays in s->eps_row. */
static const float *drawn_theta(const net *n, const update *u, const float *mu, const float *sigma,
                                uint64_t *lanes, space *s) {
    if (u->noise == FACTORISED) factorised_row(n, lanes, s->eps, s->eps_row);
    else normals_row(lanes, s->eps_row, n->length);
    for (long i = 0; i < n->length; i++) s->theta[i] = fma_(sigma[i], s->eps_row[i], mu[i]);
    return s->theta;
}

/* d_j = r_j + gamma (1 - terminal_j) max_a Q^-(s'_j, a) */
static void targets(const net *n, const update *u, long k, space *s) {
    long batch = u->batch, n_out = n->sizes[n->layers];
    input in = input_of(u->x_next, u->states_next, k, batch, n->sizes[0]);
    const float *mu = u->target_mu + k * n->length;
    if (u->target_sample == ONE_A_TUPLE) {
        const float *variance = u->target_row2 + k * n->length;
        normals_row(u->target_lanes + k * LANES * 4, s->eps, whole_64s(batch * units_of(n)));
        const float *rest = gaussian_hidden(n, mu, variance, in, s->eps, s, batch);
        gaussian_values(n, mu, variance, rest, s, s->q, batch);
    } else {
        if (u->target_sample == ONE_A_BATCH)
            mu = drawn_theta(n, u, mu, u->target_row2 + k * n->length,
                             u->target_lanes + k * LANES * 4, s);
        mlp_hidden(n, mu, in, s, batch);
        mlp_values(n, mu, s, s->q, batch);
    }
    for (long b = 0; b < batch; b++) {
        const float *q = s->q + b * n_out;
        float most = q[0];
        for (long a = 1; a < n_out; a++) most = q[a] > most ? q[a] : most;
        s->d[b] = fma_(u->discount[k * batch + b], most, u->reward[k * batch + b]);
    }
}

/* Q_theta(s_j, a_j) for the actions taken, in s->q [batch], from the hidden layers. Where every
 * tuple has its theta also s->spread_top = eps / (2 std). */
static void values_taken(const net *n, const float *mu, const float *variance, const float *eps,
                         const int64_t *action, space *s, long batch) {
    long last = n->layers - 1, ld = padded(n->sizes[last]), n_out = n->sizes[n->layers];
    const float *bias = mu + n->bias_at[last];
    flip_last(n, mu, s->flipped);
    for (long b = 0; b < batch; b++) {
        long a = action[b];
        s->q[b] = bias[a] + dot(s->h[last - 1] + b * ld, s->flipped + a * ld, ld);
    }
    if (!variance) return;
    const float *bias_var = variance + n->bias_at[last];
    flip_last(n, variance, s->flipped_var);
    for (long b = 0; b < batch; b++) {
        long a = action[b];
        float v = bias_var[a] + dot(s->square[last - 1] + b * ld, s->flipped_var + a * ld, ld);
        float e = eps[b * n_out + a], std = __builtin_sqrtf(v);
        s->q[b] = fma_(std, e, s->q[b]);
        s->spread_top[b] = 0.5f * e / (std < 1e-18f ? 1e-18f : std);
    }
}

/* The loss's slopes in Q_theta(s_j, a_j), in s->slope; sums over the minibatch to the update. */
static void loss_slopes(const update *u, long k, space *s) {
    double squares = 0.0, losses = 0.0, values = 0.0;
    float weight = u->weight[k];
    for (long b = 0; b < u->batch; b++) {
        float error = s->q[b] - s->d[b], square = error * error;
        values += s->q[b];
        squares += square;
        if (u->loss == HUBER) {
            float size = error < 0.0f ? -error : error;
            losses += size < 1.0f ? 0.5f * square : size - 0.5f;
            s->slope[b] = weight * (error < -1.0f ? -1.0f : error > 1.0f ? 1.0f : error);
        } else {
            losses += square;
            s->slope[b] = weight * 2.0f * error;
        }
    }
    u->squares[k] = squares;
    u->losses[k] = losses;
    u->values[k] = values;
}

/* weight [below, A] = top [A, ld] transposed */
static void unflip(const float *top, long ld, float *weight, long below, long n_out) {
    for (long k = 0; k < below; k++)
        for (long a = 0; a < n_out; a++) weight[k * n_out + a] = top[a * ld + k];
}

/* Gradient of the last layer, and s->g, that of what enters the last ReLU. Only the action taken
 * has a gradient. */
static void last_layer(const net *n, const int64_t *action, space *s, long batch) {
    long last = n->layers - 1, below = n->sizes[last], ld = padded(below);
    long n_out = n->sizes[n->layers];
    float *bias = s->grad + n->bias_at[last];
    memset(s->top, 0, (size_t)(n_out * ld) * sizeof(float));
    for (long a = 0; a < n_out; a++) bias[a] = 0.0f;
    for (long b = 0; b < batch; b++) {
        const float *h = s->h[last - 1] + b * ld, *weight = s->flipped + action[b] * ld;
        float *top = s->top + action[b] * ld, by = s->slope[b];
        bias[action[b]] += by;
        for (long j = 0; j < ld; j += VL) {
            vec y = load(h + j);
            store(top + j, load(top + j) + by * y);
            store(s->g + b * ld + j, where_positive(y, by * load(weight + j)));
        }
    }
    unflip(s->top, ld, s->grad + n->weight_at[last], below, n_out);
}

/* g, the gradient of what enters a ReLU with output y, and g_var, that of its variance, of which
 * the derivative is eps / (2 std): y enters the layer above as itself, with gradient `direct`,
 * and as its square, with gradient `through`. */
static inline void store_noisy_gradient(float *g, float *g_var, vec y, vec direct, vec through,
                                        vec spread) {
    vec d = where_positive(y, direct + 2.0f * y * through);
    store(g, d);
    store(g_var, d * spread);
}

/* The same by local reparameterisation; also the gradients of the variances. */
static void last_noisy_layer(const net *n, const int64_t *action, space *s, long batch) {
    long last = n->layers - 1, below = n->sizes[last], ld = padded(below);
    long n_out = n->sizes[n->layers];
    float *bias = s->grad + n->bias_at[last], *bias_var = s->grad_second + n->bias_at[last];
    memset(s->top, 0, (size_t)(n_out * ld) * sizeof(float));
    memset(s->top_var, 0, (size_t)(n_out * ld) * sizeof(float));
    for (long a = 0; a < n_out; a++) bias[a] = bias_var[a] = 0.0f;
    for (long b = 0; b < batch; b++) {
        long at = b * ld, of_action = action[b] * ld;
        float by = s->slope[b], by_var = by * s->spread_top[b];
        bias[action[b]] += by;
        bias_var[action[b]] += by_var;
        for (long j = 0; j < ld; j += VL) {
            float *top = s->top + of_action + j, *top_var = s->top_var + of_action + j;
            vec y = load(s->h[last - 1] + at + j);
            store(top, load(top) + by * y);
            store(top_var, load(top_var) + by_var * (y * y));
            store_noisy_gradient(s->g + at + j, s->g_var + at + j, y,
                                 by * load(s->flipped + of_action + j),
                                 by_var * load(s->flipped_var + of_action + j),
                                 load(s->spread[last - 1] + at + j));
        }
    }
    unflip(s->top, ld, s->grad + n->weight_at[last], below, n_out);
    unflip(s->top_var, ld, s->grad_second + n->weight_at[last], below, n_out);
}

static void swap(float **a, float **b) {
    float *kept = *a;
    *a = *b;
    *b = kept;
}

/* Gradient rows of an MLP in s->grad, from s->g, that of what enters the last ReLU. */
static void mlp_backward(const net *n, const float *row, input in, space *s, long batch) {
    for (long i = n->layers - 2;; i--) {
        long width = n->sizes[i + 1], ld = padded(width), below = n->sizes[i];
        long ld_below = padded(below), at_w = n->weight_at[i];
        column_sums(s->g, ld, s->grad + n->bias_at[i], batch, width);
        if (i == 0) break;
        const float *h = s->h[i - 1];
        product_transposed(h, ld_below, s->g, ld, s->grad + at_w, width, below, width, batch);
        transpose(row + at_w, s->flipped, below, width);
        product(s->g, ld, s->flipped, ld_below, s->below, ld_below, 0, batch, ld_below, width);
        for (long k = 0; k < batch * ld_below; k += VL)
            store(s->below + k, where_positive(load(h + k), load(s->below + k)));
        swap(&s->g, &s->below);
    }
    first_layer_gradient(n, in.vectors, s->g, s->grad + n->weight_at[0], s, batch);
}

/* Gradient rows with respect to mu in s->grad and to the variances in s->grad_second, from s->g
 * and s->g_var, those of what enters the last ReLU and of its variance. */
static void gaussian_backward(const net *n, const float *mu, const float *variance, input in,
                              space *s, long batch) {
    for (long i = n->layers - 2;; i--) {
        long width = n->sizes[i + 1], ld = padded(width), below = n->sizes[i];
        long ld_below = padded(below), at_w = n->weight_at[i];
        column_sums(s->g, ld, s->grad + n->bias_at[i], batch, width);
        column_sums(s->g_var, ld, s->grad_second + n->bias_at[i], batch, width);
        if (i == 0) break;
        const float *h = s->h[i - 1], *square = s->square[i - 1], *spread = s->spread[i - 1];
        product_transposed(h, ld_below, s->g, ld, s->grad + at_w, width, below, width, batch);
        product_transposed(square, ld_below, s->g_var, ld, s->grad_second + at_w, width, below,
                           width, batch);
        transpose(mu + at_w, s->flipped, below, width);
        product(s->g, ld, s->flipped, ld_below, s->below, ld_below, 0, batch, ld_below, width);
        transpose(variance + at_w, s->flipped, below, width);
        product(s->g_var, ld, s->flipped, ld_below, s->through, ld_below, 0, batch, ld_below, width);
        for (long k = 0; k < batch * ld_below; k += VL)
            store_noisy_gradient(s->below + k, s->through + k, load(h + k), load(s->below + k),
                                 load(s->through + k), load(spread + k));
        swap(&s->g, &s->below);
        swap(&s->g_var, &s->through);
    }
    float *weight = s->grad + n->weight_at[0], *weight_var = s->grad_second + n->weight_at[0];
    first_layer_gradient(n, in.vectors, s->g, weight, s, batch);
    first_layer_gradient(n, in.vectors ? s->x_square : 0, s->g_var, weight_var, s, batch);
}

/* Adam (Kingma and Ba, 2015). */
typedef struct {
    float beta1, beta2, rest1, rest2, scale, eps, step;
} rates;

static rates rates_of(double beta1, double beta2, double eps, double step, double root_bias2) {
    rates r = {.beta1 = (float)beta1, .beta2 = (float)beta2, .eps = (float)eps};
    r.rest1 = 1.0f - r.beta1;
    r.rest2 = 1.0f - r.beta2;
    r.scale = (float)(1.0 / root_bias2);
    r.step = (float)step;
    return r;
}

/* One step of a vector of parameters with gradient g; returns the new parameters. */
static inline vec adam(float *restrict p, float *restrict m, float *restrict v, vec g,
                       const rates *r) {
    vec mi = r->beta1 * load(m) + r->rest1 * g;
    vec vi = r->beta2 * load(v) + r->rest2 * (g * g);
    store(m, mi);
    store(v, vi);
    vec root = vi * inverse_root(at_least(vi, 1e-36f));
    vec next = load(p) - r->step * mi * inverse(root * r->scale + r->eps);
    store(p, next);
    return next;
}

/* A step on sigma; its square goes to `variance`. Returns g^2. */
static inline vec step_sigma(float *sigma, float *m, float *v, float *variance, vec g,
                             const rates *r) {
    vec next = adam(sigma, m, v, g, r);
    store(variance, next * next);
    return g * g;
}

/* One Adam step on a seed's rows; what follows from them is kept. */
static void descend(const net *n, const update *u, const float *mask, long k, space *s) {
    long at = k * n->length;
    float entropy_weight = u->entropy_weight[k];
    float *mu = u->mu + at, *m = u->moment1 + at, *v = u->moment2 + at;
    float *row2 = u->row2 + at, *m2 = u->moment1_row2 + at, *v2 = u->moment2_row2 + at;
    float *variance = u->variance + at, *slope = u->slope + at;
    const float *grad = s->grad, *second = s->grad_second, *eps = s->eps_row;
    rates of = rates_of(u->beta1, u->beta2, u->eps, u->lr[k] / u->bias1, u->root_bias2);
    const rates *r = &of;
    vec norm = {0};
    logs sum = no_logs();
    if (u->second == SIGMA && u->sample == ONE_A_BATCH)
        for (long i = 0; i < n->length; i += VL)
            norm += step_sigma(row2 + i, m2 + i, v2 + i, variance + i,
                               load(grad + i) * load(eps + i), r);
    else if (u->second == SIGMA)
        for (long i = 0; i < n->length; i += VL)
            norm += step_sigma(row2 + i, m2 + i, v2 + i, variance + i,
                               2.0f * load(row2 + i) * load(second + i), r);
    else if (u->second == RHO)
        /* In two loops: one would be too long for the processor to overlap its rounds. */
        for (long i = 0; i < n->length; i += 64) {
            for (long j = i; j < i + 64; j += VL) {
                vec var = load(variance + j);
                /* d loss / d log sigma */
                vec by_log;
                if (u->sample == ONE_A_BATCH) {
                    vec sigma = var * inverse_root(at_least(var, 1e-36f));
                    by_log = load(grad + j) * load(eps + j) * sigma;
                } else
                    by_log = 2.0f * var * load(second + j);
                vec g = (by_log - entropy_weight) * load(slope + j);
                norm += g * g;
                adam(row2 + j, m2 + j, v2 + j, g, r);
            }
            for (long j = i; j < i + 64; j += VL)
                sum = softplus(load(row2 + j), load(mask + j), variance + j, slope + j, sum);
            sum = settled(sum);
        }
    for (long i = 0; i < n->length; i += VL) {
        vec g = load(grad + i);
        norm += g * g;
        adam(mu + i, m + i, v + i, g, r);
    }
    if (u->second == RHO) u->log_sum[k] = (float)total_of(sum);
    u->norm[k] = __builtin_sqrt(lane_sum(norm));
}

void vr_update(const update *u, const float *mask) {
    net n = read_net(u->words);
    space s;
    long batch = u->batch;
    lay_out(&s, u->working, &n, batch, u->states != 0);
    for (long k = 0; k < u->n_seeds; k++) {
        const float *mu = u->mu + k * n.length;
        const float *variance = u->second == NONE ? 0 : u->variance + k * n.length;
        const int64_t *action = u->action + k * batch;
        input in = input_of(u->x, u->states, k, batch, n.sizes[0]);
        uint64_t *lanes = u->lanes + k * LANES * 4;
        targets(&n, u, k, &s);
        if (u->sample == ONE_A_TUPLE) {
            normals_row(lanes, s.eps, whole_64s(batch * units_of(&n)));
            const float *rest = gaussian_hidden(&n, mu, variance, in, s.eps, &s, batch);
            values_taken(&n, mu, variance, rest, action, &s, batch);
            loss_slopes(u, k, &s);
            last_noisy_layer(&n, action, &s, batch);
            gaussian_backward(&n, mu, variance, in, &s, batch);
        } else {
            const float *theta = mu;
            if (u->sample == ONE_A_BATCH) {
                const float *sigma = u->row2 + k * n.length;
                if (u->second == RHO) {
                    for (long i = 0; i < n.length; i++)
                        s.theta[i] = __builtin_sqrtf(variance[i]);
                    sigma = s.theta;
                }
                theta = drawn_theta(&n, u, mu, sigma, lanes, &s);
            }
            mlp_hidden(&n, theta, in, &s, batch);
            values_taken(&n, theta, 0, 0, action, &s, batch);
            loss_slopes(u, k, &s);
            last_layer(&n, action, &s, batch);
            mlp_backward(&n, theta, in, &s, batch);
        }
        descend(&n, u, mask, k, &s);
    }
}

/* ---- Pieces of an update ---------------------------------------------------------------------
 *
 * For losses that vr_update does not know: gradients from the slopes in all outputs, and Adam.
 */

/* Gradient of the last layer, and s->g, from the slopes [batch, A] in all outputs. */
static void whole_last_layer(const net *n, const float *row, const float *slopes, space *s,
                             long batch) {
    long last = n->layers - 1, below = n->sizes[last], ld = padded(below);
    long n_out = n->sizes[n->layers];
    float *bias = s->grad + n->bias_at[last];
    flip_last(n, row, s->flipped);
    memset(s->top, 0, (size_t)(n_out * ld) * sizeof(float));
    memset(s->g, 0, (size_t)(batch * ld) * sizeof(float));
    for (long a = 0; a < n_out; a++) bias[a] = 0.0f;
    for (long b = 0; b < batch; b++) {
        const float *h = s->h[last - 1] + b * ld;
        float *g = s->g + b * ld;
        for (long a = 0; a < n_out; a++) {
            const float *weight = s->flipped + a * ld;
            float *top = s->top + a * ld, by = slopes[b * n_out + a];
            /* Most losses are of the action taken. */
            if (by == 0.0f) continue;
            bias[a] += by;
            for (long j = 0; j < ld; j += VL) {
                store(top + j, load(top + j) + by * load(h + j));
                store(g + j, load(g + j) + by * load(weight + j));
            }
        }
        for (long j = 0; j < ld; j += VL) store(g + j, where_positive(load(h + j), load(g + j)));
    }
    unflip(s->top, ld, s->grad + n->weight_at[last], below, n_out);
}

/* The same by local reparameterisation with the last layer's normals; also the gradients of the
 * variances, and s->g_var. */
static void whole_last_noisy_layer(const net *n, const float *mu, const float *variance,
                                   const float *eps, const float *slopes, space *s, long batch) {
    long last = n->layers - 1, below = n->sizes[last], ld = padded(below);
    long n_out = n->sizes[n->layers];
    const float *start_var = variance + n->bias_at[last];
    float *bias = s->grad + n->bias_at[last], *bias_var = s->grad_second + n->bias_at[last];
    flip_last(n, mu, s->flipped);
    flip_last(n, variance, s->flipped_var);
    memset(s->top, 0, (size_t)(n_out * ld) * sizeof(float));
    memset(s->top_var, 0, (size_t)(n_out * ld) * sizeof(float));
    memset(s->g, 0, (size_t)(batch * ld) * sizeof(float));
    memset(s->g_var, 0, (size_t)(batch * ld) * sizeof(float));
    for (long a = 0; a < n_out; a++) bias[a] = bias_var[a] = 0.0f;
    for (long b = 0; b < batch; b++) {
        const float *h = s->h[last - 1] + b * ld, *square = s->square[last - 1] + b * ld;
        float *g = s->g + b * ld, *g_var = s->g_var + b * ld;
        for (long a = 0; a < n_out; a++) {
            const float *weight = s->flipped + a * ld, *weight_var = s->flipped_var + a * ld;
            float *top = s->top + a * ld, *top_var = s->top_var + a * ld;
            float by = slopes[b * n_out + a];
            if (by == 0.0f) continue;
            float std = __builtin_sqrtf(start_var[a] + dot(square, weight_var, ld));
            float by_var = by * 0.5f * eps[b * n_out + a] / (std < 1e-18f ? 1e-18f : std);
            bias[a] += by;
            bias_var[a] += by_var;
            for (long j = 0; j < ld; j += VL) {
                store(top + j, load(top + j) + by * load(h + j));
                store(top_var + j, load(top_var + j) + by_var * load(square + j));
                store(g + j, load(g + j) + by * load(weight + j));
                store(g_var + j, load(g_var + j) + by_var * load(weight_var + j));
            }
        }
        for (long j = 0; j < ld; j += VL)
            store_noisy_gradient(g + j, g_var + j, load(h + j), load(g + j), load(g_var + j),
                                 load(s->spread[last - 1] + b * ld + j));
    }
    unflip(s->top, ld, s->grad + n->weight_at[last], below, n_out);
    unflip(s->top_var, ld, s->grad_second + n->weight_at[last], below, n_out);
}

/* Gradient rows [n_seeds, length] of an MLP from the slopes [n_seeds, batch, A] in its outputs. */
void vr_mlp_backward(const long *words, const float *rows, const float *x, const int32_t *states,
                     const float *slopes, float *grads, float *working, long n_seeds, long batch) {
    net n = read_net(words);
    space s;
    lay_out(&s, working, &n, batch, states != 0);
    for (long k = 0; k < n_seeds; k++) {
        const float *row = rows + k * n.length;
        input in = input_of(x, states, k, batch, n.sizes[0]);
        mlp_hidden(&n, row, in, &s, batch);
        whole_last_layer(&n, row, slopes + k * batch * n.sizes[n.layers], &s, batch);
        mlp_backward(&n, row, in, &s, batch);
        memcpy(grads + k * n.length, s.grad, (size_t)n.length * sizeof(float));
    }
}

/* The same by local reparameterisation: gradients of the means and of the variances. */
void vr_gaussian_backward(const long *words, const float *mu, const float *variance,
                          const float *x, const int32_t *states, const float *eps,
                          const float *slopes, float *grads, float *grads_var, float *working,
                          long n_seeds, long batch, long eps_stride) {
    net n = read_net(words);
    space s;
    lay_out(&s, working, &n, batch, states != 0);
    long units = units_of(&n);
    size_t bytes = (size_t)n.length * sizeof(float);
    for (long k = 0; k < n_seeds; k++) {
        const float *m = mu + k * n.length, *v = variance + k * n.length;
        input in = input_of(x, states, k, batch, n.sizes[0]);
        memcpy(s.eps, eps + k * eps_stride, (size_t)(batch * units) * sizeof(float));
        const float *rest = gaussian_hidden(&n, m, v, in, s.eps, &s, batch);
        whole_last_noisy_layer(&n, m, v, rest, slopes + k * batch * n.sizes[n.layers], &s, batch);
        gaussian_backward(&n, m, v, in, &s, batch);
        memcpy(grads + k * n.length, s.grad, bytes);
        memcpy(grads_var + k * n.length, s.grad_second, bytes);
    }
}

/* One Adam step on rows [n_seeds, n], n in whole 64s; adds the squares of the gradients up. */
void vr_adam(float *rows, float *moment1, float *moment2, const float *grads, const double *lr,
             double *squares, double beta1, double beta2, double eps, double bias1,
             double root_bias2, long n_seeds, long n) {
    for (long k = 0; k < n_seeds; k++) {
        rates r = rates_of(beta1, beta2, eps, lr[k] / bias1, root_bias2);
        vec norm = {0};
        for (long i = k * n; i < (k + 1) * n; i += VL) {
            vec g = load(grads + i);
            norm += g * g;
            adam(rows + i, moment1 + i, moment2 + i, g, &r);
        }
        squares[k] += lane_sum(norm);
    }
}
