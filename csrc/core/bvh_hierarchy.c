/*
 * bvh_hierarchy.c: the first half of a BVH file, the joints.
 *
 * It is read token by token, whatever the line breaks, with the parents as the only stack, so that any depth will do.
 */
#include "bvh_text.h"

#include <math.h>

enum { SEEN_OFFSET = 1, SEEN_CHANNELS = 2 };

static pfnn_status expect_brace(reader *r, const char *after)
{
    token t = next_token(r);
    char what[32];
    if (t.length == 1 && *t.start == '{')
        return PFNN_OK;
    snprintf(what, sizeof what, "{ after %s", after);
    return expected(r, t, what);
}

static bool grow_joints(reader *r)
{
    pfnn_bvh *bvh = r->bvh;
    if (bvh->joints < r->joint_capacity)
        return true;
    int64_t capacity = r->joint_capacity ? 2 * r->joint_capacity : 64;
    r->joint_capacity = capacity;
    return capacity < INT32_MAX && resize(&bvh->names, capacity, sizeof *bvh->names)
           && resize(&bvh->parents, capacity, sizeof *bvh->parents)
           && resize(&bvh->offsets, capacity, 3 * sizeof *bvh->offsets)
           && resize(&bvh->channel_counts, capacity, sizeof *bvh->channel_counts)
           && resize(&bvh->channels, capacity, sizeof *bvh->channels)
           && resize(&r->seen, capacity, sizeof *r->seen) && resize(&r->joint_line, capacity, sizeof *r->joint_line);
}

/* `ROOT name {` or `JOINT name {`, the keyword having been read. */
static pfnn_status begin_joint(reader *r, int32_t parent, token keyword)
{
    pfnn_bvh *bvh = r->bvh;
    const char *what = parent < 0 ? "a name after ROOT" : "a name after JOINT";
    token name = rest_of_line(r);
    if (name.length == 0) {
        token t = r->p < r->end && is_brace(*r->p) ? token_at(r, r->p, 1) : name;
        return r->p < r->end ? expected(r, t, what) : expected(r, end_of_file(r), what);
    }
    for (size_t i = 0; i < name.length; i++)
        if ((unsigned char)name.start[i] < 0x20 && name.start[i] != '\t')
            return expected(r, token_at(r, name.start + i, 1), what);

    if (!grow_joints(r))
        return out_of_memory(r);
    char *copy = malloc(name.length + 1);
    if (!copy)
        return out_of_memory(r);
    memcpy(copy, name.start, name.length);
    copy[name.length] = 0;

    int64_t joint = bvh->joints++;
    bvh->names[joint] = copy;
    bvh->parents[joint] = parent;
    bvh->channel_counts[joint] = 0;
    memset(bvh->channels[joint], 0, sizeof bvh->channels[joint]);
    memset(bvh->offsets + 3 * joint, 0, 3 * sizeof(double));
    r->seen[joint] = 0;
    r->joint_line[joint] = keyword.line;
    return expect_brace(r, "the name");
}

/* Three numbers. Where the line ends early, the error stands there and not at whatever comes next. */
static pfnn_status read_offset(reader *r, double offset[3], token keyword)
{
    token last = keyword;
    for (int i = 0; i < 3; i++) {
        token t = next_token(r);
        if (!is_number(t, &offset[i])) {
            if (t.line != last.line)
                t = (token){last.start + last.length, 0, last.line, last.column + (int64_t)last.length};
            return expected(r, t, "a number after OFFSET");
        }
        if (!isfinite(offset[i]))
            return expected(r, t, "a finite number after OFFSET");
        last = t;
    }
    return PFNN_OK;
}

static pfnn_status read_channels(reader *r, int32_t joint, token keyword)
{
    uint8_t *channels = r->bvh->channels[joint];
    token t = next_on_line(r), last = keyword;
    int64_t count;
    if (!is_count(t, &count) || count > PFNN_BVH_CHANNELS)
        return expected(r, t, "a number from 0 to 6 after CHANNELS");

    for (int64_t i = 0; i < count; i++) {
        last = t;
        t = next_token(r);
        uint8_t kind = 0;
        char name[16];
        for (; kind < PFNN_BVH_CHANNELS; kind++) {
            snprintf(name, sizeof name, "%s", pfnn_bvh_channel_names[kind]);
            name[0] |= 0x20;
            if (is_word(t, name))
                break;
        }
        if (kind == PFNN_BVH_CHANNELS) {
            char what[64];
            snprintf(what, sizeof what, "channel %d of %d such as Xrotation", (int)i + 1, (int)count);
            if (t.line != last.line)
                t = (token){last.start + last.length, 0, last.line, last.column + (int64_t)last.length};
            return expected(r, t, what);
        }
        for (int64_t before = 0; before < i; before++)
            if (channels[before] == kind)
                return expected(r, t, "a channel that the joint does not have yet");
        channels[i] = kind;
    }
    r->bvh->channel_counts[joint] = (uint8_t)count;
    r->bvh->columns += count;
    return PFNN_OK;
}

/* `End Site [name] { OFFSET x y z }`, `End` having been read. */
static pfnn_status read_end_site(reader *r, int32_t parent)
{
    pfnn_bvh *bvh = r->bvh;
    token t = next_on_line(r);
    if (!is_word(t, "site"))
        return expected(r, t, "Site after End");
    rest_of_line(r);
    pfnn_status status = expect_brace(r, "End Site");

    if (bvh->end_sites == r->end_capacity) {
        r->end_capacity = r->end_capacity ? 2 * r->end_capacity : 16;
        if (!resize(&bvh->end_parents, r->end_capacity, sizeof *bvh->end_parents)
            || !resize(&bvh->end_offsets, r->end_capacity, 3 * sizeof *bvh->end_offsets))
            return out_of_memory(r);
    }
    bool seen_offset = false;
    while (status == PFNN_OK) {
        t = next_token(r);
        if (is_word(t, "offset") && !seen_offset) {
            status = read_offset(r, bvh->end_offsets + 3 * bvh->end_sites, t);
            seen_offset = true;
        } else if (is_word(t, "channels")) {
            int64_t count;
            note(r, PFNN_BVH_END_CHANNELS, t.line);
            t = next_on_line(r);
            if (!is_count(t, &count) || count != 0)
                status = expected(r, t, "no channels in an End Site");
        } else if (is_word(t, "}") && seen_offset) {
            bvh->end_parents[bvh->end_sites++] = parent;
            return PFNN_OK;
        } else {
            status = expected(r, t, seen_offset ? "} of the End Site" : "OFFSET of the End Site");
        }
    }
    return status;
}

/* `}` of a joint. */
static pfnn_status end_joint(reader *r, int32_t joint, token brace)
{
    if (!(r->seen[joint] & SEEN_OFFSET))
        return expected(r, brace, "OFFSET of the joint");
    if (!(r->seen[joint] & SEEN_CHANNELS))
        note(r, PFNN_BVH_NO_CHANNELS, r->joint_line[joint]);
    return PFNN_OK;
}

/* What stands between the braces of a joint, one keyword. `*joint` becomes the joint that goes on after it. */
static pfnn_status read_in_joint(reader *r, int32_t *joint, token t)
{
    pfnn_bvh *bvh = r->bvh;
    uint8_t *seen = &r->seen[*joint];
    pfnn_status status;

    if (is_word(t, "offset")) {
        if (*seen & SEEN_OFFSET)
            return expected(r, t, "one OFFSET in a joint");
        *seen |= SEEN_OFFSET;
        return read_offset(r, bvh->offsets + 3 * (int64_t)*joint, t);
    }
    if (is_word(t, "channels")) {
        if (*seen & SEEN_CHANNELS)
            return expected(r, t, "one CHANNELS in a joint");
        if (bvh->joints - 1 != *joint) /* are the columns in the order of the joints or of these lines? */
            return expected(r, t, "CHANNELS before the joint's children");
        *seen |= SEEN_CHANNELS;
        return read_channels(r, *joint, t);
    }
    if (is_word(t, "joint")) {
        status = begin_joint(r, *joint, t);
        *joint = (int32_t)bvh->joints - 1;
        return status;
    }
    if (is_word(t, "end"))
        return read_end_site(r, *joint);
    if (is_word(t, "}")) {
        status = end_joint(r, *joint, t);
        *joint = bvh->parents[*joint];
        return status;
    }
    return expected(r, t, "OFFSET, CHANNELS, JOINT, End Site or }");
}

/* From HIERARCHY to MOTION, that included. */
pfnn_status pfnn_bvh_read_hierarchy(reader *r)
{
    pfnn_bvh *bvh = r->bvh;
    pfnn_status status = PFNN_OK;
    int32_t joint = -1;
    token t = next_token(r);
    if (!is_word(t, "hierarchy"))
        return expected(r, t, "HIERARCHY");

    while (status == PFNN_OK) {
        t = next_token(r);
        if (joint >= 0) {
            status = read_in_joint(r, &joint, t);
        } else if (is_word(t, "root")) {
            if (bvh->joints)
                note(r, PFNN_BVH_MORE_ROOTS, t.line);
            status = begin_joint(r, -1, t);
            joint = (int32_t)bvh->joints - 1;
        } else if (is_word(t, "motion") && bvh->joints) {
            return PFNN_OK;
        } else {
            status = expected(r, t, bvh->joints ? "MOTION" : "ROOT");
        }
    }
    return status;
}
