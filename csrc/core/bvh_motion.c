/*
 * bvh_motion.c: the second half of a BVH file, the values.
 *
 * Line ends count here: a line is a frame. Lines that are none are told apart from rows that were broken or joined by
 * the number of values in the whole file.
 */
#include "bvh_text.h"

#include <math.h>

static pfnn_status expect_colon(reader *r, const char *what)
{
    skip_blanks(r);
    if (r->p < r->end && *r->p == ':') {
        r->p++;
        return PFNN_OK;
    }
    return expected(r, next_on_line(r), what);
}

static pfnn_status read_frame_time(reader *r, bool allow_zero_time)
{
    double *time = &r->bvh->frame_time;
    token t = next_letters(r);
    if (!is_word(t, "time"))
        return expected(r, t, "Time after Frame");
    pfnn_status status = expect_colon(r, ": after Frame Time");
    if (status != PFNN_OK)
        return status;
    t = next_on_line(r);
    if (!is_number(t, time))
        return expected(r, t, "a number after Frame Time:");
    if (!isfinite(*time) || *time < 0 || (*time == 0 ? !allow_zero_time : !isfinite(1 / *time)))
        return expected(r, t, "a finite number greater than 0 after Frame Time:");
    return PFNN_OK;
}

static pfnn_status read_frame_count(reader *r)
{
    pfnn_status status = expect_colon(r, ": after Frames");
    if (status != PFNN_OK)
        return status;
    token t = next_on_line(r);
    return is_count(t, &r->bvh->declared) ? PFNN_OK : expected(r, t, "a number of frames after Frames:");
}

/* `Frames:` and `Frame Time:`, in either order, each with its value on its line. */
static pfnn_status read_motion_header(reader *r, bool allow_zero_time)
{
    bool seen_count = false, seen_time = false;
    while (!seen_count || !seen_time) {
        token t = next_letters(r);
        pfnn_status status;
        if (is_word(t, "frames") && !seen_count) {
            status = read_frame_count(r);
            seen_count = true;
        } else if (is_word(t, "frame") && !seen_time) {
            status = read_frame_time(r, allow_zero_time);
            seen_time = true;
        } else {
            status = expected(r, t, seen_count ? "Frame Time:" : "Frames:");
        }
        if (status != PFNN_OK)
            return status;
    }
    token rest = next_on_line(r);
    return rest.length ? expected(r, rest, "the end of the line") : PFNN_OK;
}

/* Where the rows of the data stand, as far as they are not one frame a line. */
typedef struct rows {
    int64_t count;     /* lines with values */
    reader first_odd;  /* at the first line with another number of values; its `p` is NULL where there is none */
    int64_t odd_count; /* how many it has */
} rows;

static void end_row(rows *lines, const reader *r, int64_t count)
{
    lines->count++;
    if (count != r->bvh->columns && !lines->first_odd.p) {
        lines->first_odd = *r;
        lines->first_odd.p = r->line_start;
        lines->odd_count = count;
    }
}

/* A token of the data, where a brace is nothing special. */
static token next_value(reader *r)
{
    const char *start = r->p;
    while (r->p < r->end && !is_blank(*r->p) && !is_line_end(*r->p))
        r->p++;
    return token_at(r, start, (size_t)(r->p - start));
}

/* Read numbers to the end of the text; `*total` of them. */
static pfnn_status read_values(reader *r, int64_t *total, rows *lines)
{
    pfnn_bvh *bvh = r->bvh;
    // a number and the blank before it are two bytes: there can be no more values than that
    int64_t most = (r->end - r->p) / 2 + 1, capacity = most;
    if (bvh->columns == 0 || bvh->declared <= (most - 1) / bvh->columns)
        capacity = bvh->declared * bvh->columns + (bvh->columns == 0);
    if (!resize(&bvh->values, capacity, sizeof *bvh->values))
        return out_of_memory(r);

    int64_t count = 0, row_start = 0;
    const char *p = r->p, *end = r->end;
    for (;;) {
        while (p < end && is_blank(*p))
            p++;
        if (p == end || is_line_end(*p)) {
            r->p = p;
            if (count > row_start)
                end_row(lines, r, count - row_start);
            row_start = count;
            if (p == end)
                break;
            skip_line_end(r);
            p = r->p;
            continue;
        }

        double value;
        const char *after = pfnn_decimal_read(&value, p, end);
        bool number = after && (after == end || is_blank(*after) || is_line_end(*after));
        if (!number || !isfinite(value)) {
            r->p = p;
            return expected(r, next_value(r), number ? "a finite number" : "a number");
        }
        if (count == capacity) {
            capacity = capacity > most / 2 ? most : 2 * capacity + 1;
            if (!resize(&bvh->values, capacity, sizeof *bvh->values))
                return out_of_memory(r);
        }
        bvh->values[count++] = value;
        p = after;
    }
    if (count < capacity)
        resize(&bvh->values, count, sizeof *bvh->values); /* smaller: should that fail, it is as good as before */
    *total = count;
    return PFNN_OK;
}

/* Refuse the first line with too few or too many values, at the value too many or at its end. */
static pfnn_status refuse_row(rows *lines, int64_t columns)
{
    reader *r = &lines->first_odd;
    char message[100];
    snprintf(message, sizeof message, "expected %lld values in a row, got %lld", (long long)columns,
             (long long)lines->odd_count);
    token t = next_on_line(r);
    for (int64_t i = 0; i < columns && t.length; i++) {
        token next = next_on_line(r);
        if (next.length == 0)
            next = (token){t.start + t.length, 0, t.line, t.column + (int64_t)t.length};
        t = next;
    }
    return refuse(r, t, message);
}

pfnn_status pfnn_bvh_read_motion(reader *r, bool allow_zero_time)
{
    pfnn_bvh *bvh = r->bvh;
    rows lines = {0};
    int64_t total = 0;
    pfnn_status status = read_motion_header(r, allow_zero_time);
    int64_t header_line = r->line;
    if (status == PFNN_OK)
        status = read_values(r, &total, &lines);
    if (status != PFNN_OK)
        return status;

    bvh->frames = lines.count;
    if (lines.first_odd.p) {
        // rows that were broken or joined: their values can still be counted off
        if (bvh->columns == 0 || total % bvh->columns || total / bvh->columns != bvh->declared)
            return refuse_row(&lines, bvh->columns);
        bvh->frames = bvh->declared;
        note(r, PFNN_BVH_ROWS_BY_COUNT, lines.first_odd.line);
    }
    if (bvh->frames != bvh->declared)
        note(r, PFNN_BVH_OTHER_COUNT, header_line);
    return PFNN_OK;
}
