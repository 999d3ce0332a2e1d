/* ik.c: two-bone inverse kinematics, and feet that stand still. */
#include <math.h>
#include <string.h>

#include "pfnnc.h"

/* m/s over the ground: a foot slower than the first stands as far as it touches, one faster than the second does not */
static const double SLOW = 0.3, FAST = 0.6;

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void subtract(double r[3], const double a[3], const double b[3])
{
    for (int i = 0; i < 3; i++)
        r[i] = a[i] - b[i];
}

static void cross(double r[3], const double a[3], const double b[3])
{
    r[0] = a[1] * b[2] - a[2] * b[1];
    r[1] = a[2] * b[0] - a[0] * b[2];
    r[2] = a[0] * b[1] - a[1] * b[0];
}

static double between(double low, double x, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* angle opposite to `far` in a triangle with sides a, b, far */
static double corner(double a, double b, double far)
{
    return acos(between(-1.0, (a * a + b * b - far * far) / (2.0 * a * b), 1.0));
}

static void turn(double q[4], const double unit_axis[3], double angle)
{
    double s = sin(0.5 * angle);

    q[0] = cos(0.5 * angle);
    for (int i = 0; i < 3; i++)
        q[i + 1] = s * unit_axis[i];
}

/* the shortest rotation that takes direction a to direction b, both unit */
static void between_directions(double q[4], const double a[3], const double b[3])
{
    double axis[3];

    cross(axis, a, b);
    double length = sqrt(dot(axis, axis));
    if (length < 1e-12) { /* the same way; the opposite way does not come up between an ankle and its target */
        q[0] = 1.0;
        q[1] = q[2] = q[3] = 0.0;
        return;
    }
    for (int i = 0; i < 3; i++)
        axis[i] /= length;
    turn(q, axis, atan2(length, dot(a, b)));
}

/* unit normal of the leg's plane, about which the knee bends; a straight leg bends about the knee's own x axis */
static void knee_axis(double axis[3], const double to_ankle[3], const double to_knee[3], const double knee_world[4])
{
    static const double x[3] = {1.0, 0.0, 0.0}, z[3] = {0.0, 0.0, 1.0};
    double size = dot(to_ankle, to_ankle);

    cross(axis, to_ankle, to_knee);
    for (int tries = 0; tries < 2 && dot(axis, axis) < 1e-10 * size * size; tries++) {
        double own[3];
        pfnn_quat_rotate(own, knee_world, tries ? z : x);
        double along = dot(own, to_ankle) / size;
        for (int i = 0; i < 3; i++)
            axis[i] = own[i] - along * to_ankle[i];
        if (dot(axis, axis) > 1e-4)
            break;
    }
    double length = sqrt(dot(axis, axis));
    for (int i = 0; i < 3; i++)
        axis[i] /= length;
}

void pfnn_two_bone_ik(double hip[4], double knee[4], double ankle[4], const double parent[4], const double points[3][3],
                      const double target[3])
{
    double world[3][4], inverse[4], to_knee[3], to_ankle[3], to_target[3], shin[3], axis[3];

    pfnn_quat_mul(world[0], parent, hip);
    pfnn_quat_mul(world[1], world[0], knee);
    pfnn_quat_mul(world[2], world[1], ankle);
    subtract(to_knee, points[1], points[0]);
    subtract(to_ankle, points[2], points[0]);
    subtract(to_target, target, points[0]);
    subtract(shin, points[2], points[1]);
    double upper = sqrt(dot(to_knee, to_knee)), lower = sqrt(dot(shin, shin)), now = sqrt(dot(to_ankle, to_ankle));
    double wish = sqrt(dot(to_target, to_target)), slack = 1e-3 * (upper + lower);
    if (!(upper > 1e-9 && lower > 1e-9 && now > 1e-9 && wish > 1e-9))
        return;

    /* bend the knee until hip and ankle are as far apart as hip and target; straight legs may stay straight */
    double reach = between(fabs(upper - lower) + slack, wish, fmax(upper + lower - slack, fmin(now, wish)));
    double hip_turn = corner(upper, reach, lower) - corner(upper, now, lower);
    double knee_turn = corner(upper, lower, reach) - corner(upper, lower, now);
    double at_hip[4], at_knee[4], swing[4];
    knee_axis(axis, to_ankle, to_knee, world[1]);
    turn(at_hip, axis, hip_turn);
    turn(at_knee, axis, knee_turn);

    /* swing the leg to the target */
    for (int i = 0; i < 3; i++) {
        to_ankle[i] /= now;
        to_target[i] /= wish;
    }
    between_directions(swing, to_ankle, to_target);
    pfnn_quat_mul(swing, swing, at_hip);
    pfnn_quat_mul(world[0], swing, world[0]);
    pfnn_quat_mul(world[1], at_knee, world[1]);
    pfnn_quat_mul(world[1], swing, world[1]);

    /* back to local rotations; the ankle keeps its own in the world */
    pfnn_quat_conj(inverse, parent);
    pfnn_quat_mul(hip, inverse, world[0]);
    pfnn_quat_conj(inverse, world[0]);
    pfnn_quat_mul(knee, inverse, world[1]);
    pfnn_quat_conj(inverse, world[1]);
    pfnn_quat_mul(ankle, inverse, world[2]);
    pfnn_quat_normalize(hip, hip);
    pfnn_quat_normalize(knee, knee);
    pfnn_quat_normalize(ankle, ankle);
}

/* what the foot is moved by: held while it touches the ground and is near, else coming back */
static void step_lock(pfnn_foot_lock *lock, const double foot[3], bool contact, double dt, double radius, double halflife)
{
    double away[3];

    if (!contact)
        lock->locked = 0.0;
    else if (lock->locked == 0.0) { /* it stands where it is shown */
        for (int i = 0; i < 3; i++)
            lock->place[i] = foot[i] + lock->offset[i];
        lock->locked = 1.0;
    }
    subtract(away, lock->place, foot);
    if (lock->locked == 1.0 && dot(away, away) > radius * radius)
        lock->locked = 2.0; /* torn loose: not held again before it has left the ground */
    for (int i = 0; i < 3; i++)
        lock->offset[i] = lock->locked == 1.0 ? away[i] : lock->offset[i] * exp2(-dt / halflife);
}

/* where the sole of a leg is, of a posed skeleton */
static void sole_place(double place[3], const pfnn_leg *leg, const double *positions, const double *world)
{
    pfnn_quat_rotate(place, world + 4 * leg->sole, leg->offset);
    for (int i = 0; i < 3; i++)
        place[i] += positions[3 * leg->sole + i];
}

void pfnn_grip(double by[2], double *soles, const double *rotations, const pfnn_skeleton *skeleton, const double root[3],
               const pfnn_leg *legs, size_t n_legs, const double *contacts, double grip, double dt, double *workspace)
{
    double *positions = workspace, *world = positions + 3 * skeleton->joints, total = 0.0;

    by[0] = by[1] = 0.0;
    pfnn_skeleton_pose(positions, world, skeleton, 1, root, rotations, NULL, world + 4 * skeleton->joints);
    for (size_t i = 0; i < n_legs; i++) {
        double now[3], slide[3];
        sole_place(now, legs + i, positions, world);
        subtract(slide, now, soles + 3 * i);
        double speed = hypot(slide[0], slide[2]) / dt;
        double weight = between(0.0, contacts[i], 1.0) * between(0.0, (FAST - speed) / (FAST - SLOW), 1.0);
        by[0] -= weight * slide[0];
        by[1] -= weight * slide[2];
        total += weight;
        memcpy(soles + 3 * i, now, sizeof now);
    }
    for (int i = 0; i < 2; i++)
        by[i] *= grip / fmax(total, 1.0);
    for (size_t i = 0; i < n_legs; i++) {
        soles[3 * i] += by[0];
        soles[3 * i + 2] += by[1];
    }
}

void pfnn_lock_feet(pfnn_foot_lock *locks, double *rotations, const pfnn_skeleton *skeleton, const double root[3],
                    const pfnn_leg *legs, size_t n_legs, const bool *contacts, double dt, double radius, double halflife,
                    double *workspace)
{
    static const double identity[4] = {1.0, 0.0, 0.0, 0.0};
    double *positions = workspace, *world = positions + 3 * skeleton->joints;

    pfnn_skeleton_pose(positions, world, skeleton, 1, root, rotations, NULL, world + 4 * skeleton->joints);
    for (size_t i = 0; i < n_legs; i++) {
        const pfnn_leg *leg = legs + i;
        const int32_t above = skeleton->parents[leg->hip];
        double foot[3], target[3], points[3][3];

        sole_place(foot, leg, positions, world);
        step_lock(locks + i, foot, contacts[i], dt, radius, halflife);
        if (dot(locks[i].offset, locks[i].offset) < 1e-12)
            continue;
        memcpy(points[0], positions + 3 * leg->hip, sizeof points[0]);
        memcpy(points[1], positions + 3 * leg->knee, sizeof points[1]);
        memcpy(points[2], positions + 3 * leg->ankle, sizeof points[2]);
        for (int j = 0; j < 3; j++)
            target[j] = points[2][j] + locks[i].offset[j];
        pfnn_two_bone_ik(rotations + 4 * leg->hip, rotations + 4 * leg->knee, rotations + 4 * leg->ankle,
                         above < 0 ? identity : world + 4 * above, (const double(*)[3])points, target);
    }
}
