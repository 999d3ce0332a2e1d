/* dataset.c: windows gathered from rows of clips; see pfnnc.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "feature_rows.h"

enum { CACHE_LINE = 64 };

static const double TWO_PI = 6.28318530717958647693;
enum { LANES = 16, MOST_WIDTH = 6 }; /* rotations worked on at a time, numbers a rotation */

/* ---- clips played at another speed ---------------------------------------------------------- */

/* Rounding in the product of frame and speed; as Clip.resample has it. */
static const double SNAP = 1e-9, BEYOND = 1e-6;

/* Frame k of a clip played `speed` times as fast, in the clip's own frames, between 0 and its last one. */
static double moment(int64_t k, double speed, int64_t frames)
{
    const double at = (double)k * speed, nearest = rint(at), end = (double)(frames - 1);
    const double snapped = fabs(at - nearest) < SNAP * (nearest > 1 ? nearest : 1) ? nearest : at;
    return snapped < end ? snapped : end;
}

/* How much of the way from frame i - 1 to frame i lies between two moments. */
static double overlap(int64_t i, double begin, double end)
{
    const double from = (double)(i - 1) > begin ? (double)(i - 1) : begin, to = (double)i < end ? (double)i : end;
    return to - from;
}

/* How many frames a clip then has. */
static int64_t played_length(int64_t frames, double speed)
{
    const double last = frames > 1 ? floor((double)(frames - 1) / speed + BEYOND) : (double)frames - 1;
    return last < 9e18 ? (int64_t)last + 1 : INT64_MAX;
}

double pfnn_phase_played(const double *phase, int64_t frames, int64_t frame, double speed)
{
    if (frame < 0 || frame >= played_length(frames, speed))
        return NAN;
    const double at = moment(frame, speed, frames), share = at - floor(at);
    const double *p = phase + (int64_t)at;
    return share == 0 ? p[0] : pfnn_phase_wrap(p[0] + share * pfnn_phase_difference(p[1], p[0]));
}

static double speed_of(const pfnn_gather *how, int64_t i)
{
    return how->speed ? how->speed[i] : 1;
}

/* ---- what is asked for ---------------------------------------------------------------------- */

/* Speeds are finite and positive, and come with what tells the columns. */
static pfnn_status check_speeds(const pfnn_gather *how, int64_t n, int64_t dim, pfnn_error *error)
{
    if (!how->speed)
        return PFNN_OK;
    if (!how->layout || how->layout->dim != dim || !(how->fps > 0))
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "speeds need the layout of the rows and their rate");
    for (int64_t i = 0; i < n; i++)
        if (!(how->speed[i] >= 1e-6 && how->speed[i] <= 1e6))
            return pfnn_fail(error, PFNN_ERROR_VALUE, i, "speed[%lld]=%g is not in [1e-6, 1e6]", (long long)i, how->speed[i]);
    return PFNN_OK;
}

/* Every window, both its parts, is inside its clip. */
static pfnn_status check_windows(const pfnn_clips *clips, const int64_t *clip, const int64_t *start, int64_t n,
                                 int64_t first, int64_t second, const pfnn_gather *how, pfnn_error *error)
{
    if (first < 0 || second < 0 || first > INT64_MAX - second)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "a window cannot have %lld + %lld frames", (long long)first,
                         (long long)second);
    for (int64_t i = 0; i < n; i++) {
        if (clip[i] < 0 || clip[i] >= clips->n_clips)
            return pfnn_fail(error, PFNN_ERROR_VALUE, i, "clip[%lld]=%lld is not in 0..%lld", (long long)i,
                             (long long)clip[i], (long long)clips->n_clips - 1);
        const int64_t frames = played_length(clips->n_frames[clip[i]], speed_of(how, i));
        if (start[i] < 0 || start[i] > frames - (first + second))
            return pfnn_fail(error, PFNN_ERROR_VALUE, i, "start[%lld]=%lld: a window of %lld frames is not inside a clip of %lld",
                             (long long)i, (long long)start[i], (long long)(first + second), (long long)frames);
    }
    return PFNN_OK;
}

/* Columns up to the last one that normalising changes: only those are touched a second time. */
static int64_t changed_columns(const pfnn_gather *how, int64_t dim)
{
    if (!how->mean || !how->inverse)
        return 0;
    while (dim > 0 && how->mean[dim - 1] == 0 && how->inverse[dim - 1] == 1)
        dim--;
    return dim;
}

static size_t row_size(int64_t dim, bool is_double)
{
    return (size_t)dim * (is_double ? sizeof(double) : sizeof(float));
}

/* The address of a window's first row, or of the row before it where it begins between two. */
static const char *window_at(const pfnn_clips *clips, int64_t clip, int64_t start, double speed)
{
    const int64_t row = speed == 1 ? start : (int64_t)moment(start, speed, clips->n_frames[clip]);
    return (const char *)clips->rows[clip] + (size_t)row * row_size(clips->dim, clips->is_double != 0);
}

#define TO float
#define ROOT sqrtf
#define NAME(stem) stem##_f32
#include "played_body.h"
#include "dataset_body.h"
#undef TO
#undef ROOT
#undef NAME

#define TO double
#define ROOT sqrt
#define NAME(stem) stem##_f64
#include "played_body.h"
#include "dataset_body.h"
#undef TO
#undef ROOT
#undef NAME
