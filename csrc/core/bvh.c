/*
 * bvh.c: reading BVH, one pass over the bytes.
 *
 * The hierarchy is read token by token, whatever the line breaks, with the parents as the only stack. In the data
 * line ends count: a line is a frame. A line that is none is told apart from rows that were broken or joined by the
 * number of values in the whole file.
 *
 * What is refused and why: anything that two readers could take for different numbers. A file that goes on
 * differently from what its header says, but is whole, is read and the difference noted.
 */
#include "bvh.h"
#include "decimal.h"
#include "pfnnc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const pfnn_bvh_channel_names[PFNN_BVH_CHANNELS] = {
    "Xposition", "Yposition", "Zposition", "Xrotation", "Yrotation", "Zrotation",
};

/* A piece of the text and where it stands. */
typedef struct token {
    const char *start;
    size_t length; /* 0 at the end of a line or of the file */
    int64_t line, column;
} token;

enum { SEEN_OFFSET = 1, SEEN_CHANNELS = 2 };

typedef struct reader {
    const char *p, *end; /* what is still to be read */
    const char *line_start;
    int64_t line;
    const char *text; /* all of it, without a byte order mark */

    pfnn_bvh *bvh;
    pfnn_error *error;
    int64_t joint_capacity, end_capacity;
    uint8_t *seen;       /* (joints) */
    int64_t *joint_line; /* (joints) */
} reader;


/* ---- text --------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

static bool is_line_end(char c)
{
    return c == '\n' || c == '\r';
}

static bool is_brace(char c)
{
    return c == '{' || c == '}';
}

static bool is_letter(char c)
{
    return (unsigned)((c | 0x20) - 'a') < 26;
}

static void skip_blanks(reader *r)
{
    while (r->p < r->end && is_blank(*r->p))
        r->p++;
}

/* Step over LF, CR LF or CR. */
static void skip_line_end(reader *r)
{
    r->p += 1 + (*r->p == '\r' && r->p + 1 < r->end && r->p[1] == '\n');
    r->line++;
    r->line_start = r->p;
}

static void skip_space(reader *r)
{
    for (;;) {
        skip_blanks(r);
        if (r->p == r->end || !is_line_end(*r->p))
            return;
        skip_line_end(r);
    }
}

static token token_at(const reader *r, const char *start, size_t length)
{
    return (token){start, length, r->line, start - r->line_start + 1};
}

/* The end of the file as a token: behind the last text, so that the error names a line that says something. */
static token end_of_file(const reader *r)
{
    const char *last = r->end;
    while (last > r->text && (is_blank(last[-1]) || is_line_end(last[-1])))
        last--;
    reader place = *r;
    place.p = place.line_start = r->text;
    place.line = 1;
    while (place.p < last) {
        if (is_line_end(*place.p))
            skip_line_end(&place);
        else
            place.p++;
    }
    return token_at(&place, last, 0);
}

/* The next token: a brace, or bytes up to white space or a brace. */
static token next_token(reader *r)
{
    skip_space(r);
    if (r->p == r->end)
        return end_of_file(r);
    const char *start = r->p++;
    if (!is_brace(*start))
        while (r->p < r->end && !is_blank(*r->p) && !is_line_end(*r->p) && !is_brace(*r->p))
            r->p++;
    return token_at(r, start, (size_t)(r->p - start));
}

/* The same, or a token of length 0 where the line has no more. */
static token next_on_line(reader *r)
{
    skip_blanks(r);
    if (r->p == r->end || is_line_end(*r->p))
        return token_at(r, r->p, 0);
    return next_token(r);
}

/* Whether the token is `word`, which is in lower case, in any case. */
static bool is_word(token t, const char *word)
{
    for (size_t i = 0; i < t.length; i++) {
        char c = t.start[i];
        if (word[i] == 0 || (c >= 'A' && c <= 'Z' ? c | 0x20 : c) != word[i])
            return false;
    }
    return t.length > 0 && word[t.length] == 0;
}

static bool is_number(token t, double *value)
{
    return t.length > 0 && pfnn_decimal_read(value, t.start, t.start + t.length) == t.start + t.length;
}

/* A count without a sign; what is too large for 63 bits is the largest. */
static bool is_count(token t, int64_t *count)
{
    *count = 0;
    for (size_t i = 0; i < t.length; i++) {
        unsigned digit = (unsigned)(t.start[i] - '0');
        if (digit > 9)
            return false;
        *count = *count > (INT64_MAX - 9) / 10 ? INT64_MAX : *count * 10 + (int64_t)digit;
    }
    return t.length > 0;
}


/* ---- errors ------------------------------------------------------------------------------- */

/* "'token'" for a message: short, and control characters as \xNN. */
static void quote(char *out, size_t size, token t, const reader *r)
{
    if (t.length == 0) {
        snprintf(out, size, "the end of the %s", t.start >= r->end || r->p >= r->end ? "file" : "line");
        return;
    }
    size_t n = 0;
    out[n++] = '\'';
    for (size_t i = 0; i < t.length; i++) {
        if (n + 10 > size) {
            memcpy(out + n, "...", 3);
            n += 3;
            break;
        }
        unsigned char c = (unsigned char)t.start[i];
        if (c < 0x20 || c == 0x7f)
            n += (size_t)snprintf(out + n, size - n, "\\x%02x", c);
        else
            out[n++] = (char)c;
    }
    out[n++] = '\'';
    out[n] = 0;
}

static pfnn_status refuse(reader *r, token t, const char *message)
{
    pfnn_fail(r->error, PFNN_ERROR_PARSE, -1, "%s", message);
    if (r->error) {
        r->error->line = t.line;
        r->error->column = t.column;
    }
    return PFNN_ERROR_PARSE;
}

static pfnn_status expected(reader *r, token t, const char *what)
{
    char got[64], message[200];
    quote(got, sizeof got, t, r);
    snprintf(message, sizeof message, "expected %s, got %s", what, got);
    return refuse(r, t, message);
}

static pfnn_status out_of_memory(reader *r)
{
    return pfnn_fail(r->error, PFNN_ERROR_MEMORY, -1, "not enough memory to read the file");
}

static void note(reader *r, pfnn_bvh_note what, int64_t line)
{
    if (!r->bvh->notes[what])
        r->bvh->notes[what] = line;
}

/* Make `*array` hold `capacity` items of `size` bytes; false, with the array as it was, where memory ends. */
static bool resize(void *array, int64_t capacity, size_t size)
{
    void *old, *grown;
    memcpy(&old, array, sizeof old);
    if ((uint64_t)capacity > SIZE_MAX / size)
        return false;
    grown = realloc(old, capacity > 0 ? (size_t)capacity * size : 1);
    if (grown)
        memcpy(array, &grown, sizeof grown);
    return grown != NULL;
}


/* ---- hierarchy ---------------------------------------------------------------------------- */

/* Whether the bytes are UTF-8 as far as their lead and continuation bytes tell. */
static bool is_utf8(const char *text, const char *end)
{
    while (text < end) {
        unsigned char c = (unsigned char)*text++;
        int more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : -1;
        if (more < 0)
            return false;
        for (; more; more--, text++)
            if (text == end || ((unsigned char)*text & 0xc0) != 0x80)
                return false;
    }
    return true;
}

/*
 * The rest of the line up to a brace, without blanks at its ends: names may hold blanks. In Shift-JIS and its kin a
 * brace can be the second byte of a letter: behind what is no UTF-8 only a brace after a blank ends the name.
 */
static token rest_of_line(reader *r)
{
    skip_blanks(r);
    const char *start = r->p, *stop = start;
    bool utf8 = true;
    for (; stop < r->end && !is_line_end(*stop); stop++) {
        if (!is_brace(*stop))
            continue;
        utf8 = utf8 && is_utf8(start, stop);
        if (utf8 || is_blank(stop[-1]))
            break;
    }
    r->p = stop;
    while (stop > start && is_blank(stop[-1]))
        stop--;
    return token_at(r, start, (size_t)(stop - start));
}

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
static pfnn_status read_hierarchy(reader *r)
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


/* ---- motion ------------------------------------------------------------------------------- */

static token next_letters(reader *r)
{
    skip_space(r);
    const char *start = r->p;
    while (r->p < r->end && is_letter(*r->p))
        r->p++;
    if (r->p > start)
        return token_at(r, start, (size_t)(r->p - start));
    return next_token(r);
}

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

static pfnn_status read_motion(reader *r, bool allow_zero_time)
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


/* ---- the whole file ----------------------------------------------------------------------- */

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
        status = read_hierarchy(&r);
    if (status == PFNN_OK)
        status = read_motion(&r, allow_zero_time);

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
