/*
 * bvh_pose.c: rotation channels to quaternions.
 *
 * Angles come in degrees, where quarter turns are exact numbers: the whole quarter turns are taken off before pi
 * makes anything inexact, so that 90 and 720 degrees are what they say. The same bits on every machine.
 */
#include "bvh.h"
#include "cpu.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 256 }; /* rotations worked on at a time: their angles, sines and cosines stay in the first cache */

typedef struct block {
    double angle[3 * BLOCK], sine[3 * BLOCK], cosine[3 * BLOCK]; /* [axis][rotation] */
} block;

/* 1/n! for sin x / x and cos x in powers of x^2: on [-pi/4, pi/4] what follows is below 5e-17 */
static const double sine_terms[] = {1.0 / 355687428096000, 1.0 / -1307674368000, 1.0 / 6227020800, 1.0 / -39916800,
                                    1.0 / 362880,          1.0 / -5040,          1.0 / 120,        1.0 / -6};
static const double cosine_terms[] = {1.0 / 20922789888000, 1.0 / -87178291200, 1.0 / 479001600, 1.0 / -3628800,
                                      1.0 / 40320,          1.0 / -720,         1.0 / 24,        1.0 / -2};

static const double most_exact = 1e12; /* degrees: up to it the quarter turns below are counted exactly */

/* Sines and cosines of half the angles, |angle| <= most_exact, without branches. */
static FORCE_INLINE void half_sines_and_cosines(block *b)
{
    static const double round_trick = 0x1.8p52; /* adding it leaves no room for a fraction: its last bits are the integer */
    static const double to_radians = 0.0087266462599716478846; /* pi / 360 */
    for (int i = 0; i < 3 * BLOCK; i++) {
        // angle / 2 = quarter turns * 90 + x degrees, |x| <= 45
        double shifted = b->angle[i] * (1.0 / 180) + round_trick;
        double x = (b->angle[i] - 180 * (shifted - round_trick)) * to_radians, square = x * x;
        double sine = sine_terms[0], cosine = cosine_terms[0];
        UNROLL
        for (int n = 1; n < 8; n++) {
            sine = sine * square + sine_terms[n];
            cosine = cosine * square + cosine_terms[n];
        }
        sine = x + x * (square * sine);
        cosine = 1 + square * cosine;

        // each quarter turn makes (cos, sin) into (-sin, cos)
        uint64_t quarters, s, c;
        memcpy(&quarters, &shifted, 8);
        memcpy(&s, &sine, 8);
        memcpy(&c, &cosine, 8);
        uint64_t swapped = (s ^ c) & (0 - (quarters & 1));
        s = (s ^ swapped) ^ ((quarters >> 1 & 1) << 63);
        c = (c ^ swapped) ^ (((quarters + 1) >> 1 & 1) << 63);
        memcpy(&b->sine[i], &s, 8);
        memcpy(&b->cosine[i], &c, 8);
    }
}

/* The product of three half turns about the axes `a` of a permutation, +0 where it is 0. */
static FORCE_INLINE void product(double q[4], const block *b, int i, const uint8_t axes[3], double sign)
{
    const double *s = b->sine + i, *c = b->cosine + i;
    double s1 = s[0], s2 = s[BLOCK], s3 = s[2 * BLOCK], c1 = c[0], c2 = c[BLOCK], c3 = c[2 * BLOCK];
    q[0] = c1 * c2 * c3 - sign * (s1 * s2 * s3) + 0.0;
    q[1 + axes[0]] = s1 * c2 * c3 + sign * (c1 * s2 * s3) + 0.0;
    q[1 + axes[1]] = c1 * s2 * c3 - sign * (s1 * c2 * s3) + 0.0;
    q[1 + axes[2]] = c1 * c2 * s3 + sign * (s1 * s2 * c3) + 0.0;
}

static FORCE_INLINE void rotations(double *out, const double *values, int64_t frames, int64_t columns,
                                   const pfnn_bvh_axes *joints, int64_t count)
{
    block b;
    int64_t total = frames * count, frame = 0, joint = 0;
    memset(&b, 0, sizeof b);
    for (int64_t start = 0; start < total; start += BLOCK) {
        int size = (int)(total - start < BLOCK ? total - start : BLOCK);

        // gather the angles, rotation by rotation
        int64_t first_joint = joint;
        const double *row = values + frame * columns;
        for (int i = 0; i < size; i++) {
            for (int axis = 0; axis < 3; axis++) {
                int64_t column = joints[joint].columns[axis];
                double angle = column < 0 ? 0 : row[column];
                b.angle[axis * BLOCK + i] = fabs(angle) <= most_exact ? angle : fmod(angle, 720);
            }
            if (++joint == count) {
                joint = 0;
                row = values + ++frame * columns;
            }
        }

        half_sines_and_cosines(&b);
        joint = first_joint;
        for (int i = 0; i < size; i++) {
            product(out + 4 * (start + i), &b, i, joints[joint].axes, joints[joint].sign);
            if (++joint == count)
                joint = 0;
        }
    }
}

static void rotations_plain(double *out, const double *values, int64_t frames, int64_t columns,
                            const pfnn_bvh_axes *joints, int64_t count)
{
    rotations(out, values, frames, columns, joints, count);
}

#ifdef PFNN_TARGETS
/* No multiplication is fused with an addition here either: wider, but the same bits. */
TARGET_AVX2 static void rotations_avx2(double *out, const double *values, int64_t frames, int64_t columns,
                                       const pfnn_bvh_axes *joints, int64_t count)
{
    rotations(out, values, frames, columns, joints, count);
}
#endif

void pfnn_bvh_rotations(double *out, const double *values, int64_t frames, int64_t columns, const pfnn_bvh_axes *joints,
                        int64_t count)
{
#ifdef PFNN_TARGETS
    pfnn_isa isa = pfnn_isa_get();
    if (isa == PFNN_ISA_AVX2 || isa == PFNN_ISA_AVX512) {
        rotations_avx2(out, values, frames, columns, joints, count);
        return;
    }
#endif
    rotations_plain(out, values, frames, columns, joints, count);
}

pfnn_bvh_axes pfnn_bvh_axes_of(const uint8_t *channels, int count, int64_t first_column)
{
    pfnn_bvh_axes joint = {{-1, -1, -1}, {0, 0, 0}, 1.0};
    int axes = 0;
    for (int i = 0; i < count; i++)
        if (channels[i] >= PFNN_BVH_XROTATION) {
            joint.columns[axes] = first_column + i;
            joint.axes[axes++] = (uint8_t)(channels[i] - PFNN_BVH_XROTATION);
        }

    // the axes that a joint lacks come last, with an angle of 0
    for (uint8_t axis = 0; axes < 3; axis++) {
        bool there = false;
        for (int i = 0; i < axes; i++)
            there |= joint.axes[i] == axis;
        if (!there)
            joint.axes[axes++] = axis;
    }
    joint.sign = (joint.axes[1] + 3 - joint.axes[0]) % 3 == 1 ? 1.0 : -1.0;
    return joint;
}
