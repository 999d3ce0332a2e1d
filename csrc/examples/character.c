/*
 * character.c: a character that walks by a file which Python wrote, without Python.
 *
 *     python -c "import pfnnc; ...; model.save('walk.pfnnc')"          a MotionModel
 *     make lib
 *     cc -Icsrc/core csrc/examples/character.c build/lib/libpfnnc.a -lm -lpthread -o character
 *     ./character walk.pfnnc 300 > walk.txt
 *
 * It starts from the model's mean motion at phase 0, walks straight on at its mean speed where the model takes a
 * trajectory, and prints x, y, z, yaw and phase of each frame as hexadecimal numbers, to the bit. After the start a
 * step allocates nothing.
 */
#include "pfnnc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_TIMES = 64 };

typedef struct character {
    pfnn_store *store;
    pfnn_net net;
    pfnn_rollout *rollout;
    void *y, *workspace;
    double fps, times[MOST_TIMES], speed;
    size_t n_times;
} character;

static pfnn_status get(pfnn_array *array, const character *c, const char *name, const char *type, int dimensions,
                       int64_t least, pfnn_error *error)
{
    pfnn_status status = pfnn_store_get(array, c->store, name, type, dimensions, error);
    if (status == PFNN_OK && array->count < least)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "%s has %lld numbers, expected %lld", name,
                         (long long)array->count, (long long)least);
    return status;
}

/* The roll-out's rules, from the arrays that MotionModel.save writes for C. */
static pfnn_status make_rollout(character *c, double offsets[MOST_TIMES], int64_t *length, pfnn_error *error)
{
    pfnn_array layout, gait, mean, scale, limits, times;
    pfnn_rollout_config config = {.characters = 1, .float32 = c->net.config.type == PFNN_FLOAT32};
    pfnn_status status;
    if ((status = get(&layout, c, "layout", "<i8", 1, 11, error)) || (status = get(&gait, c, "gait", "<f8", 1, 3, error)) ||
        (status = get(&times, c, "times", "<f8", 1, 0, error)))
        return status;

    int32_t *fields = &config.layout.representation; /* the first block, in the order of the file */
    for (int i = 0; i < 11; i++)
        fields[i] = (int32_t)((const int64_t *)layout.data)[i];
    if ((status = pfnn_feature_layout_init(&config.layout, error)) != PFNN_OK)
        return status;
    if ((status = get(&mean, c, "normalizer.mean", "<f8", 1, config.layout.dim, error)) ||
        (status = get(&scale, c, "normalizer.scale", "<f8", 1, config.layout.dim, error)) ||
        (status = get(&limits, c, "limits", "<f8", 2, 2 * (int64_t)config.layout.dim, error)))
        return status;
    if (times.count > MOST_TIMES || times.count != config.layout.n_times)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "times has %lld numbers", (long long)times.count);

    const double *g = gait.data; /* fps, frames of input, metres a cycle */
    if (!(g[0] > 0 && g[1] >= 1 && g[1] <= 4096 && g[2] > 0))
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "gait is %g, %g, %g", g[0], g[1], g[2]);
    c->fps = g[0];
    *length = (int64_t)g[1];
    c->n_times = (size_t)times.count;
    for (int64_t i = 0; i < times.count; i++) {
        c->times[i] = ((const double *)times.data)[i];
        offsets[i] = c->times[i] * c->fps;
    }
    config.length = (size_t)*length;
    config.follow_height = config.layout.has_height != 0;
    config.mean = mean.data;
    config.scale = scale.data;
    config.low = limits.data;
    config.high = config.low + config.layout.dim;
    config.avg_stride = &g[2];
    config.offsets = offsets;
    return pfnn_rollout_create(&c->rollout, &config, error);
}

/* Stand at the origin in the mean pose of phase 0. */
static pfnn_status start(character *c, int64_t length, pfnn_error *error)
{
    double phase = 0, origin[3] = {0, 0, 0}, yaw = 0, past[3 * 4096] = {0};
    pfnn_array frames;
    pfnn_status status;
    if ((status = get(&frames, c, "frames", "<f8", 2, 1, error)) != PFNN_OK)
        return status;
    size_t size = pfnn_rollout_window_size(c->rollout), dim = size / (size_t)length;
    if (frames.shape[1] != (int64_t)dim || pfnn_rollout_history(c->rollout) > 4096)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "frames do not fit the layout");

    double *window = malloc(size * sizeof *window);
    if (!window)
        return pfnn_fail(error, PFNN_ERROR_MEMORY, -1, "no memory");
    for (size_t i = 0; i < size; i++)
        window[i] = ((const double *)frames.data)[i % dim];
    c->speed = hypot(window[0], window[2]);
    for (size_t i = 0; i < pfnn_rollout_history(c->rollout); i++)
        past[3 * i + 1] = -(double)(i + 1) * c->speed / c->fps;
    pfnn_rollout_start(c->rollout, window, &phase, origin, &yaw, past);
    free(window);
    return PFNN_OK;
}

static pfnn_status open_character(character *c, const char *path, pfnn_error *error)
{
    double offsets[MOST_TIMES];
    int64_t length = 0;
    size_t in_dim, out_dim;
    pfnn_status status;
    if ((status = pfnn_store_open(&c->store, path, "motion-model", error)) ||
        (status = pfnn_net_open(&c->net, c->store, "model.", error)) ||
        (status = make_rollout(c, offsets, &length, error)) || (status = start(c, length, error)))
        return status;

    pfnn_rollout_sizes(c->rollout, &in_dim, &out_dim);
    if (in_dim != (size_t)c->net.config.size[0] || out_dim != (size_t)c->net.config.size[3])
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "the network does not fit the layout");
    c->y = malloc(out_dim * sizeof(double));
    c->workspace = malloc(pfnn_net_workspace(&c->net, c->net.config.type, 1, 1));
    return c->y && c->workspace ? PFNN_OK : pfnn_fail(error, PFNN_ERROR_MEMORY, -1, "no memory");
}

/* Straight on from where it stands, as it faces. */
static void want(character *c)
{
    double position[3], yaw, phase, wanted[3 * MOST_TIMES];
    pfnn_rollout_root(c->rollout, 0, position, &yaw, &phase);
    for (size_t i = 0; i < c->n_times; i++) {
        wanted[3 * i] = position[0] + sin(yaw) * c->speed * c->times[i];
        wanted[3 * i + 1] = position[2] + cos(yaw) * c->speed * c->times[i];
        wanted[3 * i + 2] = yaw;
    }
    if (c->n_times)
        pfnn_rollout_want(c->rollout, 0, wanted);
}

static pfnn_status step(character *c, pfnn_error *error)
{
    const void *x;
    const double *phase;
    ptrdiff_t real = c->net.config.type == PFNN_FLOAT32 ? sizeof(float) : sizeof(double);
    want(c);
    pfnn_rollout_input(c->rollout, &x, &phase);
    pfnn_net_batch batch = {.rows = 1, .type = c->net.config.type, .x = x, .x_column = real, .phase = phase, .y = c->y,
                            .y_column = real};
    pfnn_status status = pfnn_net_forward(&c->net, &batch, c->workspace, 1, error);
    return status == PFNN_OK ? pfnn_rollout_apply(c->rollout, c->y, 1 / c->fps, error) : status;
}

static void close_character(character *c)
{
    free(c->y);
    free(c->workspace);
    if (c->rollout)
        pfnn_rollout_free(c->rollout);
    pfnn_store_close(c->store);
}

int main(int count, char **arguments)
{
    character c = {0};
    pfnn_error error = {0};
    char *end = "";
    long frames = count > 2 ? strtol(arguments[2], &end, 10) : 300;
    if (count < 2 || *end) {
        fprintf(stderr, "usage: character MODEL [FRAMES]\n");
        return 2;
    }

    pfnn_status status = open_character(&c, arguments[1], &error);
    for (long i = 0; i < frames && status == PFNN_OK; i++) {
        double position[3], yaw, phase;
        if ((status = step(&c, &error)) != PFNN_OK)
            break;
        pfnn_rollout_root(c.rollout, 0, position, &yaw, &phase);
        printf("%a %a %a %a %a\n", position[0], position[1], position[2], yaw, phase);
    }
    if (status != PFNN_OK)
        fprintf(stderr, "%s\n", error.message);
    close_character(&c);
    return status != PFNN_OK;
}
