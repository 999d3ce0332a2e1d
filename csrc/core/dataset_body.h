/*
 * dataset_body.h: gathering windows of one type. Included once per type with
 *   TO          float or double, the type of the windows, in which they are normalised too
 *   NAME(stem)  stem_f32 or stem_f64
 */

/* Rows as they are. */
static void NAME(copy)(TO *restrict out, const void *rows, int64_t first, int64_t count, bool is_double)
{
    const float *restrict floats = rows;
    const double *restrict doubles = rows;

    if (is_double == (sizeof(TO) == sizeof(double)))
        memcpy(out, (const TO *)rows + first, (size_t)count * sizeof *out);
    else if (is_double)
        for (int64_t i = 0; i < count; i++)
            out[i] = (TO)doubles[first + i];
    else
        for (int64_t i = 0; i < count; i++)
            out[i] = (TO)floats[first + i];
}

/* Rows with column c from sign[c] times column columns[c]. */
static void NAME(copy_mirrored)(TO *restrict out, const void *rows, int64_t first, int64_t length, int64_t dim,
                                bool is_double, const pfnn_gather *how)
{
    const float *floats = rows;
    const double *doubles = rows;

    for (int64_t t = 0; t < length; t++, first += dim)
        for (int64_t c = 0; c < dim; c++) {
            const int64_t from = first + how->columns[c];
            *out++ = (TO)(how->sign[c] * (is_double ? doubles[from] : (double)floats[from]));
        }
}

/* The first `columns` columns of each row in place; the others need nothing. */
static void NAME(normalize_rows)(TO *restrict out, int64_t length, int64_t dim, int64_t columns,
                                 const TO *restrict mean, const TO *restrict inverse)
{
    for (int64_t t = 0; t < length; t++, out += dim)
        for (int64_t c = 0; c < columns; c++)
            out[c] = (out[c] - mean[c]) * inverse[c];
}

pfnn_status NAME(pfnn_windows_gather)(TO *out, const pfnn_clips *clips, const int64_t *clip, const int64_t *start,
                                      int64_t n, int64_t length, const pfnn_gather *how, pfnn_error *error)
{
    const int64_t dim = clips->dim, columns = changed_columns(how, dim);
    TO *mean = NULL, *inverse = NULL;

    const pfnn_status status = check_windows(clips, clip, start, n, length, error);
    if (status != PFNN_OK)
        return status;

    /* mean and inverse in the type of the windows */
    if (columns > 0) {
        mean = malloc((size_t)columns * 2 * sizeof *mean);
        if (!mean)
            return pfnn_fail(error, PFNN_ERROR_MEMORY, -1, "no memory for %lld columns", (long long)columns);
        inverse = mean + columns;
        for (int64_t c = 0; c < columns; c++) {
            mean[c] = (TO)how->mean[c];
            inverse[c] = (TO)how->inverse[c];
        }
    }

    for (int64_t i = 0; i < n; i++, out += length * dim) {
        const void *rows = clips->rows[clip[i]];
        const bool is_double = clips->is_double != 0;
        if (how->mirror && how->mirror[i])
            NAME(copy_mirrored)(out, rows, start[i] * dim, length, dim, is_double, how);
        else
            NAME(copy)(out, rows, start[i] * dim, length * dim, is_double);
        if (columns > 0)
            NAME(normalize_rows)(out, length, dim, columns, mean, inverse);
    }
    free(mean);
    return PFNN_OK;
}
