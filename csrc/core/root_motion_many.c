/*
 * root_motion_many.c: motions over many intervals in one call.
 *
 * Intervals are worked through in blocks that stay in the first cache. Within a block the inner loops have no branch,
 * so that the compiler makes vector code of them; `dimensions` is a constant at each call for the same reason. The loops
 * are compiled a second time for wider vectors. Nothing is fused or reordered, so the bits are the same.
 */
#include "root_motion.h"

enum { BLOCK = 64, RUN = 8 };

typedef struct block {
    double local[2][BLOCK];      /* times within the cycle */
    double cycles[BLOCK];        /* between the two */
    double moved[3][BLOCK];      /* by channel */
    int64_t guess[2];            /* segments of the last interval */
} block;

/* times within the first cycle are their own local times */
static FORCE_INLINE bool inside(const double *t, int64_t n, double duration)
{
    int outside = 0;
    for (int64_t i = 0; i < n; i++)
        outside |= !(t[i] >= 0) | !(t[i] < duration);
    return !outside;
}

/* the first index whose time is refused, or -1 */
static int64_t wrap_block(block *b, int *which, const pfnn_track *track, const double *t0, const double *t1, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t k0, k1;
        *which = 0;
        if (!pfnn_track_wrap(track, t0[i], &k0, &b->local[0][i]))
            return i;
        *which = 1;
        if (!pfnn_track_wrap(track, t1[i], &k1, &b->local[1][i]))
            return i;
        b->cycles[i] = (double)(k1 - k0);
    }
    *which = 0;
    return -1;
}

/* few keys: each segment adds the time spent in it times its slope, so no segment has to be found */
static FORCE_INLINE void sum_segments(block *b, const pfnn_track *track, const double *t0, const double *t1, int64_t n, int dimensions)
{
    for (int d = 0; d < dimensions; d++)
        for (int64_t i = 0; i < n; i++)
            b->moved[d][i] = 0;
    for (int64_t s = 0; s + 1 < track->count; s++) {
        double start = track->times[s], end = track->times[s + 1];
        double slope[3] = {0, 0, 0};
        for (int d = 0; d < dimensions; d++)
            slope[d] = track->slopes[s * dimensions + d];
        for (int64_t i = 0; i < n; i++) {
            double a = t0[i] > start ? t0[i] : start, z = t1[i] > start ? t1[i] : start;
            a = a < end ? a : end;
            z = z < end ? z : end;
            for (int d = 0; d < dimensions; d++)
                b->moved[d][i] += slope[d] * (z - a);
        }
    }
}

static FORCE_INLINE bool all_within(const double *t, int64_t n, const double *segment)
{
    int outside = 0;
    for (int64_t i = 0; i < n; i++)
        outside |= !(t[i] >= segment[0]) | !(t[i] < segment[1]);
    return !outside;
}

/* many keys: neighbouring times mostly lie in one segment, which is then found once for a run of them */
static FORCE_INLINE void find_segments(block *b, const pfnn_track *track, const double *t0, const double *t1, int64_t n, int dimensions)
{
    const double *times = track->times, *points = track->points, *slopes = track->slopes;
    for (int64_t first = 0; first < n; first += RUN) {
        int64_t length = n - first < RUN ? n - first : RUN;
        int64_t i0 = b->guess[0] = pfnn_track_find(track, t0[first], b->guess[0]), i1 = b->guess[1] = pfnn_track_find(track, t1[first], b->guess[1]);
        if (length == RUN && all_within(t0 + first, RUN, times + i0) && all_within(t1 + first, RUN, times + i1)) {
            for (int d = 0; d < dimensions; d++) {
                double a = slopes[i0 * dimensions + d], z = slopes[i1 * dimensions + d];
                double start0 = times[i0], start1 = times[i1];
                double apart = points[i1 * dimensions + d] - points[i0 * dimensions + d];
                for (int64_t i = first; i < first + RUN; i++)
                    b->moved[d][i] = apart + (z * (t1[i] - start1) - a * (t0[i] - start0));
            }
            continue;
        }
        for (int64_t i = first; i < first + length; i++) {
            i0 = b->guess[0] = pfnn_track_find(track, t0[i], b->guess[0]);
            i1 = b->guess[1] = pfnn_track_find(track, t1[i], b->guess[1]);
            double since0 = t0[i] - times[i0], since1 = t1[i] - times[i1];
            for (int d = 0; d < dimensions; d++)
                b->moved[d][i] = (points[i1 * dimensions + d] + slopes[i1 * dimensions + d] * since1) -
                                 (points[i0 * dimensions + d] + slopes[i0 * dimensions + d] * since0);
        }
    }
}

static FORCE_INLINE int64_t plain_deltas(double *out, int *which, const pfnn_track *track, const double *t0, const double *t1,
                                   int64_t n, int dimensions)
{
    const double *stride = track->points + (track->count - 1) * dimensions;
    block b;
    b.guess[0] = b.guess[1] = 0;
    for (int64_t first = 0; first < n; first += BLOCK) {
        int64_t length = n - first < BLOCK ? n - first : BLOCK, bad = -1;
        const double *local0 = t0 + first, *local1 = t1 + first;
        bool one_cycle = inside(local0, length, track->duration) && inside(local1, length, track->duration);
        if (!one_cycle) {
            bad = wrap_block(&b, which, track, local0, local1, length);
            if (bad >= 0)
                return first + bad;
            local0 = b.local[0], local1 = b.local[1];
        }
        if (track->buckets)
            find_segments(&b, track, local0, local1, length, dimensions);
        else
            sum_segments(&b, track, local0, local1, length, dimensions);
        for (int d = 0; d < dimensions && !one_cycle; d++)
            for (int64_t i = 0; i < length; i++)
                b.moved[d][i] += b.cycles[i] * stride[d];
        for (int64_t i = 0; i < length; i++)
            for (int d = 0; d < dimensions; d++)
                out[(first + i) * dimensions + d] = b.moved[d][i];
    }
    return -1;
}

static FORCE_INLINE int64_t by_dimensions(double *out, int *which, const pfnn_track *track, const double *t0,
                                          const double *t1, int64_t n)
{
    switch (track->dimensions) {
    case 1:
        return plain_deltas(out, which, track, t0, t1, n, 1);
    case 2:
        return plain_deltas(out, which, track, t0, t1, n, 2);
    default:
        return plain_deltas(out, which, track, t0, t1, n, 3);
    }
}

static int64_t deltas_plain(double *out, int *which, const pfnn_track *track, const double *t0, const double *t1, int64_t n)
{
    return by_dimensions(out, which, track, t0, t1, n);
}

#ifdef PFNN_TARGETS
TARGET_AVX2 static int64_t deltas_avx2(double *out, int *which, const pfnn_track *track, const double *t0, const double *t1,
                                       int64_t n)
{
    return by_dimensions(out, which, track, t0, t1, n);
}
#endif

static int64_t rigid_deltas(double *translations, double *rotations, int *which, const pfnn_track *track, const double *t0,
                            const double *t1, int64_t n)
{
    int64_t guess = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t k0, k1;
        double local0, local1, point0[3], point1[3], turn0[4], turn1[4];
        *which = 0;
        if (!pfnn_track_wrap(track, t0[i], &k0, &local0))
            return i;
        *which = 1;
        if (!pfnn_track_wrap(track, t1[i], &k1, &local1))
            return i;
        guess = pfnn_track_pose(point0, turn0, track, local0, guess);
        guess = pfnn_track_pose(point1, turn1, track, local1, guess);
        pfnn_track_rigid_delta(translations + 3 * i, rotations + 4 * i, track, (double)(k1 - k0), point0, turn0, point1, turn1);
    }
    return -1;
}

int64_t pfnn_track_deltas(double *translations, double *rotations, int *which, const pfnn_track *track, const double *t0,
                          const double *t1, int64_t n)
{
    *which = 0;
    if (track->rotates)
        return rigid_deltas(translations, rotations, which, track, t0, t1, n);
#ifdef PFNN_TARGETS
    if (pfnn_isa_get() >= PFNN_ISA_AVX2)
        return deltas_avx2(translations, which, track, t0, t1, n);
#endif
    return deltas_plain(translations, which, track, t0, t1, n);
}
