/* train_work.h: what train.c and its body share: the trainer's memory. */
#ifndef PFNN_TRAIN_WORK_H
#define PFNN_TRAIN_WORK_H

#include "train.h"

enum { PFNN_LAYERS = 3 };

/* Arrays of one batch shape. `real` is the network's type; N = rows x steps, j-th step at row j * rows. */
typedef struct pfnn_train_work {
    int64_t rows;
    int32_t steps;
    int threads; /* that the layers' memory is enough for */
    void *memory;
    void *sequence;               /* (rows, length + steps, dim) real: input frames and the valid predictions after them */
    void *dsequence;
    void *input[PFNN_LAYERS];     /* (N, size[l]) real: what each layer is given */
    void *doutput[PFNN_LAYERS];   /* (N, size[l + 1]) real: gradient by what it gives, before the activation */
    void *output;                 /* (N, outputs) real */
    void *dx;                     /* (rows, widest) real */
    double *share, *slope;        /* (N, kernels) */
    double *dshare;               /* (rows, kernels) */
    double *phase, *dphase;       /* (N,), (rows,) */
    double *root, *droot;         /* (steps + 1, rows, 3), (rows, 3): x, z, yaw since the last input frame */
    double *raw, *valid, *dvalid; /* (N, dim) physical prediction, its valid form, the gradient by that */
    double *first;                /* (rows, dim) physical last input frame */
    double *losses;               /* (rows, PFNN_TERMS) */
    double *norms;                /* one a tile of dW */
    void *gradient;               /* (parameters) real, or NULL where there are too many */
    double *memory_a_row;         /* (rows, scratch) */
    void *layer;                  /* workspace of the layers' passes */
} pfnn_train_work;

struct pfnn_trainer {
    pfnn_train_config config;
    pfnn_train_work work;
    bool ready;      /* the last gradient is whole */
    int64_t scratch; /* doubles a row of geometry works in */
};

#endif /* PFNN_TRAIN_WORK_H */
