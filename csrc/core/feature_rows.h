/* feature_rows.h (features.h is the name of a header of the system): what the core shares of features.c beside pfnnc.h. */
#ifndef PFNN_FEATURE_ROWS_H
#define PFNN_FEATURE_ROWS_H

#include "pfnnc.h"

/* x, z and yaw at a frame that may lie between frames or beyond the ends; see pfnn_trajectory_block_f64. */
void pfnn_track_at(double p[3], const double *track, int64_t frames, double fps, double frame);

/* The yaw, in [-pi, pi], of a rotation as the columns of a row have it. */
double pfnn_orientation_yaw(const double *columns, int32_t representation);

#endif /* PFNN_FEATURE_ROWS_H */
