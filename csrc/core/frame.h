/*
 * frame.h: the geometry inside one row of features, with its derivatives; private to training.
 *
 * A row is: root velocity (3), root orientation, joint rotations (each `width` numbers: quaternion 4, exponential map 3,
 * first two matrix columns 6), then scalar columns. Everything here is in double and in physical units; the callers
 * convert rows of their own type. A backward function adds to its outputs.
 */
#ifndef PFNN_FRAME_H
#define PFNN_FRAME_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pfnn_frame_layout {
    int dim;      /* columns of a row */
    int width;    /* numbers a rotation has; 0 where the caller does not know it: rotations are then left as they come */
    int n_slots;  /* rotations from column 3 on, the root orientation first */
    bool heading; /* velocity and root orientation are seen from the root's own heading */
    int yaw_rate; /* column, or -1 */
    int contacts; /* first column of one a foot, or -1 */
    double dt;    /* seconds from one row to the next */

    /* forward kinematics, parents before children; an end site is one more joint without a slot */
    int n_joints;
    const int32_t *parents; /* (n_joints,) -1 for the root */
    const double *offsets;  /* (n_joints, 3) */
    const int32_t *slots;   /* (n_joints,) its rotation, or -1 for one that does not turn; the root has slot 0 */
    int n_feet;
    const int32_t *feet; /* (n_feet,) joints */
} pfnn_frame_layout;

/* What forward kinematics leaves behind for the way back: the caller's memory. */
typedef struct pfnn_frame_pose {
    double *locals;    /* (n_joints, 9) rotations, row-major */
    double *globals;   /* (n_joints, 9) */
    double *positions; /* (n_joints, 3) */
} pfnn_frame_pose;

enum { PFNN_POSE_DOUBLES = 21 }; /* a joint needs so many in a pfnn_frame_pose */

/* The nearest valid rotation: unit quaternion, |r| <= pi, orthonormal columns. One without a direction takes `before`. */
void pfnn_rotation_valid(int width, double valid[6], const double r[6], const double before[6]);
void pfnn_rotation_valid_backward(int width, double dr[6], double dbefore[6], const double r[6], const double dvalid[6]);

/* Matrix of a valid rotation, row-major. */
void pfnn_rotation_matrix(int width, double m[9], const double r[6]);
void pfnn_rotation_matrix_backward(int width, double dr[6], const double r[6], const double dm[9]);

/* The angle between two rotations that need not be valid, in [0, pi], and its gradient by the first added to da. */
double pfnn_rotation_angle(int width, double da[6], const double a[6], const double b[6]);

/*
 * World positions and rotations of all joints of a row whose root stands at `root` (3) and whose heading is `yaw`.
 * `row` holds physical values; its rotations need not be valid, one without a direction counts as identity.
 */
void pfnn_frame_forward(const pfnn_frame_layout *layout, pfnn_frame_pose *pose, const double *row, const double root[3],
                        double yaw);

/*
 * The way back from d positions (n_joints, 3), which is used up, to the row, the root's place and the yaw.
 * `scratch` holds 9 doubles a joint.
 */
void pfnn_frame_backward(const pfnn_frame_layout *layout, double *drow, double droot[3], double *dyaw,
                         const pfnn_frame_pose *pose, const double *row, double yaw, double *dpositions, double *scratch);

/*
 * Mean over the feet of contact * |step of the foot| in metres from row `before` to row `after`; both physical, contacts (n_feet,).
 * With `dafter` the gradient times `scale` is added to dafter and dbefore (dim,). `memory`: see PFNN_CONTACT_DOUBLES.
 */
double pfnn_frame_contact(const pfnn_frame_layout *layout, const double *after, const double *before, const double *contacts,
                          double scale, double *dafter, double *dbefore, double *memory);

enum { PFNN_CONTACT_DOUBLES = 2 * PFNN_POSE_DOUBLES + 3 + 9 }; /* doubles a joint that pfnn_frame_contact needs */

#endif /* PFNN_FRAME_H */
