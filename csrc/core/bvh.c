/*
 * bvh.c: reading BVH, one pass over the bytes; bvh_hierarchy.c and bvh_motion.c do the work.
 *
 * What is refused and why: anything that two readers could take for different numbers. A file that goes on
 * differently from what its header says, but is whole, is read and the difference noted.
 */
#include "bvh_text.h"

const char *const pfnn_bvh_channel_names[PFNN_BVH_CHANNELS] = {
    "Xposition", "Yposition", "Zposition", "Xrotation", "Yrotation", "Zrotation",
};

/* Name the two mistakes that would only give a puzzling token. */
static pfnn_status refuse_other_encodings(reader *r)
{
    size_t size = (size_t)(r->end - r->text);
    const unsigned char *b = (const unsigned char *)r->text;
    token start = {r->text, 0, 1, 1};
    if (size >= 2 && ((b[0] == 0xff && b[1] == 0xfe) || (b[0] == 0xfe && b[1] == 0xff)))
        return refuse(r, start, "expected HIERARCHY, got UTF-16 text");
    if (size >= 2 && (b[0] == 0) != (b[1] == 0))
        return refuse(r, start, "expected HIERARCHY, got text with NUL bytes, as UTF-16 has");
    return PFNN_OK;
}

pfnn_status pfnn_bvh_read(pfnn_bvh *bvh, const char *text, size_t size, bool allow_zero_time, pfnn_error *error)
{
    memset(bvh, 0, sizeof *bvh);
    reader r = {text, text + size, text, 1, text, bvh, error, 0, 0, NULL, NULL};
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        r.p = r.text = text + 3; /* columns count it: they are bytes of the file */

    pfnn_status status = refuse_other_encodings(&r);
    if (status == PFNN_OK)
        status = pfnn_bvh_read_hierarchy(&r);
    if (status == PFNN_OK)
        status = pfnn_bvh_read_motion(&r, allow_zero_time);

    free(r.seen);
    free(r.joint_line);
    if (status != PFNN_OK)
        pfnn_bvh_free(bvh);
    return status;
}

void pfnn_bvh_free(pfnn_bvh *bvh)
{
    for (int64_t i = 0; i < bvh->joints; i++)
        free(bvh->names[i]);
    free(bvh->names);
    free(bvh->parents);
    free(bvh->offsets);
    free(bvh->channel_counts);
    free(bvh->channels);
    free(bvh->end_parents);
    free(bvh->end_offsets);
    free(bvh->values);
    memset(bvh, 0, sizeof *bvh);
}
