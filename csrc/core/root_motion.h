/* root_motion.h: the inside of a track, for root_motion_many.c and clock.c. */
#ifndef PFNN_ROOT_MOTION_H
#define PFNN_ROOT_MOTION_H

#include "cpu.h"
#include "pfnnc.h"

#include <math.h>

#include "exact.h"

struct pfnn_track {
    int64_t count;   /* keys */
    int dimensions;  /* of a position, 1..3 */
    bool rotates, loop;
    double duration, inverse_duration;
    double limit;    /* largest |time|, s */

    /* keys; `points` and `turns` are relative to the first key, `positions` and `rotations` as given */
    double *times;     /* (count,) s */
    double *positions; /* (count, dimensions) m */
    double *points;    /* (count, dimensions) m */
    double *slopes;    /* (count - 1, dimensions) m/s */
    double *rotations; /* (count, 4), unit, or NULL */
    double *turns;     /* (count, 4), unit, or NULL */

    /* which keys lie in an interval of 1 / per_second s: segment table[j] to table[j + 1] */
    uint32_t *table;   /* (buckets + 1,) */
    int64_t buckets;
    double per_second;

    /* M as a screw: n cycles turn by n * 2 * half_turns * 2 pi about `axis` and slide by n * along */
    double axis[3];
    pfnn_pair half_turns; /* half the angle of M, in turns */
    double sine;          /* of half the angle of M, 0 where M does not turn */
    double along[3];      /* the part of M's translation along the axis */
    double across[3];     /* the rest */
    double side[3];       /* axis x across */
};

/* The motion between two moments given by cycle and time within the cycle, in [0, duration]. */
void pfnn_track_delta_local(double *translation, double *rotation, const pfnn_track *track, int64_t cycle0, double local0,
                            int64_t cycle1, double local1);

/* The pose L at `local`, of a track with rotations; returns its segment. */
int64_t pfnn_track_pose(double point[3], double turn[4], const pfnn_track *track, double local, int64_t guess);

/* L(local0)^-1 M^n L(local1) from the two poses; w >= 0. */
void pfnn_track_rigid_delta(double translation[3], double rotation[4], const pfnn_track *track, double n,
                            const double point0[3], const double turn0[4], const double point1[3], const double turn1[4]);

/* `cycle`, a guess that is at most one off, made right, and time - cycle * duration. */
void pfnn_track_wrap_exactly(const pfnn_track *track, double time, int64_t *cycle, double *local);

/* the segment in which `local` lies, by halving: low <= segment <= high */
static inline int64_t pfnn_track_search(const double *times, double local, int64_t low, int64_t high)
{
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (times[middle] <= local)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* the segment of `local`; `guess` is where the last one was */
static FORCE_INLINE int64_t pfnn_track_find(const pfnn_track *track, double local, int64_t guess)
{
    const double *times = track->times;
    int64_t last = track->count - 2;
    if (!track->buckets) { // counting through a few keys mispredicts nothing
        int64_t segment = 0;
        for (int64_t i = 1; i <= last; i++)
            segment += local >= times[i];
        return segment;
    }
    if (times[guess] <= local) { // mostly the same segment or the next one
        if (local < times[guess + 1])
            return guess;
        if (guess < last && local < times[guess + 2])
            return guess + 1;
    }
    int64_t bucket = (int64_t)(local * track->per_second);
    if (bucket >= track->buckets)
        bucket = track->buckets - 1;
    return pfnn_track_search(times, local, track->table[bucket], track->table[bucket + 1]);
}

/* cycle and time within it, in [0, duration]; false for a time that is refused */
static FORCE_INLINE bool pfnn_track_wrap(const pfnn_track *track, double time, int64_t *cycle, double *local)
{
    if (!track->loop) {
        *cycle = 0;
        *local = time > 0 ? (time < track->duration ? time : track->duration) : 0;
        return fabs(time) < INFINITY;
    }
    if (!(fabs(time) <= track->limit))
        return false;
    double quotient = time * track->inverse_duration;
    *cycle = (int64_t)quotient;
    *cycle -= (double)*cycle > quotient;
    *local = time;
    if (*cycle == 0 && time >= 0 && time < track->duration)
        return true;
    pfnn_track_wrap_exactly(track, time, cycle, local);
    return true;
}

#endif /* PFNN_ROOT_MOTION_H */
