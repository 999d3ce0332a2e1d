/* train.c: the training step: roll-out, loss, the way back, AdamW. */
#include "train.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train_work.h"

static const double PI = 3.14159265358979323846;

enum { TILE = 256 }; /* columns of a row of weights worked on at a time */

/* one pass over all rows of all weights: sum squares (norms), store, or update */
typedef struct row_job {
    pfnn_trainer *trainer;
    double *norms;
    pfnn_net *store;
    const pfnn_update *update;
    double shrink;
} row_job;

static float root_f(float v)
{
    return sqrtf(v);
}

static double root_d(double v)
{
    return sqrt(v);
}


/* ---- random numbers ----------------------------------------------------------------------- */

/* The output function of SplitMix64 (Steele, Lea, Flood 2014) as a hash of (stream, n). */
uint64_t pfnn_random_bits(uint64_t stream, uint64_t n)
{
    uint64_t z = stream + (n + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static double random_unit(uint64_t stream, uint64_t n)
{
    return ((double)(pfnn_random_bits(stream, n) >> 11) + 0.5) * 0x1p-53;
}

/* standard normal, by Box and Muller */
static double random_normal(uint64_t stream, uint64_t n)
{
    return sqrt(-2 * log(random_unit(stream, 2 * n))) * cos(2 * PI * random_unit(stream, 2 * n + 1));
}

void pfnn_shuffle(int64_t *order, int64_t count, uint64_t seed, uint64_t epoch)
{
    const uint64_t stream = pfnn_random_bits(pfnn_random_bits(seed, 0), epoch);
    for (int64_t i = 0; i < count; i++)
        order[i] = i;
    for (int64_t i = count - 1; i > 0; i--) {
        int64_t j = (int64_t)(random_unit(stream, (uint64_t)i) * (double)(i + 1));
        int64_t swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
}


/* ---- where root and phase go -------------------------------------------------------------- */

/* yaw of the root orientation of a world-frame row */
static double row_yaw(const pfnn_frame_layout *frame, const double *row)
{
    double m[9], r[6] = {0};
    if (frame->width == 0)
        return 0;
    memcpy(r, row + 3, (size_t)frame->width * sizeof *r);
    pfnn_rotation_matrix(frame->width, m, r);
    return atan2(m[2] - m[6], m[0] + m[8]);
}

/* (x, z, yaw) after a frame: the yaw first, then the velocity turned by it. World rows: z, x as they are, yaw absolute. */
static void move_root(const pfnn_train_config *c, double next[3], const double root[3], const double *row)
{
    const double dt = c->frame.dt;
    double yaw = 0;
    if (c->frame.heading)
        yaw = next[2] = root[2] + (c->frame.yaw_rate >= 0 ? row[c->frame.yaw_rate] * dt : 0);
    else
        next[2] = row_yaw(&c->frame, row);
    next[0] = root[0] + (cos(yaw) * row[0] + sin(yaw) * row[2]) * dt;
    next[1] = root[1] + (cos(yaw) * row[2] - sin(yaw) * row[0]) * dt;
}

/* droot by the root after the frame becomes that by the root before it. (No gradient through the yaw of world rows.) */
static void move_root_backward(const pfnn_train_config *c, double droot[3], double *drow, const double next[3], const double *row)
{
    const double dt = c->frame.dt, yaw = c->frame.heading ? next[2] : 0, co = cos(yaw), si = sin(yaw);
    drow[0] += (co * droot[0] - si * droot[1]) * dt;
    drow[2] += (si * droot[0] + co * droot[1]) * dt;
    if (c->frame.heading) {
        droot[2] += (droot[0] * (co * row[2] - si * row[0]) - droot[1] * (co * row[0] + si * row[2])) * dt;
        if (c->frame.yaw_rate >= 0)
            drow[c->frame.yaw_rate] += droot[2] * dt;
    } else {
        droot[2] = 0;
    }
}

static double next_phase(const pfnn_train_config *c, double phase, const double *row, double rate)
{
    if (c->phase_source == PFNN_PHASE_SPEED)
        rate = c->stride > 0 ? sqrt(row[0] * row[0] + row[2] * row[2]) / c->stride : 0;
    phase += rate * c->frame.dt;
    phase -= floor(phase);
    return phase < 1 ? phase : 0;
}

static void speed_backward(const pfnn_train_config *c, double *drow, const double *row, double dphase)
{
    double speed = sqrt(row[0] * row[0] + row[2] * row[2]);
    if (speed > 0 && c->stride > 0) {
        drow[0] += dphase * c->frame.dt / c->stride * row[0] / speed;
        drow[2] += dphase * c->frame.dt / c->stride * row[2] / speed;
    }
}


/* ---- the wanted trajectory ---------------------------------------------------------------- */

/* -1 for a window that is the mirror image of its track, across x = 0 */
static double batch_side(const pfnn_train_batch *batch, int64_t row)
{
    return batch->mirrored && batch->mirrored[row] ? -1 : 1;
}

/* Where the character's own root stands at a step on its window's track: the recorded start, moved on by its own frames. */
static void own_root(const pfnn_trainer *t, const pfnn_train_batch *batch, double root[3], int64_t row, int step)
{
    const double *recorded = batch->tracks[row] + 3 * batch->track_frame[row], side = batch_side(batch, row);
    const double start[3] = {side * recorded[0], recorded[1], side * recorded[2]};
    const double *own = t->work.root + 3 * (step * t->work.rows + row);
    if (!t->config.frame.heading) {
        const double begin = row_yaw(&t->config.frame, t->work.first + row * t->config.frame.dim);
        root[0] = start[0] + own[0];
        root[1] = start[1] + own[1];
        root[2] = start[2] + (step ? own[2] - begin : 0);
        return;
    }
    const double co = cos(start[2]), si = sin(start[2]);
    root[0] = start[0] + co * own[0] + si * own[1];
    root[1] = start[1] + co * own[1] - si * own[0];
    root[2] = start[2] + own[2];
}

/* The control block of a step seen from `root`, from the `first` time on. */
static void trajectory(const pfnn_train_config *c, const pfnn_train_batch *batch, double *block, int64_t row, int step,
                       const double root[3], int first)
{
    const double side = batch_side(batch, row), seen_from[3] = {side * root[0], root[1], side * root[2]};
    pfnn_trajectory_block_f64(block, c->times + first, c->n_times - first, batch->tracks[row], batch->track_length[row],
                              1 / c->frame.dt, (double)(batch->track_frame[row] + step), seen_from);
    for (int i = 0; i < c->n_times - first; i++) {
        block[4 * i] *= side;
        block[4 * i + 2] *= side;
    }
}

/* d by the own root at a step, (x, z, yaw) in the axes of work.root, from d by its control block */
static void trajectory_backward(const pfnn_trainer *t, const pfnn_train_batch *batch, int64_t row, int step,
                                const double *block, const double *dblock, int times)
{
    const double *own = t->work.root + 3 * (step * t->work.rows + row);
    double *droot = t->work.droot + 3 * row, dx = 0, dz = 0;
    double yaw = own[2];
    if (!t->config.frame.heading) {
        double root[3];
        own_root(t, batch, root, row, step);
        yaw = root[2];
    }
    for (int i = 0; i < times; i++, block += 4, dblock += 4) {
        dx -= dblock[0];
        dz -= dblock[1];
        /* more yaw turns what is wanted the other way */
        droot[2] += -dblock[0] * block[1] + dblock[1] * block[0] - dblock[2] * block[3] + dblock[3] * block[2];
    }
    droot[0] += cos(yaw) * dx + sin(yaw) * dz;
    droot[1] += cos(yaw) * dz - sin(yaw) * dx;
}


/* ---- the two real types ------------------------------------------------------------------- */

#define REAL float
#define NAME(x) x##_f
#include "train_body.h"

#define REAL double
#define NAME(x) x##_d
#include "train_body.h"

static bool is_double(const pfnn_trainer *t)
{
    return t->config.net.config.type == PFNN_FLOAT64;
}


/* ---- memory ------------------------------------------------------------------------------- */

pfnn_trainer *pfnn_trainer_new(const pfnn_train_config *config, pfnn_error *error)
{
    pfnn_trainer *t = calloc(1, sizeof *t);
    if (!t) {
        pfnn_fail(error, PFNN_ERROR_MEMORY, -1, "no memory for a trainer");
        return NULL;
    }
    t->config = *config;
    int64_t contact = config->frame.n_feet + config->frame.dim + (int64_t)PFNN_CONTACT_DOUBLES * config->frame.n_joints;
    int64_t blocks = 12 * (int64_t)config->n_times;
    t->scratch = contact > blocks ? contact : blocks;
    return t;
}

void pfnn_trainer_free(pfnn_trainer *trainer)
{
    if (trainer) {
        free(trainer->work.memory);
        free(trainer);
    }
}

/* `count` items of `size` bytes from the block that `at` walks through; with base NULL only the bytes are counted */
static void *carve(char *base, size_t *at, int64_t count, size_t size)
{
    void *place = base ? base + *at : NULL;
    *at += ((size_t)count * size + 63) / 64 * 64;
    return place;
}

static void lay_out(const pfnn_trainer *t, pfnn_train_work *w, char *base, size_t *bytes)
{
    const pfnn_net_config *net = &t->config.net.config;
    const size_t real = is_double(t) ? sizeof(double) : sizeof(float);
    const int64_t rows = w->rows, steps = w->steps, all = rows * steps, dim = t->config.frame.dim;
    int64_t widest = 0, lines = 0;
    size_t layer = 0;

    *bytes = 0;
    w->sequence = carve(base, bytes, rows * (t->config.length + steps) * dim, real);
    w->dsequence = carve(base, bytes, rows * (t->config.length + steps) * dim, real);
    for (int l = 0; l < PFNN_LAYERS; l++) {
        w->input[l] = carve(base, bytes, all * net->size[l], real);
        w->doutput[l] = carve(base, bytes, all * net->size[l + 1], real);
        widest = net->size[l] > widest ? net->size[l] : widest;
        lines += net->size[l] + 1;
        size_t need = pfnn_layer_workspace(&t->config.net, l, rows, 1);
        layer = need > layer ? need : layer;
    }
    size_t forward = pfnn_net_workspace(&t->config.net, net->type, rows, 1);
    layer = forward > layer ? forward : layer;
    w->output = carve(base, bytes, all * net->size[PFNN_LAYERS], real);
    w->dx = carve(base, bytes, rows * widest, real);
    w->share = carve(base, bytes, all * net->kernels, sizeof(double));
    w->slope = carve(base, bytes, all * net->kernels, sizeof(double));
    w->dshare = carve(base, bytes, rows * net->kernels, sizeof(double));
    w->phase = carve(base, bytes, all, sizeof(double));
    w->dphase = carve(base, bytes, rows, sizeof(double));
    w->root = carve(base, bytes, (steps + 1) * rows * 3, sizeof(double));
    w->droot = carve(base, bytes, rows * 3, sizeof(double));
    w->raw = carve(base, bytes, all * dim, sizeof(double));
    w->valid = carve(base, bytes, all * dim, sizeof(double));
    w->dvalid = carve(base, bytes, all * dim, sizeof(double));
    w->first = carve(base, bytes, rows * dim, sizeof(double));
    w->losses = carve(base, bytes, rows * PFNN_TERMS, sizeof(double));
    w->norms = carve(base, bytes, lines * net->kernels, sizeof(double));
    w->memory_a_row = carve(base, bytes, rows * t->scratch, sizeof(double));
    w->layer = carve(base, bytes, (int64_t)layer, 1);
}

/* Memory for a batch's shape; kept for the next batch of that shape. */
static pfnn_status prepare(pfnn_trainer *t, const pfnn_train_batch *batch, pfnn_error *error)
{
    if (t->work.memory && t->work.rows == batch->rows && t->work.steps == batch->steps)
        return PFNN_OK;
    pfnn_train_work work = {.rows = batch->rows, .steps = batch->steps};
    size_t bytes;
    lay_out(t, &work, NULL, &bytes);
    char *memory = malloc(bytes);
    if (!memory)
        return pfnn_fail(error, PFNN_ERROR_MEMORY, -1, "no memory for a batch of %lld rows and %d steps: %zu bytes",
                         (long long)batch->rows, batch->steps, bytes);
    lay_out(t, &work, memory, &bytes);
    free(t->work.memory);
    t->work = work;
    t->work.memory = memory;
    return PFNN_OK;
}


/* ---- the step ----------------------------------------------------------------------------- */

typedef struct window_job {
    pfnn_trainer *trainer;
    const pfnn_train_batch *batch;
    int step;
} window_job;

static void begin_window(void *context, int64_t row)
{
    const window_job *job = context;
    if (is_double(job->trainer))
        begin_row_d(job->trainer, job->batch, row);
    else
        begin_row_f(job->trainer, job->batch, row);
}

static void input_window(void *context, int64_t row)
{
    const window_job *job = context;
    if (is_double(job->trainer))
        input_row_d(job->trainer, job->batch, row, job->step);
    else
        input_row_f(job->trainer, job->batch, row, job->step);
}

static void output_window(void *context, int64_t row)
{
    const window_job *job = context;
    if (is_double(job->trainer))
        output_row_d(job->trainer, job->batch, row, job->step);
    else
        output_row_f(job->trainer, job->batch, row, job->step);
}

static void output_backward_window(void *context, int64_t row)
{
    const window_job *job = context;
    if (is_double(job->trainer))
        output_backward_row_d(job->trainer, job->batch, row, job->step);
    else
        output_backward_row_f(job->trainer, job->batch, row, job->step);
}

static void input_backward_window(void *context, int64_t row)
{
    const window_job *job = context;
    if (is_double(job->trainer))
        input_backward_row_d(job->trainer, job->batch, row, job->step);
    else
        input_backward_row_f(job->trainer, job->batch, row, job->step);
}

static pfnn_status roll_forward(pfnn_trainer *t, const pfnn_train_batch *batch, int threads, pfnn_error *error)
{
    const pfnn_train_work *w = &t->work;
    const int kernels = t->config.net.config.kernels;
    window_job job = {t, batch, 0};

    memset(w->losses, 0, (size_t)(w->rows * PFNN_TERMS) * sizeof *w->losses);
    memset(w->dvalid, 0, (size_t)(w->rows * w->steps * t->config.frame.dim) * sizeof *w->dvalid);
    pfnn_parallel(threads, w->rows, begin_window, &job);
    for (job.step = 0; job.step < w->steps; job.step++) {
        const int64_t at = job.step * w->rows;
        for (int64_t i = 0; i < w->rows; i++)
            if (!isfinite(w->phase[at + i]))
                return pfnn_fail(error, PFNN_ERROR_NONFINITE, i, "the prediction is not finite after %d steps", job.step);
        pfnn_status status = pfnn_phase_shares(w->share + at * kernels, w->slope + at * kernels, &t->config.net.config,
                                               w->phase + at, w->rows, error);
        if (status != PFNN_OK)
            return status;
        pfnn_parallel(threads, w->rows, input_window, &job);
        if (is_double(t))
            network_forward_d(t, job.step, threads);
        else
            network_forward_f(t, job.step, threads);
        pfnn_parallel(threads, w->rows, output_window, &job);
    }
    return PFNN_OK;
}

static void roll_backward(pfnn_trainer *t, const pfnn_train_batch *batch, int threads)
{
    const pfnn_train_work *w = &t->work;
    const size_t real = is_double(t) ? sizeof(double) : sizeof(float);
    window_job job = {t, batch, 0};

    memset(w->dsequence, 0, (size_t)(w->rows * (t->config.length + w->steps) * t->config.frame.dim) * real);
    memset(w->dphase, 0, (size_t)w->rows * sizeof *w->dphase);
    memset(w->droot, 0, (size_t)w->rows * 3 * sizeof *w->droot);
    for (job.step = w->steps - 1; job.step >= 0; job.step--) {
        if (w->steps > 1 || batch->weight[PFNN_TERM_TRAJECTORY] > 0)
            pfnn_parallel(threads, w->rows, output_backward_window, &job);
        if (is_double(t))
            network_backward_d(t, job.step, threads);
        else
            network_backward_f(t, job.step, threads);
        if (job.step > 0)
            pfnn_parallel(threads, w->rows, input_backward_window, &job);
    }
}

pfnn_status pfnn_trainer_gradient(pfnn_trainer *t, double *losses, const pfnn_train_batch *batch, bool backward,
                                  int threads, pfnn_error *error)
{
    double total = 0;
    t->ready = false;
    pfnn_status status = prepare(t, batch, error);
    if (status == PFNN_OK)
        status = roll_forward(t, batch, threads, error);
    if (status != PFNN_OK)
        return status;

    /* row by row in order, whatever thread made them */
    memset(losses, 0, PFNN_TERMS * sizeof *losses);
    for (int64_t row = 0; row < t->work.rows; row++)
        for (int i = 0; i < PFNN_TERMS; i++)
            losses[i] += t->work.losses[row * PFNN_TERMS + i];
    for (int i = 0; i < PFNN_TERMS; i++)
        total += losses[i];
    if (!isfinite(total) || (!is_double(t) && total > FLT_MAX))
        return pfnn_fail(error, PFNN_ERROR_NONFINITE, -1, "the loss is %g", total);
    if (backward)
        roll_backward(t, batch, threads);
    t->ready = backward;
    return PFNN_OK;
}

bool pfnn_trainer_ready(const pfnn_trainer *trainer)
{
    return trainer->ready;
}


/* ---- the update --------------------------------------------------------------------------- */

/* one line of the weights: layer, kernel and input (the last input stands for the bias) */
static void update_line(void *context, int64_t line)
{
    const row_job *job = context;
    const pfnn_net_config *net = &job->trainer->config.net.config;
    int64_t at = line;
    int l = 0;
    while (at >= (int64_t)net->kernels * (net->size[l] + 1)) {
        at -= (int64_t)net->kernels * (net->size[l] + 1);
        l++;
    }
    const int k = (int)(at / (net->size[l] + 1));
    const int64_t i = at % (net->size[l] + 1);
    if (is_double(job->trainer))
        update_row_d(job, l, k, i, line);
    else
        update_row_f(job, l, k, i, line);
}

static int64_t lines(const pfnn_trainer *t)
{
    const pfnn_net_config *net = &t->config.net.config;
    int64_t count = 0;
    for (int l = 0; l < PFNN_LAYERS; l++)
        count += (int64_t)net->kernels * (net->size[l] + 1);
    return count;
}

void pfnn_trainer_update(pfnn_trainer *t, const pfnn_update *update, int threads)
{
    row_job job = {.trainer = t, .update = update, .shrink = 1};
    if (update->clip > 0) {
        row_job measure = {.trainer = t, .norms = t->work.norms};
        double sum = 0;
        pfnn_parallel(threads, lines(t), update_line, &measure);
        for (int64_t i = 0; i < lines(t); i++)
            sum += t->work.norms[i];
        job.shrink = fmin(1, update->clip / (sqrt(sum) + 1e-6));
    }
    pfnn_parallel(threads, lines(t), update_line, &job);
}

void pfnn_trainer_store(pfnn_trainer *t, pfnn_net *gradient, int threads)
{
    row_job job = {.trainer = t, .store = gradient};
    pfnn_parallel(threads, lines(t), update_line, &job);
}
