/*
 * train.h: the training step; private to the core and its binding.
 *
 * A step is two calls. `pfnn_trainer_gradient` rolls a batch of windows out over `steps` frames, sums the loss and goes
 * back through everything but the last product, dW = input^T x output gradient. `pfnn_trainer_update` makes that product
 * a row at a time and applies AdamW to the row while it is in the cache, so that dW is never stored.
 *
 * Rows of all roll-out steps stand behind each other (step-major), so that one product serves all of them.
 * No result depends on the number of threads.
 */
#ifndef PFNN_TRAIN_H
#define PFNN_TRAIN_H

#include "frame.h"
#include "pfnnc.h"

/* The terms of the loss; each is a mean over rows, steps and its columns, times its weight. */
enum {
    PFNN_TERM_POSE,       /* SmoothL1 of all columns of the frame */
    PFNN_TERM_VELOCITY,   /* SmoothL1 of columns 0..2, once more */
    PFNN_TERM_CONTACT,    /* contact * |step of the foot| in metres, by forward kinematics */
    PFNN_TERM_ROOT,       /* SmoothL1 of yaw rate and height, once more */
    PFNN_TERM_POINTS,     /* SmoothL1 of the points' columns, once more */
    PFNN_TERM_PHASE,      /* SmoothL1 of the phase's rate */
    PFNN_TERM_TRAJECTORY, /* SmoothL1 of the predicted trajectory */
    PFNN_TERMS
};

/* What the phase follows from one roll-out step to the next. */
typedef enum pfnn_phase_source {
    PFNN_PHASE_GIVEN,     /* the batch's `phases` */
    PFNN_PHASE_SPEED,     /* ground speed / stride of the predicted frame */
    PFNN_PHASE_PREDICTED  /* the network's own rate */
} pfnn_phase_source;

/* How the rotations of a pose are compared. */
typedef enum pfnn_rotation_loss {
    PFNN_LOSS_COMPONENT, /* number by number: SmoothL1 of z-scores */
    PFNN_LOSS_SIGN,      /* the same, against the nearer of q and -q */
    PFNN_LOSS_GEODESIC   /* SmoothL1 of the angle between them in radians, which counts as much as the rotation has columns */
} pfnn_rotation_loss;

typedef struct pfnn_columns {
    int32_t begin, end; /* of the network's output; empty where they do not exist */
} pfnn_columns;

/* All pointers stay the caller's. `first`, `second`, `average` have the sizes of `net`. */
typedef struct pfnn_train_config {
    pfnn_net net;         /* trained in place */
    pfnn_net first;       /* AdamW's moments */
    pfnn_net second;
    pfnn_net average;     /* running mean of the weights; weights[0] is NULL where there is none */
    int32_t length;       /* frames of input */
    bool delta;           /* the network gives the change from the last input frame */
    pfnn_frame_layout frame;
    const double *mean, *scale; /* (dim,) physical = z * scale + mean */
    const double *spread;       /* (dim,) unit of the noise */
    pfnn_columns root, points, phase, trajectory;
    int32_t n_times;            /* of the control block, 4 inputs each */
    const double *times;        /* (n_times,) seconds, ascending */
    pfnn_phase_source phase_source;
    pfnn_rotation_loss rotation_loss;
    double stride;              /* metres a cycle, for PFNN_PHASE_SPEED */
} pfnn_train_config;

/* One batch. x, y and rates have the network's type. */
typedef struct pfnn_train_batch {
    int64_t rows;
    int32_t steps;          /* of the roll-out, at least 1 */
    int32_t y_length;       /* frames of y, at least `steps` */
    const void *x;          /* (rows, length, dim) */
    const void *y;          /* (rows, y_length, dim) */
    const double *phase;    /* (rows,) at the last input frame */
    const double *phases;   /* (rows, steps) recorded, for PFNN_PHASE_GIVEN, first column as `phase` */
    const double *rates;    /* (rows, steps) cycles a second, for the phase term */
    const double *const *tracks; /* (rows,) x, z, yaw of the root a frame, for the control block */
    const int64_t *track_length; /* (rows,) */
    const int64_t *track_frame;  /* (rows,) the last input frame */
    const double *track_speed;   /* (rows,) how many times as fast the track is played: that frame is frame x speed of it */
    const uint8_t *mirrored;     /* (rows,) windows that are mirror images of their track; or NULL */
    const uint64_t *seeds;       /* (rows,) of noise and dropout */
    double noise, window_noise;
    double dropout;              /* share of each layer's inputs that is taken for 0, below 1 */
    double weight[PFNN_TERMS];
} pfnn_train_batch;

typedef struct pfnn_update {
    double lr, weight_decay, beta1, beta2, eps;
    int64_t step;      /* from 1 */
    double clip;       /* largest norm of the whole gradient, 0: none */
    double average;    /* decay of the running mean */
} pfnn_update;

typedef struct pfnn_trainer pfnn_trainer;

pfnn_trainer *pfnn_trainer_new(const pfnn_train_config *config, pfnn_error *error);
void pfnn_trainer_free(pfnn_trainer *trainer);

/*
 * The loss of a batch by terms, (PFNN_TERMS), and with `backward` its gradient down to the last product.
 * PFNN_ERROR_NONFINITE where the loss is not finite: nothing has been changed then.
 */
pfnn_status pfnn_trainer_gradient(pfnn_trainer *trainer, double *losses, const pfnn_train_batch *batch, bool backward,
                                  int threads, pfnn_error *error);

/* Whether the last call left a gradient. */
bool pfnn_trainer_ready(const pfnn_trainer *trainer);

/* AdamW with the gradient of the last batch. */
void pfnn_trainer_update(pfnn_trainer *trainer, const pfnn_update *update, int threads);

/* The gradient of the last batch, stored (tests, other optimisers). */
void pfnn_trainer_store(pfnn_trainer *trainer, pfnn_net *gradient, int threads);

/* Whole-number random bits that depend on the arguments alone: the n-th of a stream. */
uint64_t pfnn_random_bits(uint64_t stream, uint64_t n);

/* A permutation of 0..count-1 that depends on seed and epoch alone. */
void pfnn_shuffle(int64_t *order, int64_t count, uint64_t seed, uint64_t epoch);

#endif /* PFNN_TRAIN_H */
