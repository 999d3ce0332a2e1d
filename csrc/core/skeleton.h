/* skeleton.h: what skeleton.c shares inside the core. */
#ifndef PFNN_SKELETON_H
#define PFNN_SKELETON_H

#endif /* PFNN_SKELETON_H */
