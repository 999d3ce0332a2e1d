/*
 * rotation_body.h: rotations many at a time, in loops without branches that compilers vectorise.
 *
 * Included once for each instruction set: NAME(x) names the functions, TARGET stands before them, and PFNN_FUSED is set
 * where fma() is one instruction. Arrays are contiguous and do not overlap. Where an item is outside of what a loop can
 * do (norms far from 1, zero, not finite, half turns, long vectors), its result is NaN, and the function returns
 * non-zero: rotation_many.c then does these items one by one. What an item's numbers are multiplied by goes through an
 * array: written in one loop, compilers compute it once for each number.
 */

/* p + e = a b exactly, for products that neither overflow nor vanish. Without fma by Veltkamp's splitting. */
static FORCE_INLINE void NAME(product)(double *p, double *e, double a, double b)
{
    *p = a * b;
#if PFNN_FUSED
    *e = fma(a, b, -*p);
#else
    double c = 134217729.0 * a, d = 134217729.0 * b;
    double a_high = c - (c - a), b_high = d - (d - b), a_low = a - a_high, b_low = b - b_high;
    *e = ((a_high * b_high - *p) + a_high * b_low + a_low * b_high) + a_low * b_low;
#endif
}

/* sum + rest += a b, as if in twice the precision (Ogita, Rump and Oishi 2005, "Accurate Sum and Dot Product"). */
static FORCE_INLINE void NAME(add_product)(double *sum, double *rest, double a, double b)
{
    double p, e, old = *sum;
    NAME(product)(&p, &e, a, b);
    *sum = old + p;
    double back = *sum - old;
    *rest += ((old - (*sum - back)) + (p - back)) + e;
}

/* a b + c d and a b + c d + e f + g h, right to the last bit. */
static FORCE_INLINE void NAME(dot2)(double *sum, double *rest, double a, double b, double c, double d)
{
    NAME(product)(sum, rest, a, b);
    NAME(add_product)(sum, rest, c, d);
}

static FORCE_INLINE double NAME(dot4)(double a, double b, double c, double d, double e, double f, double g, double h)
{
    double sum, rest;
    NAME(dot2)(&sum, &rest, a, b, c, d);
    NAME(add_product)(&sum, &rest, e, f);
    NAME(add_product)(&sum, &rest, g, h);
    return sum + rest;
}

/* c[0] + c[1] x + ...; from the highest power on, since the terms alternate and two sums of them would cancel. */
static FORCE_INLINE double NAME(polynomial)(const double *c, int degree, double x)
{
    double sum = c[degree];
    UNROLL_WHOLE
    for (int i = degree - 1; i >= 0; i--)
        sum = MULTIPLY_ADD(sum, x, c[i]);
    return sum;
}

/* `share` times the rotation vector: its angle is 4 atan(|v| / (|w| + |q|)), which needs no case for any angle. */
TARGET static int NAME(log)(double *restrict r, const double *restrict q, int64_t count, double share)
{
    double factors[PFNN_ROTATIONS];
    int64_t bad = 0;
    for (int64_t i = 0; i < count; i++) {
        double w = q[4 * i], x = q[4 * i + 1], y = q[4 * i + 2], z = q[4 * i + 3];
        double squares = MULTIPLY_ADD(x, x, MULTIPLY_ADD(y, y, z * z)), norm2 = MULTIPLY_ADD(w, w, squares);
        double inverse = 1 / (fabs(w) + sqrt(norm2)), t2 = squares * inverse * inverse, scale = 4 * share * inverse;
        double factor = MULTIPLY_ADD(scale, t2 * NAME(polynomial)(ATAN, ATAN_DEGREE, t2), scale);
        int64_t wrong = norm2 > 1e-200 && norm2 < 1e200 && w != 0 ? 0 : 1;
        bad |= wrong;
        factors[i] = wrong ? (double)NAN : copysign(factor, w);
    }
    for (int64_t i = 0; i < count; i++)
        for (int k = 0; k < 3; k++)
            r[3 * i + k] = q[4 * i + 1 + k] * factors[i] + 0.0; /* + 0.0 makes a zero positive */
    return bad != 0;
}

/* (cos |h|, sin |h| h / |h|) for h = scale r: both are smooth functions of |h|^2, so no root is drawn. */
TARGET static int NAME(exp)(double *restrict q, const double *restrict r, int64_t count, double scale)
{
    double cosines[PFNN_ROTATIONS], factors[PFNN_ROTATIONS];
    int64_t bad = 0;
    for (int64_t i = 0; i < count; i++) {
        double x = scale * r[3 * i], y = scale * r[3 * i + 1], z = scale * r[3 * i + 2];
        double squares = MULTIPLY_ADD(x, x, MULTIPLY_ADD(y, y, z * z));
        int64_t wrong = squares < 2.56 ? 0 : 1;
        bad |= wrong;
        cosines[i] = wrong ? (double)NAN : MULTIPLY_ADD(squares, NAME(polynomial)(COS, SINE_DEGREE, squares), 1);
        factors[i] = scale * MULTIPLY_ADD(squares, NAME(polynomial)(SINC, SINE_DEGREE, squares), 1);
    }
    for (int64_t i = 0; i < count; i++) {
        q[4 * i] = cosines[i];
        for (int k = 0; k < 3; k++)
            q[4 * i + 1 + k] = r[3 * i + k] * factors[i];
    }
    return bad != 0;
}

/*
 * The same for vectors of any length up to a hundred thousand turns: the norm in twice the precision, less the nearest
 * multiple k of pi, which three numbers give to 1e-35 (each of the first two has few enough digits for exact products).
 */
TARGET static int NAME(exp_long)(double *restrict q, const double *restrict r, int64_t count, double scale)
{
    double cosines[PFNN_ROTATIONS], factors[PFNN_ROTATIONS];
    const double shift = 0x1.8p52; /* adding and taking it off rounds to an integer */
    int64_t bad = 0;
    for (int64_t i = 0; i < count; i++) {
        double x = scale * r[3 * i], y = scale * r[3 * i + 1], z = scale * r[3 * i + 2];
        double sum, rest, product, product_rest;
        NAME(dot2)(&sum, &rest, x, x, y, y);
        NAME(add_product)(&sum, &rest, z, z);
        double norm = sqrt(sum);
        NAME(product)(&product, &product_rest, norm, norm);
        double norm_rest = ((sum - product) - product_rest + rest) / (2 * norm);

        double k = (norm * (1 / PI_HIGH) + shift) - shift, half = (0.5 * k + shift) - shift;
        double h = (((norm - k * PI_HIGH) - k * PI_MIDDLE) - k * PI_LOW) + norm_rest, squares = h * h;
        double sign = k == 2 * half ? 1.0 : -1.0;
        int64_t wrong = sum > 1 && sum < 1e11 ? 0 : 1;
        bad |= wrong;
        cosines[i] = wrong ? (double)NAN : sign * MULTIPLY_ADD(squares, NAME(polynomial)(COS, SINE_DEGREE, squares), 1);
        factors[i] = sign * scale * h / norm * MULTIPLY_ADD(squares, NAME(polynomial)(SINC, SINE_DEGREE, squares), 1);
    }
    for (int64_t i = 0; i < count; i++) {
        q[4 * i] = cosines[i];
        for (int k = 0; k < 3; k++)
            q[4 * i + 1 + k] = r[3 * i + k] * factors[i];
    }
    return bad != 0;
}

/* The Hamilton product, each number to the last bit whatever cancels. */
TARGET static int NAME(mul)(double *restrict r, const double *restrict a, const double *restrict b, int64_t count)
{
    int64_t bad = 0;
    for (int64_t i = 0; i < count; i++) {
        double aw = a[4 * i], ax = a[4 * i + 1], ay = a[4 * i + 2], az = a[4 * i + 3];
        double bw = b[4 * i], bx = b[4 * i + 1], by = b[4 * i + 2], bz = b[4 * i + 3];
        double w = NAME(dot4)(aw, bw, -ax, bx, -ay, by, -az, bz);
        double x = NAME(dot4)(aw, bx, ax, bw, ay, bz, -az, by);
        double y = NAME(dot4)(aw, by, -ax, bz, ay, bw, az, bx);
        double z = NAME(dot4)(aw, bz, ax, by, -ay, bx, az, bw);
        double size = ((fabs(aw) + fabs(ax)) + (fabs(ay) + fabs(az))) + ((fabs(bw) + fabs(bx)) + (fabs(by) + fabs(bz)));
        int64_t wrong = size < 1e140 ? 0 : 1;
        w = wrong ? (double)NAN : w;
        bad |= wrong;
        r[4 * i] = w;
        r[4 * i + 1] = x;
        r[4 * i + 2] = y;
        r[4 * i + 3] = z;
    }
    return bad != 0;
}

/* v + 2 n / m in twice the precision, n and m given in two parts each, `inverse` being 1 / m. */
static FORCE_INLINE double NAME(plus_twice)(double v, double n, double n_rest, double m, double m_rest, double inverse)
{
    double product, rest, quotient = n * inverse;
    NAME(product)(&product, &rest, quotient, m);
    double more = ((n - product) - rest + (n_rest - quotient * m_rest)) * inverse;
    double sum = v + 2 * quotient, back = sum - v;
    return sum + (((v - (sum - back)) + (2 * quotient - back)) + 2 * more);
}

/*
 * v + 2 (w (u x v) + (u.v) u - |u|^2 v) / |q|^2, u being q's vector part. All of it in twice the precision, since
 * numbers of the result may be far smaller than v; and a number along the axis is kept to the bit.
 */
TARGET static int NAME(rotate)(double *restrict r, const double *restrict q, const double *restrict v, int64_t count)
{
    int64_t bad = 0;
    for (int64_t i = 0; i < count; i++) {
        double w = q[4 * i], x = q[4 * i + 1], y = q[4 * i + 2], z = q[4 * i + 3];
        double a = v[3 * i], b = v[3 * i + 1], c = v[3 * i + 2];

        double along, along_rest, square, square_rest;
        NAME(dot2)(&along, &along_rest, x, a, y, b);
        NAME(add_product)(&along, &along_rest, z, c);
        NAME(dot2)(&square, &square_rest, x, x, y, y);
        NAME(add_product)(&square, &square_rest, z, z);
        double cx, cy, cz, ex, ey, ez, norm2 = square, norm2_rest = square_rest;
        NAME(dot2)(&cx, &ex, y, c, -z, b);
        NAME(dot2)(&cy, &ey, z, a, -x, c);
        NAME(dot2)(&cz, &ez, x, b, -y, a);
        NAME(add_product)(&norm2, &norm2_rest, w, w);

        double sx, sy, sz, tx, ty, tz;
        NAME(dot2)(&sx, &tx, along, x, -square, a);
        NAME(dot2)(&sy, &ty, along, y, -square, b);
        NAME(dot2)(&sz, &tz, along, z, -square, c);
        NAME(add_product)(&sx, &tx, w, cx);
        NAME(add_product)(&sy, &ty, w, cy);
        NAME(add_product)(&sz, &tz, w, cz);
        tx += (along_rest * x - square_rest * a) + w * ex;
        ty += (along_rest * y - square_rest * b) + w * ey;
        tz += (along_rest * z - square_rest * c) + w * ez;

        double inverse = 1 / norm2, size = (fabs(a) + fabs(b)) + fabs(c);
        int64_t wrong = norm2 > 1e-140 && norm2 < 1e140 && size < 1e140 ? 0 : 1;
        inverse = wrong ? (double)NAN : inverse;
        bad |= wrong;
        r[3 * i] = NAME(plus_twice)(a, sx, tx, norm2, norm2_rest, inverse);
        r[3 * i + 1] = NAME(plus_twice)(b, sy, ty, norm2, norm2_rest, inverse);
        r[3 * i + 2] = NAME(plus_twice)(c, sz, tz, norm2, norm2_rest, inverse);
    }
    return bad != 0;
}

TARGET static int NAME(normalize)(double *restrict r, const double *restrict q, int64_t count)
{
    double inverses[PFNN_ROTATIONS];
    int64_t bad = 0;
    for (int64_t i = 0; i < count; i++) {
        double w = q[4 * i], x = q[4 * i + 1], y = q[4 * i + 2], z = q[4 * i + 3];
        double norm2 = (w * w + x * x) + (y * y + z * z);
        int64_t wrong = norm2 > 1e-200 && norm2 < 1e200 ? 0 : 1;
        bad |= wrong;
        inverses[i] = wrong ? (double)NAN : 1 / sqrt(norm2);
    }
    for (int64_t i = 0; i < count; i++)
        for (int k = 0; k < 4; k++)
            r[4 * i + k] = q[4 * i + k] * inverses[i];
    return bad != 0;
}
