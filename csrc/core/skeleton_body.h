/*
 * skeleton_body.h: forward kinematics of LANES frames side by side, joint after joint; included once for each
 * instruction set. The same operations in the same order as for a single pose, so the same bits.
 */
TARGET static void NAME(pose_lanes)(double *positions, double *world_rotations, const pfnn_skeleton *skeleton,
                                    const double *root_positions, const double *rotations, const double *translations,
                                    double *workspace)
{
    int64_t joints = skeleton->joints;
    for (int64_t j = 0; j < joints; j++) {
        double *world = workspace + j * 7 * LANES, *place = world + 4 * LANES; /* (4, LANES) and (3, LANES) */
        int64_t parent = skeleton->parents[j];
        double local[4][LANES], offset[3][LANES];
        for (int t = 0; t < LANES; t++) {
            const double *q = rotations + (t * joints + j) * 4;
            const double *v = parent < 0 && j == 0 ? root_positions + 3 * t
                              : translations       ? translations + (t * joints + j) * 3
                                                   : skeleton->offsets + j * 3;
            for (int i = 0; i < 4; i++)
                local[i][t] = q[i];
            for (int i = 0; i < 3; i++)
                offset[i][t] = v[i];
        }

        if (parent < 0) {
            memcpy(world, local, sizeof local);
            memcpy(place, offset, sizeof offset);
        } else {
            const double *restrict q = workspace + parent * 7 * LANES, *restrict from = q + 4 * LANES;
            double *restrict r = world, *restrict p = place;
            for (int t = 0; t < LANES; t++) {
                double w = q[t], x = q[LANES + t], y = q[2 * LANES + t], z = q[3 * LANES + t];
                double u = offset[0][t], v = offset[1][t], s = offset[2][t];
                double a = 2 * (y * s - z * v), b = 2 * (z * u - x * s), c = 2 * (x * v - y * u);
                p[t] = from[t] + (u + (w * a + (y * c - z * b)));
                p[LANES + t] = from[LANES + t] + (v + (w * b + (z * a - x * c)));
                p[2 * LANES + t] = from[2 * LANES + t] + (s + (w * c + (x * b - y * a)));

                double d = local[0][t], e = local[1][t], f = local[2][t], g = local[3][t];
                r[t] = w * d - x * e - y * f - z * g;
                r[LANES + t] = w * e + x * d + y * g - z * f;
                r[2 * LANES + t] = w * f - x * g + y * d + z * e;
                r[3 * LANES + t] = w * g + x * f - y * e + z * d;
            }
        }

        for (int t = 0; t < LANES; t++)
            for (int i = 0; i < 3; i++)
                positions[(t * joints + j) * 3 + i] = place[i * LANES + t];
        for (int t = 0; t < LANES && world_rotations; t++)
            for (int i = 0; i < 4; i++)
                world_rotations[(t * joints + j) * 4 + i] = world[i * LANES + t];
    }
}
