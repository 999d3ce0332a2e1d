/*
 * exact.h: sums and products of two doubles without rounding error, and numbers made of two doubles.
 *
 * Source: Dekker, A floating-point technique for extending the available precision, 1971; Knuth, TAOCP 2, 4.2.2.
 * They hold because the core is compiled without contraction and without fast-math.
 */
#ifndef PFNN_EXACT_H
#define PFNN_EXACT_H

/* An unevaluated sum high + low, |low| at most half a unit in the last place of high. */
typedef struct pfnn_pair {
    double high, low;
} pfnn_pair;

static inline pfnn_pair pfnn_pair_sum(double a, double b)
{
    double s = a + b, t = s - a;
    return (pfnn_pair){s, (a - (s - t)) + (b - t)};
}

/* |a| and |b| below 1e292, so that the split does not overflow */
static inline pfnn_pair pfnn_pair_product(double a, double b)
{
    const double splitter = 134217729.0; /* 2^27 + 1 */
    double ca = splitter * a, cb = splitter * b;
    double ah = ca - (ca - a), bh = cb - (cb - b);
    double al = a - ah, bl = b - bh, p = a * b;
    return (pfnn_pair){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

static inline pfnn_pair pfnn_pair_add(pfnn_pair a, pfnn_pair b)
{
    pfnn_pair s = pfnn_pair_sum(a.high, b.high), t = pfnn_pair_sum(a.low, b.low);
    s = pfnn_pair_sum(s.high, s.low + t.high);
    return pfnn_pair_sum(s.high, s.low + t.low);
}

static inline pfnn_pair pfnn_pair_scale(pfnn_pair a, double b)
{
    pfnn_pair p = pfnn_pair_product(a.high, b);
    return pfnn_pair_sum(p.high, p.low + a.low * b);
}

/* a / b as a pair; both finite, b not 0 */
static inline pfnn_pair pfnn_pair_quotient(double a, double b)
{
    double q = a / b;
    pfnn_pair p = pfnn_pair_product(q, b);
    return pfnn_pair_sum(q, ((a - p.high) - p.low) / b);
}

#endif /* PFNN_EXACT_H */
