/* dataset.c: windows gathered from rows of clips; see pfnnc.h. */
#include <stdlib.h>
#include <string.h>

#include "pfnnc.h"

#if defined(__GNUC__)
#define PREFETCH(address) __builtin_prefetch((address), 0, 2) /* into L2: it can wait for more lines at once than L1 */
#else
#define PREFETCH(address) ((void)(address))
#endif
enum { CACHE_LINE = 64 };

/* Every window, both its parts, is inside its clip. */
static pfnn_status check_windows(const pfnn_clips *clips, const int64_t *clip, const int64_t *start, int64_t n,
                                 int64_t first, int64_t second, pfnn_error *error)
{
    if (first < 0 || second < 0 || first > INT64_MAX - second)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "a window cannot have %lld + %lld frames", (long long)first,
                         (long long)second);
    for (int64_t i = 0; i < n; i++) {
        if (clip[i] < 0 || clip[i] >= clips->n_clips)
            return pfnn_fail(error, PFNN_ERROR_VALUE, i, "clip[%lld]=%lld is not in 0..%lld", (long long)i,
                             (long long)clip[i], (long long)clips->n_clips - 1);
        if (start[i] < 0 || start[i] > clips->n_frames[clip[i]] - (first + second))
            return pfnn_fail(error, PFNN_ERROR_VALUE, i, "start[%lld]=%lld: a window of %lld frames is not inside a clip of %lld",
                             (long long)i, (long long)start[i], (long long)(first + second),
                             (long long)clips->n_frames[clip[i]]);
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

static const char *window_at(const pfnn_clips *clips, int64_t clip, int64_t start)
{
    return (const char *)clips->rows[clip] + (size_t)start * row_size(clips->dim, clips->is_double != 0);
}

#define TO float
#define NAME(stem) stem##_f32
#include "dataset_body.h"
#undef TO
#undef NAME

#define TO double
#define NAME(stem) stem##_f64
#include "dataset_body.h"
#undef TO
#undef NAME
