/*
 * ufuncs.c: the rotations as generalised ufuncs: one table, one loop for single rotations, one for series of them.
 *
 * Broadcasting, strides, out= and overlap safety are NumPy's. Every loop reads its inputs as double, computes in
 * double, and writes float32 where all inputs are float32, else float64. Small integers and float16 have loops of
 * their own, since NumPy would find them a float32 loop; larger integers are cast to float64 by NumPy.
 */
#include "binding.h"

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INPUTS = 3, MOST_NUMBERS = 9, MOST_LOOPS = 32, BLOCK = 128 };

/* `count` items, contiguous. */
typedef void single_kernel(double *r, const double *const in[], int64_t count);

/* `in` and `out` count the numbers of one item; 9 is a 3x3 matrix, 1 a scalar without core dimension. */
typedef struct single {
    const char *name, *signature, *doc;
    single_kernel *kernel;
    int inputs, in[MOST_INPUTS], out;
} single;

/* A walk along an axis: r is the result for the item v, `previous` the result before, or v itself at the start. */
typedef void step_kernel(double *r, const double *v, const double *previous);

typedef struct series {
    const char *name, *signature, *doc;
    step_kernel *step; /* NULL for the mean */
    int width;
} series;

/* What a loop gets from NumPy: its row of a table and the types it reads and writes. */
typedef struct loop_data {
    const void *row;
    char types[MOST_INPUTS + 1];
} loop_data;


/* ---- numbers of any type ------------------------------------------------------------------- */

static double half_to_double(npy_uint16 half)
{
    int exponent = half >> 10 & 31, fraction = half & 1023;
    double value = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                   : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                  : ldexp(fraction, -24);
    return half >> 15 ? -value : value;
}

static double read_number(const char *source, char type)
{
    switch (type) {
    case NPY_SHORT:
        return *(const npy_short *)source;
    case NPY_USHORT:
        return *(const npy_ushort *)source;
    case NPY_HALF:
        return half_to_double(*(const npy_uint16 *)source);
    case NPY_FLOAT:
        return (double)*(const float *)source;
    case NPY_LONGDOUBLE:
        return (double)*(const npy_longdouble *)source;
    default:
        return *(const double *)source;
    }
}

/* Where an operand's numbers lie: from item to item, and inside an item along rows and columns. */
typedef struct layout {
    npy_intp item, row, column;
    int numbers;
    char type;
} layout;

static int width_of(const layout *l)
{
    return l->numbers == 9 ? 3 : l->numbers;
}

/* Whether the numbers of an item follow each other without gaps, `size` bytes each. */
static bool is_close(const layout *l, npy_intp size)
{
    return (l->numbers == 1 || l->column == size) && (l->numbers != 9 || l->row == 3 * size);
}

/* Whether the items do so too. */
static bool is_packed(const layout *l, npy_intp size)
{
    return is_close(l, size) && l->item == l->numbers * size;
}

static void read_items(double *to, const char *from, const layout *l, npy_intp count)
{
    int numbers = l->numbers, width = width_of(l);
    if (l->type == NPY_FLOAT && is_packed(l, sizeof(float))) {
        for (npy_intp i = 0; i < count * numbers; i++)
            to[i] = (double)((const float *)from)[i];
    } else if (l->type == NPY_DOUBLE && is_close(l, sizeof(double))) {
        for (npy_intp n = 0; n < count; n++)
            for (int i = 0; i < numbers; i++)
                to[n * numbers + i] = ((const double *)(from + n * l->item))[i];
    } else {
        for (npy_intp n = 0; n < count; n++)
            for (int i = 0; i < numbers; i++)
                *to++ = read_number(from + n * l->item + i / width * l->row + i % width * l->column, l->type);
    }
}

static void write_items(char *to, const double *from, const layout *l, npy_intp count)
{
    int numbers = l->numbers, width = width_of(l);
    if (l->type == NPY_FLOAT && is_packed(l, sizeof(float))) {
        for (npy_intp i = 0; i < count * numbers; i++)
            ((float *)to)[i] = (float)from[i];
        return;
    }
    for (npy_intp n = 0; n < count; n++) {
        for (int i = 0; i < numbers; i++) {
            char *place = to + n * l->item + i / width * l->row + i % width * l->column;
            if (l->type == NPY_FLOAT)
                *(float *)place = (float)*from++;
            else
                *(double *)place = *from++;
        }
    }
}

/*
 * A NaN result stands for an invalid input and an infinite one for an overflow: these are the floating-point flags
 * that a caller sees, whatever the kernel raised on its way. `before` are the flags of earlier parts of the same call.
 */
static void set_flags(int before, int nans, int infinities)
{
    feclearexcept(FE_ALL_EXCEPT);
    feraiseexcept(before | (nans ? FE_INVALID : 0) | (infinities ? FE_OVERFLOW : 0));
}


/* ---- one rotation at a time ---------------------------------------------------------------- */

/*
 * Looks closer only where some number is too large for the type, or NaN: where adding to its bits without the sign
 * reaches the sign. Integer arithmetic, since every processor has it for vectors.
 */
static void find_flags(const double *r, npy_intp count, char type, int *nans, int *infinities)
{
    const uint64_t no_sign = UINT64_MAX >> 1;
    double limit = type == NPY_FLOAT ? FLT_MAX : DBL_MAX;
    uint64_t bits, most, large = 0;
    memcpy(&most, &limit, sizeof most);
    for (npy_intp i = 0; i < count; i++) {
        memcpy(&bits, &r[i], sizeof bits);
        large |= (bits & no_sign) + (no_sign - most);
    }
    for (npy_intp i = 0; i < count && large > no_sign; i++) {
        *nans |= isnan(r[i]) != 0;
        *infinities |= fabs(r[i]) > limit;
    }
}

static void single_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
    const loop_data *own = data;
    const single *row = own->row;
    int n = row->inputs, nans = 0, infinities = 0, before = fetestexcept(FE_ALL_EXCEPT);
    double buffers[MOST_INPUTS + 1][BLOCK * MOST_NUMBERS];

    /* core strides follow the outer ones: two for a matrix, none for a scalar */
    layout layouts[MOST_INPUTS + 1];
    bool plain[MOST_INPUTS + 1];
    const npy_intp *core = steps + n + 1;
    for (int i = 0; i <= n; i++) {
        layout *l = &layouts[i];
        *l = (layout){steps[i], 0, 0, i < n ? row->in[i] : row->out, own->types[i]};
        if (l->numbers == 9)
            l->row = *core++;
        if (l->numbers > 1)
            l->column = *core++;
        plain[i] = l->type == NPY_DOUBLE && is_packed(l, sizeof(double));
    }

    for (npy_intp start = 0; start < dimensions[0]; start += BLOCK) {
        npy_intp count = dimensions[0] - start < BLOCK ? dimensions[0] - start : BLOCK;
        const double *inputs[MOST_INPUTS];
        for (int i = 0; i < n; i++) {
            const char *from = args[i] + start * steps[i];
            if (!plain[i] && (start == 0 || steps[i] != 0)) /* what is broadcast stays in the buffer */
                read_items(buffers[i], from, &layouts[i], count);
            inputs[i] = plain[i] ? (const double *)from : buffers[i];
        }
        char *to = args[n] + start * steps[n];
        double *result = plain[n] ? (double *)to : buffers[MOST_INPUTS];
        row->kernel(result, inputs, count);
        find_flags(result, count * row->out, own->types[n], &nans, &infinities);
        if (!plain[n])
            write_items(to, result, &layouts[n], count);
    }
    set_flags(before, nans, infinities);
}

#define KERNEL(name) static void name(double *r, const double *const in[], int64_t count)

/* The product and the conjugate of a zero quaternion are numbers, but no rotations. */
static void refuse_zero(double *r, const double *q, int64_t count)
{
    for (int64_t i = 0; i < 4 * count; i += 4)
        if (q[i] == 0 && q[i + 1] == 0 && q[i + 2] == 0 && q[i + 3] == 0)
            r[i] = r[i + 1] = r[i + 2] = r[i + 3] = NAN;
}

KERNEL(mul)
{
    pfnn_quat_mul_n(r, in[0], in[1], count);
    refuse_zero(r, in[0], count);
    refuse_zero(r, in[1], count);
}

KERNEL(normalize) { pfnn_quat_normalize_n(r, in[0], count); }
KERNEL(rotate) { pfnn_quat_rotate_n(r, in[0], in[1], count); }
KERNEL(to_exp_map) { pfnn_quat_to_exp_map_n(r, in[0], count); }
KERNEL(from_exp_map) { pfnn_exp_map_to_quat_n(r, in[0], count); }
KERNEL(logarithm) { pfnn_quat_log_n(r, in[0], count); }
KERNEL(exponential) { pfnn_quat_exp_n(r, in[0], count); }

KERNEL(conjugate)
{
    for (int64_t i = 0; i < count; i++)
        pfnn_quat_conj(r + 4 * i, in[0] + 4 * i);
    refuse_zero(r, in[0], count);
}

KERNEL(slerp)
{
    for (int64_t i = 0; i < count; i++)
        pfnn_quat_slerp(r + 4 * i, in[0] + 4 * i, in[1] + 4 * i, in[2][i]);
}

KERNEL(yaw)
{
    for (int64_t i = 0; i < count; i++)
        r[i] = pfnn_quat_yaw(in[0] + 4 * i);
}

KERNEL(wrap)
{
    for (int64_t i = 0; i < count; i++)
        pfnn_exp_map_wrap(r + 3 * i, in[0] + 3 * i);
}

KERNEL(to_matrix)
{
    for (int64_t i = 0; i < count; i++)
        pfnn_quat_to_matrix(r + 9 * i, in[0] + 4 * i);
}

KERNEL(from_matrix)
{
    for (int64_t i = 0; i < count; i++)
        pfnn_quat_from_matrix(r + 4 * i, in[0] + 9 * i);
}

KERNEL(to_6d)
{
    for (int64_t i = 0; i < count; i++)
        pfnn_quat_to_6d(r + 6 * i, in[0] + 4 * i);
}

KERNEL(from_6d)
{
    for (int64_t i = 0; i < count; i++)
        pfnn_quat_from_6d(r + 4 * i, in[0] + 6 * i);
}

/* Axes come as an array of three numbers that pfnnc/rotation.py has checked. */
static void read_axes(int axes[3], const double *numbers)
{
    for (int i = 0; i < 3; i++)
        axes[i] = numbers[i] == 1 ? 1 : numbers[i] == 2 ? 2 : 0;
}

KERNEL(from_euler)
{
    int axes[3];
    for (int64_t i = 0; i < count; i++) {
        read_axes(axes, in[1] + 3 * i);
        pfnn_quat_from_euler(r + 4 * i, in[0] + 3 * i, axes);
    }
}

KERNEL(to_euler)
{
    int axes[3];
    for (int64_t i = 0; i < count; i++) {
        read_axes(axes, in[1] + 3 * i);
        pfnn_quat_to_euler(r + 3 * i, in[0] + 4 * i, axes);
    }
}

static const single singles[] = {
    {"quat_mul", "(4),(4)->(4)",
     "The Hamilton product ``a b``: the rotation b followed by a. Not normalised.\n\n"
     ">>> quat_mul([0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0])\narray([0., 0., 0., 1.])\n",
     mul, 2, {4, 4}, 4},
    {"quat_conj", "(4)->(4)",
     "The conjugate, for a unit quaternion the inverse rotation.\n\n"
     ">>> quat_conj([1.0, 2.0, 3.0, 4.0])\narray([ 1., -2., -3., -4.])\n",
     conjugate, 1, {4}, 4},
    {"quat_normalize", "(4)->(4)",
     "The unit quaternion of the same direction and sign, from any norm that a float can have.\n\n"
     ">>> quat_normalize([0.0, 3e-300, 0.0, -4e-300])\narray([ 0. ,  0.6,  0. , -0.8])\n",
     normalize, 1, {4}, 4},
    {"quat_rotate", "(4),(3)->(3)",
     "The vector v turned by the rotation of q, whatever q's norm.\n\n"
     ">>> quat_rotate([1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0])  # a quarter turn about y\narray([1., 0., 0.])\n",
     rotate, 2, {4, 3}, 3},
    {"quat_slerp", "(4),(4),()->(4)",
     "From a (t = 0) to b (t = 1) at constant angular speed along the shorter way; the sign goes on from a's.\n\n"
     "Inputs of any norm, the result is unit; t outside [0, 1] goes on along the great circle.\n\n"
     ">>> quat_slerp([1.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0], 0.5)\narray([1., 0., 0., 0.])\n",
     slerp, 3, {4, 4, 1}, 4},
    {"quat_yaw", "(4)->()",
     "The twist about +y in radians, in [-pi, pi]; 0 where it is undefined (a half turn about a horizontal axis).\n\n"
     ">>> float(quat_yaw([1.0, 0.0, 1.0, 0.0]))\n1.5707963267948966\n",
     yaw, 1, {4}, 1},
    {"quat_to_exp_map", "(4)->(3)",
     "The rotation vector: axis times angle in radians, the angle in [0, pi] whatever the quaternion's sign or\n"
     "norm.\n\n"
     "With w = 0 the first non-zero component of the axis is positive. A zero or non-finite quaternion gives NaN and\n"
     "raises the \"invalid\" floating-point flag (see `numpy.errstate`).\n\n"
     "Published code often returns half of it; that is `quat_log` here. Data made so is read with\n"
     "``exp_map_to_quat(2 * r)`` or ``quat_exp(r)``.\n\n"
     ">>> quat_to_exp_map([1.0, 1.0, 0.0, 0.0])\narray([1.57079633, 0.        , 0.        ])\n",
     to_exp_map, 1, {4}, 3},
    {"exp_map_to_quat", "(3)->(4)",
     "The unit quaternion of a rotation vector (radians) of any length: ``(cos(|r|/2), sin(|r|/2) r/|r|)``.\n\n"
     ">>> exp_map_to_quat([0.0, 0.0, 0.0])\narray([1., 0., 0., 0.])\n",
     from_exp_map, 1, {3}, 4},
    {"exp_map_wrap", "(3)->(3)",
     "The rotation vector of the same rotation that is no longer than pi; a short one is kept to the bit.\n\n"
     ">>> exp_map_wrap([0.0, 4.0, 0.0])\narray([ 0.        , -2.28318531,  0.        ])\n",
     wrap, 1, {3}, 3},
    {"quat_log", "(4)->(3)",
     "The logarithm: half of `quat_to_exp_map`.\n\n"
     ">>> quat_log([0.0, 0.0, 0.0, 1.0])\narray([0.        , 0.        , 1.57079633])\n",
     logarithm, 1, {4}, 3},
    {"quat_exp", "(3)->(4)",
     "The inverse of `quat_log`: ``(cos|r|, sin|r| r/|r|)``.\n\n"
     ">>> quat_exp([0.0, 0.0, 0.0])\narray([1., 0., 0., 0.])\n",
     exponential, 1, {3}, 4},
    {"quat_to_matrix", "(4)->(3,3)",
     "The 3x3 rotation matrix, which maps column vectors, of a quaternion of any norm.\n\n"
     ">>> quat_to_matrix([1.0, 0.0, 1.0, 0.0])\n"
     "array([[ 0.,  0.,  1.],\n       [ 0.,  1.,  0.],\n       [-1.,  0.,  0.]])\n",
     to_matrix, 1, {4}, 9},
    {"quat_from_matrix", "(3,3)->(4)",
     "The unit quaternion, w >= 0, of the rotation that is nearest to a matrix in the sum of squares.\n\n"
     "A matrix without positive determinant is no rotation: NaN and the \"invalid\" flag.\n\n"
     ">>> quat_from_matrix([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]])\narray([0., 1., 0., 0.])\n",
     from_matrix, 1, {9}, 4},
    {"quat_to_6d", "(4)->(6)",
     "The first two columns of the rotation matrix, one after the other.\n\n"
     ">>> quat_to_6d([1.0, 0.0, 0.0, 0.0])\narray([1., 0., 0., 0., 1., 0.])\n",
     to_6d, 1, {4}, 6},
    {"quat_from_6d", "(6)->(4)",
     "The unit quaternion, w >= 0, of two columns made orthonormal by Gram-Schmidt; the first keeps its direction.\n\n"
     "Columns that are zero or parallel give NaN and the \"invalid\" flag. (Zhou and others 2019, \"On the\n"
     "Continuity of Rotation Representations in Neural Networks\".)\n\n"
     ">>> quat_from_6d([2.0, 0.0, 0.0, 5.0, 3.0, 0.0])\narray([1., 0., 0., 0.])\n",
     from_6d, 1, {6}, 4},
    {"_quat_from_euler", "(3),(3)->(4)", "quat_from_euler with the order as three axis numbers.",
     from_euler, 2, {3, 3}, 4},
    {"_quat_to_euler", "(4),(3)->(3)", "quat_to_euler with the order as three axis numbers.",
     to_euler, 2, {4, 3}, 3},
};


/* ---- rotations along an axis --------------------------------------------------------------- */

/* q or -q, whichever is nearer to `previous`. */
static void unroll_quat(double *r, const double *q, const double *previous)
{
    double a[4], b[4];
    pfnn_quat_normalize(a, q);
    pfnn_quat_normalize(b, previous);
    if (isnan(a[0])) {
        memcpy(r, a, sizeof a);
        return;
    }
    double dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    for (int i = 0; i < 4; i++)
        r[i] = dot < 0 ? 0.0 - q[i] : q[i];
}

static void series_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
    const loop_data *own = data;
    const series *row = own->row;
    int width = row->width, nans = 0, before = fetestexcept(FE_ALL_EXCEPT);
    npy_intp length = dimensions[1];
    const layout in = {0, 0, steps[3], width, own->types[0]}, out = {0, 0, steps[5], width, own->types[1]};

    for (npy_intp item = 0; item < dimensions[0]; item++) {
        char *from = args[0] + item * steps[0], *to = args[1] + item * steps[1];
        double previous[4], v[4], r[4];
        bool follows = false; /* a valid one: until then there is nothing to follow */
        for (npy_intp t = 0; t < length; t++) {
            read_items(v, from + t * steps[2], &in, 1);
            row->step(r, v, follows ? previous : v);
            if (isnan(r[0])) {
                nans = 1;
            } else {
                memcpy(previous, r, (size_t)width * sizeof *r);
                follows = true;
            }
            write_items(to + t * steps[4], r, &out, 1);
        }
    }
    set_flags(before, nans, 0);
}

static void mean_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
    const loop_data *own = data;
    int nans = 0, before = fetestexcept(FE_ALL_EXCEPT);
    const layout in = {0, 0, steps[3], 4, own->types[0]}, out = {0, 0, steps[4], 4, own->types[1]};

    for (npy_intp item = 0; item < dimensions[0]; item++) {
        double sum[16] = {0}, first[4] = {0}, q[4], r[4], dot = 0;
        for (npy_intp t = 0; t < dimensions[1]; t++) {
            read_items(q, args[0] + item * steps[0] + t * steps[2], &in, 1);
            pfnn_quat_normalize(q, q);
            for (int i = 0; i < 16; i++)
                sum[i] += q[i / 4] * q[i % 4];
            if (t == 0)
                memcpy(first, q, sizeof q);
        }
        pfnn_quat_mean(r, sum);
        for (int i = 0; i < 4; i++)
            dot += r[i] * first[i];
        for (int i = 0; i < 4; i++)
            r[i] = dot < 0 ? -r[i] : r[i];
        nans |= isnan(r[0]) != 0;
        write_items(args[1] + item * steps[1], r, &out, 1);
    }
    set_flags(before, nans, 0);
}

static const series all_series[] = {
    {"_quat_unroll", "(n,4)->(n,4)", "quat_unroll along the first axis of the core.", unroll_quat, 4},
    {"_exp_map_unroll", "(n,3)->(n,3)", "exp_map_unroll along the first axis of the core.", pfnn_exp_map_unroll, 3},
    {"_quat_mean", "(n,4)->(4)", "quat_mean along the first axis of the core.", NULL, 4},
};


/* ---- registration -------------------------------------------------------------------------- */

/* All combinations of the small types, then float32, float64 and long double alone. Returns the number of loops. */
static int list_loops(loop_data *loops, const void *row, int inputs)
{
    static const char small[] = {NPY_SHORT, NPY_USHORT, NPY_HALF}, large[] = {NPY_FLOAT, NPY_DOUBLE, NPY_LONGDOUBLE};
    int count = 0, combinations = 1;
    for (int i = 0; i < inputs; i++)
        combinations *= 3;
    for (int c = 0; c < combinations + 3; c++) {
        loop_data *loop = &loops[count++];
        loop->row = row;
        for (int i = 0, rest = c; i < inputs; i++, rest /= 3)
            loop->types[i] = c < combinations ? small[rest % 3] : large[c - combinations];
        loop->types[inputs] = c == combinations ? NPY_FLOAT : NPY_DOUBLE;
    }
    return count;
}

/* NumPy keeps pointers to these tables for as long as the process lives. */
static int add(PyObject *module, const void *row, const char *name, const char *signature, const char *doc, int inputs,
               PyUFuncGenericFunction function)
{
    static PyUFuncGenericFunction functions[3][MOST_LOOPS];
    loop_data *loops = calloc(MOST_LOOPS, sizeof *loops);
    void **data = calloc(MOST_LOOPS, sizeof *data);
    char *types = calloc(MOST_LOOPS, MOST_INPUTS + 1);
    if (!loops || !data || !types) {
        free(loops), free(data), free(types);
        PyErr_NoMemory();
        return -1;
    }
    PyUFuncGenericFunction *own = functions[function == single_loop ? 0 : function == series_loop ? 1 : 2];
    int count = list_loops(loops, row, inputs);
    for (int i = 0; i < count; i++) {
        own[i] = function;
        data[i] = &loops[i];
        memcpy(types + i * (inputs + 1), loops[i].types, (size_t)inputs + 1);
    }
    PyObject *ufunc = PyUFunc_FromFuncAndDataAndSignature(own, data, types, count, inputs, 1, PyUFunc_None, name, doc,
                                                          0, signature);
    if (!ufunc)
        return -1;
    int failed = PyModule_AddObjectRef(module, name, ufunc);
    Py_DECREF(ufunc);
    return failed;
}

int pfnnc_add_ufuncs(PyObject *module)
{
    for (size_t i = 0; i < sizeof singles / sizeof *singles; i++) {
        const single *row = &singles[i];
        if (add(module, row, row->name, row->signature, row->doc, row->inputs, single_loop) < 0)
            return -1;
    }
    for (size_t i = 0; i < sizeof all_series / sizeof *all_series; i++) {
        const series *row = &all_series[i];
        if (add(module, row, row->name, row->signature, row->doc, 1, row->step ? series_loop : mean_loop) < 0)
            return -1;
    }
    return 0;
}
