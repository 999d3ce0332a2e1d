/*
 * dataset_body.h: gathering windows of one type. Included once per type with
 *   TO          float or double, the type of the windows, in which they are normalised too
 *   NAME(stem)  stem_f32 or stem_f64
 */

typedef struct {
    const pfnn_gather *how;
    int64_t dim, columns; /* the first `columns` of `dim` are normalised */
    bool is_double;
    const TO *mean, *inverse;
} NAME(job);

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
static void NAME(mirror_row)(TO *restrict out, const void *row, const NAME(job) *job)
{
    const int64_t *from = job->how->columns;
    const double *sign = job->how->sign;
    const float *floats = row;
    const double *doubles = row;

    for (int64_t c = 0; c < job->dim; c++)
        out[c] = (TO)(sign[c] * (job->is_double ? doubles[from[c]] : (double)floats[from[c]]));
    for (int64_t c = 0; c < job->columns; c++)
        out[c] = (out[c] - job->mean[c]) * job->inverse[c];
}

/* `length` rows from `rows` on; while they are copied, those at `next` are fetched, which may lie anywhere in memory. */
static void NAME(copy_rows)(TO *out, const char *rows, const char *next, int64_t length, const NAME(job) *job, bool mirrored)
{
    const int64_t dim = job->dim;
    const size_t size = row_size(dim, job->is_double);

    for (int64_t t = 0; t < length; t++, out += dim, rows += size) {
        for (size_t b = 0; next && b < size; b += CACHE_LINE)
            PREFETCH(next + (size_t)t * size + b);
        if (mirrored)
            NAME(mirror_row)(out, rows, job);
        else if (job->is_double)
            NAME(copy_double_row)(out, (const double *)(const void *)rows, dim, job->columns, job->mean, job->inverse);
        else
            NAME(copy_float_row)(out, (const float *)(const void *)rows, dim, job->columns, job->mean, job->inverse);
    }
}

pfnn_status NAME(pfnn_windows_gather)(TO *first, int64_t first_length, TO *second, int64_t second_length,
                                      const pfnn_clips *clips, const int64_t *clip, const int64_t *start, int64_t n,
                                      const pfnn_gather *how, pfnn_error *error)
{
    const int64_t dim = clips->dim;
    NAME(job) job = {how, dim, changed_columns(how, dim), clips->is_double != 0, NULL, NULL};
    TO *scales = NULL;

    const pfnn_status status = check_windows(clips, clip, start, n, first_length, second_length, error);
    if (status != PFNN_OK)
        return status;

    /* mean and inverse in the type of the windows */
    if (job.columns > 0) {
        scales = malloc((size_t)job.columns * 2 * sizeof *scales);
        if (!scales)
            return pfnn_fail(error, PFNN_ERROR_MEMORY, -1, "no memory for %lld columns", (long long)job.columns);
        for (int64_t c = 0; c < job.columns; c++) {
            scales[c] = (TO)how->mean[c];
            scales[job.columns + c] = (TO)how->inverse[c];
        }
        job.mean = scales;
        job.inverse = scales + job.columns;
    }

    const size_t size = row_size(dim, job.is_double);
    for (int64_t i = 0; i < n; i++) {
        const char *rows = window_at(clips, clip[i], start[i]);
        const char *next = i + 1 < n ? window_at(clips, clip[i + 1], start[i + 1]) : NULL;
        const bool mirrored = how->mirror && how->mirror[i];
        NAME(copy_rows)(first + i * first_length * dim, rows, next, first_length, &job, mirrored);
        if (second)
            NAME(copy_rows)(second + i * second_length * dim, rows + (size_t)first_length * size,
                            next ? next + (size_t)first_length * size : NULL, second_length, &job, mirrored);
    }
    free(scales);
    return PFNN_OK;
}
