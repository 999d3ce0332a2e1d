/* bvh.h: what reading and writing BVH share; the interface is in pfnnc.h. */
#ifndef PFNN_BVH_H
#define PFNN_BVH_H

#include "pfnnc.h"

/* As they are written, in the order of pfnn_bvh_channel. */
extern const char *const pfnn_bvh_channel_names[PFNN_BVH_CHANNELS];

#endif /* PFNN_BVH_H */
