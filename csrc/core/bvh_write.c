/* bvh_write.c: writing BVH so that every value reads back bit by bit. */
#include "bvh.h"
#include "decimal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Indentation stops here: a chain of joints must not make the file grow with the square of its length. */
enum { DEEPEST_INDENT = 32 };

typedef struct buffer {
    char *data;
    size_t size, capacity;
    bool failed; /* an allocation did: nothing more is written */
} buffer;

/* Room for `more` bytes behind what there is. */
static bool reserve(buffer *out, size_t more)
{
    if (out->failed || out->capacity - out->size >= more)
        return !out->failed;
    size_t capacity = out->capacity > SIZE_MAX / 2 - more ? 0 : 2 * out->capacity + more;
    char *data = capacity ? realloc(out->data, capacity) : NULL;
    if (!data) {
        out->failed = true;
        return false;
    }
    out->data = data;
    out->capacity = capacity;
    return true;
}

static void put_bytes(buffer *out, const char *bytes, size_t size)
{
    if (!reserve(out, size))
        return;
    memcpy(out->data + out->size, bytes, size);
    out->size += size;
}

static void put(buffer *out, const char *text)
{
    put_bytes(out, text, strlen(text));
}

static void put_number(buffer *out, double value)
{
    if (reserve(out, PFNN_DECIMAL_SIZE))
        out->size += pfnn_decimal_write(out->data + out->size, value);
}

static void put_indent(buffer *out, int64_t depth)
{
    for (int64_t i = 0; i < depth && i < DEEPEST_INDENT; i++)
        put(out, "\t");
}

static void put_line(buffer *out, int64_t depth, const char *text)
{
    put_indent(out, depth);
    put(out, text);
    put(out, "\n");
}

static void put_offset(buffer *out, int64_t depth, const double offset[3])
{
    put_indent(out, depth);
    put(out, "OFFSET");
    for (int i = 0; i < 3; i++) {
        put(out, " ");
        put_number(out, offset[i]);
    }
    put(out, "\n");
}


/* ---- the tree ----------------------------------------------------------------------------- */

/* Lists of children and of End Sites, each in order; -1 ends a list. */
typedef struct tree {
    int32_t *first_child, *next_sibling; /* (joints); `next_sibling` of a root is the next root */
    int32_t *first_end;                  /* (joints) */
    int32_t *next_end;                   /* (end_sites) */
    int64_t *first_column;               /* (joints) of the values as they are given */
    int64_t *columns;                    /* (columns) the given column of each written one */
    void *memory;
} tree;

static bool make_tree(tree *t, const pfnn_bvh *bvh)
{
    size_t joints = (size_t)bvh->joints, ends = (size_t)bvh->end_sites, columns = (size_t)bvh->columns;
    int64_t *wide = malloc((joints + columns + 1) * sizeof *wide + (3 * joints + ends) * sizeof(int32_t));
    t->memory = wide;
    if (!wide)
        return false;
    t->first_column = wide;
    t->columns = wide + joints;
    t->first_child = (int32_t *)(wide + joints + columns + 1);
    t->next_sibling = t->first_child + joints;
    t->first_end = t->next_sibling + joints;
    t->next_end = t->first_end + joints;

    memset(t->first_child, -1, (3 * joints + ends) * sizeof(int32_t));
    int32_t root = -1;
    for (int64_t j = bvh->joints - 1; j >= 0; j--) {
        int32_t parent = bvh->parents[j], *first = parent < 0 ? &root : &t->first_child[parent];
        t->next_sibling[j] = *first;
        *first = (int32_t)j;
    }
    for (int64_t e = bvh->end_sites - 1; e >= 0; e--) {
        t->next_end[e] = t->first_end[bvh->end_parents[e]];
        t->first_end[bvh->end_parents[e]] = (int32_t)e;
    }
    int64_t column = 0;
    for (int64_t j = 0; j < bvh->joints; j++) {
        t->first_column[j] = column;
        column += bvh->channel_counts[j];
    }
    return true;
}

/* A joint up to its children; its columns go behind the `written` ones. */
static void open_joint(buffer *out, const pfnn_bvh *bvh, tree *t, int64_t joint, int64_t depth, int64_t *written)
{
    put_indent(out, depth);
    put(out, bvh->parents[joint] < 0 ? "ROOT " : "JOINT ");
    put(out, bvh->names[joint]);
    put(out, "\n");
    put_line(out, depth, "{");
    put_offset(out, depth + 1, bvh->offsets + 3 * joint);

    put_indent(out, depth + 1);
    put(out, "CHANNELS ");
    put_number(out, bvh->channel_counts[joint]);
    for (int i = 0; i < bvh->channel_counts[joint]; i++) {
        put(out, " ");
        put(out, pfnn_bvh_channel_names[bvh->channels[joint][i]]);
        t->columns[(*written)++] = t->first_column[joint] + i;
    }
    put(out, "\n");

    for (int32_t end = t->first_end[joint]; end >= 0; end = t->next_end[end]) {
        put_line(out, depth + 1, "End Site");
        put_line(out, depth + 1, "{");
        put_offset(out, depth + 2, bvh->end_offsets + 3 * (int64_t)end);
        put_line(out, depth + 1, "}");
    }
}

/* Depth first without recursion: the way back is in the parents. */
static void put_hierarchy(buffer *out, const pfnn_bvh *bvh, tree *t)
{
    int64_t depth = 0, written = 0;
    int32_t joint = 0;
    put(out, "HIERARCHY\n");
    while (joint >= 0 && !out->failed) {
        open_joint(out, bvh, t, joint, depth, &written);
        if (t->first_child[joint] >= 0) {
            joint = t->first_child[joint];
            depth++;
            continue;
        }
        put_line(out, depth, "}");
        while (t->next_sibling[joint] < 0 && bvh->parents[joint] >= 0) {
            joint = bvh->parents[joint];
            put_line(out, --depth, "}");
        }
        joint = t->next_sibling[joint];
    }
}

static void put_motion(buffer *out, const pfnn_bvh *bvh, const tree *t)
{
    put(out, "MOTION\nFrames: ");
    put_number(out, (double)bvh->frames);
    put(out, "\nFrame Time: ");
    put_number(out, bvh->frame_time);
    put(out, "\n");
    for (int64_t frame = 0; frame < bvh->frames && !out->failed; frame++) {
        const double *row = bvh->values + frame * bvh->columns;
        for (int64_t i = 0; i < bvh->columns; i++) {
            put_number(out, row[t->columns[i]]);
            put_bytes(out, i + 1 < bvh->columns ? " " : "\n", 1);
        }
    }
}


/* ---- checks ------------------------------------------------------------------------------- */

/* A name that comes back as it is: no control character or brace, no blank at an end, not empty. */
static bool is_name(const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || strchr(" \t", name[0]) || strchr(" \t", name[length - 1]))
        return false;
    for (size_t i = 0; i < length; i++)
        if (((unsigned char)name[i] < 0x20 && name[i] != '\t') || name[i] == '{' || name[i] == '}')
            return false;
    return true;
}

static pfnn_status check_joint(const pfnn_bvh *bvh, int64_t j, pfnn_error *error)
{
    if (bvh->parents[j] < -1 || bvh->parents[j] >= j)
        return pfnn_fail(error, PFNN_ERROR_VALUE, j, "parents[%lld]=%d is not a joint before it", (long long)j,
                         (int)bvh->parents[j]);
    if (!is_name(bvh->names[j]))
        return pfnn_fail(error, PFNN_ERROR_VALUE, j,
                         "names[%lld]='%.80s' must not be empty, hold braces or control characters, or begin or end "
                         "with a blank", (long long)j, bvh->names[j]);
    unsigned seen = 0;
    bool valid = bvh->channel_counts[j] <= PFNN_BVH_CHANNELS;
    for (int i = 0; valid && i < bvh->channel_counts[j]; i++) {
        unsigned channel = bvh->channels[j][i];
        valid = channel < PFNN_BVH_CHANNELS && !(seen >> channel & 1);
        seen |= valid ? 1u << channel : 0;
    }
    return valid ? PFNN_OK
                 : pfnn_fail(error, PFNN_ERROR_VALUE, j, "channels[%lld] has an unknown or repeated channel", (long long)j);
}

static pfnn_status check(const pfnn_bvh *bvh, pfnn_error *error)
{
    int64_t columns = 0;
    if (bvh->joints < 1 || bvh->joints >= INT32_MAX || bvh->end_sites >= INT32_MAX)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "there must be at least one joint");
    for (int64_t j = 0; j < bvh->joints; j++) {
        pfnn_status status = check_joint(bvh, j, error);
        if (status != PFNN_OK)
            return status;
        columns += bvh->channel_counts[j];
    }
    if (bvh->columns != columns)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "frames must have %lld columns, one a channel, got %lld",
                         (long long)columns, (long long)bvh->columns);
    if (columns == 0 && bvh->frames > 0)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "frames must be none where no joint has channels, got %lld",
                         (long long)bvh->frames);
    for (int64_t e = 0; e < bvh->end_sites; e++)
        if (bvh->end_parents[e] < 0 || bvh->end_parents[e] >= bvh->joints)
            return pfnn_fail(error, PFNN_ERROR_VALUE, e, "end_sites[%lld] is at no joint", (long long)e);
    if (!(bvh->frame_time > 0) || !isfinite(bvh->frame_time))
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "frame_time must be greater than 0");
    for (int64_t i = 0; i < 3 * bvh->joints; i++)
        if (!isfinite(bvh->offsets[i]))
            return pfnn_fail(error, PFNN_ERROR_VALUE, i / 3, "offsets[%lld] is not finite", (long long)(i / 3));
    for (int64_t i = 0; i < 3 * bvh->end_sites; i++)
        if (!isfinite(bvh->end_offsets[i]))
            return pfnn_fail(error, PFNN_ERROR_VALUE, i / 3, "end_sites[%lld] is not finite", (long long)(i / 3));
    for (int64_t i = 0; i < bvh->frames * columns; i++)
        if (!isfinite(bvh->values[i]))
            return pfnn_fail(error, PFNN_ERROR_VALUE, i / columns, "frames[%lld, %lld] is not finite",
                             (long long)(i / columns), (long long)(i % columns));
    return PFNN_OK;
}

pfnn_status pfnn_bvh_write(char **text, size_t *size, const pfnn_bvh *bvh, pfnn_error *error)
{
    pfnn_status status = check(bvh, error);
    if (status != PFNN_OK)
        return status;

    tree t;
    buffer out = {NULL, 0, 0, false};
    if (make_tree(&t, bvh)) {
        put_hierarchy(&out, bvh, &t);
        put_motion(&out, bvh, &t);
    }
    bool failed = out.failed || !t.memory;
    free(t.memory);
    if (failed) {
        free(out.data);
        return pfnn_fail(error, PFNN_ERROR_MEMORY, -1, "not enough memory to write the file");
    }
    *text = out.data;
    *size = out.size;
    return PFNN_OK;
}
