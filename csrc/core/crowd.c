/* crowd.c: the short cut for many rows: the few dimensions in which a segment's shares lie. */
#include "network.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846
enum { SAMPLES = 65, SWEEPS = 30 };

/* Turn columns p and q of the symmetric matrix and of the basis so that matrix[p][q] becomes 0 (Jacobi). */
static bool rotate(double *matrix, double *basis, int n, int p, int q)
{
    double off = matrix[p * n + q];
    if (off * off <= 1e-34 * fabs(matrix[p * n + p] * matrix[q * n + q]))
        return false;
    double theta = (matrix[q * n + q] - matrix[p * n + p]) / (2 * off);
    double t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1), s = t * c;
    for (int i = 0; i < n; i++) {
        double a = matrix[i * n + p], b = matrix[i * n + q];
        matrix[i * n + p] = c * a - s * b;
        matrix[i * n + q] = s * a + c * b;
    }
    for (int i = 0; i < n; i++) {
        double a = matrix[p * n + i], b = matrix[q * n + i];
        matrix[p * n + i] = c * a - s * b;
        matrix[q * n + i] = s * a + c * b;
    }
    for (int i = 0; i < n; i++) { /* the rows of the basis are the eigenvectors */
        double a = basis[p * n + i], b = basis[q * n + i];
        basis[p * n + i] = c * a - s * b;
        basis[q * n + i] = s * a + c * b;
    }
    return true;
}

/* Eigenvectors of a symmetric matrix as rows, the largest eigenvalue first. */
static void eigenvectors(double *basis, double *matrix, int n)
{
    memset(basis, 0, (size_t)(n * n) * sizeof *basis);
    for (int i = 0; i < n; i++)
        basis[i * n + i] = 1;
    bool turned = true;
    for (int sweep = 0; sweep < SWEEPS && turned; sweep++) {
        turned = false;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++)
                turned |= rotate(matrix, basis, n, p, q);
    }
    for (int i = 0; i < n; i++) { /* selection sort */
        int top = i;
        for (int j = i + 1; j < n; j++)
            top = matrix[j * n + j] > matrix[top * n + top] ? j : top;
        for (int j = 0; j < n; j++) {
            double keep = basis[i * n + j];
            basis[i * n + j] = basis[top * n + j];
            basis[top * n + j] = keep;
        }
        matrix[top * n + top] = matrix[i * n + i];
    }
}

/* What a basis leaves of a sample's shares, as a part of them: about what the sum of so many products is wrong by. */
static double residual(const double *share, const double *basis, int n, int rank)
{
    double rest[PFNN_MAX_KERNELS], left = 0, all = 0; /* squares */
    memcpy(rest, share, (size_t)n * sizeof *rest);
    for (int j = 0; j < rank; j++) {
        double sum = 0;
        for (int k = 0; k < n; k++)
            sum += basis[j * n + k] * share[k];
        for (int k = 0; k < n; k++)
            rest[k] -= sum * basis[j * n + k];
    }
    for (int k = 0; k < n; k++) {
        left += rest[k] * rest[k];
        all += share[k] * share[k];
    }
    return all > 0 ? sqrt(left / all) : 0;
}

/*
 * Other vectors that span the same, as (2, rank, n): rows of which each has a kernel of its own, with share 1 there and
 * 0 in the other rows (Gauss and Jordan), so that a blend needs but the kernels that are left; and what gives the rows'
 * shares of a vector.
 */
static void reduce(double *basis, const double *vectors, int n, int rank)
{
    double *row = basis, *shares = basis + rank * n;
    memcpy(row, vectors, (size_t)(rank * n) * sizeof *row);
    for (int j = 0; j < rank; j++) {
        int from = j, own = 0;
        for (int i = j; i < rank; i++)
            for (int k = 0; k < n; k++)
                if (fabs(row[i * n + k]) > fabs(row[from * n + own])) {
                    from = i;
                    own = k;
                }
        double pivot = row[from * n + own];
        for (int k = 0; k < n; k++) {
            double keep = row[j * n + k];
            row[j * n + k] = k == own ? 1 : row[from * n + k] / pivot;
            if (from != j)
                row[from * n + k] = keep;
        }
        for (int i = 0; i < rank; i++) {
            double times = row[i * n + own];
            for (int k = 0; k < n && i != j; k++)
                row[i * n + k] = k == own ? 0 : row[i * n + k] - times * row[j * n + k];
        }
        for (int k = 0; k < n; k++) {
            shares[j * n + k] = 0;
            for (int i = 0; i < rank; i++)
                shares[j * n + k] += vectors[i * n + own] * vectors[i * n + k];
        }
    }
    for (int i = 0; i < rank * n; i++) /* as good as none */
        row[i] = fabs(row[i]) < 1e-12 ? 0 : row[i];
}

/* Stops, having returned it, at the first error that is over the limit. */
static double basis_within(double *basis, const pfnn_net_config *config, int32_t segments, int32_t rank, double limit)
{
    double matrix[PFNN_MAX_KERNELS * PFNN_MAX_KERNELS], vectors[PFNN_MAX_KERNELS * PFNN_MAX_KERNELS];
    double share[PFNN_MAX_KERNELS], worst = 0;
    int n = config->kernels;

    for (int s = 0; s < segments && worst <= limit; s++, basis += (int64_t)2 * rank * n) {
        memset(matrix, 0, (size_t)(n * n) * sizeof *matrix);
        for (int i = 0; i < SAMPLES; i++) { /* closer at the ends, where a basis of even samples fits worst (Chebyshev) */
            double phase = (s + 0.5 - 0.5 * cos(PI * i / (SAMPLES - 1))) / segments;
            pfnn_phase_shares(share, NULL, config, &phase, 1, NULL);
            for (int a = 0; a < n; a++)
                for (int b = 0; b < n; b++)
                    matrix[a * n + b] += share[a] * share[b];
        }
        eigenvectors(vectors, matrix, n);
        reduce(basis, vectors, n, rank);
        for (int i = 0; i < 2 * SAMPLES - 1; i++) { /* also between the samples */
            double phase = (s + (double)i / (2 * SAMPLES - 2)) / segments, error;
            pfnn_phase_shares(share, NULL, config, &phase, 1, NULL);
            error = residual(share, vectors, n, rank);
            worst = error > worst ? error : worst;
        }
    }
    return worst;
}

double pfnn_crowd_basis(double *basis, const pfnn_net_config *config, int32_t segments, int32_t rank)
{
    return basis_within(basis, config, segments, rank, INFINITY);
}

int pfnn_crowd_choices(pfnn_crowd crowds[PFNN_MAX_CROWDS], double *basis, const pfnn_net_config *config, double limit)
{
    static const int32_t segments[] = {1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 16, 20, 24, 32, 48};
    int count = 0;
    int32_t rank = config->kernels - 1;
    for (size_t i = 0; i < sizeof segments / sizeof *segments && count < PFNN_MAX_CROWDS; i++) {
        int32_t before = rank; /* more segments need less rank */
        while (rank >= 2 && basis_within(basis, config, segments[i], rank, limit) <= limit)
            rank--;
        if (rank == before)
            continue;
        pfnn_crowd_basis(basis, config, segments[i], rank + 1);
        crowds[count] = (pfnn_crowd){segments[i], rank + 1, basis, NULL, NULL};
        if (count)
            crowds[count - 1].next = &crowds[count];
        basis += 2 * segments[i] * (rank + 1) * config->kernels;
        count++;
    }
    return count;
}

static pfnn_net_config blended_config(const pfnn_net_config *config, int32_t rank)
{
    pfnn_net_config blended = *config;
    blended.kernels = rank;
    return blended;
}

int64_t pfnn_crowd_count(const pfnn_net_config *config, int32_t segments, int32_t rank)
{
    pfnn_net_config blended = blended_config(config, rank);
    return segments * pfnn_net_count(&blended);
}

/* to (rank, count) = basis (rank, kernels) times from (kernels, count) */
static void blend(float *to, const float *from, int64_t count, const double *basis, int rank, int kernels)
{
    for (int j = 0; j < rank; j++, to += count, basis += kernels) {
        memset(to, 0, (size_t)count * sizeof *to);
        for (int k = 0; k < kernels; k++) {
            float share = (float)basis[k];
            for (int64_t i = 0; i < count; i++)
                to[i] += share * from[k * count + i];
        }
    }
}

void pfnn_crowd_build(pfnn_net *nets, float *memory, const pfnn_net *net, const pfnn_crowd *crowd)
{
    pfnn_net_config config = blended_config(&net->config, crowd->rank);
    int kernels = net->config.kernels;
    const double *basis = crowd->basis;
    for (int s = 0; s < crowd->segments; s++, basis += (int64_t)2 * crowd->rank * kernels) {
        pfnn_net_bind(&nets[s], &config, memory);
        memory += pfnn_net_count(&config);
        for (int l = 0; l < config.layers; l++) {
            int64_t in = config.size[l], out = config.size[l + 1];
            blend(nets[s].weights[l], net->weights[l], in * out, basis, crowd->rank, kernels);
            blend(nets[s].bias[l], net->bias[l], out, basis, crowd->rank, kernels);
        }
    }
}
