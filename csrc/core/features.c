/* features.c: rows of features from a motion and back; see pfnnc.h for the layout of a row. */
#include <math.h>
#include <string.h>

#include "feature_rows.h"

static const double PI = 3.14159265358979323846;
static const double TWO_PI = 6.28318530717958647693;

/* ---- layout --------------------------------------------------------------------------------- */

/* More columns than any rig has, few enough that no product of two counts overflows. */
enum { MOST = 1 << 20 };

pfnn_status pfnn_feature_layout_init(pfnn_feature_layout *layout, pfnn_error *error)
{
    static const int32_t widths[] = {4, 3, 6};
    const int32_t counts[] = {layout->n_joints, layout->n_points, layout->n_contacts, layout->n_times, layout->n_future};

    if (layout->representation < PFNN_QUAT || layout->representation > PFNN_6D)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "representation must be in 0..2, got %d", layout->representation);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i] < 0 || counts[i] > MOST)
            return pfnn_fail(error, PFNN_ERROR_VALUE, (int64_t)i, "a layout's count must be in 0..%d, got %d", MOST, counts[i]);
    if (layout->n_future > layout->n_times)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "n_future=%d is greater than n_times=%d", layout->n_future,
                         layout->n_times);
    if (layout->heading)
        layout->has_yaw_rate = 1;

    /* one slice after the other */
    layout->width = widths[layout->representation];
    layout->velocity = 0;
    layout->orientation = 3;
    layout->joints = layout->orientation + layout->width;
    layout->dim = layout->joints + layout->width * layout->n_joints;
    layout->yaw_rate = layout->has_yaw_rate ? layout->dim : -1;
    layout->dim += layout->has_yaw_rate ? 1 : 0;
    layout->height = layout->has_height ? layout->dim : -1;
    layout->dim += layout->has_height ? 1 : 0;
    layout->points = layout->n_points ? layout->dim : -1;
    layout->dim += 6 * layout->n_points;
    layout->contacts = layout->n_contacts ? layout->dim : -1;
    layout->dim += layout->n_contacts;
    layout->out_dim = layout->dim + (layout->phase_step ? 1 : 0) + 4 * layout->n_future;
    return PFNN_OK;
}

/* ---- small vectors -------------------------------------------------------------------------- */

static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* The length of v; no overflow and no underflow on the way. */
static double length(const double *v, int n)
{
    double largest = 0, sum = 0;
    for (int i = 0; i < n; i++)
        if (!(fabs(v[i]) <= largest)) /* a NaN gets in and stays in */
            largest = fabs(v[i]);
    if (largest > 1e-100 && largest < 1e100)
        return sqrt(dot(v, v, n));
    if (largest == 0 || !isfinite(largest))
        return largest;
    for (int i = 0; i < n; i++)
        sum += (v[i] / largest) * (v[i] / largest);
    return largest * sqrt(sum);
}

/* v to unit length; false for a zero vector, which stays. */
static bool normalize(double *v, int n)
{
    const double norm = length(v, n);
    if (norm == 0)
        return false;
    for (int i = 0; i < n; i++)
        v[i] /= norm;
    return true;
}

/* Below this share of b, what is left of it beside a is rounding noise and no direction. */
static const double IN_LINE = 1e-6;

/* Gram-Schmidt; false where the two columns span no plane. */
static bool orthonormalize(double a[3], double b[3])
{
    if (!normalize(a, 3) || !normalize(b, 3))
        return false;
    const double along = dot(a, b, 3);
    for (int i = 0; i < 3; i++)
        b[i] -= along * a[i];
    if (length(b, 3) < IN_LINE)
        return false;
    return normalize(b, 3);
}

/* The gradient at v / |v| becomes that at v. */
static void normalize_backward(double *gradient, const double *v, int n)
{
    double unit[4];
    const double norm = length(v, n);
    if (norm == 0) {
        memset(gradient, 0, (size_t)n * sizeof *gradient);
        return;
    }
    for (int i = 0; i < n; i++)
        unit[i] = v[i] / norm;
    const double along = dot(unit, gradient, n);
    for (int i = 0; i < n; i++)
        gradient[i] = (gradient[i] - along * unit[i]) / norm;
}

/* y = r (1 - 2 pi k / |r|), with k constant. */
static void exp_map_wrap_backward(double gradient[3], const double r[3])
{
    const double angle = length(r, 3);
    if (!(angle > PI))
        return;
    const double turn = TWO_PI * rint(angle / TWO_PI) / angle;
    const double along = dot(r, gradient, 3) / angle * turn / angle;
    for (int i = 0; i < 3; i++)
        gradient[i] = (1 - turn) * gradient[i] + along * r[i];
}

/* Through Gram-Schmidt, back from its last step to its first. */
static void orthonormalize_backward(double ga[3], double gb[3], const double a[3], const double b[3])
{
    double unit[3] = {a[0], a[1], a[2]}, second[3] = {b[0], b[1], b[2]}, rest[3];
    if (!orthonormalize(unit, second)) {
        memset(ga, 0, 3 * sizeof *ga);
        memset(gb, 0, 3 * sizeof *gb);
        return;
    }
    const double along = dot(unit, b, 3);
    for (int i = 0; i < 3; i++)
        rest[i] = b[i] - along * unit[i];
    normalize_backward(gb, rest, 3);
    const double inner = dot(unit, gb, 3);
    for (int i = 0; i < 3; i++) {
        ga[i] -= along * gb[i] + inner * b[i];
        gb[i] -= inner * unit[i];
    }
    normalize_backward(ga, a, 3);
}

/* ---- the path of a root --------------------------------------------------------------------- */

void pfnn_track_at(double p[3], const double *track, int64_t frames, double fps, double frame)
{
    const double end = (double)(frames - 1);
    const int64_t half_second = fps < 2 ? 1 : fps < 1e9 ? (int64_t)(fps / 2 + 0.5) : INT32_MAX;
    const int64_t span = half_second < frames - 1 ? half_second : frames - 1;
    const double *from = track, *to = track;
    double share = 0;

    if (frames > 1 && frame >= end) {
        from = track + 3 * (frames - 1 - span);
        to = track + 3 * (frames - 1);
        share = 1 + (frame - end) / (double)span;
    } else if (frames > 1 && frame < 0) {
        to = track + 3 * span;
        share = frame / (double)span;
    } else if (frames > 1) {
        const int64_t i = (int64_t)frame;
        from = track + 3 * i;
        to = from + 3;
        share = frame - (double)i;
    }
    p[0] = from[0] + share * (to[0] - from[0]);
    p[1] = from[1] + share * (to[1] - from[1]);
    p[2] = from[2] + (share < 0 ? 0 : share > 1 ? 1 : share) * (to[2] - from[2]);
}

#define REAL float
#define NAME(stem) stem##_f32
#include "features_body.h"
#undef REAL
#undef NAME

#define REAL double
#define NAME(stem) stem##_f64
#include "features_body.h"
#undef REAL
#undef NAME

/* ---- one rotation --------------------------------------------------------------------------- */

static void rotation_encode(double *out, const double q[4], int32_t representation)
{
    switch ((pfnn_representation)representation) {
    case PFNN_QUAT:
        memcpy(out, q, 4 * sizeof *out);
        break;
    case PFNN_EXP_MAP:
        pfnn_quat_to_exp_map(out, q);
        break;
    case PFNN_6D:
        pfnn_quat_to_6d(out, q);
        break;
    }
}

static void rotation_decode(double q[4], const double *in, int32_t representation)
{
    switch ((pfnn_representation)representation) {
    case PFNN_QUAT:
        memcpy(q, in, 4 * sizeof *q);
        break;
    case PFNN_EXP_MAP:
        pfnn_exp_map_to_quat(q, in);
        break;
    case PFNN_6D:
        pfnn_quat_from_6d(q, in);
        break;
    }
}

/* The vector (x, any, z) turned by an angle about +y. */
static void turn(double v[3], double cosine, double sine)
{
    const double x = v[0], z = v[2];
    v[0] = x * cosine + z * sine;
    v[2] = z * cosine - x * sine;
}

/* r = (turn by yaw) q */
static void yaw_mul(double r[4], double yaw, const double q[4])
{
    const double about_y[4] = {cos(yaw / 2), 0, sin(yaw / 2), 0};
    pfnn_quat_mul(r, about_y, q);
}

/* `yaw` plus whole turns, nearest to `previous`. */
static double unwrap(double yaw, double previous)
{
    return yaw - TWO_PI * rint((yaw - previous) / TWO_PI);
}

/* ---- encode --------------------------------------------------------------------------------- */

/* Root orientation and joints of frame t; the signs of quaternions follow the frame before. */
static void encode_rotations(double *row, const double *previous, const pfnn_feature_layout *layout,
                             const double *rotations, const int64_t *joints, double yaw)
{
    for (int32_t slot = 0; slot <= layout->n_joints; slot++) {
        const int64_t joint = slot == 0 ? 0 : joints[slot - 1];
        const int32_t column = layout->orientation + slot * layout->width;
        double q[4];
        memcpy(q, rotations + 4 * joint, sizeof q);
        if (!normalize(q, 4))
            q[0] = 1;
        if (joint == 0 && layout->heading)
            yaw_mul(q, -yaw, q);
        if (layout->representation == PFNN_QUAT && (previous ? dot(q, previous + column, 4) < 0 : q[0] < 0))
            for (int i = 0; i < 4; i++)
                q[i] = -q[i];
        rotation_encode(row + column, q, layout->representation);
    }
}

/* Positions of the points seen from the root, and their velocities (`to` - `from`) x fps, in the root's heading frame. */
static void encode_points(double *row, const pfnn_feature_layout *layout, const double *points, const double *from,
                          const double *to, const double *root, double cosine, double sine, double fps)
{
    const int32_t n = layout->n_points;
    for (int32_t p = 0; p < n; p++) {
        double *position = row + layout->points + 3 * p, *velocity = position + 3 * n;
        for (int i = 0; i < 3; i++) {
            position[i] = points[3 * p + i] - root[i];
            velocity[i] = (to[3 * p + i] - from[3 * p + i]) * fps;
        }
        turn(position, cosine, -sine);
        turn(velocity, cosine, -sine);
    }
}

static double root_yaw(const double *rotation)
{
    double unit[4];
    memcpy(unit, rotation, sizeof unit);
    return normalize(unit, 4) ? pfnn_quat_yaw(unit) : 0;
}

void pfnn_features_encode(double *rows, const pfnn_feature_layout *layout, const double *root, const double *rotations,
                          int64_t frames, int64_t all_joints, const int64_t *joints, const double *points,
                          const double *contacts, double fps)
{
    double yaw = 0;

    for (int64_t t = 0; t < frames; t++) {
        double *row = rows + t * layout->dim;
        const double *pose = rotations + 4 * t * all_joints, *place = root + 3 * t;
        /* backward differences; frame 0 takes those of frame 1 */
        const int64_t to = t > 0 ? t : frames > 1, from = to > 0 ? to - 1 : 0;

        const double yaw_before = yaw;
        yaw = unwrap(root_yaw(pose), yaw);
        const double cosine = cos(yaw), sine = sin(yaw);
        if (layout->yaw_rate >= 0)
            row[layout->yaw_rate] = t > 0 ? (yaw - yaw_before) * fps : 0;

        for (int i = 0; i < 3; i++)
            row[i] = (root[3 * to + i] - root[3 * from + i]) * fps;
        if (layout->heading)
            turn(row, cosine, -sine);
        encode_rotations(row, t > 0 ? row - layout->dim : NULL, layout, pose, joints, yaw);

        if (layout->height >= 0)
            row[layout->height] = place[1];
        if (layout->points >= 0)
            encode_points(row, layout, points + 3 * t * layout->n_points, points + 3 * from * layout->n_points,
                          points + 3 * to * layout->n_points, place, cosine, sine, fps);
        if (layout->contacts >= 0)
            memcpy(row + layout->contacts, contacts + t * layout->n_contacts, (size_t)layout->n_contacts * sizeof *row);
    }
    if (layout->yaw_rate >= 0 && frames > 1)
        rows[layout->yaw_rate] = rows[layout->dim + layout->yaw_rate];
}

/* ---- decode --------------------------------------------------------------------------------- */

static void identity(double q[4])
{
    q[0] = 1;
    q[1] = q[2] = q[3] = 0;
}

/* The rotation of one slot's columns, valid whatever they hold: without a direction, that of `before`, or identity. */
static void decode_slot(double q[4], const double *in, int32_t representation, const double *before)
{
    double a[3], b[3], decoded[4];
    bool valid = true;

    if (representation == PFNN_6D) {
        memcpy(a, in, sizeof a);
        memcpy(b, in + 3, sizeof b);
        valid = orthonormalize(a, b);
    }
    if (valid) {
        rotation_decode(decoded, in, representation);
        valid = normalize(decoded, 4);
    }
    if (!valid)
        identity(decoded);
    if (valid || !before)
        memcpy(q, decoded, sizeof decoded);
    else if (q != before)
        memcpy(q, before, sizeof decoded);
}

/* One step of the root: p and yaw of the frame before become those of this one. */
static void root_step(double p[3], double *yaw, const pfnn_feature_layout *layout, const double *row, double fps)
{
    double v[3] = {row[0], row[1], row[2]};
    if (layout->heading) {
        *yaw += row[layout->yaw_rate] / fps;
        turn(v, cos(*yaw), sin(*yaw));
    }
    for (int i = 0; i < 3; i++)
        p[i] += v[i] / fps;
}

void pfnn_features_decode(double *root, double *rotations, const pfnn_feature_layout *layout, const double *rows,
                          int64_t frames, int64_t all_joints, const int64_t *joints, const double origin[3], double yaw,
                          double fps)
{
    double p[3] = {origin[0], origin[1], origin[2]}, facing[4] = {1, 0, 0, 0};

    for (int64_t t = 0; t < frames; t++) {
        const double *row = rows + t * layout->dim;
        double *pose = rotations + 4 * t * all_joints;
        const double *pose_before = t > 0 ? pose - 4 * all_joints : NULL;

        if (t > 0)
            root_step(p, &yaw, layout, row, fps);
        memcpy(root + 3 * t, p, sizeof p);

        for (int64_t j = 0; j < all_joints; j++)
            identity(pose + 4 * j);
        for (int32_t slot = 1; slot <= layout->n_joints; slot++) {
            const int64_t joint = joints[slot - 1];
            if (joint != 0) /* the root is read from "orientation" */
                decode_slot(pose + 4 * joint, row + layout->orientation + slot * layout->width, layout->representation,
                            pose_before ? pose_before + 4 * joint : NULL);
        }
        decode_slot(facing, row + layout->orientation, layout->representation, t > 0 ? facing : NULL);
        if (layout->heading)
            yaw_mul(pose, yaw, facing);
        else
            memcpy(pose, facing, sizeof facing);
    }
}

double pfnn_orientation_yaw(const double *columns, int32_t representation)
{
    double q[4];
    decode_slot(q, columns, representation, NULL);
    return pfnn_quat_yaw(q);
}

void pfnn_features_track(double *track, const pfnn_feature_layout *layout, const double *rows, int64_t frames,
                         const double origin[3], double yaw, double fps)
{
    double p[3] = {origin[0], origin[1], origin[2]}, facing[4] = {1, 0, 0, 0};

    for (int64_t t = 0; t < frames; t++) {
        const double *row = rows + t * layout->dim;
        if (t > 0)
            root_step(p, &yaw, layout, row, fps);
        if (!layout->heading) {
            decode_slot(facing, row + layout->orientation, layout->representation, t > 0 ? facing : NULL);
            yaw = unwrap(pfnn_quat_yaw(facing), t > 0 ? yaw : 0);
        }
        track[3 * t] = p[0];
        track[3 * t + 1] = p[2];
        track[3 * t + 2] = yaw;
    }
}
