/*
 * game_loop.c: a character moved by a clock and a track, with a sweep test that sees every corner of the way.
 *
 *     make lib
 *     cc -Icsrc/core csrc/examples/game_loop.c build/lib/libpfnnc.a -lm -lpthread -o game_loop
 *
 * The clip is a quarter circle of radius 1 m. Played four times, the character stands where it began.
 */
#include "pfnnc.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

enum { KEYS = 33, CORNERS = 256 };

/* A world would be asked here whether the way is free; this stub only measures it. */
static double sweep(const double *corners, int64_t count)
{
    double length = 0;
    for (int64_t i = 1; i < count; i++)
        length += hypot(corners[3 * i] - corners[3 * i - 3], corners[3 * i + 2] - corners[3 * i - 1]);
    return length;
}

static pfnn_track *quarter_circle(pfnn_error *error)
{
    double times[KEYS], positions[KEYS][3], rotations[KEYS][4];
    for (int i = 0; i < KEYS; i++) {
        double u = i / (KEYS - 1.0), angle = u * 1.5707963267948966;
        times[i] = u;
        positions[i][0] = 1 - cos(angle), positions[i][1] = 0, positions[i][2] = sin(angle);
        rotations[i][0] = cos(angle / 2), rotations[i][1] = 0, rotations[i][2] = sin(angle / 2), rotations[i][3] = 0;
    }
    pfnn_track *track;
    pfnn_track_create(&track, times, positions[0], rotations[0], KEYS, 3, true, 1e6, error);
    return track;
}

static int walk(const pfnn_track *track, pfnn_error *error)
{
    pfnn_clock player;
    double place[3] = {0, 0, 0}, turn[4] = {1, 0, 0, 0}, length = 0;
    double times[CORNERS], corners[3 * CORNERS], turns[4 * CORNERS], step[3], turned[4], moved[3];
    if (pfnn_clock_init(&player, pfnn_track_duration(track), 1.0, 0, PFNN_PLAY_LOOP, error) != PFNN_OK)
        return 1;

    for (int frame = 0; frame < 4 * 24; frame++) {
        // times within the clip: the way is the same in every cycle, and these stay small for as long as the game runs
        double before = pfnn_clock_phase(&player) * pfnn_track_duration(track), now = before + 1.0 / 24;
        if (pfnn_clock_advance(&player, 1.0 / 24, error) != PFNN_OK)
            return 1;

        // what lies on the way, corner by corner
        int64_t count = pfnn_track_path_length(track, before, now);
        if (count > 0 && count <= CORNERS) {
            pfnn_track_path(times, corners, turns, track, before, now, count);
            length += sweep(corners, count);
        }

        // the motion, once, in the character's own frame
        pfnn_clock_consume(step, turned, &player, NULL, track);
        pfnn_quat_rotate(moved, turn, step);
        for (int d = 0; d < 3; d++)
            place[d] += moved[d];
        pfnn_quat_mul(turn, turn, turned);
    }
    printf("after 4 cycles: %.9f m from the start, way %.4f m\n", hypot(place[0], place[2]), length);
    return 0;
}

/* What a frame costs: advance and consume, over a straight clip. */
static double nanoseconds(pfnn_error *error)
{
    enum { FRAMES = 1000000 };
    const double times[] = {0, 0.25, 0.75, 1}, positions[] = {0, 0, 0, 0, 0, 0.2, 0, 0, 1.7, 0, 0, 2};
    double step[3], way = 0;
    pfnn_track *track;
    pfnn_clock player;
    if (pfnn_track_create(&track, times, positions, NULL, 4, 3, true, 1e6, error) != PFNN_OK ||
        pfnn_clock_init(&player, 1.0, 1.0, 0, PFNN_PLAY_LOOP, error) != PFNN_OK)
        return -1;

    clock_t start = clock();
    for (int i = 0; i < FRAMES; i++) {
        pfnn_clock_advance(&player, 1.0 / 60, error);
        pfnn_clock_consume(step, NULL, &player, NULL, track);
        way += step[2];
    }
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    pfnn_track_destroy(track);
    printf("%d frames: %.6f m\n", FRAMES, way);
    return seconds / FRAMES * 1e9;
}

int main(void)
{
    pfnn_error error = {0};
    pfnn_track *track = quarter_circle(&error);
    int failed = !track || walk(track, &error);
    pfnn_track_destroy(track);
    if (!failed)
        printf("a frame costs %.1f ns\n", nanoseconds(&error));
    if (failed || error.code != PFNN_OK)
        fprintf(stderr, "%s\n", error.message);
    return failed;
}
