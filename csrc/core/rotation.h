/* rotation.h: what rotation.c shares inside the core. */
#ifndef PFNN_ROTATION_H
#define PFNN_ROTATION_H

#endif /* PFNN_ROTATION_H */
