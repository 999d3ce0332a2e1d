/*
 * dataset_body.h: gathering windows of one type. Included once per type, after played_body.h, with
 *   TO          float or double, the type of the windows, in which they are normalised too
 *   NAME(stem)  stem_f32 or stem_f64
 */

typedef struct {
    const pfnn_gather *how;
    int64_t dim, columns; /* the first `columns` of `dim` are normalised */
    const TO *mean, *inverse;
    TO *row; /* (dim), one of a clip played at another speed */
} NAME(job);

/* One window, or a part of one. */
typedef struct {
    const char *rows, *next; /* its first row; that of the next window, which may lie anywhere in memory, or NULL */
    double next_speed;
    bool is_double, mirrored;
} NAME(window);

/* One row as it is, its first `columns` columns normalised. */
static void NAME(copy_float_row)(TO *restrict out, const float *restrict row, int64_t dim, int64_t columns,
                                 const TO *restrict mean, const TO *restrict inverse)
{
    for (int64_t c = 0; c < columns; c++)
        out[c] = ((TO)row[c] - mean[c]) * inverse[c];
    for (int64_t c = columns; c < dim; c++)
        out[c] = (TO)row[c];
}

static void NAME(copy_double_row)(TO *restrict out, const double *restrict row, int64_t dim, int64_t columns,
                                  const TO *restrict mean, const TO *restrict inverse)
{
    for (int64_t c = 0; c < columns; c++)
        out[c] = ((TO)row[c] - mean[c]) * inverse[c];
    for (int64_t c = columns; c < dim; c++)
        out[c] = (TO)row[c];
}

/* One row mirrored, then its first columns normalised. */
static void NAME(mirror_row)(TO *restrict out, const void *row, bool is_double, const NAME(job) *job)
{
    const int64_t *from = job->how->columns;
    const double *sign = job->how->sign;
    const float *floats = row;
    const double *doubles = row;

    for (int64_t c = 0; c < job->dim; c++)
        out[c] = (TO)(sign[c] * (is_double ? doubles[from[c]] : (double)floats[from[c]]));
    for (int64_t c = 0; c < job->columns; c++)
        out[c] = (out[c] - job->mean[c]) * job->inverse[c];
}

static void NAME(put_row)(TO *out, const void *row, bool is_double, bool mirrored, const NAME(job) *job)
{
    if (mirrored)
        NAME(mirror_row)(out, row, is_double, job);
    else if (is_double)
        NAME(copy_double_row)(out, row, job->dim, job->columns, job->mean, job->inverse);
    else
        NAME(copy_float_row)(out, row, job->dim, job->columns, job->mean, job->inverse);
}

/* Fetch the next window's row t while this one's is copied. */
static void NAME(fetch)(const NAME(window) *window, int64_t t, size_t size)
{
    if (!window->next)
        return;
    const char *row = window->next + (size_t)((double)t * window->next_speed) * size;
    for (size_t b = 0; b < size; b += CACHE_LINE)
        PREFETCH(row + b);
}

/* Rows first to first + count - 1 of a window, as they are. */
static void NAME(copy_rows)(TO *out, const NAME(window) *window, int64_t first, int64_t count, const NAME(job) *job)
{
    const size_t size = row_size(job->dim, window->is_double);
    for (int64_t t = first; t < first + count; t++, out += job->dim) {
        NAME(fetch)(window, t, size);
        NAME(put_row)(out, window->rows + (size_t)t * size, window->is_double, window->mirrored, job);
    }
}

/* The same of a clip that is played at another speed, where the window begins with frame `start`. */
static void NAME(play_rows)(TO *out, const NAME(window) *window, const NAME(clip) *clip, int64_t start, double speed,
                            int64_t first, int64_t count, const NAME(job) *job)
{
    const size_t size = row_size(job->dim, window->is_double);
    for (int64_t t = first; t < first + count; t++, out += job->dim) {
        NAME(fetch)(window, t, size);
        NAME(play_row)(job->row, clip, start + t, speed);
        NAME(put_row)(out, job->row, sizeof(TO) == sizeof(double), window->mirrored, job);
    }
}

/* Room for mean and inverse in the type of the windows, and for rows under way; NULL without memory. */
static TO *NAME(make_job)(NAME(job) *job, const pfnn_clips *clips, const pfnn_gather *how)
{
    const int64_t dim = clips->dim, columns = changed_columns(how, dim);
    TO *room = malloc((size_t)(2 * columns + 3 * dim + 1) * sizeof *room);
    if (!room)
        return NULL;
    for (int64_t c = 0; c < columns; c++) {
        room[c] = (TO)how->mean[c];
        room[columns + c] = (TO)how->inverse[c];
    }
    *job = (NAME(job)){how, dim, columns, room, room + columns, room + 2 * columns};
    return room;
}

pfnn_status NAME(pfnn_windows_gather)(TO *first, int64_t first_length, TO *second, int64_t second_length,
                                      const pfnn_clips *clips, const int64_t *clip, const int64_t *start, int64_t n,
                                      const pfnn_gather *how, pfnn_error *error)
{
    NAME(job) job;
    pfnn_status status = check_speeds(how, n, clips->dim, error);
    if (status == PFNN_OK)
        status = check_windows(clips, clip, start, n, first_length, second_length, how, error);
    if (status != PFNN_OK)
        return status;
    TO *room = NAME(make_job)(&job, clips, how);
    if (!room)
        return pfnn_fail(error, PFNN_ERROR_MEMORY, -1, "no memory for %lld columns", (long long)clips->dim);

    const bool is_double = clips->is_double != 0;
    for (int64_t i = 0; i < n; i++) {
        const double speed = speed_of(how, i), next_speed = i + 1 < n ? speed_of(how, i + 1) : 1;
        const NAME(window) window = {window_at(clips, clip[i], start[i], speed),
                                     i + 1 < n ? window_at(clips, clip[i + 1], start[i + 1], next_speed) : NULL, next_speed,
                                     is_double, how->mirror && how->mirror[i]};
        const NAME(clip) own = {clips->rows[clip[i]], clips->n_frames[clip[i]], how->layout, how->fps, is_double,
                                job.row + clips->dim};
        TO *outputs[] = {first + i * first_length * clips->dim, second ? second + i * second_length * clips->dim : NULL};
        const int64_t begins[] = {0, first_length}, counts[] = {first_length, second_length};
        for (int part = 0; part < 2 && outputs[part]; part++)
            if (speed == 1)
                NAME(copy_rows)(outputs[part], &window, begins[part], counts[part], &job);
            else
                NAME(play_rows)(outputs[part], &window, &own, start[i], speed, begins[part], counts[part], &job);
    }
    free(room);
    return PFNN_OK;
}
