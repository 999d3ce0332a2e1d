/* clock.c: time over a looping clip that stays exact for as long as it runs. */
#include "exact.h"
#include "root_motion.h"

#include <math.h>
#include <string.h>

/* cycles that one step may cross: their number must be a whole double, and room must be left in int64 */
static const double most_cycles = 4503599627370496.0; /* 2^52 */
static const int64_t last_cycle = INT64_C(1) << 62;

static int sign(pfnn_pair a)
{
    double lead = a.high != 0 ? a.high : a.low;
    return (lead > 0) - (lead < 0);
}

/* `from` moved by `by` seconds, folded into its cycle; false where that leaves what a moment can hold */
static bool moved(pfnn_moment *to, const pfnn_clock *clock, pfnn_moment from, pfnn_pair by)
{
    double duration = clock->duration;
    pfnn_pair local = pfnn_pair_add((pfnn_pair){from.high, from.low}, by);
    pfnn_pair end = {-duration, 0};

    if (clock->play == PFNN_PLAY_ONCE) {
        if (isnan(local.high))
            return false;
        if (sign(local) < 0)
            local = (pfnn_pair){0, 0};
        else if (sign(pfnn_pair_add(local, end)) > 0)
            local = (pfnn_pair){duration, 0};
        *to = (pfnn_moment){0, local.high, local.low};
        return true;
    }

    // mostly a step stays in its cycle
    if (local.high > 0 && local.high < duration) {
        *to = (pfnn_moment){from.cycle, local.high, local.low};
        return true;
    }

    // whole cycles come off in one exact product; its quotient may be one off
    double whole = floor(local.high / duration);
    if (!(fabs(whole) <= most_cycles))
        return false;
    pfnn_pair off = pfnn_pair_product(whole, duration);
    local = pfnn_pair_add(local, (pfnn_pair){-off.high, -off.low});
    while (sign(local) < 0) {
        local = pfnn_pair_add(local, (pfnn_pair){duration, 0});
        whole--;
    }
    while (sign(pfnn_pair_add(local, end)) >= 0) {
        local = pfnn_pair_add(local, end);
        whole++;
    }

    int64_t cycle = from.cycle + (int64_t)whole;
    if (cycle > last_cycle || cycle < -last_cycle)
        return false;
    *to = (pfnn_moment){cycle, local.high, local.low};
    return true;
}

/* what `ticks` amount to in clip seconds: multiplied out from the start, so that no error adds up */
static pfnn_pair tick_seconds(const pfnn_clock *clock, int64_t ticks)
{
    if (ticks == 0)
        return (pfnn_pair){0, 0};
    return pfnn_pair_scale(pfnn_pair_quotient((double)ticks, clock->tick_rate), clock->rate);
}

pfnn_status pfnn_clock_init(pfnn_clock *clock, double duration, double rate, double tick_rate, pfnn_play play,
                            pfnn_error *error)
{
    if (!(duration > 1e-100 && duration < 1e100))
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "duration must be finite and greater than 0, got %.17g", duration);
    if (!(fabs(rate) < 1e100))
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "rate must be finite, got %.17g", rate);
    if (!(tick_rate >= 0 && tick_rate < 1e100))
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "tick_rate must be finite and greater than 0, got %.17g", tick_rate);

    memset(clock, 0, sizeof *clock);
    clock->duration = duration;
    clock->rate = rate;
    clock->tick_rate = tick_rate;
    clock->play = (int32_t)play;
    return PFNN_OK;
}

pfnn_status pfnn_clock_advance(pfnn_clock *clock, double dt, pfnn_error *error)
{
    pfnn_moment base;
    if (!(fabs(dt) < 1e100))
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "dt must be finite, got %.17g", dt);

    // a step in seconds starts from where the ticks have come to
    if (!moved(&base, clock, clock->now, pfnn_pair_product(dt, clock->rate)))
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "dt=%.17g runs over too many cycles of %.17g s", dt, clock->duration);
    clock->base = clock->now = base;
    clock->ticks = 0;
    return PFNN_OK;
}

pfnn_status pfnn_clock_advance_ticks(pfnn_clock *clock, int64_t n, pfnn_error *error)
{
    const int64_t exact = INT64_C(1) << 53; /* ticks beyond this are no longer a double */
    if (clock->tick_rate == 0)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "the clock has no tick_rate: give one to count in ticks");
    if (n > exact || n < -exact)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "n must be within 2^53, got %lld", (long long)n);

    int64_t ticks = clock->ticks + n;
    pfnn_moment base = clock->base, now;
    if (ticks > exact || ticks < -exact) {
        base = clock->now;
        ticks = n;
    }
    if (!moved(&now, clock, base, tick_seconds(clock, ticks)))
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "n=%lld runs over too many cycles of %.17g s", (long long)n,
                         clock->duration);

    // a one-shot clock forgets the ticks beyond its end, else turning back would have to run them off first
    bool stopped = clock->play == PFNN_PLAY_ONCE && (now.high == 0 || now.high == clock->duration);
    clock->base = stopped ? now : base;
    clock->ticks = stopped ? 0 : ticks;
    clock->now = now;
    return PFNN_OK;
}

pfnn_status pfnn_clock_set_rate(pfnn_clock *clock, double rate, pfnn_error *error)
{
    if (!(fabs(rate) < 1e100))
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "rate must be finite, got %.17g", rate);
    clock->base = clock->now;
    clock->ticks = 0;
    clock->rate = rate;
    return PFNN_OK;
}

pfnn_status pfnn_clock_seek(pfnn_clock *clock, double time, pfnn_error *error)
{
    pfnn_moment to, zero = {0, 0, 0};
    if (!(fabs(time) < 1e100) || !moved(&to, clock, zero, (pfnn_pair){time, 0}))
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "t must be finite and within 2^52 cycles, got %.17g", time);
    clock->base = clock->now = clock->anchor = to;
    clock->ticks = 0;
    clock->seeks++;
    return PFNN_OK;
}

double pfnn_clock_time(const pfnn_clock *clock)
{
    return (double)clock->now.cycle * clock->duration + clock->now.high;
}

/* the time within the clip that a moment shows, in [0, duration] */
static double shown(const pfnn_clock *clock, pfnn_moment at)
{
    bool back = clock->play == PFNN_PLAY_PINGPONG && at.cycle % 2 != 0;
    return back ? (clock->duration - at.high) - at.low : at.high + at.low;
}

double pfnn_clock_phase(const pfnn_clock *clock)
{
    double phase = shown(clock, clock->now) / clock->duration;
    double last = clock->play == PFNN_PLAY_LOOP ? 1 - 0x1p-53 : 1;
    return phase < last ? phase : last;
}

pfnn_cursor pfnn_clock_cursor(const pfnn_clock *clock)
{
    return (pfnn_cursor){clock->now, clock->seeks};
}

void pfnn_clock_consume(double *translation, double *rotation, pfnn_clock *clock, pfnn_cursor *cursor,
                        const pfnn_track *track)
{
    if (!cursor)
        cursor = &clock->cursor;

    // a seek since the last call has moved everybody to where it went
    pfnn_moment from = cursor->seeks == clock->seeks ? cursor->at : clock->anchor, to = clock->now;
    double end = pfnn_track_duration(track), scale = end == clock->duration ? 1 : end / clock->duration;
    double local0 = shown(clock, from) * scale, local1 = shown(clock, to) * scale;
    bool unrolls = clock->play == PFNN_PLAY_LOOP;

    pfnn_track_delta_local(translation, rotation, track, unrolls ? from.cycle : 0, local0 < end ? local0 : end,
                           unrolls ? to.cycle : 0, local1 < end ? local1 : end);
    *cursor = pfnn_clock_cursor(clock);
}

static bool moment_valid(const pfnn_clock *clock, pfnn_moment at)
{
    return at.cycle >= -last_cycle && at.cycle <= last_cycle && at.high >= 0 && at.high <= clock->duration &&
           fabs(at.low) <= clock->duration * 0x1p-53 && at.high + at.low <= clock->duration;
}

bool pfnn_clock_valid(const pfnn_clock *clock)
{
    pfnn_clock fresh;
    return clock->play >= PFNN_PLAY_LOOP && clock->play <= PFNN_PLAY_PINGPONG && clock->reserved == 0 &&
           pfnn_clock_init(&fresh, clock->duration, clock->rate, clock->tick_rate, PFNN_PLAY_LOOP, NULL) == PFNN_OK &&
           (clock->ticks == 0 || clock->tick_rate > 0) && clock->ticks <= INT64_C(1) << 53 &&
           clock->ticks >= -(INT64_C(1) << 53) && clock->seeks >= 0 && clock->cursor.seeks >= 0 &&
           moment_valid(clock, clock->base) && moment_valid(clock, clock->now) && moment_valid(clock, clock->anchor) &&
           moment_valid(clock, clock->cursor.at);
}
