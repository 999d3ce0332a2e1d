/*
 * check_edges.c: sizes of 0, below 0 and huge, numbers that are none, and damaged files end in PFNN_OK or in an error that
 * says something; under sanitizers.
 *
 *     cc -g -fsanitize=address,undefined -Icsrc/core csrc/tests/check_edges.c csrc/core/(all).c -lm -lpthread -o check_edges
 *     ./check_edges FILE KIND PREFIX      a file of the package, what it holds, and the prefix of its network's entries
 */
#include "pfnnc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int cases, wrong;

static void complain(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    wrong++;
}

/* An error has a message; where `wanted` is not PFNN_OK, it is that one. */
static void expect(const char *what, pfnn_status got, pfnn_status wanted, const pfnn_error *error)
{
    cases++;
    if (wanted != PFNN_OK && got != wanted)
        complain(what, "another status was expected");
    if (got != PFNN_OK && (error->code != got || !error->message[0]))
        complain(what, "the error does not say what is wrong");
}

static const int64_t COUNTS[] = {0, -1, INT32_MIN, INT64_MIN};
static const double ODD[] = {0.0, -1.0, NAN, INFINITY, -INFINITY, 1e308, 5e-324};
enum { N_COUNTS = sizeof COUNTS / sizeof *COUNTS, N_ODD = sizeof ODD / sizeof *ODD };


/* ---- arguments ---------------------------------------------------------------------------- */

static void check_sizes(void)
{
    double numbers[24] = {0.0, 1.0};
    uint8_t flags[8];
    int64_t valleys[8], count;
    int32_t parents[2] = {-1, 0};
    pfnn_contact_config contacts = {30, 0.02, 0.15, 0.24, 0.1};
    pfnn_error error = {0};

    for (int i = 0; i < N_COUNTS; i++) {
        int64_t n = COUNTS[i];
        pfnn_status below = n < 0 ? PFNN_ERROR_VALUE : PFNN_OK;
        pfnn_track *track;
        pfnn_skeleton skeleton = {n, parents, numbers};
        pfnn_net_config config = {.layers = 1, .size = {1, 1}, .kernels = 4, .beta = 8};
        expect("track", pfnn_track_create(&track, numbers, numbers, NULL, n, 1, true, 1e6, &error), PFNN_ERROR_VALUE, &error);
        expect("root_y", pfnn_phase_from_root_y(numbers, valleys, &count, numbers, n, 3, 5, &error), below, &error);
        expect("distance", pfnn_phase_from_root_y(numbers, valleys, &count, numbers, 8, n, 5, &error), PFNN_ERROR_VALUE, &error);
        expect("smooth", pfnn_phase_from_root_y(numbers, valleys, &count, numbers, 8, 3, n, &error), PFNN_ERROR_VALUE, &error);
        expect("contacts", pfnn_contacts(flags, numbers, n, 1, &contacts, &error), below, &error);
        expect("feet", pfnn_contacts(flags, numbers, 2, n, &contacts, &error), below, &error);
        expect("skeleton", pfnn_skeleton_check(&skeleton, &error), PFNN_ERROR_VALUE, &error);
        expect("shares", pfnn_phase_shares(numbers, NULL, &config, numbers, n, &error), below, &error);
    }
    for (int i = 0; i < N_ODD; i++) {
        pfnn_clock clock;
        contacts.min_duration = ODD[i];
        expect("min_duration", pfnn_contacts(flags, numbers, 2, 1, &contacts, &error), PFNN_OK, &error);
        expect("duration", pfnn_clock_init(&clock, ODD[i], 1, 0, PFNN_PLAY_LOOP, &error), PFNN_OK, &error);
        expect("rate", pfnn_clock_init(&clock, 1, ODD[i], 0, PFNN_PLAY_LOOP, &error), PFNN_OK, &error);
        expect("tick rate", pfnn_clock_init(&clock, 1, 1, ODD[i], PFNN_PLAY_LOOP, &error), PFNN_OK, &error);
        pfnn_clock_init(&clock, 1, 1, 0, PFNN_PLAY_LOOP, &error);
        expect("advance", pfnn_clock_advance(&clock, ODD[i], &error), PFNN_OK, &error);
        expect("seek", pfnn_clock_seek(&clock, ODD[i], &error), PFNN_OK, &error);
        if (!pfnn_clock_valid(&clock))
            complain("clock", "it is none any more");
    }
}

static void check_configs(void)
{
    static const int32_t values[] = {0, -1, INT32_MIN, INT32_MAX, 65};
    pfnn_error error = {0};

    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (int field = 0; field < 11; field++) {
            pfnn_feature_layout layout = {.n_joints = 2, .n_times = 2, .n_future = 1};
            pfnn_net_config config = {.layers = 3, .size = {2, 2, 2, 2}, .kernels = 4, .beta = 8};
            (&layout.representation)[field] = values[i];
            expect("layout", pfnn_feature_layout_init(&layout, &error), PFNN_OK, &error);
            if (field < 6) {
                (&config.layers)[field] = values[i];
                expect("config", pfnn_net_check(&config, &error), PFNN_OK, &error);
            } else if (field < 8) {
                config.beta = ODD[i];
                expect("beta", pfnn_net_check(&config, &error), PFNN_OK, &error);
            }
        }
}

static void check_rollouts(void)
{
    static const size_t sizes[] = {0, 1, 1 << 20, SIZE_MAX / 8, SIZE_MAX / 2, SIZE_MAX};
    double stride[1] = {1.0}, offsets[2] = {-3.0, 3.0}, expected[3] = {0};
    pfnn_error error = {0};
    pfnn_rollout *rollout;
    pfnn_rollout_config good = {.characters = 1, .length = 2, .avg_stride = stride, .offsets = offsets, .window = 3,
                                .expected_rows = 1, .expected_groups = 1, .expected = expected};
    good.layout = (pfnn_feature_layout){.n_joints = 2, .n_times = 2, .n_future = 1};

    expect("layout", pfnn_rollout_create(&rollout, &good, &error), PFNN_ERROR_VALUE, &error); /* not initialised yet */
    pfnn_feature_layout_init(&good.layout, &error);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        pfnn_rollout_config length = good, window = good;
        length.length = window.window = sizes[i];
        pfnn_status wanted = sizes[i] == 1 || sizes[i] == 1 << 20 ? PFNN_OK : PFNN_ERROR_VALUE;
        pfnn_status status = pfnn_rollout_create(&rollout, &length, &error);
        expect("length", status, wanted, &error);
        pfnn_rollout_free(rollout);
        status = pfnn_rollout_create(&rollout, &window, &error);
        expect("window", status, wanted, &error);
        pfnn_rollout_free(rollout);
    }
    for (int i = 0; i < N_ODD; i++) {
        double odd[2] = {ODD[i], 3.0};
        pfnn_rollout_config config = good;
        config.offsets = odd;
        expect("offsets", pfnn_rollout_create(&rollout, &config, &error), PFNN_OK, &error);
        pfnn_rollout_free(rollout);
    }

    double window[64] = {0}, y[64] = {0}, zero[9] = {0};
    if (pfnn_rollout_create(&rollout, &good, &error) != PFNN_OK) {
        complain("rollout", error.message);
        return;
    }
    pfnn_rollout_start(rollout, window, zero, zero, zero, zero);
    for (int i = 0; i < N_ODD; i++)
        expect("dt", pfnn_rollout_apply(rollout, y, ODD[i], &error), PFNN_OK, &error);
    for (int i = 0; i < N_ODD; i++) {
        y[2] = ODD[i];
        expect("prediction", pfnn_rollout_apply(rollout, y, 0.03, &error), isfinite(ODD[i]) ? PFNN_OK : PFNN_ERROR_NONFINITE,
               &error);
    }
    pfnn_rollout_free(rollout);
}


/* ---- damaged files ------------------------------------------------------------------------ */

static uint64_t random_state = 88172645463325252u;

static size_t below(size_t n) /* xorshift; n > 0 */
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)(random_state % n);
}

/* Put the right checksum (that of zlib) into a damaged file, so that what stands behind it is reached. */
static void mend(uint8_t *data, size_t size)
{
    static uint32_t table[256];
    uint32_t crc = 0xffffffff;
    for (uint32_t i = 0; i < 256 && !table[255]; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = value & 1 ? value >> 1 ^ 0xedb88320 : value >> 1;
        table[i] = value;
    }
    for (size_t i = 28; i < size; i++)
        crc = crc >> 8 ^ table[(crc ^ data[i]) & 0xff];
    for (int i = 0; i < 4 && size >= 28; i++)
        data[24 + i] = (uint8_t)(~crc >> 8 * i);
}

/* Open, look for a network, and where there is one, run it on a row. */
static void try_file(const uint8_t *data, size_t size, const char *kind, const char *prefix, bool whole)
{
    uint8_t *copy = malloc(size ? size : 1); /* a block of just that size, so that a read beyond it is seen */
    pfnn_store *store;
    pfnn_net net;
    pfnn_error error = {0};
    if (!copy)
        return;
    memcpy(copy, data, size);
    pfnn_status status = pfnn_store_open_bytes(&store, copy, size, "bytes", kind, &error);
    expect("store", status, whole ? PFNN_OK : PFNN_ERROR_VALUE, &error);
    if (status == PFNN_OK && (status = pfnn_net_open(&net, store, prefix, &error)) == PFNN_OK) {
        int64_t in = net.config.size[0], out = net.config.size[net.config.layers];
        double phase = 0.3, *x = calloc((size_t)in, sizeof *x), *y = calloc((size_t)out, sizeof *y);
        void *workspace = malloc(pfnn_net_workspace(&net, PFNN_FLOAT64, 1, 1));
        pfnn_net_batch batch = {1, PFNN_FLOAT64, x, 8 * in, 8, &phase, y, 8 * out, 8};
        if (x && y && workspace)
            expect("forward", pfnn_net_forward(&net, &batch, workspace, 1, &error), PFNN_OK, &error);
        for (int i = 1; i < N_COUNTS && x && y && workspace; i++) {
            batch.rows = COUNTS[i];
            expect("rows", pfnn_net_forward(&net, &batch, workspace, 1, &error), PFNN_ERROR_VALUE, &error);
        }
        free(x), free(y), free(workspace);
    } else if (status != PFNN_OK) {
        expect("network", status, PFNN_OK, &error);
    }
    pfnn_store_close(store);
    free(copy);
}

static void check_file(const uint8_t *data, size_t size, const char *kind, const char *prefix)
{
    static const uint8_t bytes[] = {0, 0x7f, 0xff};
    size_t table = data[12] * (size_t)128 + 64; /* where the arrays begin: everything before is changed, byte by byte */
    uint8_t *damaged = malloc(size);
    if (!damaged)
        return;
    try_file(data, size, kind, prefix, true);
    for (size_t cut = 0; cut < size; cut += cut < 512 ? 1 : 997)
        try_file(data, cut, kind, prefix, false);
    for (size_t at = 0; at < size && at < table; at++)
        for (size_t i = 0; i < sizeof bytes; i++) {
            memcpy(damaged, data, size);
            damaged[at] = bytes[i];
            mend(damaged, size);
            try_file(damaged, size, kind, prefix, true);
        }
    for (int i = 0; i < 1000; i++) {
        memcpy(damaged, data, size);
        for (size_t n = 1 + below(4); n > 0; n--)
            damaged[below(i % 2 ? size : table)] = (uint8_t)below(256);
        mend(damaged, size);
        try_file(damaged, size, kind, prefix, true);
    }
    free(damaged);
}

int main(int count, char **arguments)
{
    static uint8_t data[1 << 20];
    pfnn_store *store;
    pfnn_error error = {0};

    check_sizes();
    check_configs();
    check_rollouts();
    if (count == 4) {
        FILE *file = fopen(arguments[1], "rb");
        size_t size = file ? fread(data, 1, sizeof data, file) : 0;
        if (file)
            fclose(file);
        if (size < 64) {
            complain(arguments[1], "cannot be read");
            return 1;
        }
        check_file(data, size, arguments[2], arguments[3]);
        expect("folder", pfnn_store_open(&store, ".", arguments[2], &error), PFNN_ERROR_IO, &error);
        expect("endless", pfnn_store_open(&store, "/dev/zero", arguments[2], &error), PFNN_OK, &error);
        expect("absent", pfnn_store_open(&store, "none", arguments[2], &error), PFNN_ERROR_IO, &error);
    }
    printf("%d cases, %d wrong\n", cases, wrong);
    return wrong != 0;
}
