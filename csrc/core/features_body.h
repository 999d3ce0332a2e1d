/*
 * features_body.h: what features.c does for one real type. Included once per type with
 *   REAL        float or double
 *   NAME(stem)  stem_f32 or stem_f64
 * Computes in double whatever REAL is.
 */

static bool NAME(quat_make_valid)(REAL *q)
{
    double v[4] = {q[0], q[1], q[2], q[3]};
    if (!normalize(v, 4))
        return false;
    for (int i = 0; i < 4; i++)
        q[i] = (REAL)v[i];
    return true;
}

static bool NAME(exp_map_make_valid)(REAL *r)
{
    double v[3] = {r[0], r[1], r[2]}, turns;
    const double angle = length(v, 3);
    if (angle > PI) {
        turns = rint(angle / TWO_PI);
        for (int i = 0; i < 3; i++)
            r[i] = (REAL)(v[i] * ((angle - turns * TWO_PI) / angle));
    }
    return true; /* any vector is a rotation; one that is not finite stays so, for the caller to see */
}

static bool NAME(columns_make_valid)(REAL *columns)
{
    double a[3] = {columns[0], columns[1], columns[2]}, b[3] = {columns[3], columns[4], columns[5]};
    if (!orthonormalize(a, b))
        return false;
    for (int i = 0; i < 3; i++) {
        columns[i] = (REAL)a[i];
        columns[3 + i] = (REAL)b[i];
    }
    return true;
}

void NAME(pfnn_features_make_valid)(const pfnn_feature_layout *layout, REAL *row, const REAL *previous)
{
    const int32_t width = layout->width;
    static const REAL identities[3][6] = {{1}, {0}, {1, 0, 0, 0, 1, 0}};
    const REAL *identity = identities[layout->representation];

    for (int32_t j = 0; j <= layout->n_joints; j++) {
        const int32_t column = layout->orientation + j * width;
        bool valid = true;
        switch ((pfnn_representation)layout->representation) {
        case PFNN_QUAT:
            valid = NAME(quat_make_valid)(row + column);
            break;
        case PFNN_EXP_MAP:
            valid = NAME(exp_map_make_valid)(row + column);
            break;
        case PFNN_6D:
            valid = NAME(columns_make_valid)(row + column);
            break;
        }
        if (!valid)
            memcpy(row + column, previous ? previous + column : identity, (size_t)width * sizeof *row);
    }
}

void NAME(pfnn_features_make_valid_backward)(const pfnn_feature_layout *layout, REAL *gradient, const REAL *row)
{
    const int32_t width = layout->width;

    for (int32_t j = 0; j <= layout->n_joints; j++) {
        REAL *g = gradient + layout->orientation + j * width;
        const REAL *x = row + layout->orientation + j * width;
        double gradients[6] = {0}, values[6] = {0};
        for (int32_t i = 0; i < width; i++) {
            gradients[i] = g[i];
            values[i] = x[i];
        }
        switch ((pfnn_representation)layout->representation) {
        case PFNN_QUAT:
            normalize_backward(gradients, values, 4);
            break;
        case PFNN_EXP_MAP:
            exp_map_wrap_backward(gradients, values);
            break;
        case PFNN_6D:
            orthonormalize_backward(gradients, gradients + 3, values, values + 3);
            break;
        }
        for (int32_t i = 0; i < width; i++)
            g[i] = (REAL)gradients[i];
    }
}

void NAME(pfnn_trajectory_block)(REAL *block, const double *times, int64_t n_times, const double *track, int64_t frames,
                                 double fps, double frame, const double root[3])
{
    const double c = cos(root[2]), s = sin(root[2]);

    for (int64_t i = 0; i < n_times; i++) {
        double p[3];
        pfnn_track_at(p, track, frames, fps, frame + times[i] * fps);
        const double x = p[0] - root[0], z = p[1] - root[1];
        block[4 * i] = (REAL)(x * c - z * s);
        block[4 * i + 1] = (REAL)(x * s + z * c);
        block[4 * i + 2] = (REAL)sin(p[2] - root[2]);
        block[4 * i + 3] = (REAL)cos(p[2] - root[2]);
    }
}
