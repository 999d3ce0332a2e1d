/*
 * rollout.c: a network's frames put end to end.
 *
 * A frame: the network predicts from the window; the answer is brought back to physical numbers and its rotations made
 * valid; drift correction takes the mean excess of the last frames off velocity and yaw rate; what is left moves the root
 * and the phase; the window takes the prediction as it was before the correction.
 *
 * Everything is computed in double and for all characters before anything is stored, so a step happens whole or not at
 * all. Characters do not touch each other.
 */
#include "rollout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

enum { MOST_OFFSET = 1 << 20 }; /* frames that a trajectory reaches: those of the past are kept */

/* what a step computes before it is stored: (NEXT) doubles a character */
enum { NEXT_ROOT = 0, NEXT_YAW = 3, NEXT_TURN = 4, NEXT_PHASE = 5, NEXT_EXCESS = 6, NEXT_SUM = 10, NEXT = 14 };


/* ---- numbers of the network --------------------------------------------------------------- */

static double get(const pfnn_rollout *r, const void *array, size_t i)
{
    return r->config.float32 ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

static void put(const pfnn_rollout *r, void *array, size_t i, double value)
{
    if (r->config.float32)
        ((float *)array)[i] = (float)value;
    else
        ((double *)array)[i] = value;
}

static double *state(const pfnn_rollout *r, size_t character)
{
    return r->state + character * r->at.size;
}


/* ---- angles and rotations ----------------------------------------------------------------- */

static double wrap(double angle)
{
    return remainder(angle, 2.0 * PI);
}

static void to_quat(double q[4], const double *rotation, int32_t kind)
{
    if (kind == PFNN_6D)
        pfnn_quat_from_6d(q, rotation);
    else if (kind == PFNN_EXP_MAP)
        pfnn_exp_map_to_quat(q, rotation);
    else
        memcpy(q, rotation, 4 * sizeof *q);
}

/* twist about +y of a rotation in any representation, in [-pi, pi] */
static double yaw_of(const double *rotation, int32_t kind)
{
    double q[4];

    to_quat(q, rotation, kind);
    return pfnn_quat_yaw(q);
}

/* turn a rotation about the world's y; the sign of a quaternion goes on smoothly with the angle */
static void turn_about_y(double *rotation, double angle, int32_t kind)
{
    double q[4], turn[4] = {cos(0.5 * angle), 0.0, sin(0.5 * angle), 0.0};

    to_quat(q, rotation, kind);
    pfnn_quat_mul(q, turn, q);
    if (kind == PFNN_6D)
        pfnn_quat_to_6d(rotation, q);
    else if (kind == PFNN_EXP_MAP)
        pfnn_quat_to_exp_map(rotation, q);
    else
        memcpy(rotation, q, sizeof q);
}


/* ---- making and freeing ------------------------------------------------------------------- */

/* frames of the past that the trajectory looks at, the frame beyond a fractional one included */
static size_t longest_look_back(const pfnn_rollout_config *config)
{
    double back = 0.0;

    for (int32_t i = 0; i < config->layout.n_times; i++)
        back = fmax(back, -config->offsets[i]);
    return (size_t)ceil(back);
}

static void lay_out(pfnn_rollout *r)
{
    const pfnn_rollout_config *c = &r->config;
    size_t end = 0;

#define FIELD(name, length) (r->at.name = end, end += (length))
    FIELD(last, r->dim);
    FIELD(root, 3);
    FIELD(yaw, 1);
    FIELD(turn, 1);
    FIELD(phase, 1);
    FIELD(excess, c->expected_rows || c->rate_rows ? c->window * 4 : 0);
    FIELD(sum, 4);
    FIELD(past, r->history * 3);
    FIELD(wanted, r->times * 3);
    FIELD(foreseen, r->future * 4);
#undef FIELD
    r->at.size = end;
}

/* a running sum of bytes that stays at SIZE_MAX once it has overflowed */
static void *reserve(char *block, size_t *end, size_t count, size_t each)
{
    size_t start = *end;

    if (start == SIZE_MAX || (each && count > (SIZE_MAX / 2 - start) / each)) {
        *end = SIZE_MAX;
        return NULL;
    }
    *end = start + (count * each + 63) / 64 * 64;
    return block ? block + start : NULL;
}

/* name every array in the block; with `block` NULL only count its bytes */
static size_t place(pfnn_rollout *r, char *block)
{
    const pfnn_rollout_config *c = &r->config;
    size_t n = c->characters, end = 0, d = sizeof(double);

    r->count = reserve(block, &end, 1, sizeof(int64_t));
    r->state = reserve(block, &end, n, r->at.size * d);
    r->x = reserve(block, &end, n, r->in_dim * r->real);
    r->state_size = end;
    r->asked = reserve(block, &end, n, d);
    r->y = reserve(block, &end, n, r->out_dim * r->real);
    r->mean = reserve(block, &end, r->dim, d);
    r->scale = reserve(block, &end, r->dim, d);
    r->low = reserve(block, &end, r->dim, d);
    r->high = reserve(block, &end, r->dim, d);
    r->frame = reserve(block, &end, n, r->dim * d);
    r->shown = reserve(block, &end, n, r->dim * d);
    r->velocity = reserve(block, &end, n, 3 * d);
    r->next = reserve(block, &end, n, NEXT * d);
    r->expected = reserve(block, &end, c->expected_groups * c->expected_rows, 3 * d);
    r->expected_rate = reserve(block, &end, c->rate_rows, d);
    r->offsets = reserve(block, &end, r->times, d);
    r->stride = reserve(block, &end, n, d);
    return end;
}

static void copy_config_arrays(pfnn_rollout *r)
{
    pfnn_rollout_config *c = &r->config;

    for (size_t i = 0; i < r->dim; i++) {
        r->mean[i] = c->mean ? c->mean[i] : 0.0;
        r->scale[i] = c->scale ? c->scale[i] : 1.0;
        r->low[i] = c->low ? c->low[i] : -INFINITY;
        r->high[i] = c->high ? c->high[i] : INFINITY;
    }
    if (c->expected_rows)
        memcpy(r->expected, c->expected, c->expected_groups * c->expected_rows * 3 * sizeof(double));
    if (c->rate_rows)
        memcpy(r->expected_rate, c->expected_rate, c->rate_rows * sizeof(double));
    if (r->times)
        memcpy(r->offsets, c->offsets, r->times * sizeof(double));
    if (c->characters)
        memcpy(r->stride, c->avg_stride, c->characters * sizeof(double));
    c->mean = c->scale = c->low = c->high = c->expected = c->expected_rate = c->avg_stride = c->offsets = NULL;
}

/* Sizes whose products stay within size_t; `reserve` does the rest. */
static pfnn_status check_config(const pfnn_rollout_config *c, pfnn_error *error)
{
    const size_t most = SIZE_MAX / 64;

    if (c->layout.dim < 1 || c->layout.n_times < 0 || c->layout.n_future < 0 || c->layout.out_dim < c->layout.dim)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "layout has not been through pfnn_feature_layout_init");
    if (c->length < 1 || c->length > most / ((size_t)c->layout.dim + 4))
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "length must be at least 1 and fit into memory, got %zu", c->length);
    if ((c->expected_rows || c->rate_rows) && (c->window < 1 || c->window > most))
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "window must be at least 1 and fit into memory, got %zu", c->window);
    for (int32_t i = 0; i < c->layout.n_times; i++)
        if (!(fabs(c->offsets[i]) <= (double)MOST_OFFSET))
            return pfnn_fail(error, PFNN_ERROR_VALUE, i, "offsets[%d]=%g is more than %d frames away", (int)i,
                             c->offsets[i], (int)MOST_OFFSET);
    if (c->expected_rows && c->expected_groups > most / c->expected_rows)
        return pfnn_fail(error, PFNN_ERROR_MEMORY, -1, "no memory for %zu rows of expected motion", c->expected_rows);
    if (c->expected_rows && c->expected_groups != 1 && c->expected_groups != c->characters)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "expected has %zu groups for %zu characters", c->expected_groups,
                         c->characters);
    return PFNN_OK;
}

pfnn_status pfnn_rollout_create(pfnn_rollout **rollout, const pfnn_rollout_config *config, pfnn_error *error)
{
    *rollout = NULL;
    if (check_config(config, error))
        return PFNN_ERROR_VALUE;
    pfnn_rollout *r = calloc(1, sizeof *r);
    if (!r)
        return pfnn_fail(error, PFNN_ERROR_MEMORY, -1, "out of memory");
    r->config = *config;
    r->real = config->float32 ? sizeof(float) : sizeof(double);
    r->dim = (size_t)config->layout.dim;
    r->times = (size_t)config->layout.n_times;
    r->future = (size_t)config->layout.n_future;
    r->in_dim = config->length * r->dim + r->times * 4;
    r->out_dim = (size_t)config->layout.out_dim;
    r->history = longest_look_back(config);
    lay_out(r);
    size_t bytes = place(r, NULL);
    r->block = bytes == SIZE_MAX ? NULL : calloc(1, bytes);
    if (!r->block) {
        free(r);
        return pfnn_fail(error, PFNN_ERROR_MEMORY, -1, "no memory for a roll-out of %zu characters", config->characters);
    }
    place(r, r->block);
    copy_config_arrays(r);
    *rollout = r;
    return PFNN_OK;
}

int64_t pfnn_rollout_count(const pfnn_rollout *rollout)
{
    return *rollout->count;
}

void pfnn_rollout_free(pfnn_rollout *rollout)
{
    if (rollout) {
        free(rollout->block);
        free(rollout);
    }
}

void pfnn_rollout_sizes(const pfnn_rollout *rollout, size_t *in_dim, size_t *out_dim)
{
    *in_dim = rollout->in_dim;
    *out_dim = rollout->out_dim;
}

size_t pfnn_rollout_window_size(const pfnn_rollout *rollout)
{
    return rollout->config.length * rollout->dim;
}

size_t pfnn_rollout_history(const pfnn_rollout *rollout)
{
    return rollout->history;
}

size_t pfnn_rollout_times(const pfnn_rollout *rollout)
{
    return rollout->times;
}

size_t pfnn_rollout_future(const pfnn_rollout *rollout)
{
    return rollout->future;
}

/* the frame that a character shows before its first step: the last of the window */
static void show_start(pfnn_rollout *r, size_t character, double yaw)
{
    const double *last = state(r, character) + r->at.last;
    double *velocity = r->velocity + character * 3;

    memcpy(r->shown + character * r->dim, last, r->dim * sizeof(double));
    memcpy(velocity, last, 3 * sizeof(double));
    if (r->config.layout.heading) {
        velocity[0] = cos(yaw) * last[0] + sin(yaw) * last[2];
        velocity[2] = cos(yaw) * last[2] - sin(yaw) * last[0];
    }
}

void pfnn_rollout_start(pfnn_rollout *r, const double *window, const double *phase, const double *origin, const double *yaw,
                        const double *past)
{
    size_t dim = r->dim, length = r->config.length;

    memset(r->block, 0, r->state_size);
    for (size_t i = 0; i < r->config.characters; i++, window += length * dim) {
        double *s = state(r, i);
        const double *last = window + (length - 1) * dim;

        for (size_t j = 0; j < length * dim; j++)
            put(r, r->x, i * r->in_dim + j, (window[j] - r->mean[j % dim]) / r->scale[j % dim]);
        memcpy(s + r->at.last, last, dim * sizeof(double));
        memcpy(s + r->at.root, origin + 3 * i, 3 * sizeof(double));
        s[r->at.yaw] = r->config.layout.heading ? yaw[i] : yaw_of(last + 3, r->config.layout.representation);
        s[r->at.phase] = phase[i];
        for (size_t j = 0; j < (past ? r->history : 0); j++) /* slot -1 of the ring is the frame before the start */
            memcpy(s + r->at.past + 3 * (r->history - 1 - j), past + (i * r->history + j) * 3, 3 * sizeof(double));
        for (size_t t = 0; t < r->times; t++) {
            double *wanted = s + r->at.wanted + 3 * t;
            wanted[0] = origin[3 * i];
            wanted[1] = origin[3 * i + 2];
            wanted[2] = s[r->at.yaw];
        }
        show_start(r, i, s[r->at.yaw]);
    }
}


/* ---- the trajectory ----------------------------------------------------------------------- */

void pfnn_rollout_want(pfnn_rollout *r, size_t character, const double *wanted)
{
    memcpy(state(r, character) + r->at.wanted, wanted, r->times * 3 * sizeof(double));
}

/* row `row` of a path, between its rows too; beyond its end straight on as in its last rows, the facing held */
static void sample_path(double out[3], const double *positions, const double *yaw, size_t rows, double row)
{
    double last = (double)(rows - 1), inside = fmin(fmax(row, 0.0), last);
    size_t i = (size_t)inside, j = i + 1 < rows ? i + 1 : i, tail = rows > 15 ? 15 : rows - 1;
    double share = inside - (double)i;

    out[0] = positions[3 * i] + share * (positions[3 * j] - positions[3 * i]);
    out[1] = positions[3 * i + 2] + share * (positions[3 * j + 2] - positions[3 * i + 2]);
    out[2] = yaw[i] + share * wrap(yaw[j] - yaw[i]);
    if (row > last && tail) {
        const double *end = positions + 3 * (rows - 1), *from = end - 3 * tail;
        out[0] += (row - last) * (end[0] - from[0]) / (double)tail;
        out[1] += (row - last) * (end[2] - from[2]) / (double)tail;
    }
}

void pfnn_rollout_want_path(pfnn_rollout *r, size_t character, const double *positions, const double *yaw, size_t rows,
                            int64_t frame)
{
    double *wanted = state(r, character) + r->at.wanted;

    for (size_t t = 0; t < r->times; t++)
        if (r->offsets[t] > 0.0)
            sample_path(wanted + 3 * t, positions, yaw, rows, (double)(*r->count - frame) + r->offsets[t] - 1.0);
}

/* x, z, yaw of the frame `back` frames before the last one; 0 is the last one itself */
static const double *past_frame(const pfnn_rollout *r, const double *s, const double own[3], int64_t back)
{
    int64_t n = (int64_t)r->history;

    return back == 0 ? own : s + r->at.past + 3 * (((*r->count - back) % n + n) % n);
}

static void past_between(double out[3], const pfnn_rollout *r, const double *s, const double own[3], double back)
{
    double whole = floor(back), share = back - whole;
    const double *a = past_frame(r, s, own, (int64_t)whole);
    const double *b = share > 0.0 ? past_frame(r, s, own, (int64_t)whole + 1) : a;

    out[0] = a[0] + share * (b[0] - a[0]);
    out[1] = a[1] + share * (b[1] - a[1]);
    out[2] = a[2] + share * wrap(b[2] - a[2]);
}

static void trajectory_input(pfnn_rollout *r, size_t character)
{
    const double *s = state(r, character);
    const double *root = s + r->at.root;
    size_t column = character * r->in_dim + r->config.length * r->dim;
    double yaw = s[r->at.yaw], c = cos(yaw), sn = sin(yaw);

    double own[3] = {root[0], root[2], yaw}, at[3];

    for (size_t t = 0; t < r->times; t++, column += 4) {
        if (r->offsets[t] > 0.0)
            memcpy(at, s + r->at.wanted + 3 * t, sizeof at);
        else
            past_between(at, r, s, own, -r->offsets[t]);
        double x = at[0] - root[0], z = at[1] - root[2];
        put(r, r->x, column, c * x - sn * z);
        put(r, r->x, column + 1, c * z + sn * x);
        put(r, r->x, column + 2, sin(at[2] - yaw));
        put(r, r->x, column + 3, cos(at[2] - yaw));
    }
}

void pfnn_rollout_input(pfnn_rollout *r, const void **x, const double **phase)
{
    for (size_t i = 0; i < r->config.characters; i++) {
        r->asked[i] = state(r, i)[r->at.phase];
        if (r->times)
            trajectory_input(r, i);
    }
    *x = r->x;
    *phase = r->asked;
}


/* ---- a step ------------------------------------------------------------------------------- */

/* step 1: the predicted frame, physical, with valid rotations */
static void predicted_frame(pfnn_rollout *r, size_t character, const void *y)
{
    const pfnn_rollout_config *c = &r->config;
    const double *last = state(r, character) + r->at.last;
    double *frame = r->frame + character * r->dim;
    size_t newest = character * r->in_dim + (c->length - 1) * r->dim;

    for (size_t j = 0; j < r->dim; j++) {
        double z = get(r, y, character * r->out_dim + j);
        if (c->layout.predict_delta)
            z += get(r, r->x, newest + j);
        frame[j] = z * r->scale[j] + r->mean[j];
        if (frame[j] < r->low[j]) /* a NaN stays one */
            frame[j] = r->low[j];
        else if (frame[j] > r->high[j])
            frame[j] = r->high[j];
    }
    pfnn_features_make_valid_f64(&c->layout, frame, last);
}

/* the row of the expected motion for this frame */
static const double *expected_row(const pfnn_rollout *r, size_t character)
{
    size_t rows = r->config.expected_rows, row = (size_t)*r->count;

    if (r->config.by_phase)
        row = (size_t)floor(state(r, character)[r->at.phase] * (double)rows) % rows;
    else if (rows == 1)
        row = 0;
    return r->expected + ((r->config.expected_groups > 1 ? character * rows : 0) + row) * 3;
}

/* step 2: mean of predicted - expected over the last frames, this one included; velocity and yaw rate */
static void mean_excess(pfnn_rollout *r, size_t character, double rate, double mean[4])
{
    const pfnn_rollout_config *c = &r->config;
    const double *s = state(r, character), *frame = r->frame + character * r->dim;
    double *next = r->next + character * NEXT, *excess = next + NEXT_EXCESS, *sum = next + NEXT_SUM;
    size_t slot = (size_t)(*r->count % (int64_t)c->window);
    bool full = *r->count >= (int64_t)c->window;
    const double *expected = c->expected_rows ? expected_row(r, character) : NULL;

    for (int i = 0; i < 3; i++)
        excess[i] = expected ? frame[i] - expected[i] : 0.0;
    excess[3] = c->rate_rows ? rate - r->expected_rate[c->rate_rows == 1 ? 0 : (size_t)*r->count] : 0.0;
    for (int i = 0; i < 4; i++) {
        const double *ring = s + r->at.excess + i;
        sum[i] = excess[i] + s[r->at.sum + (size_t)i] - (full ? ring[4 * slot] : 0.0);
        if (full && slot == 0) { /* once round the ring the sum is made anew, so that rounding does not add up */
            sum[i] = excess[i];
            for (size_t j = 1; j < c->window; j++)
                sum[i] += ring[4 * j];
        }
        mean[i] = sum[i] / (double)(full ? c->window : slot + 1);
    }
}

/* turn the root's orientation, and its repetition among the joints where there is none, by what drift has taken off */
static double shown_turn(pfnn_rollout *r, size_t character, double mean_rate, double dt)
{
    double turn = state(r, character)[r->at.turn];

    if (r->config.rate_rows && !r->config.layout.heading) {
        turn -= mean_rate * dt;
        turn_about_y(r->shown + character * r->dim + 3, turn, r->config.layout.representation);
    }
    return turn;
}

/* step 3: the root and the phase go on by the shown velocity */
static void move_root(pfnn_rollout *r, size_t character, const void *y, double dt)
{
    const pfnn_rollout_config *c = &r->config;
    const double *s = state(r, character), *shown = r->shown + character * r->dim;
    double *next = r->next + character * NEXT, *velocity = r->velocity + character * 3;
    double speed = hypot(shown[0], shown[2]);

    memcpy(velocity, shown, 3 * sizeof *velocity);
    if (c->layout.heading) {
        double yaw = s[r->at.yaw] + shown[c->layout.yaw_rate] * dt, cs = cos(yaw), sn = sin(yaw);
        next[NEXT_YAW] = yaw;
        velocity[0] = cs * shown[0] + sn * shown[2];
        velocity[2] = cs * shown[2] - sn * shown[0];
    } else {
        next[NEXT_YAW] = yaw_of(r->frame + character * r->dim + 3, c->layout.representation);
    }
    if (c->follow_height && c->layout.height >= 0)
        velocity[1] = (shown[c->layout.height] - s[r->at.root + 1]) / dt;
    for (size_t i = 0; i < 3; i++)
        next[NEXT_ROOT + i] = s[r->at.root + i] + velocity[i] * dt;
    double step = c->layout.phase_step ? get(r, y, character * r->out_dim + r->dim) * dt : speed / r->stride[character] * dt;
    double phase = s[r->at.phase] + step;
    phase -= floor(phase);
    next[NEXT_PHASE] = phase < 1.0 ? phase : 0.0;
}

static void step_one(pfnn_rollout *r, size_t character, const void *y, double dt)
{
    const pfnn_rollout_config *c = &r->config;
    double *frame = r->frame + character * r->dim, *shown = r->shown + character * r->dim, mean[4] = {0};

    predicted_frame(r, character, y);
    memcpy(shown, frame, r->dim * sizeof *shown);
    if (c->expected_rows || c->rate_rows) {
        double rate = c->layout.heading ? frame[c->layout.yaw_rate]
                                 : wrap(yaw_of(frame + 3, c->layout.representation) - state(r, character)[r->at.yaw]) / dt;
        mean_excess(r, character, rate, mean);
        for (int i = 0; i < 3; i++)
            shown[i] -= mean[i];
        if (c->layout.yaw_rate >= 0)
            shown[c->layout.yaw_rate] -= mean[3];
    }
    r->next[character * NEXT + NEXT_TURN] = shown_turn(r, character, mean[3], dt);
    move_root(r, character, y, dt);
}

/* whether everything that would be stored is a number, in the network's own type too */
static pfnn_status check_step(const pfnn_rollout *r, const void *y, pfnn_error *error)
{
    size_t dim = r->dim;

    for (size_t i = 0; i < r->config.characters; i++) {
        bool good = true;
        for (size_t j = 0; j < r->out_dim && good; j++)
            if (!isfinite(get(r, y, i * r->out_dim + j)))
                return pfnn_fail(error, PFNN_ERROR_NONFINITE, *r->count,
                                 "the prediction of frame %lld is not finite (character %zu, output %zu)",
                                 (long long)*r->count, i, j);
        for (size_t j = 0; j < dim && good; j++) {
            double z = (r->frame[i * dim + j] - r->mean[j]) / r->scale[j];
            good = isfinite(r->shown[i * dim + j]) && isfinite(r->config.float32 ? (double)(float)z : z);
        }
        for (size_t j = 0; j < NEXT && good; j++)
            good = isfinite(r->next[i * NEXT + j]);
        if (!good)
            return pfnn_fail(error, PFNN_ERROR_NONFINITE, *r->count,
                             "frame %lld leaves the finite numbers (character %zu)", (long long)*r->count, i);
    }
    return PFNN_OK;
}

/* step 4: the window takes the prediction; everything else goes on */
static void store_one(pfnn_rollout *r, size_t character, const void *y)
{
    const pfnn_rollout_config *c = &r->config;
    double *s = state(r, character);
    const double *next = r->next + character * NEXT, *frame = r->frame + character * r->dim;
    size_t dim = r->dim, row = character * r->in_dim, newest = row + (c->length - 1) * dim;

    char *x = (char *)r->x + row * r->real;
    memmove(x, x + dim * r->real, (c->length - 1) * dim * r->real);
    for (size_t j = 0; j < dim; j++)
        put(r, r->x, newest + j, (frame[j] - r->mean[j]) / r->scale[j]);
    memcpy(s + r->at.last, frame, dim * sizeof *frame);
    if (r->history) {
        double *past = s + r->at.past + 3 * (size_t)(*r->count % (int64_t)r->history);
        past[0] = s[r->at.root];
        past[1] = s[r->at.root + 2];
        past[2] = s[r->at.yaw];
    }
    memcpy(s + r->at.root, next + NEXT_ROOT, 3 * sizeof *next);
    s[r->at.yaw] = next[NEXT_YAW];
    s[r->at.turn] = next[NEXT_TURN];
    s[r->at.phase] = next[NEXT_PHASE];
    if (c->expected_rows || c->rate_rows) {
        memcpy(s + r->at.excess + 4 * (size_t)(*r->count % (int64_t)c->window), next + NEXT_EXCESS, 4 * sizeof *next);
        memcpy(s + r->at.sum, next + NEXT_SUM, 4 * sizeof *next);
    }
    for (size_t j = 0; j < r->future * 4; j++)
        s[r->at.foreseen + j] = get(r, y, character * r->out_dim + dim + (c->layout.phase_step ? 1 : 0) + j);
}

pfnn_status pfnn_rollout_apply(pfnn_rollout *r, const void *y, double dt, pfnn_error *error)
{
    const pfnn_rollout_config *c = &r->config;
    size_t frame = (size_t)*r->count;

    if (!(dt > 0.0) || !isfinite(dt))
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "dt must be greater than 0, got %g", dt);
    if ((!c->by_phase && c->expected_rows > 1 && frame >= c->expected_rows) || (c->rate_rows > 1 && frame >= c->rate_rows))
        return pfnn_fail(error, PFNN_ERROR_VALUE, (int64_t)frame, "the expected motion ends before frame %zu", frame);
    for (size_t i = 0; i < c->characters; i++)
        step_one(r, i, y, dt);
    if (check_step(r, y, error))
        return PFNN_ERROR_NONFINITE;
    for (size_t i = 0; i < c->characters; i++)
        store_one(r, i, y);
    ++*r->count;
    return PFNN_OK;
}


/* ---- what stands -------------------------------------------------------------------------- */

const double *pfnn_rollout_features(const pfnn_rollout *r)
{
    return r->shown;
}

const double *pfnn_rollout_velocity(const pfnn_rollout *r)
{
    return r->velocity;
}

void pfnn_rollout_root(const pfnn_rollout *r, size_t character, double position[3], double *yaw, double *phase)
{
    const double *s = state(r, character);

    memcpy(position, s + r->at.root, 3 * sizeof *position);
    *yaw = r->config.layout.heading ? s[r->at.yaw] : s[r->at.yaw] + s[r->at.turn];
    *phase = s[r->at.phase];
}

const double *pfnn_rollout_foreseen(const pfnn_rollout *r, size_t character)
{
    return state(r, character) + r->at.foreseen;
}

void pfnn_rollout_shift(pfnn_rollout *r, size_t character, const double by[2], double dt)
{
    double *root = state(r, character) + r->at.root, *velocity = r->velocity + 3 * character;

    for (int i = 0; i < 2; i++) {
        root[2 * i] += by[i];
        velocity[2 * i] += by[i] / dt;
    }
}

size_t pfnn_rollout_state_size(const pfnn_rollout *r)
{
    return r->state_size;
}

void pfnn_rollout_save(const pfnn_rollout *r, void *bytes)
{
    char *rows = (char *)bytes + ((const char *)r->x - r->block);
    size_t window = r->config.length * r->dim * r->real;

    memcpy(bytes, r->block, r->state_size);
    /* the trajectory in the input rows is made anew for each frame, and a frame that failed has left its own */
    for (size_t i = 0; i < r->config.characters; i++)
        memset(rows + i * r->in_dim * r->real + window, 0, r->times * 4 * r->real);
}

void pfnn_rollout_restore(pfnn_rollout *r, const void *bytes)
{
    memcpy(r->block, bytes, r->state_size);
}
