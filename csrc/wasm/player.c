/*
 * player.c: one steered character for the page of `pfnnc play`, compiled to WebAssembly with the core.
 *
 * The page gives the bytes of a MotionModel file, where the character starts and, for foot locking, its legs; then it
 * asks for steps of any length with a wish, and reads points, trajectory and state out of memory. The steps are those
 * of `pfnnc.Controller`: frames of the model's own length, the pose shown between the last two of them.
 */
#include "pfnnc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846
#ifdef __wasm__
#define EXPORT(name) __attribute__((export_name(#name), visibility("default")))
#else
#define EXPORT(name) PFNN_API
#endif

enum { MOST_LEGS = 8, LEG_NUMBERS = 7, LONGEST = 10 };

typedef struct pose {
    double root[3], yaw, velocity[3], contacts[2];
    double *rotations; /* (joints, 4) local */
} pose;

/* what the page reads, in this order */
typedef struct shown {
    double root[3], yaw, phase, velocity[3], contacts[2], frames;
} shown;

static struct {
    pfnn_store *store;
    pfnn_net net;
    pfnn_rollout *rollout;
    pfnn_feature_layout layout;
    pfnn_control control;
    pfnn_control_config steering;
    pfnn_skeleton skeleton;
    const int64_t *joints, *rest_joints, *end_parents;
    const double *rest, *end_offsets;
    int64_t n_rest, n_ends, future;
    double frame, ahead; /* seconds: of a frame; from the shown pose to the last frame */
    bool foresees, locking;
    pfnn_leg legs[MOST_LEGS];
    pfnn_foot_lock locks[MOST_LEGS];
    double soles[3 * MOST_LEGS];
    size_t n_legs;
    void *y, *workspace;
    double *row;    /* (dim) of features */
    double *wanted; /* (times, 3) */
    double *points; /* (joints + ends, 3) */
    double *between, *turns, *bench; /* rotations shown, world rotations, workspace of the core */
    pose before, now;
    shown shown;
    pfnn_error error;
} me;


/* ---- opening ------------------------------------------------------------------------------ */

static pfnn_status get(pfnn_array *array, const char *name, const char *type, int dimensions, int64_t count)
{
    pfnn_status status = pfnn_store_get(array, me.store, name, type, dimensions, &me.error);
    if (status == PFNN_OK && count >= 0 && array->count != count)
        return pfnn_fail(&me.error, PFNN_ERROR_VALUE, -1, "%s has %lld numbers, expected %lld", name,
                         (long long)array->count, (long long)count);
    return status;
}

/* every number of an array of joints names one */
static pfnn_status check_joints(const char *name, const int64_t *joints, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (joints[i] < 0 || joints[i] >= me.skeleton.joints)
            return pfnn_fail(&me.error, PFNN_ERROR_VALUE, i, "%s[%lld] is no joint", name, (long long)i);
    return PFNN_OK;
}

static pfnn_status open_skeleton(void)
{
    pfnn_array parents, offsets, ends, end_offsets, joints, rest, rest_joints;
    pfnn_status status;
    if ((status = get(&parents, "skeleton.parents", "<i8", 1, -1)) ||
        (status = get(&offsets, "skeleton.offsets", "<f8", 2, 3 * parents.count)) ||
        (status = get(&ends, "skeleton.end_parents", "<i8", 1, -1)) ||
        (status = get(&end_offsets, "skeleton.end_offsets", "<f8", 2, 3 * ends.count)) ||
        (status = get(&joints, "joints", "<i8", 1, me.layout.n_joints)) ||
        (status = get(&rest_joints, "rest_joints", "<i8", 1, -1)) ||
        (status = get(&rest, "rest", "<f8", 2, 4 * rest_joints.count)))
        return status;

    int32_t *tree = malloc((size_t)parents.count * sizeof *tree + 1);
    if (!tree)
        return pfnn_fail(&me.error, PFNN_ERROR_MEMORY, -1, "no memory");
    for (int64_t i = 0; i < parents.count; i++)
        tree[i] = (int32_t)((const int64_t *)parents.data)[i];
    me.skeleton = (pfnn_skeleton){parents.count, tree, offsets.data};
    me.joints = joints.data;
    me.rest_joints = rest_joints.data;
    me.rest = rest.data;
    me.n_rest = rest_joints.count;
    me.end_parents = ends.data;
    me.end_offsets = end_offsets.data;
    me.n_ends = ends.count;
    if ((status = pfnn_skeleton_check(&me.skeleton, &me.error)) ||
        (status = check_joints("joints", me.joints, joints.count)) ||
        (status = check_joints("rest_joints", me.rest_joints, me.n_rest)))
        return status;
    return check_joints("skeleton.end_parents", me.end_parents, me.n_ends);
}

/* the roll-out as MotionModel.character opens it; returns the frames of input in `length` */
static pfnn_status open_rollout(size_t *length)
{
    pfnn_array layout, gait, mean, scale, limits, times;
    pfnn_rollout_config config = {.characters = 1, .float32 = me.net.config.type == PFNN_FLOAT32};
    pfnn_status status;
    double offsets[PFNN_CONTROL_TIMES];
    if ((status = get(&layout, "layout", "<i8", 1, 11)) || (status = get(&gait, "gait", "<f8", 1, 4)) ||
        (status = get(&times, "times", "<f8", 1, -1)))
        return status;

    int32_t *fields = &me.layout.representation; /* the first block, in the order of the file */
    for (int i = 0; i < 11; i++)
        fields[i] = (int32_t)((const int64_t *)layout.data)[i];
    if ((status = pfnn_feature_layout_init(&me.layout, &me.error)) ||
        (status = get(&mean, "normalizer.mean", "<f8", 1, me.layout.dim)) ||
        (status = get(&scale, "normalizer.scale", "<f8", 1, me.layout.dim)) ||
        (status = get(&limits, "limits", "<f8", 2, 2 * me.layout.dim)))
        return status;
    if (times.count < 1 || times.count > PFNN_CONTROL_TIMES || times.count != me.layout.n_times)
        return pfnn_fail(&me.error, PFNN_ERROR_VALUE, -1, "the model has no trajectory to be steered by");

    const double *g = gait.data; /* fps, frames of input, metres a cycle, cycles a second */
    if (!(g[0] > 0) || !(g[1] >= 1 && g[1] <= 4096))
        return pfnn_fail(&me.error, PFNN_ERROR_VALUE, -1, "gait is wrong");
    me.frame = 1 / g[0];
    me.steering = (pfnn_control_config){.times = (size_t)times.count};
    for (int64_t i = 0; i < times.count; i++) {
        me.steering.time[i] = ((const double *)times.data)[i];
        offsets[i] = me.steering.time[i] / me.frame;
        me.future += me.steering.time[i] > 0;
    }
    config.layout = me.layout;
    config.length = *length = (size_t)g[1];
    config.follow_height = me.layout.has_height != 0;
    config.mean = mean.data;
    config.scale = scale.data;
    config.low = limits.data;
    config.high = config.low + me.layout.dim;
    config.avg_stride = &g[2];
    config.offsets = offsets;
    return pfnn_rollout_create(&me.rollout, &config, &me.error);
}

static pfnn_status reserve(void)
{
    size_t in_dim, out_dim, joints = (size_t)me.skeleton.joints, d = sizeof(double);
    pfnn_rollout_sizes(me.rollout, &in_dim, &out_dim);
    if (me.net.config.layers != 3 || in_dim != (size_t)me.net.config.size[0] || out_dim != (size_t)me.net.config.size[3])
        return pfnn_fail(&me.error, PFNN_ERROR_VALUE, -1, "the network does not fit the layout");
    me.y = malloc(out_dim * d);
    me.workspace = malloc(pfnn_net_workspace(&me.net, me.net.config.type, 1, 1));
    me.row = calloc((size_t)me.layout.dim, d);
    me.wanted = calloc(me.steering.times, 3 * d);
    me.points = calloc(joints + (size_t)me.n_ends, 3 * d);
    me.before.rotations = calloc(joints, 4 * d);
    me.now.rotations = calloc(joints, 4 * d);
    me.between = calloc(joints, 4 * d);
    me.turns = calloc(joints, 4 * d);
    me.bench = calloc(joints * 11 + (size_t)pfnn_skeleton_pose_workspace(me.skeleton.joints, 1), d);
    if (!me.y || !me.workspace || !me.row || !me.wanted || !me.points || !me.before.rotations || !me.now.rotations ||
        !me.between || !me.turns || !me.bench)
        return pfnn_fail(&me.error, PFNN_ERROR_MEMORY, -1, "no memory");
    return PFNN_OK;
}

/* legs: (n, 7) hip, knee, ankle, sole, and the point that touches the ground in the sole's frame */
static pfnn_status take_legs(const double *legs, size_t n)
{
    if (n > MOST_LEGS || (n && (int32_t)n != me.layout.n_contacts))
        return pfnn_fail(&me.error, PFNN_ERROR_VALUE, -1, "there are %zu legs and %d contacts", n, me.layout.n_contacts);
    me.n_legs = n;
    for (size_t i = 0; i < n; i++, legs += LEG_NUMBERS) {
        int64_t joints[4];
        for (int j = 0; j < 4; j++)
            joints[j] = (int64_t)legs[j];
        if (check_joints("legs", joints, 4) != PFNN_OK)
            return PFNN_ERROR_VALUE;
        me.legs[i] = (pfnn_leg){joints[0], joints[1], joints[2], joints[3], {legs[4], legs[5], legs[6]}};
    }
    return PFNN_OK;
}


/* ---- poses -------------------------------------------------------------------------------- */

static void rotation(double q[4], const double *column)
{
    if (me.layout.representation == PFNN_6D)
        pfnn_quat_from_6d(q, column);
    else if (me.layout.representation == PFNN_EXP_MAP)
        pfnn_exp_map_to_quat(q, column);
    else
        memcpy(q, column, 4 * sizeof *q);
}

/* the roll-out's last frame in the network's own precision, which is what Character.step returns */
static void read_row(void)
{
    const double *row = pfnn_rollout_features(me.rollout);
    for (int32_t i = 0; i < me.layout.dim; i++)
        me.row[i] = me.net.config.type == PFNN_FLOAT32 ? (double)(float)row[i] : row[i];
}

/* the pose of the roll-out's last frame, as pfnnc.synthesis.rotations_of and Controller make it */
static void read_pose(pose *p)
{
    const double *row = me.row;
    double *q = p->rotations, phase;
    read_row();
    pfnn_rollout_root(me.rollout, 0, p->root, &p->yaw, &phase);
    memcpy(p->velocity, pfnn_rollout_velocity(me.rollout), sizeof p->velocity);
    for (int i = 0; i < 2; i++)
        p->contacts[i] = i < me.layout.n_contacts ? row[me.layout.contacts + i] : 0;

    for (int64_t j = 0; j < me.skeleton.joints; j++)
        memcpy(q + 4 * j, (const double[4]){1, 0, 0, 0}, 4 * sizeof *q);
    for (int64_t j = 0; j < me.n_rest; j++)
        memcpy(q + 4 * me.rest_joints[j], me.rest + 4 * j, 4 * sizeof *q);
    for (int32_t j = 0; j < me.layout.n_joints; j++)
        rotation(q + 4 * me.joints[j], row + me.layout.joints + j * me.layout.width);
    rotation(q, row + me.layout.orientation);
    if (me.layout.heading) {
        double turn[4] = {cos(0.5 * p->yaw), 0, sin(0.5 * p->yaw), 0};
        pfnn_quat_mul(q, turn, q);
    }
}

static void lock_feet(pose *p)
{
    bool down[MOST_LEGS] = {0};
    for (size_t i = 0; i < me.n_legs; i++)
        down[i] = me.row[me.layout.contacts + (int32_t)i] > 0.5;
    pfnn_quat_normalize_n(p->rotations, p->rotations, me.skeleton.joints);
    pfnn_lock_feet(me.locks, p->rotations, &me.skeleton, p->root, me.legs, me.n_legs, down, me.frame, 0.15, 0.08, me.bench);
}

/* move the root by what standing feet have slid, or with a grip of 0 only find them */
static void hold_ground(pose *p, double grip)
{
    double contacts[MOST_LEGS], by[2], yaw, phase;
    for (size_t i = 0; i < me.n_legs; i++)
        contacts[i] = me.row[me.layout.contacts + (int32_t)i];
    pfnn_grip(by, me.soles, p->rotations, &me.skeleton, p->root, me.legs, me.n_legs, contacts, grip, me.frame, me.bench);
    pfnn_rollout_shift(me.rollout, 0, by, me.frame);
    pfnn_rollout_root(me.rollout, 0, p->root, &yaw, &phase);
    memcpy(p->velocity, pfnn_rollout_velocity(me.rollout), sizeof p->velocity);
}

/* what is shown: between the last two frames */
static void show(void)
{
    const pose *a = &me.before, *b = &me.now;
    double share = 1 - me.ahead / me.frame;
    shown *s = &me.shown;
    for (int i = 0; i < 3; i++) {
        s->root[i] = a->root[i] + share * (b->root[i] - a->root[i]);
        s->velocity[i] = a->velocity[i] + share * (b->velocity[i] - a->velocity[i]);
    }
    s->yaw = a->yaw + share * remainder(b->yaw - a->yaw, 2 * PI);
    memcpy(s->contacts, b->contacts, sizeof s->contacts);
    double root[3], yaw;
    pfnn_rollout_root(me.rollout, 0, root, &yaw, &s->phase);
    s->frames = (double)pfnn_rollout_count(me.rollout);

    for (int64_t j = 0; j < me.skeleton.joints; j++)
        pfnn_quat_slerp(me.between + 4 * j, a->rotations + 4 * j, b->rotations + 4 * j, share);
    pfnn_skeleton_pose(me.points, me.turns, &me.skeleton, 1, s->root, me.between, NULL, me.bench);
    for (int64_t e = 0; e < me.n_ends; e++) {
        int64_t joint = me.end_parents[e];
        double *tip = me.points + 3 * (me.skeleton.joints + e);
        pfnn_quat_rotate(tip, me.turns + 4 * joint, me.end_offsets + 3 * e);
        for (int i = 0; i < 3; i++)
            tip[i] += me.points[3 * joint + i];
    }
}


/* ---- steps -------------------------------------------------------------------------------- */

static pfnn_status forward(void)
{
    const void *x;
    const double *phase;
    ptrdiff_t real = me.net.config.type == PFNN_FLOAT32 ? sizeof(float) : sizeof(double);
    pfnn_rollout_input(me.rollout, &x, &phase);
    pfnn_net_batch batch = {.rows = 1, .type = me.net.config.type, .x = x, .x_column = real, .phase = phase, .y = me.y,
                            .y_column = real};
    return pfnn_net_forward(&me.net, &batch, me.workspace, 1, &me.error);
}

/* one frame of the model */
static pfnn_status frame(const pfnn_command *command)
{
    double position[3], yaw, phase;
    const double *foreseen = me.foresees ? pfnn_rollout_foreseen(me.rollout, 0) : NULL;
    pfnn_status status;
    pfnn_rollout_root(me.rollout, 0, position, &yaw, &phase);
    double root[3] = {position[0], position[2], yaw};
    pfnn_control_step(&me.control, me.wanted, &me.steering, command, root, foreseen, me.frame);
    pfnn_rollout_want(me.rollout, 0, me.wanted);
    if ((status = forward()) || (status = pfnn_rollout_apply(me.rollout, me.y, me.frame, &me.error)))
        return status;
    me.foresees = me.future > 0;

    pose old = me.before;
    me.before = me.now;
    me.now = old;
    read_pose(&me.now);
    hold_ground(&me.now, 1.0); /* as Controller has it */
    if (me.locking)
        lock_feet(&me.now);
    return PFNN_OK;
}

/* start: phase, place (3), yaw, then the past (history, 3) and the window (length, dim) */
static pfnn_status start(const double *numbers, size_t count, size_t length)
{
    size_t past = 3 * pfnn_rollout_history(me.rollout), window = pfnn_rollout_window_size(me.rollout);
    if (count != 5 + past + window || window != length * (size_t)me.layout.dim)
        return pfnn_fail(&me.error, PFNN_ERROR_VALUE, -1, "start has %zu numbers, expected %zu", count, 5 + past + window);
    for (size_t i = 0; i < count; i++)
        if (!isfinite(numbers[i]))
            return pfnn_fail(&me.error, PFNN_ERROR_VALUE, (int64_t)i, "start[%zu] is not finite", i);
    pfnn_rollout_start(me.rollout, numbers + 5 + past, numbers, numbers + 1, numbers + 4, past ? numbers + 5 : NULL);

    read_pose(&me.now);
    hold_ground(&me.now, 0.0);
    double root[3] = {me.now.root[0], me.now.root[2], me.now.yaw}, velocity[2] = {me.now.velocity[0], me.now.velocity[2]};
    pfnn_control_start(&me.control, root, velocity);
    for (size_t i = 0; i < me.steering.times; i++)
        memcpy(me.wanted + 3 * i, root, sizeof root);
    double *kept = me.before.rotations;
    memcpy(kept, me.now.rotations, (size_t)me.skeleton.joints * 4 * sizeof *kept);
    me.before = me.now;
    me.before.rotations = kept;
    me.steering.velocity_halflife = 0.2; /* as Controller has them */
    me.steering.facing_halflife = 0.2;
    me.steering.trust = 0.5;
    me.steering.leash = 1.0;
    me.steering.max_speed = 5.0;
    show();
    return PFNN_OK;
}


/* ---- what the page calls ------------------------------------------------------------------ */

EXPORT(player_reserve) void *player_reserve(size_t bytes)
{
    return malloc(bytes);
}

EXPORT(player_error) const char *player_error(void)
{
    return me.error.message;
}

/* Once: 1, or 0 and player_error. The model is copied; so are the others. */
EXPORT(player_open) int player_open(const void *model, size_t bytes, const double *begin, size_t begin_count, const double *legs,
                                    size_t n_legs)
{
    size_t length = 0;
    pfnn_status status;
    if ((status = pfnn_store_open_bytes(&me.store, model, bytes, "the model", "motion-model", &me.error)) ||
        (status = pfnn_net_open(&me.net, me.store, "model.", &me.error)) || (status = open_rollout(&length)) ||
        (status = open_skeleton()) || (status = reserve()) || (status = take_legs(legs, n_legs)))
        return 0;
    return start(begin, begin_count, length) == PFNN_OK;
}

/* Go on by dt seconds with a wish in the world: m/s and a yaw, NaN for the way that it moves. 1, or 0 and player_error. */
EXPORT(player_step) int player_step(double dt, double x, double z, double facing)
{
    if (!(dt > 0 && dt <= (double)LONGEST) || !isfinite(x) || !isfinite(z) || isinf(facing)) {
        pfnn_fail(&me.error, PFNN_ERROR_VALUE, -1, "a step of %g s to (%g, %g) is none", dt, x, z);
        return 0;
    }
    pfnn_command command = {{x, z}, facing};
    double late = (dt - me.ahead) / me.frame, due = fmax(0, ceil(late - 1e-6)); /* a millionth of a frame is rounding */
    for (double i = 0; i < due; i++)
        if (frame(&command) != PFNN_OK)
            return 0;
    me.ahead = fmin(fmax((due - late) * me.frame, 0), me.frame);
    show();
    return 1;
}

/* Hold feet that stand from now on, or do not. */
EXPORT(player_lock) void player_lock(int on)
{
    me.locking = on && me.n_legs > 0;
    memset(me.locks, 0, sizeof me.locks);
    if (!me.locking)
        return;
    lock_feet(&me.now);
    if (pfnn_rollout_count(me.rollout) == 0) /* both are the start */
        memcpy(me.before.rotations, me.now.rotations, (size_t)me.skeleton.joints * 4 * sizeof *me.now.rotations);
}

EXPORT(player_points) const double *player_points(void)
{
    return me.points;
}

EXPORT(player_n_points) int player_n_points(void)
{
    return (int)(me.skeleton.joints + me.n_ends);
}

EXPORT(player_wanted) const double *player_wanted(void)
{
    return me.wanted;
}

EXPORT(player_n_wanted) int player_n_wanted(void)
{
    return (int)me.steering.times;
}

EXPORT(player_shown) const shown *player_shown(void)
{
    return &me.shown;
}
