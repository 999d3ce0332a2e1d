/* train.c: the training step: roll-out, loss, the way back, AdamW. */
#include "train.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adamw.h"
#include "feature_rows.h"
#include "kernel.h"
#include "layers.h"
#include "train_work.h"

static const double PI = 3.14159265358979323846;

/* one pass over the gradient of all weights: sum squares by tile (norms), or AdamW */
typedef struct update_job {
    pfnn_trainer *trainer;
    double *norms;
    pfnn_net *stored; /* the gradient shall be kept there; or NULL */
    pfnn_adamw_step step;
} update_job;

enum {
    MOST_STORED = 1 << 20, /* parameters whose gradient is stored where it is needed twice: cheaper than to make it again */
    CHUNK = 1 << 14        /* of them that a thread takes at a time */
};

/* tiles of dW in the layers before this one */
static int64_t tiles_before(const pfnn_net *net, int layer)
{
    int64_t count = 0;
    for (int l = 0; l < layer; l++)
        count += pfnn_layer_gradient_tiles(net, l);
    return count;
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

/* of the lots that decide which inputs of a layer are dropped; apart from the stream of the noise */
static uint64_t dropout_stream(uint64_t seed, int layer, int step)
{
    return pfnn_random_bits(~seed, (uint64_t)step * PFNN_LAYERS + (uint64_t)layer);
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
    const double side = batch_side(batch, row), speed = batch->track_speed[row];
    double recorded[3];
    pfnn_track_at(recorded, batch->tracks[row], batch->track_length[row], speed / t->config.frame.dt,
                  (double)batch->track_frame[row] * speed);
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
    const double speed = batch->track_speed[row];
    pfnn_trajectory_block_f64(block, c->times + first, c->n_times - first, batch->tracks[row], batch->track_length[row],
                              speed / c->frame.dt, (double)(batch->track_frame[row] + step) * speed, seen_from);
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


/* ---- threads ------------------------------------------------------------------------------ */

enum { ROWS_WORTH = 128 };                  /* of geometry: half a millisecond */
static const double PRODUCTS_WORTH = 1e7;   /* multiplications: a tenth of a millisecond */

/* As many threads as the work is worth: starting one costs some 20 microseconds. */
static int worth(int threads, double work, double least)
{
    return work < least ? 1 : threads;
}

/* multiplications of a layer over so many rows */
static double products(const pfnn_net_config *net, int layer, int64_t rows)
{
    return (double)rows * net->kernels * net->size[layer] * net->size[layer + 1];
}


/* ---- the two real types ------------------------------------------------------------------- */

#define REAL float
#define NAME(x) x##_float
#include "train_body.h"

#define REAL double
#define NAME(x) x##_double
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

static size_t largest(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void lay_out(const pfnn_trainer *t, pfnn_train_work *w, char *base, size_t *bytes)
{
    const pfnn_net_config *net = &t->config.net.config;
    const size_t real = is_double(t) ? sizeof(double) : sizeof(float);
    const int64_t rows = w->rows, steps = w->steps, all = rows * steps, dim = t->config.frame.dim;
    int64_t widest = 0;
    size_t layer = 0;

    *bytes = 0;
    w->sequence = carve(base, bytes, rows * (t->config.length + steps) * dim, real);
    w->dsequence = carve(base, bytes, rows * (t->config.length + steps) * dim, real);
    for (int l = 0; l < PFNN_LAYERS; l++) {
        w->input[l] = carve(base, bytes, all * net->size[l], real);
        w->doutput[l] = carve(base, bytes, all * net->size[l + 1], real);
        widest = net->size[l] > widest ? net->size[l] : widest;
        layer = largest(layer, pfnn_layer_workspace(&t->config.net, l, rows, w->threads));
        layer = largest(layer, pfnn_layer_gradient_workspace(&t->config.net, l, all, w->threads));
    }
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
    w->norms = carve(base, bytes, tiles_before(&t->config.net, PFNN_LAYERS), sizeof(double));
    const int64_t parameters = pfnn_net_count(net);
    w->gradient = parameters <= MOST_STORED ? carve(base, bytes, parameters, real) : NULL;
    w->memory_a_row = carve(base, bytes, rows * t->scratch, sizeof(double));
    w->layer = carve(base, bytes, (int64_t)layer, 1);
}

/* Memory for a batch's shape; kept for the next batch of that shape. */
static pfnn_status prepare(pfnn_trainer *t, const pfnn_train_batch *batch, int threads, pfnn_error *error)
{
    if (t->work.memory && t->work.rows == batch->rows && t->work.steps == batch->steps && t->work.threads >= threads)
        return PFNN_OK;
    pfnn_train_work work = {.rows = batch->rows, .steps = batch->steps, .threads = threads};
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
        begin_row_double(job->trainer, job->batch, row);
    else
        begin_row_float(job->trainer, job->batch, row);
}

static void input_window(void *context, int64_t row)
{
    const window_job *job = context;
    if (is_double(job->trainer))
        input_row_double(job->trainer, job->batch, row, job->step);
    else
        input_row_float(job->trainer, job->batch, row, job->step);
}

static void output_window(void *context, int64_t row)
{
    const window_job *job = context;
    if (is_double(job->trainer))
        output_row_double(job->trainer, job->batch, row, job->step);
    else
        output_row_float(job->trainer, job->batch, row, job->step);
}

static void output_backward_window(void *context, int64_t row)
{
    const window_job *job = context;
    if (is_double(job->trainer))
        output_backward_row_double(job->trainer, job->batch, row, job->step);
    else
        output_backward_row_float(job->trainer, job->batch, row, job->step);
}

static void input_backward_window(void *context, int64_t row)
{
    const window_job *job = context;
    if (is_double(job->trainer))
        input_backward_row_double(job->trainer, job->batch, row, job->step);
    else
        input_backward_row_float(job->trainer, job->batch, row, job->step);
}

static pfnn_status roll_forward(pfnn_trainer *t, const pfnn_train_batch *batch, int threads, pfnn_error *error)
{
    const pfnn_train_work *w = &t->work;
    const int kernels = t->config.net.config.kernels;
    window_job job = {t, batch, 0};

    memset(w->losses, 0, (size_t)(w->rows * PFNN_TERMS) * sizeof *w->losses);
    memset(w->dvalid, 0, (size_t)(w->rows * w->steps * t->config.frame.dim) * sizeof *w->dvalid);
    const int by_row = worth(threads, (double)w->rows, ROWS_WORTH);
    pfnn_parallel(by_row, w->rows, begin_window, &job);
    for (job.step = 0; job.step < w->steps; job.step++) {
        const int64_t at = job.step * w->rows;
        for (int64_t i = 0; i < w->rows; i++)
            if (!isfinite(w->phase[at + i]))
                return pfnn_fail(error, PFNN_ERROR_NONFINITE, i, "the prediction is not finite after %d steps", job.step);
        pfnn_status status = pfnn_phase_shares(w->share + at * kernels, w->slope + at * kernels, &t->config.net.config,
                                               w->phase + at, w->rows, error);
        if (status != PFNN_OK)
            return status;
        pfnn_parallel(by_row, w->rows, input_window, &job);
        if (is_double(t))
            network_forward_double(t, batch, job.step, threads);
        else
            network_forward_float(t, batch, job.step, threads);
        pfnn_parallel(by_row, w->rows, output_window, &job);
    }
    return PFNN_OK;
}

static void roll_backward(pfnn_trainer *t, const pfnn_train_batch *batch, int threads)
{
    const pfnn_train_work *w = &t->work;
    const size_t real = is_double(t) ? sizeof(double) : sizeof(float);
    window_job job = {t, batch, 0};

    const int by_row = worth(threads, (double)w->rows, ROWS_WORTH);
    memset(w->dsequence, 0, (size_t)(w->rows * (t->config.length + w->steps) * t->config.frame.dim) * real);
    memset(w->dphase, 0, (size_t)w->rows * sizeof *w->dphase);
    memset(w->droot, 0, (size_t)w->rows * 3 * sizeof *w->droot);
    for (job.step = w->steps - 1; job.step >= 0; job.step--) {
        if (w->steps > 1 || batch->weight[PFNN_TERM_TRAJECTORY] > 0)
            pfnn_parallel(by_row, w->rows, output_backward_window, &job);
        if (is_double(t))
            network_backward_double(t, batch, job.step, threads);
        else
            network_backward_float(t, batch, job.step, threads);
        if (job.step > 0)
            pfnn_parallel(by_row, w->rows, input_backward_window, &job);
    }
}

pfnn_status pfnn_trainer_gradient(pfnn_trainer *t, double *losses, const pfnn_train_batch *batch, bool backward,
                                  int threads, pfnn_error *error)
{
    double total = 0;
    t->ready = false;
    pfnn_status status = prepare(t, batch, threads, error);
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

static void store_tile(const pfnn_net *to, const pfnn_gradient_tile *tile)
{
    const int64_t in = to->config.size[tile->layer], out = to->config.size[tile->layer + 1];
    const size_t real = to->config.type == PFNN_FLOAT64 ? sizeof(double) : sizeof(float);
    char *base = tile->i == in ? to->bias[tile->layer] : to->weights[tile->layer];
    for (int64_t i = 0; i < tile->rows; i++) {
        const int64_t at = (tile->i == in ? tile->kernel : tile->kernel * in + tile->i + i) * out + tile->j;
        memcpy(base + (size_t)at * real, (const char *)tile->values + (size_t)(i * tile->stride) * real,
               (size_t)tile->columns * real);
    }
}

static void keep_tile(void *context, const pfnn_gradient_tile *tile)
{
    store_tile(context, tile);
}

static void take_tile(void *context, const pfnn_gradient_tile *tile)
{
    const update_job *job = context;
    if (job->stored)
        store_tile(job->stored, tile);
    if (is_double(job->trainer))
        take_tile_double(job, tile);
    else
        take_tile_float(job, tile);
}

static void fetch_tile(void *context, const pfnn_gradient_tile *tile)
{
    const update_job *job = context;
    if (is_double(job->trainer))
        fetch_tile_double(job, tile);
    else
        fetch_tile_float(job, tile);
}

/* dW of all layers, a tile at a time, into the sink */
static void make_gradient(pfnn_trainer *t, const pfnn_gradient_sink *sink, int threads)
{
    const pfnn_train_work *w = &t->work;
    threads = threads < w->threads ? threads : w->threads;
    for (int l = PFNN_LAYERS - 1; l >= 0; l--)
        pfnn_layer_weights_gradient(&t->config.net, l, w->input[l], w->share, w->doutput[l], w->rows * w->steps, sink, w->layer,
                                    worth(threads, products(&t->config.net.config, l, w->rows * w->steps), PRODUCTS_WORTH));
}

/* The factor that keeps the norm of the whole gradient at or below `clip`. */
static double clip_factor(pfnn_trainer *t, double clip, int threads)
{
    const int64_t tiles = tiles_before(&t->config.net, PFNN_LAYERS);
    pfnn_net stored;
    update_job job = {.trainer = t, .norms = t->work.norms};
    pfnn_gradient_sink sink = {NULL, take_tile, &job};
    double sum = 0;
    if (t->work.gradient) {
        pfnn_net_bind(&stored, &t->config.net.config, t->work.gradient);
        job.stored = &stored;
    }
    memset(job.norms, 0, (size_t)tiles * sizeof *job.norms);
    make_gradient(t, &sink, threads);
    for (int64_t i = 0; i < tiles; i++)
        sum += job.norms[i];
    return fmin(1, clip / (sqrt(sum) + 1e-6));
}

static void take_stored(void *context, int64_t chunk)
{
    const update_job *job = context;
    if (is_double(job->trainer))
        take_stored_double(job, chunk);
    else
        take_stored_float(job, chunk);
}

void pfnn_trainer_update(pfnn_trainer *t, const pfnn_update *u, int threads)
{
    const double first = 1 - pow(u->beta1, (double)u->step), second = sqrt(1 - pow(u->beta2, (double)u->step));
    update_job job = {.trainer = t,
                      .step = {.shrink = u->clip > 0 ? clip_factor(t, u->clip, threads) : 1,
                               .keep = 1 - u->lr * u->weight_decay,
                               .one_beta1 = 1 - u->beta1,
                               .beta2 = u->beta2,
                               .one_beta2 = 1 - u->beta2,
                               .rate = u->lr / first * second,
                               .eps = u->eps * second,
                               .one_average = 1 - u->average}};
    pfnn_gradient_sink sink = {fetch_tile, take_tile, &job};
    if (u->clip > 0 && t->work.gradient) /* made already, for its norm */
        pfnn_parallel(threads, (pfnn_net_count(&t->config.net.config) + CHUNK - 1) / CHUNK, take_stored, &job);
    else
        make_gradient(t, &sink, threads);
}

void pfnn_trainer_store(pfnn_trainer *t, pfnn_net *gradient, int threads)
{
    pfnn_gradient_sink sink = {NULL, keep_tile, gradient};
    make_gradient(t, &sink, threads);
}
