/*
 * kernel.h: the few hot loops of the network, compiled once for each instruction set, and the choice between them.
 *
 * A weight matrix (in, out) is read in panels: 64 bytes of columns wide (16 floats, 8 doubles), one row after the
 * other, the last panel padded with zeros. A tile is up to `tile_rows` rows of x times one or two panels. Inputs are
 * taken in blocks of at most PFNN_BLOCK, and each output is, block after block and kernel after kernel,
 *
 *     y = y + a_k * (x_0 w_0 + x_1 w_1 + ...)      summed from left to right
 *
 * in every path, so that a row has the same bits however many rows are computed beside it.
 */
#ifndef PFNN_KERNEL_H
#define PFNN_KERNEL_H

#include "cpu.h"
#include "pfnnc.h"

#include <string.h>

enum {
    PFNN_BLOCK = 256,    /* inputs a block: a block of a panel (16 KiB) stays in the first-level cache */
    PFNN_TILE_ROWS = 12, /* the most rows a tile has in any instruction set */
    PFNN_TILE_PANELS = 16,
    PFNN_LONG_ROWS = 3,     /* the most rows of a long tile */
    PFNN_LONG_STEPS = 4,    /* inputs that it takes at a time */
    PFNN_LONG_AHEAD = 1280, /* numbers that it fetches ahead */
    PFNN_BLEND_ROWS = 128,  /* rows of matrices that blends are made of at a time */
    PFNN_PANEL_BYTES = 64
};

/* One tile's work. Distances in elements unless they say bytes. */
typedef struct pfnn_tile {
    void *c;             /* (rows, panels of columns): c += share * (a times w) */
    int64_t c_row;
    const void *a;       /* (depth, rows) packed */
    const void *w;       /* (depth, panel) packed, or rows of a matrix */
    int64_t w_row;
    int64_t w_panel;     /* from one panel to the next */
    const void *next;    /* all but packed: where to go on fetching, a line after the other, what will be read next */
    int64_t panels;      /* long: how many */
    int64_t width;       /* tail: columns that the panel has */
    int64_t depth;
    const void *share;   /* (rows), one every share_row, of the type of c */
    int64_t share_row;
} pfnn_tile;

typedef void (*pfnn_tile_function)(const pfnn_tile *tile);

/* [rows - 1][panels - 1], NULL where a tile of that shape does not fit into registers. */
typedef pfnn_tile_function pfnn_tile_table[PFNN_TILE_ROWS][PFNN_TILE_PANELS];

/* Some blends of the same kernels. */
typedef struct pfnn_mix {
    int own[PFNN_MAX_KERNELS];    /* of each blend, its own matrix */
    int common[PFNN_MAX_KERNELS]; /* those that all have parts of */
    int commons;                  /* an even number, at least 2 */
    const void *share; /* (blends, commons) */
} pfnn_mix;

/* Blends of matrices, as packed panels: each is its own matrix plus shares of the common ones. */
typedef struct pfnn_blend {
    void *to;              /* (mixes, blends, panels, depth, panel) */
    int64_t to_blend;      /* elements from blend to blend */
    const void *w;         /* rows of the first matrix */
    int64_t w_row, matrix; /* elements from row to row and from matrix to matrix */
    int64_t depth, panels;
    int64_t width;         /* columns that there are */
    const pfnn_mix *mix;
    int mixes, blends, kernels; /* blends of each mix */
} pfnn_blend;

/* What an instruction set provides, for float [PFNN_FLOAT32] and double [PFNN_FLOAT64]. */
typedef struct pfnn_kernels {
    const char *name;
    int tile_rows; /* a tile's rows where there are many */
    pfnn_tile_table packed[2]; /* w holds panels */
    pfnn_tile_table direct[2]; /* w holds rows of a matrix: w_panel is a panel */
    pfnn_tile_table tail[2];   /* the same, for a last panel that is not whole */
    pfnn_tile_table half;      /* w holds rows of a float16 matrix, padded to whole panels */
    pfnn_tile_function long_half[PFNN_LONG_ROWS]; /* [rows - 1]: the same for few rows and any panels */
    const struct pfnn_kernels *narrow; /* whose long tiles to take: AVX-512 widens float16 more slowly than AVX2 */
    void (*blend[2])(const pfnn_blend *blend);
    double (*peak[2])(int64_t rounds);                   /* limits of the machine: rounds of 12 fused multiply-adds */
    double (*read[2])(const void *from, int64_t count);  /* a sum over memory */
    int lanes;                                           /* floats in a vector */
    void (*relu[2])(void *x, int64_t count);                   /* in place; count is a multiple of a panel */
    void (*elu[2])(void *x, int64_t count);
} pfnn_kernels;

/* The kernels of the instruction set in use (cpu.h). */
const pfnn_kernels *pfnn_kernels_get(void);

/* Entries of the tables for a tile shape; the functions' names come from kernel_body.h. */
#define PFNN_PACKED_FLOAT(rows, panels) [(rows)-1][(panels)-1] = packed_##rows##_##panels##_float,
#define PFNN_DIRECT_FLOAT(rows, panels) [(rows)-1][(panels)-1] = direct_##rows##_##panels##_float,
#define PFNN_TAIL_FLOAT(rows, panels) [(rows)-1][(panels)-1] = tail_##rows##_##panels##_float,
#define PFNN_HALF_FLOAT(rows, panels) [(rows)-1][(panels)-1] = half_##rows##_##panels##_float,
#define PFNN_PACKED_DOUBLE(rows, panels) [(rows)-1][(panels)-1] = packed_##rows##_##panels##_double,
#define PFNN_DIRECT_DOUBLE(rows, panels) [(rows)-1][(panels)-1] = direct_##rows##_##panels##_double,
#define PFNN_TAIL_DOUBLE(rows, panels) [(rows)-1][(panels)-1] = tail_##rows##_##panels##_double,

/* The table of a file that has included the body twice and defines TILES, TAILS (one panel, as many rows) and HALVES. */
#define PFNN_KERNELS(set, rows, narrow_set)                                                                            \
    const pfnn_kernels pfnn_kernels_##set = {                                                                          \
        .name = #set,                                                                                                  \
        .tile_rows = rows,                                                                                             \
        .long_half = {long_half_1_float, long_half_2_float, long_half_3_float},                                        \
        .narrow = &pfnn_kernels_##narrow_set,                                                                          \
        .packed = {{TILES(PFNN_PACKED_FLOAT)}, {TILES(PFNN_PACKED_DOUBLE)}},                                           \
        .direct = {{TILES(PFNN_DIRECT_FLOAT)}, {TILES(PFNN_DIRECT_DOUBLE)}},                                           \
        .tail = {{TAILS(PFNN_TAIL_FLOAT)}, {TAILS(PFNN_TAIL_DOUBLE)}},                                                 \
        .half = {HALVES(PFNN_HALF_FLOAT)},                                                                             \
        .blend = {blend_float, blend_double},                                                                          \
        .peak = {peak_float, peak_double},                                                                             \
        .read = {read_float, read_double},                                                                             \
        .lanes = PFNN_LANES,                                                                                           \
        .relu = {relu_float, relu_double},                                                                             \
        .elu = {elu_float, elu_double},                                                                                \
    }

extern const pfnn_kernels pfnn_kernels_avx512, pfnn_kernels_avx2, pfnn_kernels_sse2, pfnn_kernels_neon,
    pfnn_kernels_portable;

#endif
