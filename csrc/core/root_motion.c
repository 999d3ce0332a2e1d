/*
 * root_motion.c: the motion of a clip's root over any interval of a clip that repeats for ever.
 *
 * With rotations a pose of the root is a rigid transform P(u), and a cycle of the clip takes the character by
 * C = P(1) P(0)^-1. Everything here is measured from the clip's own start, L(u) = P(0)^-1 P(u), so that a clip recorded
 * far from the origin loses nothing: with M = L(1), the motion from (k0, u0) to (k1, u1) is
 *
 *     P(u0)^-1 C^(k1-k0) P(u1)  =  L(u0)^-1 M^(k1-k0) L(u1).
 *
 * M^n is a screw motion in closed form: Murray, Li, Sastry, A Mathematical Introduction to Robotic Manipulation, 2.3.
 */
#include "root_motion.h"
#include "exact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* positions and durations beyond this could overflow when they are multiplied */
static const double largest = 1e100;

/* ---- making a track ------------------------------------------------------------------------ */

static pfnn_status check_keys(const double *times, const double *positions, const double *rotations, int64_t count,
                              int dimensions, pfnn_error *error)
{
    if (count < 2 || count > (int64_t)1 << 30)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "times must have 2 to 2^30 keys, got %lld", (long long)count);
    if (dimensions < 1 || dimensions > 3)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "positions must have 1 to 3 dimensions, got %d", dimensions);
    if (rotations && dimensions != 3)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "positions must have 3 dimensions beside rotations, got %d", dimensions);

    for (int64_t i = 0; i < count; i++)
        if (!(fabs(times[i]) < largest))
            return pfnn_fail(error, PFNN_ERROR_VALUE, i, "times[%lld]=%.17g is not finite and below 1e100", (long long)i, times[i]);
    if (times[0] != 0)
        return pfnn_fail(error, PFNN_ERROR_VALUE, 0, "times[0]=%.17g is not 0", times[0]);
    for (int64_t i = 1; i < count; i++)
        if (!(times[i] > times[i - 1]))
            return pfnn_fail(error, PFNN_ERROR_VALUE, i, "times[%lld]=%.17g is not greater than times[%lld]=%.17g",
                             (long long)i, times[i], (long long)i - 1, times[i - 1]);
    if (!(times[count - 1] > 1e-100))
        return pfnn_fail(error, PFNN_ERROR_VALUE, count - 1, "times must last longer than 1e-100 s, got %.17g", times[count - 1]);

    for (int64_t i = 0; i < count * dimensions; i++)
        if (!(fabs(positions[i]) < largest))
            return pfnn_fail(error, PFNN_ERROR_VALUE, i, "positions[%lld, %lld]=%.17g is not finite and below 1e100",
                             (long long)(i / dimensions), (long long)(i % dimensions), positions[i]);

    for (int64_t i = 0; rotations && i < count; i++) {
        double most = 0;
        for (int c = 0; c < 4; c++) {
            double size = fabs(rotations[4 * i + c]);
            if (!(size <= 1.7976931348623157e308))
                return pfnn_fail(error, PFNN_ERROR_VALUE, i, "rotations[%lld, %d]=%.17g is not finite", (long long)i, c,
                                 rotations[4 * i + c]);
            most = size > most ? size : most;
        }
        if (most == 0)
            return pfnn_fail(error, PFNN_ERROR_VALUE, i, "rotations[%lld] is a zero quaternion, which is no rotation", (long long)i);
    }
    return PFNN_OK;
}

static void fill_table(pfnn_track *track)
{
    int64_t key = 0, last = track->count - 2;
    for (int64_t bucket = 0; bucket < track->buckets; bucket++) {
        // all keys of earlier buckets lie before whatever lies in this one
        while (key < last && (int64_t)(track->times[key + 1] * track->per_second) < bucket)
            key++;
        track->table[bucket] = (uint32_t)key;
    }
    track->table[track->buckets] = (uint32_t)last;
}

/* M = L(1) as a screw. In long double, which many machines have: an error here counts once a cycle. */
static void find_screw(pfnn_track *track)
{
    const double *first = track->rotations, *last = first + 4 * (track->count - 1);
    const double *end = track->points + 3 * (track->count - 1);
    long double a[4], b[4], norm_a = 0, norm_b = 0;
    for (int c = 0; c < 4; c++) {
        a[c] = c ? -(long double)first[c] : (long double)first[c];
        b[c] = last[c];
        norm_a += a[c] * a[c];
        norm_b += b[c] * b[c];
    }
    long double scale = 1 / sqrtl(norm_a * norm_b);
    long double w = (a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]) * scale;
    long double x = (a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2]) * scale;
    long double y = (a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1]) * scale;
    long double z = (a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]) * scale;
    if (w < 0) // the shorter way round
        w = -w, x = -x, y = -y, z = -z;

    long double sine = sqrtl(x * x + y * y + z * z);
    if (sine < 1e-30L) { // no turn: all of the translation lies along any axis
        memcpy(track->along, end, sizeof track->along);
        return;
    }
    const long double turn = 6.283185307179586476925286766559005768L;
    long double half = atan2l(sine, w) / turn;
    double high = (double)half;
    track->half_turns = (pfnn_pair){high, (double)(half - (long double)high)};
    track->sine = (double)sine;

    double *e = track->axis, *c = track->across;
    e[0] = (double)(x / sine), e[1] = (double)(y / sine), e[2] = (double)(z / sine);
    double slide = e[0] * end[0] + e[1] * end[1] + e[2] * end[2];
    for (int d = 0; d < 3; d++) {
        track->along[d] = slide * e[d];
        c[d] = end[d] - track->along[d];
    }
    track->side[0] = e[1] * c[2] - e[2] * c[1];
    track->side[1] = e[2] * c[0] - e[0] * c[2];
    track->side[2] = e[0] * c[1] - e[1] * c[0];
}

/* points and turns: the keys as seen from the first one */
static void make_relative(pfnn_track *track)
{
    double back[4];
    if (track->rotates)
        pfnn_quat_conj(back, track->rotations);

    for (int64_t i = 0; i < track->count; i++) {
        double *point = track->points + i * track->dimensions;
        for (int d = 0; d < track->dimensions; d++)
            point[d] = track->positions[i * track->dimensions + d] - track->positions[d];
        if (track->rotates) {
            pfnn_quat_rotate(point, back, point);
            pfnn_quat_mul(track->turns + 4 * i, back, track->rotations + 4 * i);
        }
    }
}

static pfnn_status make_slopes(pfnn_track *track, pfnn_error *error)
{
    for (int64_t i = 0; i + 1 < track->count; i++)
        for (int d = 0; d < track->dimensions; d++) {
            int64_t at = i * track->dimensions + d;
            double slope = (track->points[at + track->dimensions] - track->points[at]) / (track->times[i + 1] - track->times[i]);
            if (!(fabs(slope) < 1e200))
                return pfnn_fail(error, PFNN_ERROR_VALUE, i + 1,
                                 "times[%lld]=%.17g and times[%lld]=%.17g are too close for the way between them", (long long)i,
                                 track->times[i], (long long)i + 1, track->times[i + 1]);
            track->slopes[at] = slope;
        }
    return PFNN_OK;
}

/* one block for the struct and all its arrays */
static pfnn_track *allocate(int64_t count, int dimensions, bool rotates)
{
    int64_t buckets = count > 8 ? 2 * count : 0; // few keys are counted through
    size_t n = (size_t)count, d = (size_t)dimensions;
    size_t doubles = n + 3 * n * d + (rotates ? 8 * n : 0);
    pfnn_track *track = calloc(1, sizeof *track + doubles * sizeof(double) + ((size_t)buckets + 1) * sizeof(uint32_t));
    if (!track)
        return NULL;

    double *next = (double *)(track + 1);
    track->times = next, next += n;
    track->positions = next, next += n * d;
    track->points = next, next += n * d;
    track->slopes = next, next += n * d;
    if (rotates) {
        track->rotations = next, next += 4 * n;
        track->turns = next, next += 4 * n;
    }
    track->table = (uint32_t *)next;
    track->buckets = buckets;
    track->count = count;
    track->dimensions = dimensions;
    track->rotates = rotates;
    return track;
}

pfnn_status pfnn_track_create(pfnn_track **result, const double *times, const double *positions, const double *rotations,
                              int64_t count, int dimensions, bool loop, double max_cycles, pfnn_error *error)
{
    *result = NULL;
    pfnn_status status = check_keys(times, positions, rotations, count, dimensions, error);
    if (status != PFNN_OK)
        return status;
    if (!(max_cycles >= 1 && max_cycles <= 4503599627370496.0))
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "max_cycles must be in 1..2^52, got %.17g", max_cycles);

    pfnn_track *track = allocate(count, dimensions, rotations != NULL);
    if (!track)
        return pfnn_fail(error, PFNN_ERROR_MEMORY, -1, "no memory for a track of %lld keys", (long long)count);
    memcpy(track->times, times, (size_t)count * sizeof *times);
    memcpy(track->positions, positions, (size_t)(count * dimensions) * sizeof *positions);
    for (int64_t i = 0; rotations && i < count; i++)
        pfnn_quat_normalize(track->rotations + 4 * i, rotations + 4 * i);

    track->loop = loop;
    track->duration = times[count - 1];
    track->inverse_duration = 1 / track->duration;
    track->limit = max_cycles * track->duration;
    track->per_second = (double)track->buckets * track->inverse_duration;
    make_relative(track);
    if (track->rotates)
        find_screw(track);
    if (track->buckets)
        fill_table(track);
    status = make_slopes(track, error);
    if (status != PFNN_OK) {
        free(track);
        return status;
    }
    *result = track;
    return PFNN_OK;
}

void pfnn_track_destroy(pfnn_track *track)
{
    free(track);
}

int pfnn_track_dimensions(const pfnn_track *track)
{
    return track->dimensions;
}

bool pfnn_track_rotates(const pfnn_track *track)
{
    return track->rotates;
}

bool pfnn_track_loops(const pfnn_track *track)
{
    return track->loop;
}

double pfnn_track_duration(const pfnn_track *track)
{
    return track->duration;
}

void pfnn_track_cycle(double *translation, double *rotation, const pfnn_track *track)
{
    const double *first = track->positions, *last = first + (track->count - 1) * track->dimensions;
    if (!track->rotates) {
        for (int d = 0; d < track->dimensions; d++)
            translation[d] = last[d] - first[d];
        return;
    }
    double back[4], moved[3], turn[4];
    pfnn_quat_conj(back, track->rotations);
    pfnn_quat_mul(turn, track->rotations + 4 * (track->count - 1), back);
    pfnn_quat_rotate(moved, turn, first);
    for (int d = 0; d < 3; d++)
        translation[d] = last[d] - moved[d];
    double sign = turn[0] < 0 ? -1 : 1;
    for (int c = 0; rotation && c < 4; c++)
        rotation[c] = sign * turn[c];
}

/* ---- where a time lies --------------------------------------------------------------------- */

void pfnn_track_wrap_exactly(const pfnn_track *track, double time, int64_t *cycle, double *local)
{
    // time - cycle * duration as an exact pair, so that its sign decides rightly
    pfnn_pair off = pfnn_pair_product((double)*cycle, track->duration), end = {-track->duration, 0};
    pfnn_pair rest = pfnn_pair_add(pfnn_pair_sum(time, -off.high), (pfnn_pair){-off.low, 0});
    if (rest.high < 0) {
        rest = pfnn_pair_add(rest, (pfnn_pair){track->duration, 0});
        --*cycle;
    } else if (pfnn_pair_add(rest, end).high >= 0) {
        rest = pfnn_pair_add(rest, end);
        ++*cycle;
    }
    *local = rest.high;
}

bool pfnn_track_split(int64_t *cycle, double *phase, const pfnn_track *track, double time)
{
    double local;
    int64_t at;
    // a one-shot clip has cycles all the same; only its motion stands still
    if (!(fabs(time) <= track->limit))
        return false;
    at = (int64_t)floor(time * track->inverse_duration);
    pfnn_track_wrap_exactly(track, time, &at, &local);
    *cycle = at;
    *phase = local / track->duration;
    if (*phase >= 1)
        *phase = 1 - 0x1p-53;
    return true;
}

/* ---- poses and motion ---------------------------------------------------------------------- */

void pfnn_track_sample(double *position, double *rotation, const pfnn_track *track, double phase)
{
    double local = phase < 1 ? phase * track->duration : track->duration;
    int64_t i = pfnn_track_find(track, local, 0);
    double share = (local - track->times[i]) / (track->times[i + 1] - track->times[i]);
    const double *a = track->positions + i * track->dimensions, *b = a + track->dimensions;

    for (int d = 0; d < track->dimensions; d++)
        position[d] = share < 1 ? a[d] + share * (b[d] - a[d]) : b[d];
    if (rotation && track->rotates)
        pfnn_quat_slerp(rotation, track->rotations + 4 * i, track->rotations + 4 * i + 4, share);
}

int64_t pfnn_track_pose(double point[3], double turn[4], const pfnn_track *track, double local, int64_t guess)
{
    int64_t i = pfnn_track_find(track, local, guess);
    double since = local - track->times[i];
    for (int d = 0; d < 3; d++)
        point[d] = track->points[3 * i + d] + track->slopes[3 * i + d] * since;
    pfnn_quat_slerp(turn, track->turns + 4 * i, track->turns + 4 * i + 4, since / (track->times[i + 1] - track->times[i]));
    return i;
}

/* a - b as a double, without overflow on the way */
static double cycles_between(int64_t a, int64_t b)
{
    return a >= b ? (double)((uint64_t)a - (uint64_t)b) : -(double)((uint64_t)b - (uint64_t)a);
}

/* M^n: the sum of n turned copies of M's translation is a chord of a circle, its angle reduced before the sine */
static void screw_power(double translation[3], double rotation[4], const pfnn_track *track, double n)
{
    const double turn = 6.283185307179586;
    pfnn_pair turns = pfnn_pair_scale(track->half_turns, n);
    double rest = (turns.high - rint(turns.high)) + turns.low;
    double half = turn * rest, sine = sin(half), cosine = cos(half);
    double chord = track->sine > 0 ? sine / track->sine : n;

    // the chord points (n - 1) half angles on from the first step
    double back = turn * track->half_turns.high;
    double forward = cosine * cos(back) + sine * sin(back), aside = sine * cos(back) - cosine * sin(back);
    for (int d = 0; d < 3; d++)
        translation[d] = n * track->along[d] + chord * (forward * track->across[d] + aside * track->side[d]);

    rotation[0] = cosine;
    for (int d = 0; d < 3; d++)
        rotation[1 + d] = sine * track->axis[d];
}

void pfnn_track_rigid_delta(double translation[3], double rotation[4], const pfnn_track *track, double n, const double point0[3],
                        const double turn0[4], const double point1[3], const double turn1[4])
{
    double step[3], slide[3], turned[4] = {turn1[0], turn1[1], turn1[2], turn1[3]}, back[4];
    memcpy(step, point1, sizeof step);
    if (n != 0) {
        double power[4];
        screw_power(slide, power, track, n);
        pfnn_quat_rotate(step, power, point1);
        for (int d = 0; d < 3; d++)
            step[d] += slide[d];
        pfnn_quat_mul(turned, power, turn1);
    }
    for (int d = 0; d < 3; d++)
        step[d] -= point0[d];
    pfnn_quat_conj(back, turn0);
    pfnn_quat_rotate(translation, back, step);
    pfnn_quat_mul(turned, back, turned);

    // of the two quaternions of a rotation the one with w >= 0
    double sign = turned[0] < 0 ? -1 : 1;
    for (int c = 0; c < 4; c++)
        rotation[c] = sign * turned[c];
}

void pfnn_track_delta_local(double *translation, double *rotation, const pfnn_track *track, int64_t cycle0, double local0,
                            int64_t cycle1, double local1)
{
    if (!track->loop) { // whatever lies before the start or after the end stands still
        local0 = cycle0 < 0 ? 0 : cycle0 > 0 ? track->duration : local0;
        local1 = cycle1 < 0 ? 0 : cycle1 > 0 ? track->duration : local1;
        cycle0 = cycle1 = 0;
    }
    double n = cycles_between(cycle1, cycle0);
    if (track->rotates) {
        double point0[3], point1[3], turn0[4], turn1[4], unused[4];
        int64_t guess = pfnn_track_pose(point0, turn0, track, local0, 0);
        pfnn_track_pose(point1, turn1, track, local1, guess);
        pfnn_track_rigid_delta(translation, rotation ? rotation : unused, track, n, point0, turn0, point1, turn1);
        return;
    }
    int64_t i0 = pfnn_track_find(track, local0, 0), i1 = pfnn_track_find(track, local1, i0);
    double since0 = local0 - track->times[i0], since1 = local1 - track->times[i1];
    const double *stride = track->points + (track->count - 1) * track->dimensions;
    for (int d = 0; d < track->dimensions; d++) {
        int64_t a = i0 * track->dimensions + d, b = i1 * track->dimensions + d;
        double start = track->points[a] + track->slopes[a] * since0, end = track->points[b] + track->slopes[b] * since1;
        translation[d] = n * stride[d] + (end - start);
    }
}

void pfnn_track_delta(double *translation, double *rotation, const pfnn_track *track, int64_t cycle0, double phase0,
                      int64_t cycle1, double phase1)
{
    pfnn_track_delta_local(translation, rotation, track, cycle0, phase0 < 1 ? phase0 * track->duration : track->duration,
                           cycle1, phase1 < 1 ? phase1 * track->duration : track->duration);
}

/* ---- the way between two times ------------------------------------------------------------- */

/* Keys are numbered through all cycles: key i of cycle k is k * segments + i; the last key of a cycle is the first of the next. */
typedef struct way {
    int64_t first, last; /* keys strictly between the two times, in the order of the way */
    int64_t cycle0;
    double local0;
    int step; /* +1 or -1 */
} way;

static double key_time(const pfnn_track *track, int64_t key)
{
    int64_t segments = track->count - 1, cycle = track->loop ? key / segments : 0, i = key - cycle * segments;
    if (track->loop && i < 0)
        cycle--, i += segments;
    return (double)cycle * track->duration + track->times[i];
}

static bool find_way(way *found, const pfnn_track *track, double t0, double t1)
{
    int64_t cycle1, segments = track->count - 1;
    double local1;
    if (!pfnn_track_wrap(track, t0, &found->cycle0, &found->local0) || !pfnn_track_wrap(track, t1, &cycle1, &local1))
        return false;
    if (!(fabs((double)found->cycle0) < 4e15 / (double)segments && fabs((double)cycle1) < 4e15 / (double)segments))
        return false; // keys could no longer be numbered

    found->step = t1 < t0 ? -1 : 1;
    found->first = found->cycle0 * segments + pfnn_track_find(track, found->local0, 0);
    found->last = cycle1 * segments + pfnn_track_find(track, local1, 0);
    if (!track->loop) { // the two ends of a one-shot clip are keys too
        found->first = t0 < 0 ? -1 : t0 >= track->duration ? segments : found->first;
        found->last = t1 < 0 ? -1 : t1 >= track->duration ? segments : found->last;
    }
    // from the segment's key to the first key beyond t0 and the last before t1; rounded times must not come twice
    int64_t lowest = track->loop ? INT64_MIN / 2 : 0, highest = track->loop ? INT64_MAX / 2 : segments;
    if (found->step > 0) {
        found->first++;
        if (found->last >= lowest && key_time(track, found->last) >= t1)
            found->last--;
        if (found->first <= found->last && key_time(track, found->first) <= t0)
            found->first++;
    } else {
        if (found->first >= lowest && key_time(track, found->first) >= t0)
            found->first--;
        found->last++;
        if (found->last <= highest && found->first >= found->last && key_time(track, found->last) <= t1)
            found->last++;
    }
    return true;
}

int64_t pfnn_track_path_length(const pfnn_track *track, double t0, double t1)
{
    way found;
    if (!find_way(&found, track, t0, t1))
        return -1;
    int64_t between = found.step > 0 ? found.last - found.first + 1 : found.first - found.last + 1;
    between = between > 0 ? between : 0;
    return between > PFNN_PATH_LIMIT - 2 ? PFNN_PATH_LIMIT + 1 : between + 2;
}

void pfnn_track_path(double *times, double *translations, double *rotations, const pfnn_track *track, double t0, double t1,
                     int64_t length)
{
    way found;
    if (length < 2 || !find_way(&found, track, t0, t1))
        return;
    int64_t segments = track->count - 1;
    for (int64_t j = 0; j < length; j++) {
        int64_t cycle = found.cycle0;
        double local = found.local0;
        if (j == 0) {
            times[j] = t0;
        } else if (j == length - 1) {
            times[j] = t1;
            pfnn_track_wrap(track, t1, &cycle, &local);
        } else {
            int64_t key = found.first + found.step * (j - 1), i;
            times[j] = key_time(track, key);
            cycle = track->loop ? key / segments - (key % segments < 0) : 0;
            i = key - cycle * segments;
            local = track->times[i];
        }
        pfnn_track_delta_local(translations + j * track->dimensions, rotations ? rotations + 4 * j : NULL, track,
                               found.cycle0, found.local0, cycle, local);
    }
}
