/* skeleton.c: forward kinematics. */
#include <string.h>

#include "cpu.h"
#include "pfnnc.h"

enum { LANES = 8 }; /* frames that are computed side by side */

typedef void pose_lanes(double *positions, double *world_rotations, const pfnn_skeleton *skeleton,
                        const double *root_positions, const double *rotations, const double *translations,
                        double *workspace);

pfnn_status pfnn_skeleton_check(const pfnn_skeleton *skeleton, pfnn_error *error)
{
    if (skeleton->joints < 1)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "joints must be at least 1, got %lld", (long long)skeleton->joints);
    for (int64_t j = 0; j < skeleton->joints; j++) {
        int32_t parent = skeleton->parents[j];
        if (parent < -1 || parent >= j)
            return pfnn_fail(error, PFNN_ERROR_VALUE, j,
                             "parents[%lld]=%ld must be -1 for a root or the index of a joint before it", (long long)j,
                             (long)parent);
    }
    return PFNN_OK;
}

/* v turned by a unit quaternion: v + w t + q x t with t = 2 q x v. */
static void turn(double r[3], const double q[4], const double v[3])
{
    double a = 2 * (q[2] * v[2] - q[3] * v[1]);
    double b = 2 * (q[3] * v[0] - q[1] * v[2]);
    double c = 2 * (q[1] * v[1] - q[2] * v[0]);
    r[0] = v[0] + (q[0] * a + (q[2] * c - q[3] * b));
    r[1] = v[1] + (q[0] * b + (q[3] * a - q[1] * c));
    r[2] = v[2] + (q[0] * c + (q[1] * b - q[2] * a));
}

static void multiply(double r[4], const double a[4], const double b[4])
{
    r[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    r[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
    r[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
    r[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
}

/* One pose after the other. */
static void pose_few(double *positions, double *world_rotations, const pfnn_skeleton *skeleton, int64_t frames,
                     const double *root_positions, const double *rotations, const double *translations,
                     double *workspace)
{
    int64_t joints = skeleton->joints;
    for (int64_t t = 0; t < frames; t++) {
        double *place = positions + t * joints * 3;
        double *world = world_rotations ? world_rotations + t * joints * 4 : workspace;
        const double *local = rotations + t * joints * 4;
        const double *offset = translations ? translations + t * joints * 3 : skeleton->offsets;

        /* parents stand before their children, so one pass is enough, however deep the tree */
        for (int64_t j = 0; j < joints; j++) {
            int64_t parent = skeleton->parents[j];
            if (parent < 0) {
                memcpy(place + 3 * j, j == 0 ? root_positions + 3 * t : offset + 3 * j, 3 * sizeof *place);
                memcpy(world + 4 * j, local + 4 * j, 4 * sizeof *world);
                continue;
            }
            turn(place + 3 * j, world + 4 * parent, offset + 3 * j);
            for (int i = 0; i < 3; i++)
                place[3 * j + i] += place[3 * parent + i];
            multiply(world + 4 * j, world + 4 * parent, local + 4 * j);
        }
    }
}

#define TARGET
#define NAME(x) x##_plain
#include "skeleton_body.h"

#ifdef PFNN_TARGETS
#undef TARGET
#undef NAME
#define TARGET TARGET_AVX2
#define NAME(x) x##_avx2
#include "skeleton_body.h"

#undef TARGET
#undef NAME
#define TARGET TARGET_AVX512
#define NAME(x) x##_avx512
#include "skeleton_body.h"
#endif

int64_t pfnn_skeleton_pose_workspace(int64_t joints, int64_t frames)
{
    return frames < LANES ? 4 * joints : (4 + 3) * LANES * joints;
}

void pfnn_skeleton_pose(double *positions, double *world_rotations, const pfnn_skeleton *skeleton, int64_t frames,
                        const double *root_positions, const double *rotations, const double *translations,
                        double *workspace)
{
    int64_t joints = skeleton->joints, t = 0;
    pose_lanes *many = pose_lanes_plain;
#ifdef PFNN_TARGETS
    pfnn_isa isa = pfnn_isa_get();
    many = isa == PFNN_ISA_AVX512 ? pose_lanes_avx512 : isa == PFNN_ISA_AVX2 ? pose_lanes_avx2 : pose_lanes_plain;
#endif
    for (; t + LANES <= frames; t += LANES)
        many(positions + t * joints * 3, world_rotations ? world_rotations + t * joints * 4 : NULL, skeleton,
             root_positions + t * 3, rotations + t * joints * 4, translations ? translations + t * joints * 3 : NULL,
             workspace);
    pose_few(positions + t * joints * 3, world_rotations ? world_rotations + t * joints * 4 : NULL, skeleton,
             frames - t, root_positions + t * 3, rotations + t * joints * 4,
             translations ? translations + t * joints * 3 : NULL, workspace);
}
