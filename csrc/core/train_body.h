/*
 * train_body.h: the training step for one real type, included by train.c with REAL and NAME(x).
 *
 * Functions named *_row work on one window and run in parallel; they write to that window's places only.
 */

/* ---- one window, forward ------------------------------------------------------------------ */

/* The window's frames into its sequence, with noise: one draw a column, and one a column and frame. */
static void NAME(begin_row)(const pfnn_trainer *t, const pfnn_train_batch *batch, int64_t row)
{
    const pfnn_train_config *c = &t->config;
    const pfnn_train_work *w = &t->work;
    const int dim = c->frame.dim, length = c->length;
    const REAL *x = (const REAL *)batch->x + row * length * dim;
    REAL *sequence = (REAL *)w->sequence + row * (length + w->steps) * dim;

    memcpy(sequence, x, (size_t)length * (size_t)dim * sizeof *x);
    if (batch->noise > 0 || batch->window_noise > 0)
        for (int i = 0; i < dim; i++) {
            double shared = batch->window_noise > 0 ? batch->window_noise * random_normal(batch->seeds[row], (uint64_t)i) : 0;
            for (int f = 0; f < length; f++) {
                double own = batch->noise > 0 ? random_normal(batch->seeds[row], (uint64_t)((f + 1) * dim + i)) : 0;
                sequence[f * dim + i] += (REAL)(c->spread[i] * (shared + batch->noise * own));
            }
        }

    for (int i = 0; i < dim; i++)
        w->first[row * dim + i] = (double)x[(length - 1) * dim + i] * c->scale[i] + c->mean[i];
    w->phase[row] = batch->phase[row];
    memset(w->root + 3 * row, 0, 3 * sizeof(double));
}

/* The network's input at step j: the window, then the wanted trajectory seen from where the character has come to. */
static void NAME(input_row)(const pfnn_trainer *t, const pfnn_train_batch *batch, int64_t row, int step)
{
    const pfnn_train_config *c = &t->config;
    const pfnn_train_work *w = &t->work;
    const int window = c->length * c->frame.dim;
    const REAL *sequence = (const REAL *)w->sequence + (row * (c->length + w->steps) + step) * c->frame.dim;
    REAL *x = (REAL *)w->input[0] + (step * w->rows + row) * c->net.config.size[0];

    memcpy(x, sequence, (size_t)window * sizeof *x);
    if (c->n_times > 0) {
        double root[3];
        own_root(t, batch, root, row, step);
        double *block = w->memory_a_row + row * t->scratch;
        trajectory(c, batch, block, row, step, root, 0);
        for (int i = 0; i < 4 * c->n_times; i++)
            x[window + i] = (REAL)block[i];
    }
}

/* share * the sum of SmoothL1 (beta 1) over columns; its gradient is added to dz */
static double NAME(smooth_l1)(REAL *dz, const REAL *z, const REAL *y, int columns, double share)
{
    const REAL slope = (REAL)share;
    double sum = 0;
    for (int i = 0; i < columns; i++) {
        REAL error = z[i] - y[i], size = error < 0 ? -error : error;
        sum += size < 1 ? 0.5 * (double)(error * error) : (double)size - 0.5;
        dz[i] += slope * (size < 1 ? error : error > 0 ? (REAL)1 : error < 0 ? (REAL)-1 : error /* NaN */);
    }
    return share * sum;
}

/* One rotation's part of the pose, `i` its first column: see pfnn_rotation_loss. */
static double NAME(rotation_loss)(const pfnn_train_config *c, REAL *dz, const REAL *z, const REAL *y, int i, double share)
{
    const int width = c->frame.width;
    double a[6] = {0}, b[6] = {0}, da[6] = {0};
    for (int n = 0; n < width; n++) {
        a[n] = (double)z[i + n] * c->scale[i + n] + c->mean[i + n];
        b[n] = (double)y[i + n] * c->scale[i + n] + c->mean[i + n];
    }
    if (c->rotation_loss == PFNN_LOSS_GEODESIC) {
        double angle = pfnn_rotation_angle(width, da, a, b), size = angle < 1 ? angle : 1;
        for (int n = 0; n < width; n++)
            dz[i + n] += (REAL)(share * width * size * da[n] * c->scale[i + n]);
        return share * width * (angle < 1 ? 0.5 * angle * angle : angle - 0.5);
    }
    REAL target[6];
    const double side = width == 4 && a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] < 0 ? -1 : 1;
    for (int n = 0; n < width; n++)
        target[n] = side > 0 ? y[i + n] : (REAL)((-b[n] - c->mean[i + n]) / c->scale[i + n]);
    return NAME(smooth_l1)(dz + i, z + i, target, width, share);
}

static double NAME(pose_loss)(const pfnn_train_config *c, REAL *dz, const REAL *z, const REAL *y, double share)
{
    const pfnn_frame_layout *f = &c->frame;
    if (c->rotation_loss == PFNN_LOSS_COMPONENT || f->width == 0)
        return NAME(smooth_l1)(dz, z, y, f->dim, share);
    const int end = 3 + f->n_slots * f->width;
    double sum = NAME(smooth_l1)(dz, z, y, 3, share) + NAME(smooth_l1)(dz + end, z + end, y + end, f->dim - end, share);
    for (int i = 3; i < end; i += f->width)
        sum += NAME(rotation_loss)(c, dz, z, y, i, share);
    return sum;
}

/* A term on columns that may not exist. */
static void NAME(columns_loss)(double *loss, REAL *dz, const REAL *z, const REAL *y, pfnn_columns columns, double share)
{
    const int count = columns.end - columns.begin;
    if (share > 0 && count > 0)
        *loss += NAME(smooth_l1)(dz + columns.begin, z + columns.begin, y, count, share / count);
}

/* All terms of a prediction `z` in place of the network's output row; dz is set. */
static void NAME(loss_row)(const pfnn_trainer *t, const pfnn_train_batch *batch, int64_t row, int step, REAL *dz, const REAL *z)
{
    const pfnn_train_config *c = &t->config;
    const int dim = c->frame.dim, outputs = c->net.config.size[PFNN_LAYERS];
    const REAL *y = (const REAL *)batch->y + (row * batch->y_length + step) * dim;
    const double count = (double)batch->rows * batch->steps, *weight = batch->weight;
    const pfnn_columns velocity = {0, 3};
    double *losses = t->work.losses + row * PFNN_TERMS;

    memset(dz, 0, (size_t)outputs * sizeof *dz);
    losses[PFNN_TERM_POSE] += NAME(pose_loss)(c, dz, z, y, weight[PFNN_TERM_POSE] / (count * dim));
    NAME(columns_loss)(&losses[PFNN_TERM_VELOCITY], dz, z, y, velocity, weight[PFNN_TERM_VELOCITY] / count);
    NAME(columns_loss)(&losses[PFNN_TERM_ROOT], dz, z, y + c->root.begin, c->root, weight[PFNN_TERM_ROOT] / count);
    NAME(columns_loss)(&losses[PFNN_TERM_POINTS], dz, z, y + c->points.begin, c->points, weight[PFNN_TERM_POINTS] / count);
    REAL rate = batch->rates ? (REAL)batch->rates[row * batch->steps + step] : 0;
    NAME(columns_loss)(&losses[PFNN_TERM_PHASE], dz, z, &rate, c->phase, weight[PFNN_TERM_PHASE] / count);
}

/* Terms that need the geometry: feet and the predicted trajectory. */
static void NAME(geometry_loss_row)(const pfnn_trainer *t, const pfnn_train_batch *batch, int64_t row, int step, REAL *dz,
                                    const REAL *z)
{
    const pfnn_train_config *c = &t->config;
    const pfnn_train_work *w = &t->work;
    const int dim = c->frame.dim;
    const double count = (double)batch->rows * batch->steps, *weight = batch->weight;
    const int64_t at = step * w->rows + row;
    double *scratch = w->memory_a_row + row * t->scratch, *losses = w->losses + row * PFNN_TERMS;

    if (weight[PFNN_TERM_CONTACT] > 0) {
        const REAL *y = (const REAL *)batch->y + (row * batch->y_length + step) * dim + c->frame.contacts;
        double *contacts = scratch, *dafter = contacts + c->frame.n_feet;
        const double *before = step ? w->valid + (at - w->rows) * dim : w->first + row * dim;
        double *dbefore = step ? w->dvalid + (at - w->rows) * dim : NULL;
        for (int f = 0; f < c->frame.n_feet; f++)
            contacts[f] = (double)y[f] * c->scale[c->frame.contacts + f] + c->mean[c->frame.contacts + f];
        memset(dafter, 0, (size_t)dim * sizeof *dafter);
        double scale = weight[PFNN_TERM_CONTACT] / count;
        losses[PFNN_TERM_CONTACT] += scale * pfnn_frame_contact(&c->frame, w->raw + at * dim, before, contacts, scale, dafter,
                                                                dbefore, dafter + dim);
        for (int i = 0; i < dim; i++)
            dz[i] += (REAL)(dafter[i] * c->scale[i]);
    }
    if (weight[PFNN_TERM_TRAJECTORY] > 0 && c->trajectory.end > c->trajectory.begin) {
        const int columns = c->trajectory.end - c->trajectory.begin;
        double root[3];
        own_root(t, batch, root, row, step + 1);
        trajectory(c, batch, scratch, row, step + 1, root, c->n_times - columns / 4);
        REAL *wanted = (REAL *)(scratch + columns);
        for (int i = 0; i < columns; i++)
            wanted[i] = (REAL)scratch[i];
        NAME(columns_loss)(&losses[PFNN_TERM_TRAJECTORY], dz, z, wanted, c->trajectory, weight[PFNN_TERM_TRAJECTORY] / count);
    }
}

/* What comes of the network's output: the physical frame, its valid form, where root and phase go. */
static void NAME(advance_row)(const pfnn_trainer *t, const pfnn_train_batch *batch, int64_t row, int step, const REAL *z)
{
    const pfnn_train_config *c = &t->config;
    const pfnn_train_work *w = &t->work;
    const int dim = c->frame.dim;
    const int64_t at = step * w->rows + row;
    double *raw = w->raw + at * dim, *valid = w->valid + at * dim;
    REAL *next = (REAL *)w->sequence + (row * (c->length + w->steps) + c->length + step) * dim;

    for (int i = 0; i < dim; i++) {
        raw[i] = valid[i] = (double)z[i] * c->scale[i] + c->mean[i];
        next[i] = z[i];
    }
    const double *before = step ? valid - w->rows * dim : w->first + row * dim;
    for (int s = 0, i = 3; s < c->frame.n_slots && c->frame.width > 0; s++, i += c->frame.width) {
        double r[6] = {0}, r_before[6] = {0}, r_valid[6];
        memcpy(r, raw + i, (size_t)c->frame.width * sizeof *r);
        memcpy(r_before, before + i, (size_t)c->frame.width * sizeof *r);
        pfnn_rotation_valid(c->frame.width, r_valid, r, r_before);
        for (int n = 0; n < c->frame.width; n++) {
            valid[i + n] = r_valid[n];
            next[i + n] = (REAL)((r_valid[n] - c->mean[i + n]) / c->scale[i + n]);
        }
    }
    move_root(c, w->root + 3 * (at + w->rows), w->root + 3 * at, valid);
    if (step + 1 < w->steps) {
        double rate = c->phase.end > c->phase.begin ? (double)z[c->phase.begin] : 0;
        w->phase[at + w->rows] = batch->phases && c->phase_source == PFNN_PHASE_GIVEN
                                     ? batch->phases[row * batch->steps + step + 1]
                                     : next_phase(c, w->phase[at], valid, rate);
    }
}

/* All that follows the network at step j: the prediction in place of the output, its loss, where it leads. */
static void NAME(output_row)(const pfnn_trainer *t, const pfnn_train_batch *batch, int64_t row, int step)
{
    const pfnn_train_config *c = &t->config;
    const pfnn_train_work *w = &t->work;
    const int dim = c->frame.dim, outputs = c->net.config.size[PFNN_LAYERS];
    const int64_t at = step * w->rows + row;
    REAL *z = (REAL *)w->output + at * outputs, *dz = (REAL *)w->doutput[PFNN_LAYERS - 1] + at * outputs;
    const REAL *last = (const REAL *)w->sequence + (row * (c->length + w->steps) + c->length + step - 1) * dim;

    for (int i = 0; c->delta && i < dim; i++)
        z[i] += last[i];
    NAME(loss_row)(t, batch, row, step, dz, z);
    NAME(advance_row)(t, batch, row, step, z);
    NAME(geometry_loss_row)(t, batch, row, step, dz, z);
}

/* ---- one window, backward ----------------------------------------------------------------- */

/* The predicted trajectory is measured against the wanted one as seen from the predicted root, which takes a gradient too. */
static void NAME(wanted_backward_row)(const pfnn_trainer *t, const pfnn_train_batch *batch, int64_t row, int step, const REAL *dz)
{
    const pfnn_train_config *c = &t->config;
    const int columns = c->trajectory.end - c->trajectory.begin;
    double root[3], *block = t->work.memory_a_row + row * t->scratch, *dblock = block + columns;
    if (columns == 0)
        return;
    own_root(t, batch, root, row, step + 1);
    trajectory(c, batch, block, row, step + 1, root, c->n_times - columns / 4);
    for (int i = 0; i < columns; i++)
        dblock[i] = -(double)dz[c->trajectory.begin + i];
    trajectory_backward(t, batch, row, step + 1, block, dblock, columns / 4);
}

/* From the gradients by phase, root and frame after step j to that by the network's output of step j. */
static void NAME(output_backward_row)(const pfnn_trainer *t, const pfnn_train_batch *batch, int64_t row, int step)
{
    const pfnn_train_config *c = &t->config;
    const pfnn_train_work *w = &t->work;
    const int dim = c->frame.dim, outputs = c->net.config.size[PFNN_LAYERS];
    const int64_t at = step * w->rows + row;
    REAL *dz = (REAL *)w->doutput[PFNN_LAYERS - 1] + at * outputs;
    REAL *dsequence = (REAL *)w->dsequence + (row * (c->length + w->steps) + c->length + step) * dim;
    double *dvalid = w->dvalid + at * dim;
    const double *raw = w->raw + at * dim;
    double *dbefore = step ? w->dvalid + (at - w->rows) * dim : NULL;

    for (int i = 0; i < dim; i++)
        dvalid[i] += (double)dsequence[i] / c->scale[i];
    if (c->phase_source == PFNN_PHASE_SPEED)
        speed_backward(c, dvalid, w->valid + at * dim, w->dphase[row]);
    else if (c->phase_source == PFNN_PHASE_PREDICTED && c->phase.end > c->phase.begin)
        dz[c->phase.begin] += (REAL)(w->dphase[row] * c->frame.dt);
    if (batch->weight[PFNN_TERM_TRAJECTORY] > 0)
        NAME(wanted_backward_row)(t, batch, row, step, dz);
    move_root_backward(c, w->droot + 3 * row, dvalid, w->root + 3 * (at + w->rows), w->valid + at * dim);

    for (int s = 0, i = 3; s < c->frame.n_slots && c->frame.width > 0; s++, i += c->frame.width) {
        double r[6] = {0}, d[6] = {0}, dr[6] = {0}, before_d[6] = {0};
        memcpy(r, raw + i, (size_t)c->frame.width * sizeof *r);
        memcpy(d, dvalid + i, (size_t)c->frame.width * sizeof *d);
        pfnn_rotation_valid_backward(c->frame.width, dr, before_d, r, d);
        memcpy(dvalid + i, dr, (size_t)c->frame.width * sizeof *d);
        for (int n = 0; n < c->frame.width && dbefore; n++)
            dbefore[i + n] += before_d[n];
    }
    for (int i = 0; i < dim; i++)
        dz[i] += (REAL)(dvalid[i] * c->scale[i]);
    if (c->delta && step > 0) /* z(next) = z(last) + output */
        for (int i = 0; i < dim; i++)
            dsequence[i - dim] += dz[i];
}

/* From the gradient by the network's input of step j to that by earlier frames, root and phase. */
static void NAME(input_backward_row)(const pfnn_trainer *t, const pfnn_train_batch *batch, int64_t row, int step)
{
    const pfnn_train_config *c = &t->config;
    const pfnn_train_work *w = &t->work;
    const int dim = c->frame.dim, window = c->length * dim, kernels = c->net.config.kernels;
    const REAL *dx = (const REAL *)w->dx + row * c->net.config.size[0];
    REAL *dsequence = (REAL *)w->dsequence + (row * (c->length + w->steps) + step) * dim;

    /* only predicted frames take a gradient on: those from `length` on */
    for (int i = step < c->length ? (c->length - step) * dim : 0; i < window; i++)
        dsequence[i] += dx[i];
    if (c->n_times > 0) {
        double root[3], *block = w->memory_a_row + row * t->scratch, *dblock = block + 4 * c->n_times;
        own_root(t, batch, root, row, step);
        trajectory(c, batch, block, row, step, root, 0);
        for (int i = 0; i < 4 * c->n_times; i++)
            dblock[i] = (double)dx[window + i];
        trajectory_backward(t, batch, row, step, block, dblock, c->n_times);
    }
    const double *slope = w->slope + (step * w->rows + row) * kernels, *dshare = w->dshare + row * kernels;
    for (int k = 0; k < kernels; k++)
        w->dphase[row] += dshare[k] * slope[k];
}

/* ---- the network, all rows of one step ---------------------------------------------------- */

static void NAME(activate)(REAL *y, const pfnn_net_config *net, int64_t count)
{
    enum { PANEL = PFNN_PANEL_BYTES / (int)sizeof(REAL) };
    const pfnn_kernels *kernels = pfnn_kernels_get();
    const int type = sizeof(REAL) == sizeof(double) ? PFNN_FLOAT64 : PFNN_FLOAT32;
    void (*const function)(void *, int64_t) = net->activation == PFNN_RELU ? kernels->relu[type] : kernels->elu[type];
    const int64_t whole = count - count % PANEL;
    REAL rest[PANEL] = {0};

    function(y, whole);
    memcpy(rest, y + whole, (size_t)(count - whole) * sizeof *y);
    function(rest, PANEL);
    memcpy(y + whole, rest, (size_t)(count - whole) * sizeof *y);
}

/* dy by what stood before the activation, from `keep` y after it (and after dropout) */
static void NAME(activate_backward)(REAL *dy, const REAL *y, REAL keep, const pfnn_net_config *net, int64_t count)
{
    if (net->activation == PFNN_RELU)
        for (int64_t i = 0; i < count; i++)
            dy[i] = y[i] > 0 ? dy[i] : 0;
    else
        for (int64_t i = 0; i < count; i++)
            dy[i] *= y[i] > 0 ? 1 : keep * y[i] + 1;
}

/* Dropout of what a layer is given, or, on the way back, of the gradient by that: times 0 or 1 / (1 - dropout). */
static void NAME(drop)(const pfnn_trainer *t, const pfnn_train_batch *batch, REAL *x, int layer, int step)
{
    const int64_t in = t->config.net.config.size[layer];
    const uint64_t limit = (uint64_t)(batch->dropout * 0x1p32);
    const REAL kept = (REAL)(1 / (1 - batch->dropout));
    for (int64_t row = 0; row < batch->rows && batch->dropout > 0; row++) {
        const uint64_t stream = dropout_stream(batch->seeds[row], layer, step);
        for (int64_t i = 0; i < in; i++) {
            const uint64_t lot = pfnn_random_bits(stream, (uint64_t)i) >> 32;
            x[row * in + i] *= lot < limit ? 0 : kept;
        }
    }
}

static void NAME(network_forward)(pfnn_trainer *t, const pfnn_train_batch *batch, int step, int threads)
{
    const pfnn_net *net = &t->config.net;
    const pfnn_train_work *w = &t->work;
    const int64_t at = step * w->rows;
    const double *share = w->share + at * net->config.kernels;

    for (int l = 0; l < PFNN_LAYERS; l++) {
        const int64_t in = net->config.size[l], out = net->config.size[l + 1];
        REAL *y = l + 1 < PFNN_LAYERS ? (REAL *)w->input[l + 1] + at * out : (REAL *)w->output + at * out;
        NAME(drop)(t, batch, (REAL *)w->input[l] + at * in, l, step);
        pfnn_layer_forward(y, net, l, (REAL *)w->input[l] + at * in, share, w->rows, w->layer,
                           worth(threads, products(&net->config, l, w->rows), PRODUCTS_WORTH));
        if (l + 1 < PFNN_LAYERS)
            NAME(activate)(y, &net->config, w->rows * out);
    }
}

/* From doutput[2] to doutput[1], doutput[0] and, where the roll-out asks for it, dx and dshare. */
static void NAME(network_backward)(pfnn_trainer *t, const pfnn_train_batch *batch, int step, int threads)
{
    const pfnn_net *net = &t->config.net;
    const pfnn_train_work *w = &t->work;
    const int64_t at = step * w->rows;
    const double *share = w->share + at * net->config.kernels;
    double *dshare = step > 0 && t->config.phase_source != PFNN_PHASE_GIVEN ? w->dshare : NULL;

    memset(w->dshare, 0, (size_t)(w->rows * net->config.kernels) * sizeof *w->dshare);
    for (int l = PFNN_LAYERS - 1; l >= 0; l--) {
        const int64_t in = net->config.size[l], out = net->config.size[l + 1];
        REAL *dx = l > 0 ? (REAL *)w->doutput[l - 1] + at * in : step > 0 ? w->dx : NULL;
        if (!dx)
            break;
        memset(dx, 0, (size_t)(w->rows * in) * sizeof *dx);
        pfnn_layer_gradients gradients = {.dx = dx, .dshare = dshare};
        const REAL *x = (const REAL *)w->input[l] + at * in;
        pfnn_layer_backward(&gradients, net, l, x, share, (REAL *)w->doutput[l] + at * out, w->rows, w->layer,
                            worth(threads, products(&net->config, l, w->rows), PRODUCTS_WORTH));
        NAME(drop)(t, batch, dx, l, step);
        if (l > 0)
            NAME(activate_backward)(dx, x, (REAL)(1 - batch->dropout), &net->config, w->rows * in);
    }
}

/* ---- the last product and AdamW ----------------------------------------------------------- */

static double NAME(squares)(const pfnn_gradient_tile *tile)
{
    double sums[8] = {0}, sum = 0; /* several, so that it can be done in vectors */
    for (int64_t i = 0; i < tile->rows; i++) {
        const REAL *g = (const REAL *)tile->values + i * tile->stride;
        int64_t j = 0;
        for (; j + 8 <= tile->columns; j += 8)
            for (int n = 0; n < 8; n++)
                sums[n] += (double)g[j + n] * (double)g[j + n];
        for (; j < tile->columns; j++)
            sum += (double)g[j] * (double)g[j];
    }
    for (int n = 0; n < 8; n++)
        sum += sums[n];
    return sum;
}

/* What becomes of a tile of dW: the sum of its squares, or AdamW. */
static void NAME(take_tile)(const update_job *job, const pfnn_gradient_tile *tile)
{
    const pfnn_train_config *c = &job->trainer->config;
    const int64_t in = c->net.config.size[tile->layer], out = c->net.config.size[tile->layer + 1];
    const bool bias = tile->i == in;
    const int l = tile->layer;
    REAL *p = bias ? c->net.bias[l] : c->net.weights[l], *m = bias ? c->first.bias[l] : c->first.weights[l];
    REAL *v = bias ? c->second.bias[l] : c->second.weights[l];
    REAL *average = !c->average.weights[0] ? NULL : bias ? c->average.bias[l] : c->average.weights[l];

    const int64_t at = (bias ? tile->kernel : tile->kernel * in + tile->i) * out + tile->j;
    if (job->norms)
        job->norms[tiles_before(&c->net, l) + tile->number] = NAME(squares)(tile);
    else
        NAME(pfnn_adamw)(p + at, m + at, v + at, average ? average + at : NULL, out, tile->values, tile->stride, tile->rows,
                         tile->columns, &job->step);
}

/* AdamW with a chunk of the stored gradient; all parameters stand in one array. */
static void NAME(take_stored)(const update_job *job, int64_t chunk)
{
    const pfnn_train_config *c = &job->trainer->config;
    const int64_t at = chunk * CHUNK, rest = pfnn_net_count(&c->net.config) - at, count = rest < CHUNK ? rest : CHUNK;
    REAL *average = c->average.weights[0] ? (REAL *)c->average.weights[0] + at : NULL;
    NAME(pfnn_adamw)((REAL *)c->net.weights[0] + at, (REAL *)c->first.weights[0] + at, (REAL *)c->second.weights[0] + at, average,
                     count, (const REAL *)job->trainer->work.gradient + at, count, 1, count, &job->step);
}

/* Fetch what AdamW will touch, while the tile is being made. */
static void NAME(fetch_tile)(const update_job *job, const pfnn_gradient_tile *tile)
{
    const pfnn_train_config *c = &job->trainer->config;
    const int64_t in = c->net.config.size[tile->layer], out = c->net.config.size[tile->layer + 1];
    const REAL *const arrays[] = {c->net.weights[tile->layer], c->first.weights[tile->layer], c->second.weights[tile->layer]};
    for (int64_t i = 0; i < tile->rows; i++) {
        const int64_t at = (tile->kernel * in + tile->i + i) * out + tile->j;
        for (int n = 0; n < 3; n++)
            for (int64_t j = 0; j < tile->columns; j += 64 / (int64_t)sizeof(REAL))
                PREFETCH_TO_WRITE(arrays[n] + at + j);
    }
}

#undef REAL
#undef NAME
