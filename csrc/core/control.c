/*
 * control.c: a player's wish as a trajectory.
 *
 * The virtual root moves with a velocity that goes to the wanted one as a critically damped spring does, and turns alike.
 * Both have closed forms, so where it will be in a second is known now, and steps of any length agree.
 */
#include <math.h>
#include <string.h>

#include "pfnnc.h"

#define PI 3.14159265358979323846

static double wrap(double angle)
{
    return remainder(angle, 2.0 * PI);
}

/* half the damping of a critically damped spring whose way to the goal is half gone after about `halflife` */
static double half_damping(double halflife)
{
    return 1.6783469900166605 / fmax(halflife, 1e-4); /* solves (1 + x) exp(-x) = 1/2 */
}

/* x, v after t of a spring x'' = -2 y x' - y^2 (x - goal) */
static void spring(double *x, double *v, double goal, double y, double t)
{
    double j0 = *x - goal, j1 = *v + j0 * y, decay = exp(-y * t);

    *x = decay * (j0 + j1 * t) + goal;
    *v = decay * (*v - j1 * y * t);
}

/* the way gone in t by something whose velocity is on such a spring: the integral of it */
static double spring_way(double v, double a, double goal, double y, double t)
{
    double j0 = v - goal, j1 = a + j0 * y, decay = exp(-y * t);

    return goal * t + (j0 / y + j1 / (y * y)) - decay * (j0 / y + j1 / (y * y) + j1 * t / y);
}

void pfnn_control_start(pfnn_control *control, const double root[3], const double velocity[2])
{
    memset(control, 0, sizeof *control);
    memcpy(control->place, root, 2 * sizeof *root);
    memcpy(control->velocity, velocity, 2 * sizeof *velocity);
    control->facing = control->goal = root[2];
}

/* the wanted velocity within the speed limit, and the wanted facing */
static void heed(double velocity[2], pfnn_control *control, const pfnn_control_config *config, const pfnn_command *command)
{
    double speed = hypot(command->velocity[0], command->velocity[1]);
    double share = speed > config->max_speed ? config->max_speed / speed : 1.0;

    for (int i = 0; i < 2; i++)
        velocity[i] = command->velocity[i] * share;
    if (!isnan(command->facing))
        control->goal = command->facing;
    else if (speed > 0.05)
        control->goal = atan2(velocity[0], velocity[1]);
}

/* pull the virtual root back where it is farther from the character than the leash */
static void hold_on_leash(pfnn_control *control, const double root[3], double leash)
{
    double away[2] = {control->place[0] - root[0], control->place[1] - root[1]};
    double distance = hypot(away[0], away[1]);

    if (distance > leash)
        for (int i = 0; i < 2; i++)
            control->place[i] = root[i] + away[i] * leash / distance;
}

/* mix the network's own prediction into one row */
static void mix(double wanted[3], const double foreseen[4], const double root[3], double share)
{
    double c = cos(root[2]), s = sin(root[2]), length = hypot(foreseen[2], foreseen[3]);

    wanted[0] += share * (root[0] + c * foreseen[0] + s * foreseen[1] - wanted[0]);
    wanted[1] += share * (root[1] + c * foreseen[1] - s * foreseen[0] - wanted[1]);
    if (length > 1e-6)
        wanted[2] += share * wrap(root[2] + atan2(foreseen[2], foreseen[3]) - wanted[2]);
}

void pfnn_control_step(pfnn_control *control, double *wanted, const pfnn_control_config *config,
                       const pfnn_command *command, const double root[3], const double *foreseen, double dt)
{
    double goal[2], y = half_damping(config->velocity_halflife), turn = half_damping(config->facing_halflife);
    double last = config->times ? config->time[config->times - 1] : 0.0;

    heed(goal, control, config, command);
    double facing_goal = control->facing + wrap(control->goal - control->facing);

    /* The way of the virtual root from where the character is; what the character is behind, it makes up over the whole
     * trajectory. (All at once would be a path that begins away from the feet, which nobody has ever walked.) */
    for (size_t t = 0; t < config->times; t++) {
        double *row = wanted + 3 * t, time = config->time[t], spin = control->spin;
        if (!(time > 0.0))
            continue;
        for (int i = 0; i < 2; i++)
            row[i] = root[i] + spring_way(control->velocity[i], control->acceleration[i], goal[i], y, time) +
                     (control->place[i] - root[i]) * time / last;
        row[2] = control->facing;
        spring(&row[2], &spin, facing_goal, turn, time);
        if (foreseen) {
            mix(row, foreseen, root, config->trust * (1.0 - time / last));
            foreseen += 4;
        }
    }

    /* and on by a frame */
    for (int i = 0; i < 2; i++) {
        control->place[i] += spring_way(control->velocity[i], control->acceleration[i], goal[i], y, dt);
        spring(&control->velocity[i], &control->acceleration[i], goal[i], y, dt);
    }
    spring(&control->facing, &control->spin, facing_goal, turn, dt);
    hold_on_leash(control, root, config->leash);
}
