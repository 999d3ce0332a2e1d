/* phase.c: gait phase from the height of the root, contacts from foot positions, gait phase from contacts. */
#include "phase.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* samples smoothed and searched at a time, so that they stay in the first cache */
enum { BLOCK = 1024 };

/* ---- valleys of the root's height --------------------------------------------------------- */

/*
 * Valleys at least `distance` apart, the deeper before the shallower, among equals the later first, without sorting.
 *
 * index[kept..count) is a run of candidates, each closer than `distance` to the one before it and at least as deep.
 * A later candidate that is close to the run's last and shallower has lost for good: whatever takes the last one out
 * stands beyond it and takes it out too. When none is close any more, the last one wins, and then from behind
 * whoever is not close to a winner.
 */
typedef struct selection {
    const double *depth; /* height of each sample; lower is deeper */
    int64_t *index;
    int64_t kept, count, distance;
} selection;

static void settle(selection *s)
{
    int64_t write = s->count;
    for (int64_t i = s->count - 1; i >= s->kept; i--)
        if (write == s->count || s->index[write] - s->index[i] >= s->distance)
            s->index[--write] = s->index[i];
    memmove(s->index + s->kept, s->index + write, (size_t)(s->count - write) * sizeof *s->index);
    s->kept += s->count - write;
    s->count = s->kept;
}

static void offer(selection *s, int64_t candidate)
{
    if (s->count > s->kept) {
        int64_t last = s->index[s->count - 1];
        if (candidate - last < s->distance) {
            if (s->depth[candidate] <= s->depth[last])
                s->index[s->count++] = candidate;
            return;
        }
        settle(s);
    }
    s->index[s->count++] = candidate;
}

/*
 * mean[0..size) = the running mean for samples first .. first + size - 1 of y: the sum of y[j] * (1/smooth) in order.
 * `scaled` has room for size + smooth numbers.
 */
static void running_mean(double *mean, double *scaled, const double *y, int64_t n, int64_t first, int64_t size,
                         int64_t smooth)
{
    const double weight = 1.0 / (double)smooth;
    const int64_t from = first - smooth / 2, length = size + smooth - 1;
    const int64_t begin = from < 0 ? -from : 0, end = length < n - from ? length : n - from;

    // weighted samples, zeros beyond the ends
    for (int64_t i = 0; i < begin; i++)
        scaled[i] = 0;
    for (int64_t i = begin; i < end; i++)
        scaled[i] = y[from + i] * weight;
    for (int64_t i = end; i < length; i++)
        scaled[i] = 0;

    // five taps, the usual number, in one pass
    if (smooth == 5) {
        for (int64_t i = 0; i < size; i++)
            mean[i] = scaled[i] + scaled[i + 1] + scaled[i + 2] + scaled[i + 3] + scaled[i + 4];
        return;
    }
    memcpy(mean, scaled, (size_t)size * sizeof *mean);
    for (int64_t k = 1; k < smooth; k++)
        for (int64_t i = 0; i < size; i++)
            mean[i] += scaled[i + k];
}

/* First sample of x[first..end) that begins a valley or a flat stretch after a descent. Writes those found to `found`. */
static int64_t descents(int64_t *found, const double *x, int64_t first, int64_t end)
{
    int64_t count = 0;
    for (int64_t i = first; i < end; i++) {
        found[count] = i;
        count += (x[i - 1] > x[i]) & (x[i] <= x[i + 1]);
    }
    return count;
}

/* The middle of the valley floor that begins at i, rounded down, or -1 where the ground falls on or the samples end. */
static int64_t valley_middle(const double *x, int64_t i, int64_t n)
{
    int64_t after = i + 1;
    while (after < n - 1 && x[after] == x[i])
        after++;
    return x[after] > x[i] ? (i + after - 1) / 2 : -1;
}

static int64_t first_not_finite(const double *x, int64_t n)
{
    for (int64_t start = 0; start < n; start += BLOCK) {
        const int64_t end = start + BLOCK < n ? start + BLOCK : n;
        double sum = 0;
        for (int64_t i = start; i < end; i++)
            sum += x[i] * 0.0;
        if (sum != 0 || isnan(sum))
            for (int64_t i = start; i < end; i++)
                if (!isfinite(x[i]))
                    return i;
    }
    return -1;
}

/* i/m over the m samples between neighbouring valleys, as np.linspace(0, 1, m, endpoint=False) rounds it */
static void fill_between(double *phase, int64_t n, const int64_t *valleys, int64_t count)
{
    const int64_t first = count > 1 ? valleys[0] : n, last = count > 1 ? valleys[count - 1] : n;
    for (int64_t i = 0; i < first; i++)
        phase[i] = NAN;
    for (int64_t k = 0; k + 1 < count; k++) {
        const int64_t length = valleys[k + 1] - valleys[k];
        const double step = 1.0 / (double)length;
        for (int64_t i = 0; i < length; i++)
            phase[valleys[k] + i] = (double)i * step;
    }
    for (int64_t i = last; i < n; i++)
        phase[i] = NAN;
}

pfnn_status pfnn_phase_from_root_y(double *phase, int64_t *valleys, int64_t *count, const double *root_y, int64_t n,
                                   int64_t distance, int64_t smooth, pfnn_error *error)
{
    *count = 0;
    if (n < 0)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "n must be at least 0, got %lld", (long long)n);
    if (distance < 1)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "distance must be at least 1, got %lld", (long long)distance);
    if (smooth < 1)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "smooth must be at least 1, got %lld", (long long)smooth);
    const int64_t bad = first_not_finite(root_y, n);
    if (bad >= 0)
        return pfnn_fail(error, PFNN_ERROR_VALUE, bad, "root_y[%lld] is not finite", (long long)bad);
    if (n < smooth) {
        fill_between(phase, n, valleys, 0);
        return PFNN_OK;
    }
    double *scaled = malloc((size_t)(BLOCK + smooth) * sizeof *scaled);
    if (!scaled)
        return pfnn_fail(error, PFNN_ERROR_MEMORY, -1, "out of memory");

    // `phase` holds the smoothed height until the valleys are known
    for (int64_t start = 0; start < n; start += BLOCK)
        running_mean(phase + start, scaled, root_y, n, start, n - start < BLOCK ? n - start : BLOCK, smooth);
    free(scaled);

    // candidates a block at a time, whatever cannot be decided by neighbours alone one by one
    int64_t found[BLOCK + 1];
    selection chosen = {phase, valleys, 0, 0, distance};
    for (int64_t start = 1; start < n - 1; start += BLOCK) {
        const int64_t candidates = descents(found, phase, start, start + BLOCK < n - 1 ? start + BLOCK : n - 1);
        for (int64_t k = 0; k < candidates; k++) {
            const int64_t middle = valley_middle(phase, found[k], n);
            if (middle >= 0)
                offer(&chosen, middle);
        }
    }
    settle(&chosen);
    *count = chosen.kept;
    fill_between(phase, n, valleys, *count);
    return PFNN_OK;
}


/* ---- contacts ----------------------------------------------------------------------------- */

/* Set runs of `value` that are shorter than `least` frames to the other value; with `inside`, only those with both ends in the clip. */
static void flip_short_runs(uint8_t *contacts, int64_t frames, int64_t feet, uint8_t value, bool inside, int64_t least)
{
    for (int64_t start = 0; start < frames;) {
        int64_t end = start + 1;
        while (end < frames && contacts[end * feet] == contacts[start * feet])
            end++;
        const bool at_edge = start == 0 || end == frames, everything = start == 0 && end == frames;
        if (contacts[start * feet] == value && end - start < least && !everything && !(inside && at_edge))
            for (int64_t i = start; i < end; i++)
                contacts[i * feet] = !value;
        start = end;
    }
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The 2nd percentile (a value that occurs) of the lowest foot's height; `lowest` is scratch of `frames` numbers. */
static double floor_height(double *lowest, const double *positions, int64_t frames, int64_t feet)
{
    for (int64_t t = 0; t < frames; t++) {
        lowest[t] = positions[t * feet * 3 + 1];
        for (int64_t foot = 1; foot < feet; foot++)
            lowest[t] = fmin(lowest[t], positions[(t * feet + foot) * 3 + 1]);
    }
    qsort(lowest, (size_t)frames, sizeof *lowest, ascending);
    return lowest[frames / 50];
}

static void foot_contacts(uint8_t *contacts, const double *positions, int64_t frames, int64_t feet, double ground,
                          const pfnn_contact_config *config)
{
    bool on = false;
    for (int64_t t = 0; t < frames; t++) {
        // frame 0 has no frame before it and takes the speed of the next one
        const double *now = positions + (t ? t : frames > 1) * feet * 3, *before = frames > 1 ? now - feet * 3 : now;
        const double dx = now[0] - before[0], dy = now[1] - before[1], dz = now[2] - before[2];
        const double speed = sqrt(dx * dx + dy * dy + dz * dz) * config->fps;
        const double height = positions[t * feet * 3 + 1] - ground;
        on = height <= config->height && speed <= (on ? config->leave_speed : config->enter_speed);
        contacts[t * feet] = on;
    }
}

pfnn_status pfnn_contacts(uint8_t *contacts, const double *positions, int64_t frames, int64_t feet,
                          const pfnn_contact_config *config, pfnn_error *error)
{
    if (frames < 0 || feet < 0)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "frames and feet must be at least 0, got %lld and %lld",
                         (long long)frames, (long long)feet);
    if (!(config->fps > 0) || !(config->min_duration >= 0))
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "fps must be greater than 0 and min_duration at least 0, got %g and %g",
                         config->fps, config->min_duration);
    if (frames == 0 || feet == 0)
        return PFNN_OK;
    double *lowest = malloc((size_t)frames * sizeof *lowest);
    if (!lowest)
        return pfnn_fail(error, PFNN_ERROR_MEMORY, -1, "out of memory");
    const double ground = floor_height(lowest, positions, frames, feet);
    free(lowest);

    // a duration in frames, with room for the rounding of 0.1 * 30
    const double wanted = ceil(config->min_duration * config->fps - 1e-9);
    const int64_t least = wanted < (double)frames + 1 ? (int64_t)wanted : frames + 1;
    for (int64_t foot = 0; foot < feet; foot++) {
        foot_contacts(contacts + foot, positions + foot * 3, frames, feet, ground, config);
        flip_short_runs(contacts + foot, frames, feet, 0, true, least);
        flip_short_runs(contacts + foot, frames, feet, 1, false, least);
    }
    return PFNN_OK;
}

/* ---- the gait cycle from contacts --------------------------------------------------------- */

/*
 * Frames at which a contact begins. One that is there in frame 0 may have begun long before: it counts only if it is
 * neither shorter nor longer than every contact of this foot that lies whole in the clip.
 */
static int64_t find_strikes(int64_t *strikes, const uint8_t *contacts, int64_t n)
{
    int64_t count = 0, shortest = INT64_MAX, longest = 0, first = 0;
    for (int64_t start = 0; start < n;) {
        int64_t end = start + 1;
        while (end < n && !contacts[end] == !contacts[start])
            end++;
        if (contacts[start] && start == 0)
            first = end;
        if (contacts[start] && start > 0) {
            strikes[count++] = start;
            if (end < n) {
                shortest = end - start < shortest ? end - start : shortest;
                longest = end - start > longest ? end - start : longest;
            }
        }
        start = end;
    }
    if (first && shortest <= first && first <= longest) {
        memmove(strikes + 1, strikes, (size_t)count * sizeof *strikes);
        strikes[0] = 0;
        count++;
    }
    return count;
}

/* phase from `from` at frame a to `to` at frame b, unless it takes more than `longest` frames */
static void fill_line(double *phase, int64_t a, int64_t b, double from, double to, double longest)
{
    if ((double)(b - a) > longest)
        return;
    for (int64_t i = a; i < b; i++)
        phase[i] = pfnn_phase_wrap(from + (to - from) * (double)(i - a) / (double)(b - a));
}

void pfnn_gait_phase(double *phase, int64_t *left_strikes, int64_t *right_strikes, int64_t counts[2],
                     const uint8_t *left, const uint8_t *right, int64_t n, double fps)
{
    const double step = PFNN_LONGEST_STEP * fps;
    counts[0] = find_strikes(left_strikes, left, n);
    counts[1] = find_strikes(right_strikes, right, n);
    for (int64_t i = 0; i < n; i++)
        phase[i] = NAN;

    // the half cycle to the first left strike begins with the last right strike before it
    int64_t r = 0;
    if (counts[0] == 0)
        return;
    while (r < counts[1] && right_strikes[r] < left_strikes[0])
        r++;
    if (r > 0)
        fill_line(phase, right_strikes[r - 1], left_strikes[0], 0.5, 1.0, step);

    // each left strike, the first right strike after it, the next left strike
    for (int64_t k = 0; k < counts[0]; k++) {
        const int64_t a = left_strikes[k], b = k + 1 < counts[0] ? left_strikes[k + 1] : n;
        while (r < counts[1] && right_strikes[r] <= a)
            r++;
        const bool strikes_between = r < counts[1] && right_strikes[r] < b;
        if (strikes_between)
            fill_line(phase, a, right_strikes[r], 0.0, 0.5, step);
        if (k + 1 < counts[0] && strikes_between)
            fill_line(phase, right_strikes[r], b, 0.5, 1.0, step);
        else if (k + 1 < counts[0])
            fill_line(phase, a, b, 0.0, 1.0, 2 * step);
    }
}

/* ---- arithmetic on the circle ------------------------------------------------------------- */

double pfnn_phase_wrap(double phase)
{
    // a tiny negative number plus one rounds up to one
    const double wrapped = phase - floor(phase);
    return wrapped >= 1 ? 0 : wrapped;
}

float pfnn_phase_wrap_float(double phase)
{
    const float wrapped = (float)pfnn_phase_wrap(phase);
    return wrapped >= 1 ? 0 : wrapped;
}

double pfnn_phase_advance(double phase, double speed, double stride, double dt)
{
    return pfnn_phase_wrap(phase + fmod(speed / stride * dt, 1.0));
}

double pfnn_phase_difference(double a, double b)
{
    const double d = a - b, wrapped = d - floor(d + 0.5);
    return wrapped >= 0.5 ? -0.5 : wrapped;
}
