/*
 * pfnnc.h: the public interface of libpfnnc, a C core for data-driven character animation.
 *
 * Conventions, everywhere in this file:
 *   - right-handed, y up, metres, seconds, radians; forward at yaw 0 is +z
 *   - quaternions are [w, x, y, z], Hamilton, active, from child to parent space
 *   - yaw is the twist about +y, in [-pi, pi]
 *   - phase is in cycles, cyclic, [0, 1); NaN means "this frame has no phase"
 *   - arrays are row-major and contiguous unless a stride is given; outputs come first
 *   - a function that can fail returns a pfnn_status and fills a pfnn_error; kernels return void
 *   - nothing prints, exits or keeps global state
 */
#ifndef PFNNC_H
#define PFNNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(PFNN_BUILD_SHARED) && defined(_WIN32)
#define PFNN_API __declspec(dllexport)
#elif defined(__GNUC__)
#define PFNN_API __attribute__((visibility("default")))
#else
#define PFNN_API
#endif


/* ---- errors ------------------------------------------------------------------------------- */

typedef enum pfnn_status {
    PFNN_OK = 0,
    PFNN_ERROR_VALUE,     /* an argument has a wrong value: Python's ValueError */
    PFNN_ERROR_MEMORY,    /* an allocation failed: MemoryError */
    PFNN_ERROR_IO,        /* a file could not be read or written: OSError */
    PFNN_ERROR_PARSE,     /* a text is not what its format says, with line and column: BVHError */
    PFNN_ERROR_NONFINITE  /* a computation left the finite numbers: FloatingPointError */
} pfnn_status;

typedef struct pfnn_error {
    pfnn_status code;
    int64_t index;        /* first index at fault, -1 where there is none */
    int64_t line, column; /* in a text, from 1, column in bytes; 0 where there is none */
    char message[256];    /* names the argument, what was expected, what came */
} pfnn_error;

/* Fill `error` (which may be NULL) with a printf-like message and return `code`. */
PFNN_API pfnn_status pfnn_fail(pfnn_error *error, pfnn_status code, int64_t index, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 4, 5)))
#endif
    ;


/* ---- threads ------------------------------------------------------------------------------ */


/* ---- rotation ----------------------------------------------------------------------------- */


/* ---- root motion -------------------------------------------------------------------------- */


/* ---- clock -------------------------------------------------------------------------------- */


/* ---- phase -------------------------------------------------------------------------------- */


/* ---- bvh ---------------------------------------------------------------------------------- */


/* ---- skeleton ----------------------------------------------------------------------------- */


/* ---- features ----------------------------------------------------------------------------- */


/* ---- store: the checksummed file format --------------------------------------------------- */


/* ---- network ------------------------------------------------------------------------------ */


/* ---- training ----------------------------------------------------------------------------- */


/* ---- rollout ------------------------------------------------------------------------------ */


/* ---- control ------------------------------------------------------------------------------ */


/* ---- inverse kinematics ------------------------------------------------------------------- */


#ifdef __cplusplus
}
#endif

#endif /* PFNNC_H */
