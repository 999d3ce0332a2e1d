/* frame.c: rotations and forward kinematics of a feature row, and their derivatives. */
#include "frame.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

static double dot3(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* r += s * (a x b) */
static void add_cross(double r[3], double s, const double a[3], const double b[3])
{
    r[0] += s * (a[1] * b[2] - a[2] * b[1]);
    r[1] += s * (a[2] * b[0] - a[0] * b[2]);
    r[2] += s * (a[0] * b[1] - a[1] * b[0]);
}

/* the identity as a valid rotation of `width` numbers */
static void identity(int width, double r[6])
{
    memset(r, 0, 6 * sizeof *r);
    if (width == 4)
        r[0] = 1;
    if (width == 6)
        r[0] = r[4] = 1;
}


/* ---- valid rotations ---------------------------------------------------------------------- */

/* Gram-Schmidt: lengths of the first column and of what is left of the second; false where one has no direction. */
static bool orthonormal(double valid[6], double length[2], double rest[3], const double r[6])
{
    length[0] = sqrt(dot3(r, r));
    if (!(length[0] > 0))
        return false;
    for (int i = 0; i < 3; i++)
        valid[i] = r[i] / length[0];
    double along = dot3(valid, r + 3);
    for (int i = 0; i < 3; i++)
        rest[i] = r[3 + i] - along * valid[i];
    length[1] = sqrt(dot3(rest, rest));
    if (!(length[1] > 1e-12 * sqrt(dot3(r + 3, r + 3))))
        return false;
    for (int i = 0; i < 3; i++)
        valid[3 + i] = rest[i] / length[1];
    return true;
}

static double norm4(const double q[4])
{
    return sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
}

void pfnn_rotation_valid(int width, double valid[6], const double r[6], const double before[6])
{
    if (width == 4) {
        double n = norm4(r);
        for (int i = 0; i < 4; i++)
            valid[i] = n > 0 ? r[i] / n : before[i];
    } else if (width == 3) {
        double angle = sqrt(dot3(r, r));
        double shrink = angle > PI ? 1 - 2 * PI * round(angle / (2 * PI)) / angle : 1;
        for (int i = 0; i < 3; i++)
            valid[i] = shrink * r[i];
    } else {
        double length[2], rest[3];
        if (!orthonormal(valid, length, rest, r))
            memcpy(valid, before, 6 * sizeof *valid);
    }
}

static void quat_valid_backward(double dq[4], double dbefore[4], const double q[4], const double d[4])
{
    double n = norm4(q), along = 0;
    for (int i = 0; i < 4; i++)
        along += n > 0 ? q[i] * d[i] / n : 0;
    for (int i = 0; i < 4; i++)
        if (n > 0)
            dq[i] += (d[i] - along * q[i] / n) / n;
        else
            dbefore[i] += d[i];
}

static void exp_valid_backward(double dr[3], const double r[3], const double d[3])
{
    double angle = sqrt(dot3(r, r));
    double turns = angle > PI ? 2 * PI * round(angle / (2 * PI)) : 0;
    double along = turns > 0 ? turns * dot3(r, d) / (angle * angle * angle) : 0;
    for (int i = 0; i < 3; i++)
        dr[i] += (turns > 0 ? 1 - turns / angle : 1) * d[i] + along * r[i];
}

static void six_valid_backward(double dr[6], double dbefore[6], const double r[6], const double d[6])
{
    double b[6], length[2], rest[3], drest[3], dfirst[3];
    if (!orthonormal(b, length, rest, r)) {
        for (int i = 0; i < 6; i++)
            dbefore[i] += d[i];
        return;
    }
    /* through the second column's length, its projection, then the first column's length */
    double along = dot3(b + 3, d + 3);
    for (int i = 0; i < 3; i++)
        drest[i] = (d[3 + i] - along * b[3 + i]) / length[1];
    double shared = dot3(b, drest), overlap = dot3(b, r + 3);
    for (int i = 0; i < 3; i++) {
        dr[3 + i] += drest[i] - shared * b[i];
        dfirst[i] = d[i] - overlap * drest[i] - shared * r[3 + i];
    }
    along = dot3(b, dfirst);
    for (int i = 0; i < 3; i++)
        dr[i] += (dfirst[i] - along * b[i]) / length[0];
}

void pfnn_rotation_valid_backward(int width, double dr[6], double dbefore[6], const double r[6], const double dvalid[6])
{
    if (width == 4)
        quat_valid_backward(dr, dbefore, r, dvalid);
    else if (width == 3)
        exp_valid_backward(dr, r, dvalid);
    else
        six_valid_backward(dr, dbefore, r, dvalid);
}


/* ---- matrices ----------------------------------------------------------------------------- */

static void quat_matrix(double m[9], const double q[4])
{
    double w = q[0], x = q[1], y = q[2], z = q[3];
    m[0] = 1 - 2 * (y * y + z * z), m[1] = 2 * (x * y - w * z), m[2] = 2 * (x * z + w * y);
    m[3] = 2 * (x * y + w * z), m[4] = 1 - 2 * (x * x + z * z), m[5] = 2 * (y * z - w * x);
    m[6] = 2 * (x * z - w * y), m[7] = 2 * (y * z + w * x), m[8] = 1 - 2 * (x * x + y * y);
}

static void quat_matrix_backward(double dq[4], const double q[4], const double d[9])
{
    double w = q[0], x = q[1], y = q[2], z = q[3];
    dq[0] += 2 * (x * (d[7] - d[5]) + y * (d[2] - d[6]) + z * (d[3] - d[1]));
    dq[1] += 2 * (w * (d[7] - d[5]) + y * (d[1] + d[3]) + z * (d[2] + d[6]) - 2 * x * (d[4] + d[8]));
    dq[2] += 2 * (w * (d[2] - d[6]) + x * (d[1] + d[3]) + z * (d[5] + d[7]) - 2 * y * (d[0] + d[8]));
    dq[3] += 2 * (w * (d[3] - d[1]) + x * (d[2] + d[6]) + y * (d[5] + d[7]) - 2 * z * (d[0] + d[4]));
}

/* quaternion of a rotation vector; returns sin(angle/2)/angle */
static double exp_quat(double q[4], const double r[3])
{
    double angle = sqrt(dot3(r, r));
    double s = angle > 1e-6 ? sin(angle / 2) / angle : 0.5 - angle * angle / 48;
    q[0] = cos(angle / 2);
    for (int i = 0; i < 3; i++)
        q[1 + i] = s * r[i];
    return s;
}

static void exp_quat_backward(double dr[3], const double r[3], const double dq[4])
{
    double q[4], s = exp_quat(q, r), square = dot3(r, r);
    double slope = square > 1e-8 ? (q[0] / 2 - s) / square : -1.0 / 24; /* of s, over |r| times |r| */
    double along = slope * dot3(r, dq + 1) - s / 2 * dq[0];
    for (int i = 0; i < 3; i++)
        dr[i] += s * dq[1 + i] + along * r[i];
}

void pfnn_rotation_matrix(int width, double m[9], const double r[6])
{
    if (width == 4) {
        quat_matrix(m, r);
    } else if (width == 3) {
        double q[4];
        exp_quat(q, r);
        quat_matrix(m, q);
    } else {
        double third[3] = {0};
        add_cross(third, 1, r, r + 3);
        for (int i = 0; i < 3; i++)
            m[3 * i] = r[i], m[3 * i + 1] = r[3 + i], m[3 * i + 2] = third[i];
    }
}

void pfnn_rotation_matrix_backward(int width, double dr[6], const double r[6], const double dm[9])
{
    if (width == 4) {
        quat_matrix_backward(dr, r, dm);
    } else if (width == 3) {
        double q[4], dq[4] = {0};
        exp_quat(q, r);
        quat_matrix_backward(dq, q, dm);
        exp_quat_backward(dr, r, dq);
    } else {
        double third[3] = {dm[2], dm[5], dm[8]};
        for (int i = 0; i < 3; i++) {
            dr[i] += dm[3 * i];
            dr[3 + i] += dm[3 * i + 1];
        }
        add_cross(dr, 1, r + 3, third);
        add_cross(dr + 3, 1, third, r);
    }
}

/*
 * |A - B|^2 (Frobenius) = 4 (1 - cos angle), from which the angle is exact near 0. The angle's slope has no limit at 0 and
 * pi; next to them the gradient is left out, or kept at its size a little away.
 */
double pfnn_rotation_angle(int width, double da[6], const double a[6], const double b[6])
{
    double still[6], valid[6], other[6], ma[9], mb[9], dm[9], dvalid[6] = {0}, unused[6] = {0}, apart = 0;
    identity(width, still);
    pfnn_rotation_valid(width, valid, a, still);
    pfnn_rotation_valid(width, other, b, still);
    pfnn_rotation_matrix(width, ma, valid);
    pfnn_rotation_matrix(width, mb, other);
    for (int i = 0; i < 9; i++)
        apart += (ma[i] - mb[i]) * (ma[i] - mb[i]);
    const double angle = 2 * asin(fmin(1, sqrt(apart / 8))), sine = fmax(sin(angle), 1e-6);
    if (angle < 1e-9)
        return angle;
    for (int i = 0; i < 9; i++)
        dm[i] = (ma[i] - mb[i]) / (2 * sine);
    pfnn_rotation_matrix_backward(width, dvalid, valid, dm);
    pfnn_rotation_valid_backward(width, da, unused, a, dvalid);
    return angle;
}

/* r = a b */
static void multiply(double r[9], const double a[9], const double b[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            r[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}

/* r += a b^T */
static void add_times_transposed(double r[9], const double a[9], const double b[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            r[3 * i + j] += dot3(a + 3 * i, b + 3 * j);
}

/* r = a^T b */
static void transposed_times(double r[9], const double a[9], const double b[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            r[3 * i + j] = a[i] * b[j] + a[3 + i] * b[3 + j] + a[6 + i] * b[6 + j];
}

static void turn_about_y(double m[9], double yaw)
{
    double c = cos(yaw), s = sin(yaw);
    m[0] = c, m[1] = 0, m[2] = s, m[3] = 0, m[4] = 1, m[5] = 0, m[6] = -s, m[7] = 0, m[8] = c;
}


/* ---- forward kinematics ------------------------------------------------------------------- */

static void local_matrix(const pfnn_frame_layout *layout, double m[9], const double *row, int slot)
{
    double still[6], valid[6];
    identity(layout->width, still);
    if (slot < 0)
        memcpy(valid, still, sizeof valid);
    else
        pfnn_rotation_valid(layout->width, valid, row + 3 + slot * layout->width, still);
    pfnn_rotation_matrix(layout->width, m, valid);
}

static void local_matrix_backward(const pfnn_frame_layout *layout, double *drow, const double *row, int slot, const double dm[9])
{
    double still[6], valid[6], dvalid[6] = {0}, unused[6] = {0};
    const double *r = row + 3 + slot * layout->width;
    identity(layout->width, still);
    pfnn_rotation_valid(layout->width, valid, r, still);
    pfnn_rotation_matrix_backward(layout->width, dvalid, valid, dm);
    pfnn_rotation_valid_backward(layout->width, drow + 3 + slot * layout->width, unused, r, dvalid);
}

void pfnn_frame_forward(const pfnn_frame_layout *layout, pfnn_frame_pose *pose, const double *row, const double root[3],
                        double yaw)
{
    for (int j = 0; j < layout->n_joints; j++) {
        double *local = pose->locals + 9 * j, *global = pose->globals + 9 * j, *position = pose->positions + 3 * j;
        int parent = layout->parents[j];
        local_matrix(layout, local, row, layout->slots[j]);
        if (parent < 0) {
            double turn[9];
            turn_about_y(turn, yaw);
            multiply(global, turn, local);
            memcpy(position, root, 3 * sizeof *position);
            continue;
        }
        const double *frame = pose->globals + 9 * parent;
        multiply(global, frame, local);
        for (int i = 0; i < 3; i++)
            position[i] = pose->positions[3 * parent + i] + dot3(frame + 3 * i, layout->offsets + 3 * j);
    }
}

/* d of the root's global rotation, place and yaw */
static void root_backward(const pfnn_frame_layout *layout, double *drow, double droot[3], double *dyaw,
                          const pfnn_frame_pose *pose, const double *row, double yaw, const double dposition[3],
                          const double dglobal[9], int root)
{
    double turn[9], dlocal[9];
    const double *g = pose->globals + 9 * root;
    turn_about_y(turn, yaw);
    transposed_times(dlocal, turn, dglobal);
    local_matrix_backward(layout, drow, row, layout->slots[root], dlocal);
    for (int i = 0; i < 3; i++)
        droot[i] += dposition[i];
    /* d(Ry g)/d yaw turns the first row into the third and the third into minus the first */
    *dyaw += dot3(dglobal, g + 6) - dot3(dglobal + 6, g);
}

void pfnn_frame_backward(const pfnn_frame_layout *layout, double *drow, double droot[3], double *dyaw,
                         const pfnn_frame_pose *pose, const double *row, double yaw, double *dpositions, double *scratch)
{
    double *dglobals = scratch;
    memset(dglobals, 0, (size_t)layout->n_joints * 9 * sizeof *dglobals);
    for (int j = layout->n_joints - 1; j >= 0; j--) {
        int parent = layout->parents[j];
        const double *dposition = dpositions + 3 * j, *dglobal = dglobals + 9 * j;
        if (parent < 0) {
            root_backward(layout, drow, droot, dyaw, pose, row, yaw, dposition, dglobal, j);
            continue;
        }
        double dlocal[9];
        transposed_times(dlocal, pose->globals + 9 * parent, dglobal);
        if (layout->slots[j] >= 0)
            local_matrix_backward(layout, drow, row, layout->slots[j], dlocal);
        add_times_transposed(dglobals + 9 * parent, dglobal, pose->locals + 9 * j);
        for (int i = 0; i < 3; i++) {
            dpositions[3 * parent + i] += dposition[i];
            for (int c = 0; c < 3; c++)
                dglobals[9 * parent + 3 * i + c] += dposition[i] * layout->offsets[3 * j + c];
        }
    }
}


/* ---- the contact term --------------------------------------------------------------------- */

static pfnn_frame_pose pose_in(double *memory, int n_joints)
{
    pfnn_frame_pose pose = {memory, memory + 9 * n_joints, memory + 18 * n_joints};
    return pose;
}

/* where the root of `after` stands, seen from that of the row before, and its yaw */
static double root_step(const pfnn_frame_layout *layout, double root[3], const double *after)
{
    double yaw = layout->heading && layout->yaw_rate >= 0 ? after[layout->yaw_rate] * layout->dt : 0, turn[9];
    turn_about_y(turn, yaw);
    for (int i = 0; i < 3; i++)
        root[i] = dot3(turn + 3 * i, after) * layout->dt;
    return yaw;
}

static void root_step_backward(const pfnn_frame_layout *layout, double *dafter, const double root[3], double yaw,
                               const double droot[3], double dyaw)
{
    double turn[9];
    turn_about_y(turn, yaw);
    for (int i = 0; i < 3; i++)
        dafter[i] += (turn[i] * droot[0] + turn[3 + i] * droot[1] + turn[6 + i] * droot[2]) * layout->dt;
    if (layout->heading && layout->yaw_rate >= 0)
        dafter[layout->yaw_rate] += (dyaw + droot[0] * root[2] - droot[2] * root[0]) * layout->dt;
}

static double foot_step(double step[3], const pfnn_frame_pose *next, const pfnn_frame_pose *last, int foot)
{
    for (int i = 0; i < 3; i++)
        step[i] = next->positions[3 * foot + i] - last->positions[3 * foot + i];
    return sqrt(dot3(step, step));
}

/* scale * contact * direction of the step, for each foot; a foot that stands still has none */
static void step_gradient(const pfnn_frame_layout *layout, double *dpositions, const pfnn_frame_pose *next,
                          const pfnn_frame_pose *last, const double *contacts, double scale)
{
    memset(dpositions, 0, (size_t)layout->n_joints * 3 * sizeof *dpositions);
    for (int f = 0; f < layout->n_feet; f++) {
        double step[3], length = foot_step(step, next, last, layout->feet[f]);
        for (int i = 0; i < 3 && length > 0; i++)
            dpositions[3 * layout->feet[f] + i] += scale * contacts[f] * step[i] / length;
    }
}

double pfnn_frame_contact(const pfnn_frame_layout *layout, const double *after, const double *before, const double *contacts,
                          double scale, double *dafter, double *dbefore, double *memory)
{
    const double origin[3] = {0};
    const int n = layout->n_joints;
    double root[3], step[3], sum = 0;
    pfnn_frame_pose next = pose_in(memory, n), last = pose_in(memory + PFNN_POSE_DOUBLES * n, n);
    double *dpositions = memory + 2 * PFNN_POSE_DOUBLES * n, *scratch = dpositions + 3 * n;

    double yaw = root_step(layout, root, after);
    pfnn_frame_forward(layout, &next, after, root, yaw);
    pfnn_frame_forward(layout, &last, before, origin, 0);

    for (int f = 0; f < layout->n_feet; f++)
        sum += contacts[f] * foot_step(step, &next, &last, layout->feet[f]);
    if (dafter) {
        double droot[3] = {0}, dyaw = 0;
        step_gradient(layout, dpositions, &next, &last, contacts, scale / layout->n_feet);
        pfnn_frame_backward(layout, dafter, droot, &dyaw, &next, after, yaw, dpositions, scratch);
        root_step_backward(layout, dafter, root, yaw, droot, dyaw);
    }
    if (dbefore) {
        double droot[3] = {0}, dyaw = 0; /* the step is seen from this root, which does not move */
        step_gradient(layout, dpositions, &next, &last, contacts, -scale / layout->n_feet);
        pfnn_frame_backward(layout, dbefore, droot, &dyaw, &last, before, 0, dpositions, scratch);
    }
    return sum / layout->n_feet;
}
