/* rollout.h: what rollout.c keeps to itself; the interface is the rollout section of pfnnc.h. */
#ifndef PFNN_ROLLOUT_H
#define PFNN_ROLLOUT_H

#include "pfnnc.h"

/* What one character carries from frame to frame, as offsets in doubles into its row of `state`. */
typedef struct rollout_offsets {
    size_t last;     /* (dim) the last input frame, physical */
    size_t root;     /* (3) world position of the root */
    size_t yaw;      /* heading of the root, not wrapped; frame "world": yaw of the last predicted orientation */
    size_t turn;     /* frame "world": angle that drift correction has taken off so far */
    size_t phase;    /* [0, 1), or what the caller began with */
    size_t excess;   /* (window, 4) predicted - expected of the last frames: velocity and yaw rate, a ring */
    size_t sum;      /* (4) of the ring */
    size_t past;     /* (history, 3) x, z, yaw of the frames before, a ring */
    size_t wanted;   /* (times, 3) x, z, yaw in the world */
    size_t foreseen; /* (future, 4) the network's own next trajectory, relative to the root */
    size_t size;
} rollout_offsets;

struct pfnn_rollout {
    pfnn_rollout_config config;
    rollout_offsets at;
    size_t dim, in_dim, out_dim;
    size_t times, future; /* of the trajectory; those of them that lie ahead */
    size_t history;  /* frames of the past that the control block looks back */
    size_t real;     /* bytes of a number of the network */

    char *block;     /* the one allocation */
    size_t state_size;
    int64_t *count;  /* frames made so far; state begins here */
    double *state;   /* (characters, at.size) */
    void *x;         /* (characters, in_dim) the network's input; state ends after it */

    double *asked;   /* (characters) phases for the network */
    void *y;         /* (characters, out_dim) its answer */
    double *mean, *scale;   /* (dim) */
    double *low, *high;     /* (dim) */
    double *frame;   /* (characters, dim) predicted, then valid */
    double *shown;   /* (characters, dim) */
    double *velocity; /* (characters, 3) shown, world */
    double *next;    /* (characters, 14) see rollout.c */
    double *expected, *expected_rate;
    double *offsets; /* (times) in frames */
    double *stride;  /* (characters) */
};

#endif /* PFNN_ROLLOUT_H */
