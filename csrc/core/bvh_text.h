/*
 * bvh_text.h: a BVH text token by token, with the place of each; for the files that read the two halves of it.
 *
 * White space is blanks and line ends; a line ends with LF, CR LF or CR. Columns count bytes.
 */
#ifndef PFNN_BVH_TEXT_H
#define PFNN_BVH_TEXT_H

#include "bvh.h"
#include "decimal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A piece of the text and where it stands. */
typedef struct token {
    const char *start;
    size_t length; /* 0 at the end of a line or of the file */
    int64_t line, column;
} token;

/* How far a file has been read, and what is known by then. */
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

/* The two halves of a file, from HIERARCHY to MOTION and what follows; both go on at `p`. */
pfnn_status pfnn_bvh_read_hierarchy(reader *r);
pfnn_status pfnn_bvh_read_motion(reader *r, bool allow_zero_time);


/* ---- text --------------------------------------------------------------------------------- */

static inline bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

static inline bool is_line_end(char c)
{
    return c == '\n' || c == '\r';
}

static inline bool is_brace(char c)
{
    return c == '{' || c == '}';
}

static inline bool is_letter(char c)
{
    return (unsigned)((c | 0x20) - 'a') < 26;
}

static inline void skip_blanks(reader *r)
{
    while (r->p < r->end && is_blank(*r->p))
        r->p++;
}

/* Step over LF, CR LF or CR. */
static inline void skip_line_end(reader *r)
{
    r->p += 1 + (*r->p == '\r' && r->p + 1 < r->end && r->p[1] == '\n');
    r->line++;
    r->line_start = r->p;
}

static inline void skip_space(reader *r)
{
    for (;;) {
        skip_blanks(r);
        if (r->p == r->end || !is_line_end(*r->p))
            return;
        skip_line_end(r);
    }
}

static inline token token_at(const reader *r, const char *start, size_t length)
{
    return (token){start, length, r->line, start - r->line_start + 1};
}

/* The end of the file as a token: behind the last text, so that the error names a line that says something. */
static inline token end_of_file(const reader *r)
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
static inline token next_token(reader *r)
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
static inline token next_on_line(reader *r)
{
    skip_blanks(r);
    if (r->p == r->end || is_line_end(*r->p))
        return token_at(r, r->p, 0);
    return next_token(r);
}

/* Whether the token is `word`, which is in lower case, in any case. */
static inline bool is_word(token t, const char *word)
{
    for (size_t i = 0; i < t.length; i++) {
        char c = t.start[i];
        if (word[i] == 0 || (c >= 'A' && c <= 'Z' ? c | 0x20 : c) != word[i])
            return false;
    }
    return t.length > 0 && word[t.length] == 0;
}

static inline bool is_number(token t, double *value)
{
    return t.length > 0 && pfnn_decimal_read(value, t.start, t.start + t.length) == t.start + t.length;
}

/* A count without a sign; what is too large for 63 bits is the largest. */
static inline bool is_count(token t, int64_t *count)
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


/* ---- longer pieces ------------------------------------------------------------------------ */

static inline token next_letters(reader *r)
{
    skip_space(r);
    const char *start = r->p;
    while (r->p < r->end && is_letter(*r->p))
        r->p++;
    if (r->p > start)
        return token_at(r, start, (size_t)(r->p - start));
    return next_token(r);
}

/* Whether the bytes are UTF-8 as far as their lead and continuation bytes tell. */
static inline bool is_utf8(const char *text, const char *end)
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
static inline token rest_of_line(reader *r)
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


/* ---- errors ------------------------------------------------------------------------------- */

/* "'token'" for a message: short, and control characters as \xNN. */
static inline void quote(char *out, size_t size, token t, const reader *r)
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

static inline pfnn_status refuse(reader *r, token t, const char *message)
{
    pfnn_fail(r->error, PFNN_ERROR_PARSE, -1, "%s", message);
    if (r->error) {
        r->error->line = t.line;
        r->error->column = t.column;
    }
    return PFNN_ERROR_PARSE;
}

static inline pfnn_status expected(reader *r, token t, const char *what)
{
    char got[64], message[200];
    quote(got, sizeof got, t, r);
    snprintf(message, sizeof message, "expected %s, got %s", what, got);
    return refuse(r, t, message);
}

static inline pfnn_status out_of_memory(reader *r)
{
    return pfnn_fail(r->error, PFNN_ERROR_MEMORY, -1, "not enough memory to read the file");
}

static inline void note(reader *r, pfnn_bvh_note what, int64_t line)
{
    if (!r->bvh->notes[what])
        r->bvh->notes[what] = line;
}

/* Make `*array` hold `capacity` items of `size` bytes; false, with the array as it was, where memory ends. */
static inline bool resize(void *array, int64_t capacity, size_t size)
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

#endif /* PFNN_BVH_TEXT_H */
