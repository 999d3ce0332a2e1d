/* root_motion.h: the inside of a track, for clock.c. */
#ifndef PFNN_ROOT_MOTION_H
#define PFNN_ROOT_MOTION_H

#include "pfnnc.h"

/* The motion between two moments given by cycle and time within the cycle, in [0, duration]. */
void pfnn_track_delta_local(double *translation, double *rotation, const pfnn_track *track, int64_t cycle0, double local0,
                            int64_t cycle1, double local1);

#endif /* PFNN_ROOT_MOTION_H */
