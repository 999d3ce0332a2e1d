/*
 * pfnnc.h: the public interface of libpfnnc, a C core for data-driven character animation.
 *
 * Conventions, everywhere in this file:
 *   - right-handed, y up, metres, seconds, radians; forward at yaw 0 is +z
 *   - quaternions are [w, x, y, z], Hamilton, active, from child to parent space
 *   - yaw is the twist about +y, in [-pi, pi]
 *   - phase is in cycles, cyclic, [0, 1); NaN means "this frame has no phase"
 *   - arrays are row-major and contiguous unless a stride is given; outputs come first
 *   - a function that can fail returns a pfnn_status and fills a pfnn_error; kernels return void
 *   - nothing prints, exits or keeps global state
 */
#ifndef PFNNC_H
#define PFNNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(PFNN_BUILD_SHARED) && defined(_WIN32)
#define PFNN_API __declspec(dllexport)
#elif defined(__GNUC__)
#define PFNN_API __attribute__((visibility("default")))
#else
#define PFNN_API
#endif


/* ---- errors ------------------------------------------------------------------------------- */

typedef enum pfnn_status {
    PFNN_OK = 0,
    PFNN_ERROR_VALUE,     /* an argument has a wrong value: Python's ValueError */
    PFNN_ERROR_MEMORY,    /* an allocation failed: MemoryError */
    PFNN_ERROR_IO,        /* a file could not be read or written: OSError */
    PFNN_ERROR_PARSE,     /* a text is not what its format says, with line and column: BVHError */
    PFNN_ERROR_NONFINITE  /* a computation left the finite numbers: FloatingPointError */
} pfnn_status;

typedef struct pfnn_error {
    pfnn_status code;
    int64_t index;        /* first index at fault, -1 where there is none */
    int64_t line, column; /* in a text, from 1, column in bytes; 0 where there is none */
    char message[256];    /* names the argument, what was expected, what came */
} pfnn_error;

/* Fill `error` (which may be NULL) with a printf-like message and return `code`. */
PFNN_API pfnn_status pfnn_fail(pfnn_error *error, pfnn_status code, int64_t index, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 4, 5)))
#endif
    ;


/* ---- threads ------------------------------------------------------------------------------ */

typedef void (*pfnn_task)(void *context, int64_t index);

/*
 * Call task(context, i) once for each i in [0, count), over at most `threads` threads, the caller's included; return
 * when all are done. Tasks must write to places of their own, and the order in which they run must not show in any
 * result. Where a thread cannot be had the others do its work. Nothing is kept between calls.
 */
PFNN_API void pfnn_parallel(int threads, int64_t count, pfnn_task task, void *context);


/* ---- rotation ----------------------------------------------------------------------------- */

/*
 * One rotation at a time, all in double. A quaternion may have any norm and sign, subnormal and 1e300 included:
 * it stands for the rotation of its direction. A zero or non-finite one gives NaN in every number of the result,
 * and so does any other non-finite input. Results may overlap inputs. Errors are at most 4 ulp of max(1, |result|), of
 * max(1, |a| |b|) for the product and max(1, |v|) for a turned vector; the ones ending in _n, for many at a time, keep
 * to max(1, |result|) for each number there too.
 */
PFNN_API void pfnn_quat_mul(double r[4], const double a[4], const double b[4]); /* Hamilton product, not normalised */
PFNN_API void pfnn_quat_conj(double r[4], const double q[4]);
PFNN_API void pfnn_quat_normalize(double r[4], const double q[4]); /* keeps the sign */
PFNN_API void pfnn_quat_rotate(double r[3], const double q[4], const double v[3]);
PFNN_API void pfnn_quat_slerp(double r[4], const double a[4], const double b[4], double t); /* the shorter way, unit */
PFNN_API double pfnn_quat_yaw(const double q[4]); /* twist about +y in [-pi, pi]; 0 where it is undefined */

PFNN_API void pfnn_quat_to_exp_map(double r[3], const double q[4]); /* rotation vector, |r| in [0, pi] */
PFNN_API void pfnn_exp_map_to_quat(double q[4], const double r[3]); /* any length; w < 0 for |r| in (pi, 3 pi) */
PFNN_API void pfnn_exp_map_wrap(double r[3], const double v[3]);    /* same rotation, |r| <= pi */
PFNN_API void pfnn_exp_map_unroll(double r[3], const double v[3], const double previous[3]);
PFNN_API void pfnn_quat_log(double r[3], const double q[4]); /* half of pfnn_quat_to_exp_map */
PFNN_API void pfnn_quat_exp(double q[4], const double r[3]); /* inverse of pfnn_quat_log */

/* Matrices are row-major and map column vectors; 6d is their first two columns, one after the other. */
PFNN_API void pfnn_quat_to_matrix(double m[9], const double q[4]);
PFNN_API void pfnn_quat_from_matrix(double q[4], const double m[9]); /* the nearest rotation; det <= 0 gives NaN */
PFNN_API void pfnn_quat_to_6d(double d[6], const double q[4]);
PFNN_API void pfnn_quat_from_6d(double q[4], const double d[6]); /* by Gram-Schmidt; parallel columns give NaN */

/* Intrinsic Euler angles in radians, the first axis outermost; axes[i] is 0, 1, 2 for x, y, z, no two neighbours equal. */
PFNN_API void pfnn_quat_from_euler(double q[4], const double angles[3], const int axes[3]);
PFNN_API void pfnn_quat_to_euler(double angles[3], const double q[4], const int axes[3]);

/* `count` at a time, contiguous. Results must not overlap inputs. */
PFNN_API void pfnn_quat_mul_n(double *r, const double *a, const double *b, int64_t count);
PFNN_API void pfnn_quat_rotate_n(double *r, const double *q, const double *v, int64_t count);
PFNN_API void pfnn_quat_normalize_n(double *r, const double *q, int64_t count);
PFNN_API void pfnn_quat_to_exp_map_n(double *r, const double *q, int64_t count);
PFNN_API void pfnn_exp_map_to_quat_n(double *q, const double *r, int64_t count);
PFNN_API void pfnn_quat_log_n(double *r, const double *q, int64_t count);
PFNN_API void pfnn_quat_exp_n(double *q, const double *r, int64_t count);

/* The mean of rotations: the unit eigenvector of the largest eigenvalue of a symmetric 4x4 sum of q q^T. */
PFNN_API void pfnn_quat_mean(double r[4], const double sum[16]);



/* ---- root motion -------------------------------------------------------------------------- */

/*
 * The motion of a clip's root: keys from time 0 to `duration`, linear (shortest slerp) between them, that repeats for
 * ever (or, with `loop` false, stands still before its start and after its end). Made once, then read-only: any number
 * of threads may use it.
 *
 * A moment is given as a whole number of cycles and a phase in [0, 1] within it, so that a character that has walked
 * for a year moves as exactly as one that starts.
 */
typedef struct pfnn_track pfnn_track;

/*
 * times (count,) strictly increasing from 0; positions (count, dimensions), dimensions 1..3, metres; rotations
 * (count, 4) of any norm but 0, or NULL: with them dimensions must be 3. Times beyond max_cycles cycles are refused.
 * PFNN_ERROR_VALUE with the index of the key at fault, PFNN_ERROR_MEMORY. The data are copied.
 */
PFNN_API pfnn_status pfnn_track_create(pfnn_track **track, const double *times, const double *positions,
                                       const double *rotations, int64_t count, int dimensions, bool loop,
                                       double max_cycles, pfnn_error *error);
PFNN_API void pfnn_track_destroy(pfnn_track *track); /* NULL is fine */

PFNN_API int pfnn_track_dimensions(const pfnn_track *track);
PFNN_API bool pfnn_track_rotates(const pfnn_track *track);
PFNN_API bool pfnn_track_loops(const pfnn_track *track);
PFNN_API double pfnn_track_duration(const pfnn_track *track);

/* The cycle transform C = P(1) P(0)^-1: translation (dimensions,), rotation (4,) or NULL. */
PFNN_API void pfnn_track_cycle(double *translation, double *rotation, const pfnn_track *track);

/* False where `time` is not finite or more than max_cycles cycles away from 0; else cycle and 0 <= phase < 1. */
PFNN_API bool pfnn_track_split(int64_t *cycle, double *phase, const pfnn_track *track, double time);

/* The root as the clip has it at a phase in [0, 1]; rotation may be NULL. */
PFNN_API void pfnn_track_sample(double *position, double *rotation, const pfnn_track *track, double phase);

/*
 * The motion from (cycle0, phase0) to (cycle1, phase1), any cycles, phases in [0, 1]: translation (dimensions,), and
 * for a track with rotations rotation (4,), w >= 0, both in the root's own frame at the start:
 * P(phase0)^-1 C^(cycle1 - cycle0) P(phase1).
 */
PFNN_API void pfnn_track_delta(double *translation, double *rotation, const pfnn_track *track, int64_t cycle0,
                               double phase0, int64_t cycle1, double phase1);

/*
 * The same for n pairs of times: translations (n, dimensions), rotations (n, 4) or NULL for a track without.
 * Returns -1, or the first index whose times are refused (the outputs from there on are not written); in both cases
 * *which is 0 or 1 for t0 or t1.
 */
PFNN_API int64_t pfnn_track_deltas(double *translations, double *rotations, int *which, const pfnn_track *track,
                                   const double *t0, const double *t1, int64_t n);

/*
 * The way from t0 to t1, forwards or backwards: t0, every key and cycle boundary between them once, t1. The first
 * function gives the number of points (-1 where a time is refused, PFNN_PATH_LIMIT + 1 where there are more than
 * PFNN_PATH_LIMIT), the second writes so many times and motions since t0.
 */
#define PFNN_PATH_LIMIT 10000000
PFNN_API int64_t pfnn_track_path_length(const pfnn_track *track, double t0, double t1);
PFNN_API void pfnn_track_path(double *times, double *translations, double *rotations, const pfnn_track *track, double t0,
                              double t1, int64_t length);


/* ---- clock -------------------------------------------------------------------------------- */

typedef enum pfnn_play {
    PFNN_PLAY_LOOP,    /* round and round */
    PFNN_PLAY_ONCE,    /* stops at either end */
    PFNN_PLAY_PINGPONG /* there and back: odd cycles run backwards */
} pfnn_play;

/* cycle * duration + high + low seconds; high + low in [0, duration], exact to about 30 digits */
typedef struct pfnn_moment {
    int64_t cycle;
    double high, low;
} pfnn_moment;

/* How far somebody has consumed a clock's motion. */
typedef struct pfnn_cursor {
    pfnn_moment at;
    int64_t seeks;
} pfnn_cursor;

/* A clock that runs over a clip of `duration` seconds. Plain data: copy it to save it. One thread at a time. */
typedef struct pfnn_clock {
    double duration;    /* s */
    double rate;        /* clip seconds a second; negative runs backwards */
    double tick_rate;   /* ticks a second, 0 where there are none */
    int32_t play;       /* pfnn_play */
    int32_t reserved;   /* 0 */
    int64_t ticks;      /* since `base`: they are multiplied out, never added up */
    pfnn_moment base;
    pfnn_moment now;
    pfnn_moment anchor; /* where the last seek went */
    int64_t seeks;      /* how many there were */
    pfnn_cursor cursor; /* the clock's own consumer */
} pfnn_clock;

/* duration > 0, rate finite, tick_rate > 0 or 0 for none; else PFNN_ERROR_VALUE. */
PFNN_API pfnn_status pfnn_clock_init(pfnn_clock *clock, double duration, double rate, double tick_rate, pfnn_play play,
                                     pfnn_error *error);

/* Run on by dt seconds of either sign, any number of cycles. On PFNN_ERROR_VALUE the clock has not moved. */
PFNN_API pfnn_status pfnn_clock_advance(pfnn_clock *clock, double dt, pfnn_error *error);
PFNN_API pfnn_status pfnn_clock_advance_ticks(pfnn_clock *clock, int64_t n, pfnn_error *error);

/* From now on run at another rate. */
PFNN_API pfnn_status pfnn_clock_set_rate(pfnn_clock *clock, double rate, pfnn_error *error);

/* Jump to `time` seconds without moving anybody: every cursor jumps along. */
PFNN_API pfnn_status pfnn_clock_seek(pfnn_clock *clock, double time, pfnn_error *error);

PFNN_API double pfnn_clock_time(const pfnn_clock *clock);  /* s, rounded */
PFNN_API double pfnn_clock_phase(const pfnn_clock *clock); /* where the clip stands: below 1 in a loop, else in [0, 1] */

/* A cursor that stands at the clock's present. */
PFNN_API pfnn_cursor pfnn_clock_cursor(const pfnn_clock *clock);

/*
 * The motion of `track` since the cursor, which moves to the present: each stretch is delivered once. `cursor` NULL is
 * the clock's own. The clock's phase is what counts: a track of another duration is played in the clock's time.
 */
PFNN_API void pfnn_clock_consume(double *translation, double *rotation, pfnn_clock *clock, pfnn_cursor *cursor,
                                 const pfnn_track *track);

/* True where the numbers of `clock`, read from somewhere, are those of a clock. */
PFNN_API bool pfnn_clock_valid(const pfnn_clock *clock);


/* ---- phase -------------------------------------------------------------------------------- */

/*
 * Half gait cycles from the height of the root, as the article does it: a running mean over `smooth` samples (zeros
 * beyond the ends), valleys at least `distance` samples apart (the deeper one wins, among equals the later), phase
 * i/m over the m samples from one valley to the next. NaN before the first valley and from the last one on; all NaN
 * with fewer than two valleys or n < smooth.
 *   phase    n numbers
 *   valleys  room for n/2 + 1 frames, ascending; *count of them are set
 * Fails with PFNN_ERROR_VALUE on a sample that is not finite, distance < 1 or smooth < 1.
 */
PFNN_API pfnn_status pfnn_phase_from_root_y(double *phase, int64_t *valleys, int64_t *count, const double *root_y,
                                            int64_t n, int64_t distance, int64_t smooth, pfnn_error *error);

typedef struct pfnn_contact_config {
    double fps;
    double height;       /* m above the clip's own floor up to which a foot can be in contact */
    double enter_speed;  /* m/s (in space) at or below which a contact begins ... */
    double leave_speed;  /* ... and above which it ends, at least enter_speed */
    double min_duration; /* s: shorter gaps inside are closed, then shorter contacts dropped */
} pfnn_contact_config;

/*
 * Contacts (frames, feet) of foot positions (frames, feet, 3) by fixed thresholds, with hysteresis. The floor is the
 * 2nd percentile over frames of the lowest foot's height; speed is the backward difference, that of frame 0 is frame 1's.
 */
PFNN_API pfnn_status pfnn_contacts(uint8_t *contacts, const double *positions, int64_t frames, int64_t feet,
                                   const pfnn_contact_config *config, pfnn_error *error);

/*
 * The whole gait cycle from contacts of both feet: 0 at a left strike, 0.5 at the next right strike, linear between,
 * NaN outside and over steps longer than 1.5 s. A left cycle without a right strike is linear from 0 to 1.
 * A contact that is there in frame 0 counts as a strike only if it lasts as long as the foot's whole contacts do.
 *   phase (n,); strikes: room for n/2 + 1 frames each, counts[0] left and counts[1] right ones are set
 */
PFNN_API void pfnn_gait_phase(double *phase, int64_t *left_strikes, int64_t *right_strikes, int64_t counts[2],
                              const uint8_t *left, const uint8_t *right, int64_t n, double fps);

/* `phase` (finite, any) brought into [0, 1), whatever rounding does. */
PFNN_API double pfnn_phase_wrap(double phase);

/* The same rounded to float: still below 1. */
PFNN_API float pfnn_phase_wrap_float(double phase);

/* The phase after `dt` seconds at a ground speed in m/s, for a stride in m a cycle; in [0, 1). NaN stays NaN. */
PFNN_API double pfnn_phase_advance(double phase, double speed, double stride, double dt);

/* a - b on the circle, in [-0.5, 0.5). */
PFNN_API double pfnn_phase_difference(double a, double b);


/* ---- bvh ---------------------------------------------------------------------------------- */

typedef enum pfnn_bvh_channel {
    PFNN_BVH_XPOSITION,
    PFNN_BVH_YPOSITION,
    PFNN_BVH_ZPOSITION,
    PFNN_BVH_XROTATION,
    PFNN_BVH_YROTATION,
    PFNN_BVH_ZROTATION,
    PFNN_BVH_CHANNELS /* how many kinds there are, and how many a joint can have */
} pfnn_bvh_channel;

/* What a reader should tell its user about a file that it read all the same. */
typedef enum pfnn_bvh_note {
    PFNN_BVH_ROWS_BY_COUNT, /* the values do not stand one frame a line: they were read by count */
    PFNN_BVH_OTHER_COUNT,   /* more or fewer frames than `declared` */
    PFNN_BVH_NO_CHANNELS,   /* a joint without a CHANNELS line: it has none */
    PFNN_BVH_END_CHANNELS,  /* CHANNELS 0 in an End Site */
    PFNN_BVH_MORE_ROOTS,    /* more than one ROOT */
    PFNN_BVH_NOTES
} pfnn_bvh_note;

/* A BVH file as it is: lengths and times in its units, angles in degrees, nothing converted. */
typedef struct pfnn_bvh {
    int64_t joints, columns, frames, end_sites;
    char **names;                                /* (joints) bytes as in the file, NUL-terminated */
    int32_t *parents;                            /* (joints) -1 for a root; a parent stands before its children */
    double *offsets;                             /* (joints, 3) */
    uint8_t *channel_counts;                     /* (joints) 0 to 6 */
    uint8_t (*channels)[PFNN_BVH_CHANNELS];      /* (joints) the first `channel_counts` are pfnn_bvh_channel */
    int32_t *end_parents;                        /* (end_sites) */
    double *end_offsets;                         /* (end_sites, 3) */
    double *values;                              /* (frames, columns), the channels joint by joint */
    double frame_time;                           /* seconds */
    int64_t declared;                            /* what `Frames:` said */
    int64_t notes[PFNN_BVH_NOTES];               /* the first line that each note is about, 0 for none */
} pfnn_bvh;

/*
 * Read the `size` bytes of a BVH file. What it holds afterwards belongs to the caller: pfnn_bvh_free.
 * A text that is no BVH is PFNN_ERROR_PARSE with line and column of the token at fault; `bvh` is then empty.
 * A frame time of 0 is refused unless `allow_zero_time`. Memory stays within a small multiple of `size`: nothing is
 * allocated because a header says so. No recursion, so that any depth of joints will do.
 */
PFNN_API pfnn_status pfnn_bvh_read(pfnn_bvh *bvh, const char *text, size_t size, bool allow_zero_time, pfnn_error *error);

PFNN_API void pfnn_bvh_free(pfnn_bvh *bvh);

/* Where a joint's three angles stand in a row of values, outermost first, and about which axes they turn. */
typedef struct pfnn_bvh_axes {
    int64_t columns[3]; /* -1: the angle is 0 */
    uint8_t axes[3];    /* 0, 1, 2 for x, y, z: each once */
    double sign;        /* of that permutation */
} pfnn_bvh_axes;

/* From a joint's `count` channels (pfnn_bvh_channel, each once), the first of which is column `first_column`. */
PFNN_API pfnn_bvh_axes pfnn_bvh_axes_of(const uint8_t *channels, int count, int64_t first_column);

/*
 * Local rotations (frames, count, 4) of `count` joints from the values (frames, columns) of a file, in degrees: the
 * rotations about each joint's axes in their order, the first outermost. Within 4 ulp; NaN for angles that are not finite.
 */
PFNN_API void pfnn_bvh_rotations(double *rotations, const double *values, int64_t frames, int64_t columns,
                                 const pfnn_bvh_axes *joints, int64_t count);

/*
 * Write `bvh` as text that pfnn_bvh_read gives back bit by bit, into `*text`, which the caller frees with `free`.
 * Joints are written depth first, children in their order, and the columns of `values` follow them.
 */
PFNN_API pfnn_status pfnn_bvh_write(char **text, size_t *size, const pfnn_bvh *bvh, pfnn_error *error);


/* ---- skeleton ----------------------------------------------------------------------------- */

/* A tree of joints; parents[j] is -1 for a root, else less than j. offsets (joints, 3) are local, in metres. */
typedef struct pfnn_skeleton {
    int64_t joints;
    const int32_t *parents;
    const double *offsets;
} pfnn_skeleton;

/* PFNN_OK, or PFNN_ERROR_VALUE that names the first parent that is not -1 or an earlier joint. */
PFNN_API pfnn_status pfnn_skeleton_check(const pfnn_skeleton *skeleton, pfnn_error *error);

/*
 * Forward kinematics of `frames` poses: world positions (frames, joints, 3) and, unless NULL, world rotations
 * (frames, joints, 4). Joint 0 stands at root_positions (frames, 3); every other one at its parent's place plus its
 * offset, or its translation (frames, joints, 3) where these are not NULL, turned by the parent's world rotation.
 * Local rotations (frames, joints, 4) must be unit. `workspace` holds pfnn_skeleton_pose_workspace(joints, frames)
 * doubles: 4 a joint for a few frames, more for many, which are computed side by side with the same bits.
 */
PFNN_API int64_t pfnn_skeleton_pose_workspace(int64_t joints, int64_t frames);
PFNN_API void pfnn_skeleton_pose(double *positions, double *world_rotations, const pfnn_skeleton *skeleton,
                                 int64_t frames, const double *root_positions, const double *rotations,
                                 const double *translations, double *workspace);



/* ---- features ----------------------------------------------------------------------------- */

typedef enum pfnn_representation { PFNN_QUAT = 0, PFNN_EXP_MAP = 1, PFNN_6D = 2 } pfnn_representation;

/*
 * What one row of features holds, and what a network makes of it. Set the first block, then call
 * pfnn_feature_layout_init, which fills the second. Columns of a row, in this order (a column of -1 is absent):
 *   velocity 3 | orientation w | joints n_joints x w | yaw rate 1 | height 1 | points: n_points x 3 positions, then
 *   n_points x 3 velocities | contacts n_contacts          with w = 4, 3 or 6 numbers a rotation
 * A network's input is `length` rows, oldest first, then 4 n_times control columns; its output is one row, then the
 * phase's rate in cycles/s if phase_step, then 4 n_future control columns of the new frame.
 */
typedef struct pfnn_feature_layout {
    int32_t representation; /* pfnn_representation */
    int32_t heading;        /* 1: velocities and root orientation with the yaw taken out; 0: world */
    int32_t n_joints;       /* encoded joints, beside the root's orientation */
    int32_t has_yaw_rate;   /* always there with heading */
    int32_t has_height;
    int32_t n_points;
    int32_t n_contacts;
    int32_t phase_step;     /* 1: the output has the phase's rate */
    int32_t n_times;        /* times of the control block in the input */
    int32_t n_future;       /* those of them > 0, which the output has too */
    int32_t predict_delta;  /* 1: the output row is the change from the last input row */

    int32_t width;          /* numbers a rotation */
    int32_t velocity, orientation, joints, yaw_rate, height, points, contacts; /* first columns */
    int32_t dim;            /* columns of a row */
    int32_t out_dim;        /* columns of the output; those of the input: length * dim + 4 * n_times */
} pfnn_feature_layout;

PFNN_API pfnn_status pfnn_feature_layout_init(pfnn_feature_layout *layout, pfnn_error *error);

/*
 * Rows of features (frames, dim) of a motion.
 *   root       (frames, 3) world positions of the root
 *   rotations  (frames, all_joints, 4) local rotations of any norm, joint 0 the root
 *   joints     n_joints indices below all_joints
 *   points     (frames, n_points, 3) world positions, NULL without points
 *   contacts   (frames, n_contacts), NULL without contacts
 * Velocities are backward differences x fps, those of frame 0 are frame 1's.
 */
PFNN_API void pfnn_features_encode(double *rows, const pfnn_feature_layout *layout, const double *root,
                                   const double *rotations, int64_t frames, int64_t all_joints, const int64_t *joints,
                                   const double *points, const double *contacts, double fps);

/*
 * The motion of rows: root (frames, 3), rotations (frames, all_joints, 4) in which joints that are not encoded are
 * set to identity. Frame 0 stands at `origin` with `yaw` (used with heading only); the rest is integrated.
 */
PFNN_API void pfnn_features_decode(double *root, double *rotations, const pfnn_feature_layout *layout,
                                   const double *rows, int64_t frames, int64_t all_joints, const int64_t *joints,
                                   const double origin[3], double yaw, double fps);

/* (x, z, unwrapped yaw) of each frame (frames, 3), from rows alone; see pfnn_features_decode. */
PFNN_API void pfnn_features_track(double *track, const pfnn_feature_layout *layout, const double *rows, int64_t frames,
                                  const double origin[3], double yaw, double fps);

/*
 * Make every rotation of one row (physical units) valid in place: quaternions to unit length, exponential maps to at
 * most pi, 6d to orthonormal columns. One that has no direction (zero, or 6d columns in line) becomes that of
 * `previous`, a valid row, or identity where previous is NULL.
 */
PFNN_API void pfnn_features_make_valid_f32(const pfnn_feature_layout *layout, float *row, const float *previous);
PFNN_API void pfnn_features_make_valid_f64(const pfnn_feature_layout *layout, double *row, const double *previous);

/*
 * The gradient through it: `gradient` with respect to the valid row becomes, in place, that with respect to `row`, the
 * row before it was made valid. Rotations that were replaced by the previous frame's get a gradient of 0.
 */
PFNN_API void pfnn_features_make_valid_backward_f32(const pfnn_feature_layout *layout, float *gradient, const float *row);
PFNN_API void pfnn_features_make_valid_backward_f64(const pfnn_feature_layout *layout, double *gradient, const double *row);

/*
 * The control block of one frame: x, z, sin and cos of the facing at each of the n_times seconds from `frame` on
 * (negative: before), seen from `root` = (x, z, yaw).
 *   track  (frames, 3): x, z, unwrapped yaw of the path; between frames linear; beyond its ends straight on at the
 *          mean velocity of the last (first) half second, facing held. One frame: it stands.
 *   frame  where the block's own frame is on the track, may be fractional or beyond the ends
 */
PFNN_API void pfnn_trajectory_block_f32(float *block, const double *times, int64_t n_times, const double *track,
                                        int64_t frames, double fps, double frame, const double root[3]);
PFNN_API void pfnn_trajectory_block_f64(double *block, const double *times, int64_t n_times, const double *track,
                                        int64_t frames, double fps, double frame, const double root[3]);

/* Clips of rows in memory, each contiguous, all of one type: what windows are gathered from. */
typedef struct pfnn_clips {
    const void *const *rows;   /* n_clips addresses of (n_frames[i], dim) arrays */
    const int64_t *n_frames;
    int64_t n_clips;
    int64_t dim;
    int32_t is_double;         /* 1: double, 0: float */
} pfnn_clips;

/*
 * Copy n windows: first (n, first_length, dim) from frame start[i] of clip[i] on, and second (n, second_length, dim),
 * unless NULL, the rows after them.
 *   mean, inverse  (dim,) or NULL: out = (row - mean) * inverse, in the type of the windows
 *   columns, sign  (dim,) or NULL, with `mirror` (n,) or NULL: in windows where mirror[i] is set, column c is sign[c]
 *                  times column columns[c]; this comes before mean and inverse
 *   speed          (n,) or NULL: window i shows its clip played speed[i] times as fast at the same rate, so that its
 *                  row j stands at the clip's frame (start[i] + j) * speed[i], between two rows: what is seen there
 *                  is interpolated, rotations along the shorter way and made valid, contacts those of the nearer row;
 *                  velocities and the yaw rate are means over the way from row j - 1, times speed. This comes first.
 *                  A clip has floor((n_frames - 1) / speed + 1e-6) + 1 such rows. A speed of 1 copies.
 *   layout, fps    of the rows, needed with speed
 * Fails with PFNN_ERROR_VALUE where a window is not inside its clip.
 */
typedef struct pfnn_gather {
    const double *mean, *inverse;
    const int64_t *columns;
    const double *sign;
    const uint8_t *mirror;
    const double *speed;
    const pfnn_feature_layout *layout;
    double fps;
} pfnn_gather;

PFNN_API pfnn_status pfnn_windows_gather_f32(float *first, int64_t first_length, float *second, int64_t second_length,
                                             const pfnn_clips *clips, const int64_t *clip, const int64_t *start,
                                             int64_t n, const pfnn_gather *how, pfnn_error *error);
PFNN_API pfnn_status pfnn_windows_gather_f64(double *first, int64_t first_length, double *second, int64_t second_length,
                                             const pfnn_clips *clips, const int64_t *clip, const int64_t *start,
                                             int64_t n, const pfnn_gather *how, pfnn_error *error);

/*
 * The phase (frames,) of a clip, in [0, 1] or NaN, at frame `frame` of the clip played `speed` times as fast, the
 * shorter way round the circle between two frames. NaN beyond the ends, and where a frame that counts has none.
 */
PFNN_API double pfnn_phase_played(const double *phase, int64_t frames, int64_t frame, double speed);

/* ---- store: the checksummed file format --------------------------------------------------- */

/* A file of named arrays, as pfnnc/_store.py writes and describes it, whole in memory and checked. */
typedef struct pfnn_store pfnn_store;

typedef struct pfnn_array {
    const void *data;       /* little-endian, aligned to 64 bytes, as long as the store is open */
    char type[8];           /* "<f4" "<f8" "<i8" "<i4" "|u1" "|b1" */
    int32_t dimensions;     /* 0..4 */
    int64_t shape[4];       /* those past `dimensions` are 1 */
    int64_t count;          /* numbers in all */
} pfnn_array;

/*
 * Read a file of the kind "network", "motion-model" or "checkpoint". PFNN_ERROR_IO where it cannot be read;
 * PFNN_ERROR_VALUE where it is damaged or something else. The error says why; *store is NULL then.
 */
PFNN_API pfnn_status pfnn_store_open(pfnn_store **store, const char *path, const char *kind, pfnn_error *error);

/* The same from the bytes of a file, which are copied; `name` is what errors call them. */
PFNN_API pfnn_status pfnn_store_open_bytes(pfnn_store **store, const void *bytes, size_t length, const char *name,
                                           const char *kind, pfnn_error *error);
PFNN_API void pfnn_store_close(pfnn_store *store);

/* The array of that name: PFNN_ERROR_VALUE where there is none or where it is not of `type` and of so many dimensions. */
PFNN_API pfnn_status pfnn_store_get(pfnn_array *array, const pfnn_store *store, const char *name, const char *type,
                                    int dimensions, pfnn_error *error);


/* ---- network ------------------------------------------------------------------------------ */

typedef enum pfnn_type { PFNN_FLOAT32 = 0, PFNN_FLOAT64 = 1 } pfnn_type;
typedef enum pfnn_phase_kernel { PFNN_RBF = 0, PFNN_CYCLIC = 1, PFNN_CATMULL_ROM = 2 } pfnn_phase_kernel;
typedef enum pfnn_activation { PFNN_RELU = 0, PFNN_ELU = 1 } pfnn_activation;

enum { PFNN_MAX_LAYERS = 3, PFNN_MAX_KERNELS = 64, PFNN_MAX_SIZE = 1 << 20 };

/* Sizes and kinds of a network: y = layer(... act(layer(x))), each layer sum_k a_k(phase) (x W_k + b_k). */
typedef struct pfnn_net_config {
    int32_t layers;                    /* 1 (a PFNNLayer) or 3 (a SimplifiedPFNN) */
    int32_t size[PFNN_MAX_LAYERS + 1]; /* inputs, hidden units, ..., outputs */
    int32_t kernels;                   /* K */
    double beta;                       /* sharpness of rbf and cyclic */
    pfnn_phase_kernel kernel;
    pfnn_activation activation;        /* between layers; ELU has alpha 1 */
    pfnn_type type;                    /* of the parameters */
} pfnn_net_config;

/*
 * A crowd's short cut. Phase is cut into segments; within one, the K shares lie near a space of fewer dimensions:
 * a(p) = blends^T (shares a(p)), so that `rank` blended matrices do the work of K. Each of them has a kernel of its own,
 * whole, and parts of those that are no blend's own. Batches of many rows are sorted by segment. What is lost of a layer's
 * output is about the part that `pfnn_crowd_basis` gives.
 */
typedef struct pfnn_crowd {
    int32_t segments, rank;
    const double *basis;               /* (segments, 2, rank, kernels): blends, and their shares */
    const struct pfnn_net *nets;       /* (segments) blended beforehand, or NULL: blended on the way, from more rows on */
    const struct pfnn_crowd *next;     /* another choice, or NULL: those without `nets` are taken by what they save */
} pfnn_crowd;

/* A network: its parameters are one allocation of the caller's, layer after layer, weights before bias. */
typedef struct pfnn_net {
    pfnn_net_config config;
    void *weights[PFNN_MAX_LAYERS];    /* (kernels, size[l], size[l + 1]) */
    void *bias[PFNN_MAX_LAYERS];       /* (kernels, size[l + 1]) */
    const uint16_t *half[PFNN_MAX_LAYERS]; /* float16 weights to use instead, or NULL: see `pfnn_net_narrow` */
    const pfnn_crowd *crowd;           /* for batches of many rows, or NULL */
} pfnn_net;

/* One call's arrays. x (rows, inputs) and y (rows, outputs) have any strides, in bytes; y must overlap nothing. */
typedef struct pfnn_net_batch {
    int64_t rows;
    pfnn_type type;                    /* of x and y */
    const void *x;
    ptrdiff_t x_row, x_column;
    const double *phase;               /* (rows), each in [0, 1] */
    void *y;
    ptrdiff_t y_row, y_column;
} pfnn_net_batch;

/*
 * The instruction set in use: "avx512", "avx2", "sse2", "neon" or "portable". The fastest one of this processor, or the
 * one that the environment variable PFNNC_ISA names where the processor has it; chosen once, at the first call.
 */
PFNN_API const char *pfnn_isa_name(void);

/*
 * Limits of this processor with that set, for benchmarks: `pfnn_limit_flops` does 24 float operations times
 * the return value of pfnn_limit_lanes a round, on registers alone; `pfnn_limit_read` reads `count` floats, a multiple
 * of 64, one after the other. What they return only keeps compilers from leaving them out.
 */
PFNN_API int pfnn_limit_lanes(void);
PFNN_API double pfnn_limit_flops(int64_t rounds);
PFNN_API double pfnn_limit_read(const float *from, int64_t count);

/* What a layer's backward pass makes. All of it is added to what stands there; NULL where not wanted. */
typedef struct pfnn_layer_gradients {
    void *dx;                          /* (rows, in) */
    double *dshare;                    /* (rows, kernels) */
    void *dweights;                    /* (kernels, in, out) */
    void *dbias;                       /* (kernels, out) */
} pfnn_layer_gradients;

/* PFNN_ERROR_VALUE where sizes, kernels, beta or an enumerator are out of range (catmull_rom needs 4 kernels). */
PFNN_API pfnn_status pfnn_net_check(const pfnn_net_config *config, pfnn_error *error);

/* Number of parameters of a checked config, and the pointers into an allocation of that many. */
PFNN_API int64_t pfnn_net_count(const pfnn_net_config *config);
PFNN_API void pfnn_net_bind(pfnn_net *net, const pfnn_net_config *config, void *parameters);

/*
 * Float16 weights for a network of float32: half the memory to read, which is what one character costs. Writes
 * `pfnn_net_half_count` numbers to `memory` and lets the network use them; bias and arithmetic stay float32, and the
 * float32 weights are not needed any more. PFNN_ERROR_VALUE for a weight that float16 cannot hold (over 65504).
 */
PFNN_API int64_t pfnn_net_half_count(const pfnn_net_config *config);
PFNN_API pfnn_status pfnn_net_narrow(pfnn_net *net, uint16_t *memory, pfnn_error *error);

/*
 * The best basis of so many dimensions for each segment, (segments, 2, rank, kernels); returns the largest part
 * of a phase's shares that is outside of it (Euclidean norms). `pfnn_crowd_build` blends a float32 network's matrices in `memory` of `pfnn_crowd_count` floats and fills
 * `nets`, one a segment.
 */
PFNN_API double pfnn_crowd_basis(double *basis, const pfnn_net_config *config, int32_t segments, int32_t rank);
PFNN_API int64_t pfnn_crowd_count(const pfnn_net_config *config, int32_t segments, int32_t rank);
PFNN_API void pfnn_crowd_build(pfnn_net *nets, float *memory, const pfnn_net *net, const pfnn_crowd *crowd);

/*
 * Crowds whose shares err by `limit` at most, each linked to the next, for a network to choose from at each call: the
 * fewest segments for each rank that can pay. Returns how many; `basis` has room for PFNN_CROWD_BASIS (config.kernels)
 * numbers.
 */
enum { PFNN_MAX_CROWDS = 8 };
#define PFNN_CROWD_BASIS(kernels) (PFNN_MAX_CROWDS * 2 * 48 * (kernels) * (kernels))
PFNN_API int pfnn_crowd_choices(pfnn_crowd crowds[PFNN_MAX_CROWDS], double *basis, const pfnn_net_config *config,
                                double limit);

/*
 * The network of an open store, whose parameters are used where they stand: keep the store open. `prefix` is "" in a
 * "network" file and "model." in a "motion-model".
 */
PFNN_API pfnn_status pfnn_net_open(pfnn_net *net, const pfnn_store *store, const char *prefix, pfnn_error *error);

/*
 * The kernels' shares a_k of each phase, (rows, K), and where `slope` is not NULL their derivatives by phase.
 * rbf: exp(-beta (p - c_k)^2) over their sum, c = linspace(0, 1, K). cyclic: the same of
 * exp(beta / (2 pi^2) (cos 2 pi (p - k / K) - 1)). catmull_rom: the four weights of the cyclic cubic at s = p K.
 * PFNN_ERROR_VALUE, with the index, where a phase is NaN or outside [0, 1].
 */
PFNN_API pfnn_status pfnn_phase_shares(double *share, double *slope, const pfnn_net_config *config,
                                       const double *phase, int64_t rows, pfnn_error *error);

/* Bytes that a forward pass over so many rows works in; 64-byte alignment of the workspace is not needed. */
PFNN_API size_t pfnn_net_workspace(const pfnn_net *net, pfnn_type type, int64_t rows, int threads);

/*
 * The forward pass. It computes in float where parameters and x are, and else in double. A row's bits do not depend on
 * the number of threads, nor, without a crowd's short cut, on the batch it stands in. PFNN_ERROR_VALUE for a phase
 * outside [0, 1].
 */
PFNN_API pfnn_status pfnn_net_forward(const pfnn_net *net, const pfnn_net_batch *batch, void *workspace, int threads,
                                      pfnn_error *error);

/*
 * One layer, forward (y is set) and backward, on contiguous arrays of the parameters' type, shares as above.
 * `layer` counts from 0. No activation. Both work in `pfnn_layer_workspace` bytes of any alignment. The bits do not
 * depend on the number of threads.
 */
PFNN_API size_t pfnn_layer_workspace(const pfnn_net *net, int layer, int64_t rows, int threads);
PFNN_API void pfnn_layer_forward(void *y, const pfnn_net *net, int layer, const void *x, const double *share,
                                 int64_t rows, void *workspace, int threads);
PFNN_API void pfnn_layer_backward(const pfnn_layer_gradients *gradients, const pfnn_net *net, int layer, const void *x,
                                  const double *share, const void *dy, int64_t rows, void *workspace, int threads);


/* ---- training ----------------------------------------------------------------------------- */


/* ---- rollout ------------------------------------------------------------------------------ */

/*
 * Sizes and rules of a roll-out; `pfnn_rollout_create` copies the arrays.
 *
 * The rows of the network are those of `layout`: the input is `length` frames, oldest first, z-scored by mean and scale,
 * then the trajectory at the last of them; the output is the next frame, z-scored (or its change, in z-scores); with
 * phase_step the phase's rate in cycles a second; then the future part of the trajectory at that next frame. `layout` has
 * been through `pfnn_feature_layout_init`.
 */
typedef struct pfnn_rollout_config {
    size_t characters, length;
    pfnn_feature_layout layout;
    bool float32;                   /* numbers of the network; else double */
    bool follow_height;             /* the root's y is the height column instead of the sum of the velocity's */
    const double *mean, *scale;     /* (dim), or NULL: the network sees physical numbers */
    const double *low, *high;       /* (dim), or NULL: a prediction is kept between them, so that no run leaves for good
                                       what the network has seen */
    const double *avg_stride;       /* (characters) metres a cycle */
    const double *offsets;          /* (layout.n_times) of the trajectory in frames, ascending; negative ones are past */
    /* drift correction; expected_rows 0: none */
    size_t window;                  /* frames of the mean */
    bool by_phase;                  /* row floor(phase * rows) instead of one row a frame; one row holds for every frame */
    size_t expected_rows, expected_groups;  /* groups: 1, or one a character */
    const double *expected;         /* (groups, rows, 3) m/s in the frame of the features */
    size_t rate_rows;               /* 0: the yaw is left alone */
    const double *expected_rate;    /* (rate_rows) rad/s */
} pfnn_rollout_config;

typedef struct pfnn_rollout pfnn_rollout;

/* One allocation for everything; a step allocates nothing. */
PFNN_API pfnn_status pfnn_rollout_create(pfnn_rollout **rollout, const pfnn_rollout_config *config, pfnn_error *error);
PFNN_API void pfnn_rollout_free(pfnn_rollout *rollout);

/*
 * Put the characters at their start: window (characters, length, dim) physical; phase (characters) in [0, 1]; origin
 * (characters, 3) and yaw (characters) of the last frame in the world; past (characters, history, 3) x, z, yaw of the
 * frames before it, nearest first, where the trajectory looks back (`pfnn_rollout_history`), else NULL.
 */
PFNN_API void pfnn_rollout_start(pfnn_rollout *rollout, const double *window, const double *phase, const double *origin,
                                 const double *yaw, const double *past);

/* Sizes: of the network's rows, of one character's window and history, and of the trajectory. */
PFNN_API void pfnn_rollout_sizes(const pfnn_rollout *rollout, size_t *in_dim, size_t *out_dim);
PFNN_API size_t pfnn_rollout_window_size(const pfnn_rollout *rollout);
PFNN_API size_t pfnn_rollout_history(const pfnn_rollout *rollout);
PFNN_API size_t pfnn_rollout_times(const pfnn_rollout *rollout);
PFNN_API size_t pfnn_rollout_future(const pfnn_rollout *rollout);
PFNN_API int64_t pfnn_rollout_count(const pfnn_rollout *rollout); /* frames made since the start */

/* Where one character shall be: (times, 3) x, z, yaw in the world; rows of past times are not looked at. */
PFNN_API void pfnn_rollout_want(pfnn_rollout *rollout, size_t character, const double *wanted);

/* The same taken from a path: row i of positions (rows, 3) and yaw (rows) is where the root shall be i + 1 frames after
 * frame `frame`; past its end the path goes straight on. */
PFNN_API void pfnn_rollout_want_path(pfnn_rollout *rollout, size_t character, const double *positions, const double *yaw,
                                     size_t rows, int64_t frame);

/* The next rows for the network, in its own type, and their phases; valid until the next call. */
PFNN_API void pfnn_rollout_input(pfnn_rollout *rollout, const void **x, const double **phase);

/*
 * Take the network's answer (characters, out_dim), in its own type, as the next frame of `dt` seconds.
 * PFNN_ERROR_NONFINITE, with the state as it was, where the answer or what follows from it leaves the finite numbers;
 * PFNN_ERROR_VALUE where the expected motion has no row for this frame.
 */
PFNN_API pfnn_status pfnn_rollout_apply(pfnn_rollout *rollout, const void *y, double dt, pfnn_error *error);

/* What stands after the last frame, (characters, ...) each. */
PFNN_API const double *pfnn_rollout_features(const pfnn_rollout *rollout);  /* (dim), as shown */
PFNN_API const double *pfnn_rollout_velocity(const pfnn_rollout *rollout);  /* (3), shown, world */
PFNN_API void pfnn_rollout_root(const pfnn_rollout *rollout, size_t character, double position[3], double *yaw, double *phase);
PFNN_API const double *pfnn_rollout_foreseen(const pfnn_rollout *rollout, size_t character); /* (future times, 4) */

/* Move a root over the ground after a frame of `dt` seconds, by (x, z) in the world: its shown velocity moves with it. */
PFNN_API void pfnn_rollout_shift(pfnn_rollout *rollout, size_t character, const double by[2], double dt);

/* The whole state as bytes, to be restored into a roll-out of the same config. */
PFNN_API size_t pfnn_rollout_state_size(const pfnn_rollout *rollout);
PFNN_API void pfnn_rollout_save(const pfnn_rollout *rollout, void *bytes);
PFNN_API void pfnn_rollout_restore(pfnn_rollout *rollout, const void *bytes);


/* ---- control ------------------------------------------------------------------------------ */

enum { PFNN_CONTROL_TIMES = 64 };

/*
 * How a wanted velocity and facing become a trajectory: a virtual root follows them on critically damped springs; the
 * character is led to where that root will be. A leash keeps it from running away from a character that cannot follow.
 */
typedef struct pfnn_control_config {
    size_t times;                       /* at most PFNN_CONTROL_TIMES */
    double time[PFNN_CONTROL_TIMES];    /* seconds, ascending, as in the features; those <= 0 are left alone */
    double velocity_halflife;           /* s */
    double facing_halflife;             /* s */
    double leash;                       /* m */
    double max_speed;                   /* m/s */
    double trust;                       /* in the network's own prediction: its share at time 0; it falls to 0 at the last */
} pfnn_control_config;

/* What a player wants. */
typedef struct pfnn_command {
    double velocity[2];                 /* x, z in the world, m/s */
    double facing;                      /* yaw in the world; NaN: the way that it moves */
} pfnn_command;

/* The virtual root. */
typedef struct pfnn_control {
    double place[2], velocity[2], acceleration[2];
    double facing, spin;                /* rad, rad/s; the facing is not wrapped */
    double goal;                        /* the facing wanted last */
} pfnn_control;

/* Begin at a root (x, z, yaw) that moves with `velocity` (x, z) in the world. */
PFNN_API void pfnn_control_start(pfnn_control *control, const double root[3], const double velocity[2]);

/*
 * Go on by a frame of `dt` seconds and say where the character shall be: wanted (times, 3) x, z, yaw in the world, for
 * pfnn_rollout_want. root (x, z, yaw) is the character's own; foreseen (future times, 4) its network's prediction
 * (pfnn_rollout_foreseen), or NULL before there is one.
 */
PFNN_API void pfnn_control_step(pfnn_control *control, double *wanted, const pfnn_control_config *config,
                                const pfnn_command *command, const double root[3], const double *foreseen, double dt);


/* ---- inverse kinematics ------------------------------------------------------------------- */

/*
 * Bend hip and knee so that the ankle reaches `target`, or comes as near as the leg can; the knee stays in its plane and
 * the ankle keeps its orientation in the world. hip, knee, ankle: local rotations, in and out; parent: world rotation of
 * the hip's parent; points: world positions of hip, knee and ankle.
 */
PFNN_API void pfnn_two_bone_ik(double hip[4], double knee[4], double ankle[4], const double parent[4],
                               const double points[3][3], const double target[3]);

/* A leg: three joints in a row, each the parent of the next, and the point of a joint that touches the ground. */
typedef struct pfnn_leg {
    int64_t hip, knee, ankle;
    int64_t sole;                       /* joint: the ankle or one below it */
    double offset[3];                   /* of the point in the sole's frame */
} pfnn_leg;

/* What is kept of a foot from frame to frame; all zero at the start. */
typedef struct pfnn_foot_lock {
    double locked;                      /* 0 free, 1 held, 2 torn loose */
    double place[3];                    /* where it was locked */
    double offset[3];                   /* what the shown foot is away from the animation's */
} pfnn_foot_lock;

/*
 * The way (x, z) that a root moves over the ground so that feet which stand do not slide: a body gets about by its feet.
 * It is the mean slide of the soles since the last frame, weighted by how far each of them stands, and none of it beyond
 * 0.6 m/s, where a foot does not stand whatever the network says.
 *   soles      (legs, 3) world places in the last frame; out: in this one, once the root has moved by `by`
 *   rotations  (joints, 4) local
 *   contacts   (legs) how far a foot stands, 0 to 1
 *   grip       share of the slide that the root takes off, 0 to 1; at 0 the soles are found and nothing else
 *   workspace  joints * 11 doubles
 */
PFNN_API void pfnn_grip(double by[2], double *soles, const double *rotations, const pfnn_skeleton *skeleton,
                        const double root[3], const pfnn_leg *legs, size_t n_legs, const double *contacts, double grip,
                        double dt, double *workspace);

/*
 * Hold feet that touch the ground where they came to stand, and let them go softly.
 *   rotations  (joints, 4) local, in and out
 *   contacts   (legs) bool: the foot touches the ground
 *   radius     a foot that would be held farther than this from the animation is let go, m
 *   halflife   in which a foot that was let go comes back to the animation, s
 *   workspace  joints * 11 doubles
 */
PFNN_API void pfnn_lock_feet(pfnn_foot_lock *locks, double *rotations, const pfnn_skeleton *skeleton,
                             const double root[3], const pfnn_leg *legs, size_t n_legs, const bool *contacts, double dt,
                             double radius, double halflife, double *workspace);


#ifdef __cplusplus
}
#endif

#endif /* PFNNC_H */
