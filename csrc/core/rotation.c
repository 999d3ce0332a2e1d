/* rotation.c: quaternions, rotation vectors, matrices and Euler angles, one at a time and right for every input. */
#include "rotation.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "pfnnc.h"

static const double PI = 3.141592653589793238462643383279503, PI_REST = 0x1.1a62633145c07p-53; /* pi to 33 digits */

static void fill(double *r, int n, double value)
{
    for (int i = 0; i < n; i++)
        r[i] = value;
}

static bool all_finite(const double *v, int n)
{
    for (int i = 0; i < n; i++)
        if (!isfinite(v[i]))
            return false;
    return true;
}

/* s = v / 2^e with squares that neither overflow nor vanish, e mostly 0; false for a zero or non-finite v. */
static bool scaled(double *s, const double *v, int n, int *exponent)
{
    double most = 0;
    for (int i = 0; i < n; i++) {
        if (!isfinite(v[i]))
            return false;
        most = fmax(most, fabs(v[i]));
    }
    *exponent = 0;
    if (most == 0)
        return false;
    if (most < 1e-60 || most > 1e60)
        frexp(most, exponent);
    for (int i = 0; i < n; i++)
        s[i] = *exponent ? scalbn(v[i], -*exponent) : v[i];
    return true;
}

static double dot(const double *a, const double *b, int n)
{
    double sum = a[0] * b[0];
    for (int i = 1; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* a.b of quaternions, times a power of two, so exact that its sign is right. */
static double exact_dot(const double a[4], const double b[4])
{
    double p[4], q[4], sum = 0, rest = 0;
    int e;
    scaled(p, a, 4, &e);
    scaled(q, b, 4, &e);
    for (int i = 0; i < 4; i++) {
        double product = p[i] * q[i], error = fma(p[i], q[i], -product);
        double next = sum + product, back = next - sum;
        rest += (sum - (next - back)) + (product - back) + error;
        sum = next;
    }
    return sum + rest;
}

static void cross(double r[3], const double a[3], const double b[3])
{
    double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2], z = a[0] * b[1] - a[1] * b[0];
    r[0] = x, r[1] = y, r[2] = z;
}

/* |v| as hi + lo with an error of about 1e-32 |v|, for v as `scaled` leaves it. */
static void exact_norm(const double v[3], double *hi, double *lo)
{
    double sum = 0, rest = 0;
    for (int i = 0; i < 3; i++) {
        double product = v[i] * v[i], error = fma(v[i], v[i], -product);
        double next = sum + product, back = next - sum;
        rest += (sum - (next - back)) + (product - back) + error;
        sum = next;
    }
    *hi = sqrt(sum);
    *lo = (fma(-*hi, *hi, sum) + rest) / (2 * *hi);
}


/* ---- algebra ------------------------------------------------------------------------------- */

void pfnn_quat_mul(double r[4], const double a[4], const double b[4])
{
    if (!all_finite(a, 4) || !all_finite(b, 4)) {
        fill(r, 4, NAN);
        return;
    }
    double w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    double x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
    double y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
    double z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
    r[0] = w, r[1] = x, r[2] = y, r[3] = z;
}

void pfnn_quat_conj(double r[4], const double q[4])
{
    if (!all_finite(q, 4)) {
        fill(r, 4, NAN);
        return;
    }
    r[0] = q[0], r[1] = -q[1], r[2] = -q[2], r[3] = -q[3];
}

void pfnn_quat_normalize(double r[4], const double q[4])
{
    double s[4];
    int e;
    if (!scaled(s, q, 4, &e)) {
        fill(r, 4, NAN);
        return;
    }
    double norm = sqrt(dot(s, s, 4));
    for (int i = 0; i < 4; i++)
        r[i] = s[i] / norm;
}

void pfnn_quat_rotate(double r[3], const double q[4], const double v[3])
{
    double s[4], u[3] = {0, 0, 0}, t[3], c[3];
    int e, exponent = 0;
    if (!scaled(s, q, 4, &e) || !all_finite(v, 3)) {
        fill(r, 3, NAN);
        return;
    }
    scaled(u, v, 3, &exponent); /* leaves u at zero for a zero vector */

    /* v + w t + q x t with t = 2 q x v / |q|^2 */
    cross(t, s + 1, u);
    double factor = 2 / dot(s, s, 4);
    for (int i = 0; i < 3; i++)
        t[i] *= factor;
    cross(c, s + 1, t);
    for (int i = 0; i < 3; i++) {
        double turned = u[i] + (s[0] * t[i] + c[i]);
        r[i] = exponent ? scalbn(turned, exponent) : turned;
    }
}

void pfnn_quat_slerp(double r[4], const double a[4], const double b[4], double t)
{
    double p[4], q[4], difference[4], sum[4];
    pfnn_quat_normalize(p, a);
    pfnn_quat_normalize(q, b);
    if (isnan(p[0]) || isnan(q[0]) || !isfinite(t)) {
        fill(r, 4, NAN);
        return;
    }
    double sign = exact_dot(a, b) < 0 ? -1 : 1;
    for (int i = 0; i < 4; i++) {
        q[i] *= sign;
        difference[i] = q[i] - p[i];
        sum[i] = q[i] + p[i];
    }

    /* the angle between unit vectors from the diagonals of their rhombus, which is exact at both ends */
    double across = sqrt(dot(difference, difference, 4)), along = sqrt(dot(sum, sum, 4));
    double angle = 2 * atan2(across, along), sine = across * along / 2;
    double from = 1 - t, to = t;
    if (angle > 1e-8) {
        from = sin(from * angle) / sine;
        to = sin(to * angle) / sine;
    }
    for (int i = 0; i < 4; i++)
        r[i] = from * p[i] + to * q[i];
}

double pfnn_quat_yaw(const double q[4])
{
    double s[4];
    int e;
    if (!scaled(s, q, 4, &e))
        return NAN;
    if (s[0] == 0)
        return s[2] != 0 ? PI : 0;
    return 2 * atan2(s[0] < 0 ? -s[2] : s[2], fabs(s[0])) + 0.0;
}


/* ---- rotation vectors ---------------------------------------------------------------------- */

/* The rotation vector of q times `share`: the direction of q's axis, signed so that the angle is at most pi. */
void pfnn_rotation_log_one(double r[3], const double q[4], double share)
{
    double s[4];
    int e;
    if (!scaled(s, q, 4, &e)) {
        fill(r, 3, NAN);
        return;
    }
    double sine = sqrt(dot(s + 1, s + 1, 3)), cosine = fabs(s[0]);
    double factor = sine <= 1e-9 * cosine ? 2 / cosine : 2 * atan2(sine, cosine) / sine;
    double side = s[0] != 0 ? s[0] : s[1] != 0 ? s[1] : s[2] != 0 ? s[2] : s[3];
    factor *= side < 0 ? -share : share;
    for (int i = 0; i < 3; i++)
        r[i] = s[i + 1] * factor + 0.0; /* + 0.0 makes a zero positive */
}

void pfnn_quat_to_exp_map(double r[3], const double q[4])
{
    pfnn_rotation_log_one(r, q, 1.0);
}

void pfnn_quat_log(double r[3], const double q[4])
{
    pfnn_rotation_log_one(r, q, 0.5);
}

/* q = (cos |h|, sin |h| h / |h|), |h| finite. The norm is carried in two doubles, so that long vectors stay exact. */
static void exp_of_half(double q[4], const double h[3])
{
    double s[3], hi = 0, lo = 0;
    int e;
    if (scaled(s, h, 3, &e)) {
        exact_norm(s, &hi, &lo);
        hi = scalbn(hi, e), lo = scalbn(lo, e);
    }
    if (hi < 1e-9) { /* sin h / h = 1 and cos h = 1 to the last bit */
        q[3] = h[2], q[2] = h[1], q[1] = h[0], q[0] = 1;
        return;
    }
    double sine = sin(hi), cosine = cos(hi), small_sine = sin(lo), small_cosine = cos(lo);
    double factor = (sine * small_cosine + cosine * small_sine) / hi;
    q[0] = cosine * small_cosine - sine * small_sine;
    q[3] = h[2] * factor, q[2] = h[1] * factor, q[1] = h[0] * factor;
}

void pfnn_exp_map_to_quat(double q[4], const double r[3])
{
    if (!all_finite(r, 3)) {
        fill(q, 4, NAN);
        return;
    }
    double h[3] = {0.5 * r[0], 0.5 * r[1], 0.5 * r[2]};
    exp_of_half(q, h);
}

void pfnn_quat_exp(double q[4], const double r[3])
{
    if (!all_finite(r, 3)) {
        fill(q, 4, NAN);
        return;
    }
    double most = fmax(fabs(r[0]), fmax(fabs(r[1]), fabs(r[2])));
    if (most < 1e300) {
        exp_of_half(q, r);
        return;
    }
    /* where |r| may overflow: the square of the half */
    double h[3] = {0.5 * r[0], 0.5 * r[1], 0.5 * r[2]}, root[4];
    exp_of_half(root, h);
    pfnn_quat_mul(q, root, root);
}

void pfnn_exp_map_wrap(double r[3], const double v[3])
{
    double q[4], s[3] = {0, 0, 0};
    int e = 0;
    if (!all_finite(v, 3)) {
        fill(r, 3, NAN);
        return;
    }
    scaled(s, v, 3, &e);
    if (e <= 0 && sqrt(dot(s, s, 3)) <= PI * (1 + 4 * DBL_EPSILON)) {
        memmove(r, v, 3 * sizeof *r); /* already short: to the bit */
        return;
    }
    pfnn_exp_map_to_quat(q, v);
    pfnn_quat_to_exp_map(r, q);
}

/* v plus whole turns about its own axis, as near to `previous` as can be; about the previous axis where v is zero. */
void pfnn_exp_map_unroll(double r[3], const double v[3], const double previous[3])
{
    double axis[3];
    int e;
    if (!all_finite(v, 3) || !all_finite(previous, 3)) {
        fill(r, 3, NAN);
        return;
    }
    bool turns = scaled(axis, v, 3, &e) || scaled(axis, previous, 3, &e);
    double norm = turns ? sqrt(dot(axis, axis, 3)) : 1;
    double along = 0;
    for (int i = 0; i < 3 && turns; i++) {
        axis[i] /= norm;
        along += axis[i] * (previous[i] - v[i]);
    }
    double more = isfinite(along) ? 2 * PI * nearbyint(along / (2 * PI)) : 0;
    for (int i = 0; i < 3; i++)
        r[i] = more != 0 ? v[i] + more * axis[i] : v[i];
}


/* ---- matrices ------------------------------------------------------------------------------ */

void pfnn_quat_to_matrix(double m[9], const double q[4])
{
    double s[4];
    int e;
    if (!scaled(s, q, 4, &e)) {
        fill(m, 9, NAN);
        return;
    }
    double w = s[0], x = s[1], y = s[2], z = s[3];
    double n = dot(s, s, 4), two = 2 / n;
    m[0] = ((w * w + x * x) - (y * y + z * z)) / n;
    m[1] = two * (x * y - w * z);
    m[2] = two * (x * z + w * y);
    m[3] = two * (x * y + w * z);
    m[4] = ((w * w + y * y) - (x * x + z * z)) / n;
    m[5] = two * (y * z - w * x);
    m[6] = two * (x * z - w * y);
    m[7] = two * (y * z + w * x);
    m[8] = ((w * w + z * z) - (x * x + y * y)) / n;
}

/* The sign with w > 0, or the first non-zero component positive where w is 0. */
static void make_positive(double q[4])
{
    double side = q[0] != 0 ? q[0] : q[1] != 0 ? q[1] : q[2] != 0 ? q[2] : q[3];
    for (int i = 0; i < 4 && side < 0; i++)
        q[i] = -q[i];
    for (int i = 0; i < 4; i++)
        q[i] += 0.0;
}

/* Shepperd: the largest of the four components from the diagonal, the rest from sums and differences. */
static void shepperd(double q[4], const double m[9])
{
    double trace = m[0] + m[4] + m[8];
    double candidates[4] = {trace, m[0], m[4], m[8]};
    int k = 0;
    for (int i = 1; i < 4; i++)
        if (candidates[i] > candidates[k])
            k = i;
    double a = m[7] - m[5], b = m[2] - m[6], c = m[3] - m[1];
    double ab = m[1] + m[3], ac = m[2] + m[6], bc = m[5] + m[7];
    double rows[4][4] = {
        {1 + trace, a, b, c},
        {a, 1 + m[0] - m[4] - m[8], ab, ac},
        {b, ab, 1 - m[0] + m[4] - m[8], bc},
        {c, ac, bc, 1 - m[0] - m[4] + m[8]},
    };
    pfnn_quat_normalize(q, rows[k]);
    make_positive(q);
}

/*
 * The rotation that is nearest to m in the sum of squares is the main eigenvector of
 * K = [[tr m, a, b, c], [a, ...]] (Bar-Itzhack 2000, "New Method for Extracting the Quaternion from a Rotation
 * Matrix").
 */
static void nearest(double q[4], const double m[9])
{
    double a = m[7] - m[5], b = m[2] - m[6], c = m[3] - m[1];
    double ab = m[1] + m[3], ac = m[2] + m[6], bc = m[5] + m[7];
    double k[16] = {
        m[0] + m[4] + m[8], a, b, c,   /* */
        a, m[0] - m[4] - m[8], ab, ac, /* */
        b, ab, m[4] - m[0] - m[8], bc, /* */
        c, ac, bc, m[8] - m[0] - m[4],
    };
    pfnn_quat_mean(q, k);
    make_positive(q);
}

void pfnn_quat_from_matrix(double q[4], const double m[9])
{
    double s[9];
    int e;
    if (!scaled(s, m, 9, &e)) {
        fill(q, 4, NAN);
        return;
    }
    double c[3];
    cross(c, s, s + 3);
    if (!(dot(c, s + 6, 3) > 0)) { /* a mirror image or a flat matrix is no rotation */
        fill(q, 4, NAN);
        return;
    }
    double off = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j <= i; j++)
            off = fmax(off, fabs(dot(s + 3 * i, s + 3 * j, 3) - (i == j)));
    if (e == 0 && off < 8 * DBL_EPSILON)
        shepperd(q, s);
    else
        nearest(q, s);
}

void pfnn_quat_to_6d(double d[6], const double q[4])
{
    double m[9];
    pfnn_quat_to_matrix(m, q);
    for (int i = 0; i < 3; i++) {
        d[i] = m[3 * i];
        d[3 + i] = m[3 * i + 1];
    }
}

void pfnn_quat_from_6d(double q[4], const double d[6])
{
    double a[3], b[3], c[3], m[9];
    int e;
    if (!all_finite(d, 6) || !scaled(a, d, 3, &e) || !scaled(b, d + 3, 3, &e)) {
        fill(q, 4, NAN);
        return;
    }
    /* the third column first, its differences of products exact, so that nearly parallel columns do no harm */
    double norm = sqrt(dot(a, a, 3)), length = sqrt(dot(b, b, 3));
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        double product = a[k] * b[j], error = fma(a[k], b[j], -product);
        c[i] = fma(a[j], b[k], -product) - error;
    }
    double area = sqrt(dot(c, c, 3));
    if (!(area > 4 * DBL_EPSILON * norm * length)) {
        fill(q, 4, NAN);
        return;
    }
    for (int i = 0; i < 3; i++)
        a[i] /= norm, c[i] /= area;
    cross(b, c, a);
    for (int i = 0; i < 3; i++)
        m[3 * i] = a[i], m[3 * i + 1] = b[i], m[3 * i + 2] = c[i];
    shepperd(q, m);
}


/* ---- Euler angles -------------------------------------------------------------------------- */

void pfnn_quat_from_euler(double q[4], const double angles[3], const int axes[3])
{
    if (!all_finite(angles, 3)) {
        fill(q, 4, NAN);
        return;
    }
    double product[4] = {1, 0, 0, 0};
    for (int i = 0; i < 3; i++) {
        double turn[4] = {cos(0.5 * angles[i]), 0, 0, 0};
        turn[1 + axes[i]] = sin(0.5 * angles[i]);
        pfnn_quat_mul(product, product, turn);
    }
    memcpy(q, product, sizeof product);
}

/* a + b, each in [-pi, pi], less a turn where it is beyond them, without losing what the sum rounds off. */
static double wrapped_sum(double a, double b)
{
    double sum = a + b, back = sum - a, rest = (a - (sum - back)) + (b - back);
    if (fabs(sum) <= PI)
        return sum;
    double turn = copysign(2 * PI, sum), turn_rest = copysign(2 * PI_REST, sum);
    return (sum - turn) + (rest - turn_rest);
}

/*
 * Bernardes and Viollet 2022, "Quaternion to Euler angles conversion: a direct, general and computationally efficient
 * method". The first and third angle are sum and difference of two half angles; where the middle one locks them
 * together, one half angle is undefined and the third angle is taken as 0.
 */
void pfnn_quat_to_euler(double angles[3], const double q[4], const int axes[3])
{
    double s[4];
    int e;
    if (!scaled(s, q, 4, &e)) {
        fill(angles, 3, NAN);
        return;
    }
    /* the method names the axes from the innermost, that is, of the extrinsic rotations */
    int i = axes[2], j = axes[1], k = axes[0];
    bool proper = i == k;
    if (proper)
        k = 3 - i - j;
    double sign = (j - i + 3) % 3 == 1 ? 1 : -1; /* of the permutation i, j, k */
    double a = s[0], b = s[1 + i], c = s[1 + j], d = sign * s[1 + k];
    if (!proper) {
        double w = a, u = b, v = c, x = d;
        a = w - v, b = u + x, c = v + w, d = x - u;
    }
    double near = sqrt(a * a + b * b), far = sqrt(c * c + d * d), least = DBL_EPSILON * (near + far);
    double middle = 2 * atan2(far, near);
    double half_sum = atan2(b, a), half_difference = atan2(d, c);
    double inner, outer;
    if (far <= least) /* the axes of the outer angles coincide: their sum is all there is */
        inner = 0, outer = wrapped_sum(half_sum, half_sum);
    else if (near <= least)
        inner = 0, outer = wrapped_sum(half_difference, half_difference);
    else
        inner = wrapped_sum(half_sum, -half_difference), outer = wrapped_sum(half_sum, half_difference);
    if (!proper) {
        outer *= sign;
        middle -= PI / 2; /* without its rest, so that the identity has angles of 0 to the bit */
    }
    angles[0] = outer + 0.0;
    angles[1] = middle;
    angles[2] = inner + 0.0;
}


/* ---- mean ---------------------------------------------------------------------------------- */

/* Jacobi's method on a symmetric 4x4 matrix: turns it until it is diagonal, then takes the largest entry's axis. */
void pfnn_quat_mean(double r[4], const double sum[16])
{
    double a[4][4], v[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    double flat[16];
    int e;
    if (!scaled(flat, sum, 16, &e)) {
        fill(r, 4, NAN);
        return;
    }
    memcpy(a, flat, sizeof a);
    for (int sweep = 0; sweep < 30; sweep++) {
        bool done = true;
        for (int p = 0; p < 3; p++) {
            for (int q = p + 1; q < 4; q++) {
                if (fabs(a[p][q]) <= 1e-20 * (fabs(a[p][p]) + fabs(a[q][q])))
                    continue;
                done = false;
                double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
                double t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < 4; k++) {
                    double x = a[k][p], y = a[k][q];
                    a[k][p] = c * x - s * y, a[k][q] = s * x + c * y;
                }
                for (int k = 0; k < 4; k++) {
                    double x = a[p][k], y = a[q][k];
                    a[p][k] = c * x - s * y, a[q][k] = s * x + c * y;
                }
                for (int k = 0; k < 4; k++) {
                    double x = v[k][p], y = v[k][q];
                    v[k][p] = c * x - s * y, v[k][q] = s * x + c * y;
                }
            }
        }
        if (done)
            break;
    }
    int best = 0;
    for (int i = 1; i < 4; i++)
        if (a[i][i] > a[best][best])
            best = i;
    double column[4] = {v[0][best], v[1][best], v[2][best], v[3][best]};
    pfnn_quat_normalize(r, column);
}


/* ---- for the loops over many --------------------------------------------------------------- */

void pfnn_rotation_mul_one(double r[4], const double a[4], const double b[4])
{
    double p[4], q[4];
    int e = 0, f = 0;
    if (!all_finite(a, 4) || !all_finite(b, 4)) {
        fill(r, 4, NAN);
    } else if (!scaled(p, a, 4, &e) || !scaled(q, b, 4, &f)) {
        fill(r, 4, 0);
    } else {
        pfnn_rotation_plain.mul(r, p, q, 1);
        for (int i = 0; i < 4; i++)
            r[i] = scalbn(r[i], e + f);
    }
}

void pfnn_rotation_rotate_one(double r[3], const double q[4], const double v[3])
{
    double p[4], u[3];
    int e = 0, f = 0;
    if (!scaled(p, q, 4, &e) || !all_finite(v, 3)) {
        fill(r, 3, NAN);
    } else if (!scaled(u, v, 3, &f)) {
        fill(r, 3, 0);
    } else {
        pfnn_rotation_plain.rotate(r, p, u, 1);
        for (int i = 0; i < 3; i++)
            r[i] = scalbn(r[i], f);
    }
}
