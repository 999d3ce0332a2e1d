/*
 * played_body.h: rows of a clip that is played at another speed, for one type. Included once per type with
 *   TO          float or double
 *   ROOT        its square root
 *   NAME(stem)  stem_f32 or stem_f64
 * Rotations are worked on LANES at a time, each of their numbers in a row of its own.
 */
/* Rows (frames, dim) of a clip. */
typedef struct {
    const void *rows;
    int64_t frames;
    const pfnn_feature_layout *layout;
    double fps;
    bool is_double;
    TO *scratch; /* (2, dim), for rows of the other type */
} NAME(clip);

/* Row i, if need be as numbers of this type in one of two places. */
static const TO *NAME(row_of)(const NAME(clip) *clip, int64_t i, int place)
{
    const int64_t dim = clip->layout->dim;
    const float *floats = (const float *)clip->rows + (clip->is_double ? 0 : i * dim);
    const double *doubles = (const double *)clip->rows + (clip->is_double ? i * dim : 0);
    TO *copy = clip->scratch + place * dim;

    if (clip->is_double == (sizeof(TO) == sizeof(double)))
        return (const TO *)clip->rows + i * dim;
    for (int64_t c = 0; c < dim; c++)
        copy[c] = clip->is_double ? (TO)doubles[c] : (TO)floats[c];
    return copy;
}

/* ---- rotations between two frames ----------------------------------------------------------- */

/* Columns of `count` rotations to lanes, zeros in the others; and back. */
static FORCE_INLINE void NAME(load)(TO (*restrict x)[LANES], const TO *restrict columns, int count, int width)
{
    for (int j = 0; j < count; j++)
        for (int i = 0; i < width; i++)
            x[i][j] = columns[j * width + i];
    for (int j = count; j < LANES; j++)
        for (int i = 0; i < width; i++)
            x[i][j] = 0;
}

static FORCE_INLINE void NAME(store)(TO *restrict columns, TO (*restrict x)[LANES], int count, int width)
{
    for (int j = 0; j < count; j++)
        for (int i = 0; i < width; i++)
            columns[j * width + i] = x[i][j];
}

/* Quaternions, the shorter way, as a straight line brought back to unit length. */
static void NAME(between_quats)(TO *restrict out, const TO *restrict from, const TO *restrict to, int count, TO share)
{
    TO x[4][LANES], y[4][LANES];
    NAME(load)(x, from, count, 4);
    NAME(load)(y, to, count, 4);
    for (int j = 0; j < LANES; j++) {
        const TO along = x[0][j] * y[0][j] + x[1][j] * y[1][j] + x[2][j] * y[2][j] + x[3][j] * y[3][j];
        const TO toward = along < 0 ? -share : share, rest = 1 - share;
        TO square = 0;
        for (int i = 0; i < 4; i++) {
            x[i][j] = rest * x[i][j] + toward * y[i][j];
            square += x[i][j] * x[i][j];
        }
        const TO scale = square > 0 ? 1 / ROOT(square) : 0;
        for (int i = 0; i < 4; i++)
            x[i][j] *= scale;
    }
    NAME(store)(out, x, count, 4);
}

/* Rotation vectors; to the other form of the second, a turn more or less, where that is nearer. At most pi long. */
static void NAME(between_exp_maps)(TO *restrict out, const TO *restrict from, const TO *restrict to, int count, TO share)
{
    const TO whole = (TO)TWO_PI;
    TO x[3][LANES], y[3][LANES];
    NAME(load)(x, from, count, 3);
    NAME(load)(y, to, count, 3);
    for (int j = 0; j < LANES; j++) {
        TO plain = 0, other = 0, square = 0, d[3], e[3];
        for (int i = 0; i < 3; i++)
            square += y[i][j] * y[i][j];
        const TO turn = square > 0 ? 1 - whole / ROOT(square) : 1;
        for (int i = 0; i < 3; i++) {
            d[i] = y[i][j] - x[i][j];
            e[i] = turn * y[i][j] - x[i][j];
            plain += d[i] * d[i];
            other += e[i] * e[i];
        }
        square = 0;
        for (int i = 0; i < 3; i++) {
            x[i][j] += share * (other < plain ? e[i] : d[i]);
            square += x[i][j] * x[i][j];
        }
        const TO length = ROOT(square), wrap = 2 * length > whole ? 1 - whole / length : 1;
        for (int i = 0; i < 3; i++)
            x[i][j] *= wrap;
    }
    NAME(store)(out, x, count, 3);
}

/* Two columns of matrices, as straight lines made orthonormal. */
static void NAME(between_columns)(TO *restrict out, const TO *restrict from, const TO *restrict to, int count, TO share)
{
    TO x[6][LANES], y[6][LANES];
    NAME(load)(x, from, count, 6);
    NAME(load)(y, to, count, 6);
    for (int j = 0; j < LANES; j++) {
        TO square = 0, along = 0;
        for (int i = 0; i < 6; i++)
            x[i][j] += share * (y[i][j] - x[i][j]);
        for (int i = 0; i < 3; i++) {
            square += x[i][j] * x[i][j];
            along += x[i][j] * x[3 + i][j];
        }
        const TO rest = square > 0 ? along / square : 0, scale = square > 0 ? 1 / ROOT(square) : 0;
        square = 0;
        for (int i = 0; i < 3; i++) {
            x[3 + i][j] -= rest * x[i][j];
            square += x[3 + i][j] * x[3 + i][j];
        }
        const TO second = square > 0 ? 1 / ROOT(square) : 0;
        for (int i = 0; i < 3; i++) {
            x[i][j] *= scale;
            x[3 + i][j] *= second;
        }
    }
    NAME(store)(out, x, count, 6);
}

static void NAME(between_rotations)(TO *restrict row, const TO *restrict from, const TO *restrict to, TO share,
                                    const pfnn_feature_layout *layout)
{
    for (int32_t slot = 0; slot <= layout->n_joints; slot += LANES) {
        const int left = layout->n_joints + 1 - slot, count = left < LANES ? left : LANES;
        const int64_t c = layout->orientation + (int64_t)slot * layout->width;
        switch ((pfnn_representation)layout->representation) {
        case PFNN_QUAT:
            NAME(between_quats)(row + c, from + c, to + c, count, share);
            break;
        case PFNN_EXP_MAP:
            NAME(between_exp_maps)(row + c, from + c, to + c, count, share);
            break;
        case PFNN_6D:
            NAME(between_columns)(row + c, from + c, to + c, count, share);
            break;
        }
    }
}

/* ---- velocities ----------------------------------------------------------------------------- */

static double NAME(orientation_yaw)(const NAME(clip) *clip, int64_t i)
{
    const TO *row = NAME(row_of)(clip, i, 0) + clip->layout->orientation;
    double columns[MOST_WIDTH];
    for (int c = 0; c < clip->layout->width; c++)
        columns[c] = (double)row[c];
    return pfnn_orientation_yaw(columns, clip->layout->representation);
}

/* By how much the root turns from frame i - 1 to i, where something in a row turns with it; else 0. */
static double NAME(turn_of)(const NAME(clip) *clip, int64_t i)
{
    const pfnn_feature_layout *layout = clip->layout;
    if (layout->yaw_rate >= 0)
        return (double)NAME(row_of)(clip, i, 0)[layout->yaw_rate] / clip->fps;
    if (layout->points < 0)
        return 0;
    return remainder(NAME(orientation_yaw)(clip, i) - NAME(orientation_yaw)(clip, i - 1), TWO_PI);
}

/* `to` += share x (`from` turned by an angle about +y), for n vectors. */
static void NAME(add_turned)(TO *restrict to, const TO *restrict from, int64_t n, double share, double angle)
{
    const TO c = (TO)(angle == 0 ? share : share * cos(angle)), s = (TO)(angle == 0 ? 0 : share * sin(angle)), up = (TO)share;
    for (int64_t i = 0; i < 3 * n; i += 3) {
        to[i] += c * from[i] + s * from[i + 2];
        to[i + 1] += up * from[i + 1];
        to[i + 2] += c * from[i + 2] - s * from[i];
    }
}

/*
 * Velocities and yaw rate of frame k: those of the clip's frames, each as far as the way from frame k - 1 to k goes
 * through it, in the heading of frame k. Frame 0 has the way of frame 1, as in every clip.
 */
static void NAME(play_rates)(TO *row, const NAME(clip) *clip, int64_t k, double speed)
{
    const pfnn_feature_layout *layout = clip->layout;
    const double begin = moment(k > 0 ? k - 1 : 0, speed, clip->frames), end = moment(k > 0 ? k : 1, speed, clip->frames);
    const int64_t last = (int64_t)ceil(end), first = (int64_t)floor(begin) + 1;
    TO *points = row + layout->points + 3 * (int64_t)layout->n_points;
    double turned = 0;

    for (int64_t i = first; i <= last; i++)
        turned += overlap(i, begin, end) * NAME(turn_of)(clip, i);
    if (layout->yaw_rate >= 0)
        row[layout->yaw_rate] = (TO)(turned * clip->fps);
    memset(row, 0, 3 * sizeof *row);
    if (layout->points >= 0)
        memset(points, 0, 3 * (size_t)layout->n_points * sizeof *row);

    /* from the last one back; `angle` is the heading of frame i less that of frame k */
    double angle = k > 0 ? 0 : turned;
    for (int64_t i = last; i >= first; i--) {
        const double share = overlap(i, begin, end), turn = NAME(turn_of)(clip, i);
        const TO *from = NAME(row_of)(clip, i, 0);
        if (i == last)
            angle += ((double)last - end) * turn;
        NAME(add_turned)(row, from, 1, share, layout->heading ? angle : 0);
        if (layout->points >= 0)
            NAME(add_turned)(points, from + layout->points + 3 * (int64_t)layout->n_points, layout->n_points, share, angle);
        angle -= turn;
    }
}

/* ---- a row ---------------------------------------------------------------------------------- */

/* Row k of a clip played at another speed, (dim) physical numbers. */
static void NAME(play_row)(TO *restrict row, const NAME(clip) *clip, int64_t k, double speed)
{
    const pfnn_feature_layout *layout = clip->layout;
    const double at = moment(k, speed, clip->frames);
    const int64_t i = (int64_t)at;
    const TO share = (TO)(at - (double)i);
    const TO *from = NAME(row_of)(clip, i, 0);

    if (at == (double)i)
        memcpy(row, from, (size_t)layout->dim * sizeof *row);
    else {
        const TO *to = NAME(row_of)(clip, i + 1, 1);
        const int64_t beside = layout->joints + (int64_t)layout->n_joints * layout->width; /* columns after the rotations */
        for (int64_t c = beside; c < layout->dim; c++)
            row[c] = from[c] + share * (to[c] - from[c]);
        NAME(between_rotations)(row, from, to, share, layout);
        if (layout->contacts >= 0)
            memcpy(row + layout->contacts, ((int64_t)rint(at) > i ? to : from) + layout->contacts,
                   (size_t)layout->n_contacts * sizeof *row);
    }
    NAME(play_rates)(row, clip, k, speed);
}
