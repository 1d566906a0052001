/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A test double of cuSOLVER: the Cholesky factorisation, in stream order, by OpenBLAS.
 */
#include "double.h"

#include <stdlib.h>

enum { SOLVER_MAGIC = 0xc0de0007, SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 3, EXECUTION_FAILED = 6 };

#define CD_DECLARE(member, name, arguments) CD_EXPORT int name arguments;
CD_CUSOLVER_FUNCTIONS(CD_DECLARE)
#undef CD_DECLARE

/* LAPACK's, whose characters have lengths behind all arguments. */
void spotrf_(const char *uplo, const int *n, float *a, const int *lda, int *info, size_t uplo_length);
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t uplo_length);

struct cusolverDnContext {
    unsigned magic;
    od_cu_context context;
    od_cu_stream stream;
};

typedef struct job {
    bool is_double;
    int fill, n, lda;
    void *a;
    int *info;
} job;

int cusolverDnCreate(cd_cusolver *handle)
{
    od_cu_context context = NULL;
    if (cuCtxGetCurrent(&context) || !context)
        return NOT_INITIALIZED;
    *handle = calloc(1, sizeof **handle);
    if (!*handle)
        return EXECUTION_FAILED;
    **handle = (struct cusolverDnContext){.magic = SOLVER_MAGIC, .context = context};
    return SUCCESS;
}

int cusolverDnDestroy(cd_cusolver handle)
{
    free(handle);
    return SUCCESS;
}

int cusolverDnSetStream(cd_cusolver handle, od_cu_stream stream)
{
    if (!handle || handle->magic != SOLVER_MAGIC)
        return NOT_INITIALIZED;
    handle->stream = stream;
    return SUCCESS;
}

static int size_of(cd_cusolver handle, int n, int lda, int *elements)
{
    if (!handle || handle->magic != SOLVER_MAGIC)
        return NOT_INITIALIZED;
    *elements = n; /* some */
    return n < 0 || lda < n ? INVALID_VALUE : SUCCESS;
}

int cusolverDnSpotrf_bufferSize(cd_cusolver handle, int fill, int n, float *a, int lda, int *elements)
{
    (void)fill, (void)a;
    return size_of(handle, n, lda, elements);
}

int cusolverDnDpotrf_bufferSize(cd_cusolver handle, int fill, int n, double *a, int lda, int *elements)
{
    (void)fill, (void)a;
    return size_of(handle, n, lda, elements);
}

static void factor(void *argument)
{
    job *j = argument;
    const char *uplo = j->fill == CD_CUBLAS_LOWER ? "L" : "U";
    if (j->is_double)
        dpotrf_(uplo, &j->n, j->a, &j->lda, j->info, 1);
    else
        spotrf_(uplo, &j->n, j->a, &j->lda, j->info, 1);
    free(j);
}

static int queue(cd_cusolver handle, const job *wanted, const void *buffer, size_t buffer_bytes)
{
    if (!handle || handle->magic != SOLVER_MAGIC)
        return NOT_INITIALIZED;
    size_t element = wanted->is_double ? sizeof(double) : sizeof(float), n = (size_t)wanted->n;
    if (wanted->n < 1 || wanted->lda < wanted->n)
        return INVALID_VALUE;
    size_t span = ((n - 1) * (size_t)wanted->lda + n) * element;
    if (cuda_double_check_range("the matrix", wanted->a, span, handle->context) ||
        cuda_double_check_range("the buffer", buffer, buffer_bytes, handle->context) ||
        cuda_double_check_range("info", wanted->info, sizeof(int), handle->context))
        return EXECUTION_FAILED;
    job *j = malloc(sizeof *j);
    if (!j)
        return EXECUTION_FAILED;
    *j = *wanted;
    if (!cuLaunchHostFunc(handle->stream, factor, j))
        return SUCCESS;
    free(j);
    return EXECUTION_FAILED;
}

int cusolverDnSpotrf(cd_cusolver handle, int fill, int n, float *a, int lda, float *buffer, int elements, int *info)
{
    return queue(handle, &(job){false, fill, n, lda, a, info}, buffer, (size_t)elements * sizeof *buffer);
}

int cusolverDnDpotrf(cd_cusolver handle, int fill, int n, double *a, int lda, double *buffer, int elements, int *info)
{
    return queue(handle, &(job){true, fill, n, lda, a, info}, buffer, (size_t)elements * sizeof *buffer);
}
