/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A test double of cuBLAS, on top of that of the driver: operations are checked, queued on the handle's stream and
 * computed there by OpenBLAS. Matrices lie in memory of the handle's device, which is checked when the operation is
 * queued and again when its turn has come; scalars are the host's.
 */
#include "double.h"

#include <cblas.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { HANDLE_MAGIC = 0xc0de0004 };

#define CD_DECLARE(member, name, arguments) CD_EXPORT int name arguments;
CD_CUBLAS_FUNCTIONS(CD_DECLARE)
#undef CD_DECLARE

/* Never freed, so that the use of a destroyed one is recognised. */
struct cublasContext {
    unsigned magic;
    bool alive;
    od_cu_context context;
    od_cu_stream stream;
    int math_mode, pointer_mode, atomics_mode;
    od_cu_address workspace; /* 0: none */
    struct cublasContext *next;
};

enum { TF32_MATH = 3 }; /* of products of floats */

typedef enum operation { GEMM, SYRK, TRSM } operation;

typedef struct matrix {
    void *address;
    int rows, columns, ld;
} matrix;

typedef struct job {
    operation operation;
    bool is_double, is_tf32;
    int op_a, op_b, side, fill, diag; /* as cuBLAS numbers them */
    int m, n, k;
    bool has_scalars;
    double alpha, beta;
    matrix a, b, c; /* TRSM has no c, SYRK no b */
    od_cu_context context;
    struct job *next, **link;
} job;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the two lists */
static cd_cublas handles;
static job *jobs; /* queued; those of a lost device stay */

/* --- execution ------------------------------------------------------------------ */

static enum CBLAS_TRANSPOSE transpose(int op)
{
    static const enum CBLAS_TRANSPOSE values[] = {CblasNoTrans, CblasTrans, CblasConjTrans};
    return values[op];
}

static enum CBLAS_UPLO uplo(const job *j)
{
    return j->fill == CD_CUBLAS_LOWER ? CblasLower : CblasUpper;
}

/* A copy with ten bits of mantissa, as tensor cores read it. NULL: there is no memory. */
static float *rounded(const matrix *x)
{
    size_t elements = (size_t)(x->columns - 1) * (size_t)x->ld + (size_t)x->rows;
    uint32_t *copy = malloc(elements * sizeof *copy);
    if (!copy)
        return NULL;
    memcpy(copy, x->address, elements * sizeof *copy);
    for (size_t i = 0; i < elements; i++)
        copy[i] = (copy[i] + 0x1000) & ~UINT32_C(0x1fff);
    return (float *)(void *)copy;
}

static void compute_tf32(const job *j)
{
    float *a = rounded(&j->a), *b = rounded(&j->b);
    if (!a || !b)
        abort();
    cblas_sgemm(CblasColMajor, transpose(j->op_a), transpose(j->op_b), j->m, j->n, j->k, (float)j->alpha, a, j->a.ld, b,
                j->b.ld, (float)j->beta, j->c.address, j->c.ld);
    free(a);
    free(b);
}

static void compute_gemm(const job *j)
{
    if (j->is_tf32 && !j->is_double)
        compute_tf32(j);
    else if (j->is_double)
        cblas_dgemm(CblasColMajor, transpose(j->op_a), transpose(j->op_b), j->m, j->n, j->k, j->alpha, j->a.address,
                    j->a.ld, j->b.address, j->b.ld, j->beta, j->c.address, j->c.ld);
    else
        cblas_sgemm(CblasColMajor, transpose(j->op_a), transpose(j->op_b), j->m, j->n, j->k, (float)j->alpha,
                    j->a.address, j->a.ld, j->b.address, j->b.ld, (float)j->beta, j->c.address, j->c.ld);
}

static void compute_syrk(const job *j)
{
    if (j->is_double)
        cblas_dsyrk(CblasColMajor, uplo(j), transpose(j->op_a), j->n, j->k, j->alpha, j->a.address, j->a.ld, j->beta,
                    j->c.address, j->c.ld);
    else
        cblas_ssyrk(CblasColMajor, uplo(j), transpose(j->op_a), j->n, j->k, (float)j->alpha, j->a.address, j->a.ld,
                    (float)j->beta, j->c.address, j->c.ld);
}

static void compute_trsm(const job *j)
{
    enum CBLAS_SIDE side = j->side == CD_CUBLAS_LEFT ? CblasLeft : CblasRight;
    enum CBLAS_DIAG diag = j->diag == CD_CUBLAS_UNIT ? CblasUnit : CblasNonUnit;
    if (j->is_double)
        cblas_dtrsm(CblasColMajor, side, uplo(j), transpose(j->op_a), diag, j->m, j->n, j->alpha, j->a.address, j->a.ld,
                    j->b.address, j->b.ld);
    else
        cblas_strsm(CblasColMajor, side, uplo(j), transpose(j->op_a), diag, j->m, j->n, (float)j->alpha, j->a.address,
                    j->a.ld, j->b.address, j->b.ld);
}

static void insert(job *j)
{
    pthread_mutex_lock(&lock);
    j->next = jobs;
    j->link = &jobs;
    if (jobs)
        jobs->link = &j->next;
    jobs = j;
    pthread_mutex_unlock(&lock);
}

static void take_out(job *j)
{
    pthread_mutex_lock(&lock);
    *j->link = j->next;
    if (j->next)
        j->next->link = j->link;
    pthread_mutex_unlock(&lock);
    free(j);
}

/* 0 where all of the matrix lies on the device. */
static od_cu_result check_place(const char *what, const matrix *x, const job *j)
{
    if (!x->address || x->rows <= 0 || x->columns <= 0)
        return OD_CU_SUCCESS;
    size_t elements = (size_t)(x->columns - 1) * (size_t)x->ld + (size_t)x->rows;
    return cuda_double_check_range(what, x->address, elements * (j->is_double ? sizeof(double) : sizeof(float)),
                                   j->context);
}

static od_cu_result check_places(const job *j)
{
    od_cu_result result = check_place("matrix A", &j->a, j);
    if (!result)
        result = check_place("matrix B", &j->b, j);
    return result ? result : check_place("matrix C", &j->c, j);
}

static void compute(void *arg)
{
    static void (*const operations[])(const job *) = {
        [GEMM] = compute_gemm, [SYRK] = compute_syrk, [TRSM] = compute_trsm};
    job *j = arg;
    if (!check_places(j))
        operations[j->operation](j);
    take_out(j);
}

/* --- arguments ------------------------------------------------------------------ */

static int check(cd_cublas handle)
{
    if (!handle)
        return CD_CUBLAS_NOT_INITIALIZED;
    if ((uintptr_t)handle < CD_PAGE || handle->magic != HANDLE_MAGIC || !handle->alive)
        return cuda_double_misuse(CD_CUBLAS_NOT_INITIALIZED, "%p is no cuBLAS handle, or was destroyed",
                                  (void *)handle);
    return CD_CUBLAS_SUCCESS;
}

static bool is_matrix(const matrix *x, bool is_used)
{
    return !is_used || (x->rows >= 0 && x->columns >= 0 && x->ld >= (x->rows > 1 ? x->rows : 1) &&
                        (x->address || !x->rows || !x->columns));
}

static bool is_flag(int value)
{
    return value == 0 || value == 1;
}

static bool is_valid(const job *j)
{
    return j->m >= 0 && j->n >= 0 && j->k >= 0 && j->has_scalars && j->op_a >= CD_CUBLAS_N && j->op_a <= CD_CUBLAS_C &&
           j->op_b >= CD_CUBLAS_N && j->op_b <= CD_CUBLAS_C && is_flag(j->side) && is_flag(j->fill) &&
           is_flag(j->diag) && is_matrix(&j->a, true) && is_matrix(&j->b, j->operation != SYRK) &&
           is_matrix(&j->c, j->operation != TRSM);
}

static int queue(cd_cublas handle, const job *wanted)
{
    int status = check(handle);
    if (status)
        return status;
    if (!is_valid(wanted))
        return CD_CUBLAS_INVALID_VALUE;
    if (!wanted->m || !wanted->n)
        return CD_CUBLAS_SUCCESS;
    job *j = malloc(sizeof *j);
    if (!j)
        return CD_CUBLAS_ALLOC_FAILED;
    *j = *wanted;
    j->context = handle->context;
    j->is_tf32 = handle->math_mode == TF32_MATH;
    if (check_places(j)) {
        free(j);
        return CD_CUBLAS_EXECUTION_FAILED;
    }
    insert(j);
    if (!cuLaunchHostFunc(handle->stream, compute, j))
        return CD_CUBLAS_SUCCESS;
    take_out(j);
    return CD_CUBLAS_EXECUTION_FAILED;
}

/* op(X) is rows x columns. */
static matrix operand(const void *address, int op, int rows, int columns, int ld)
{
    return (matrix){.address = (void *)(uintptr_t)address,
                    .rows = op == CD_CUBLAS_N ? rows : columns,
                    .columns = op == CD_CUBLAS_N ? columns : rows,
                    .ld = ld};
}

/* --- handles --------------------------------------------------------------------- */

int cublasCreate_v2(cd_cublas *handle)
{
    od_cu_context context = NULL;
    if (cuCtxGetCurrent(&context) || !context)
        return CD_CUBLAS_NOT_INITIALIZED;
    if (!handle)
        return CD_CUBLAS_INVALID_VALUE;
    cd_cublas created = malloc(sizeof *created);
    od_cu_address workspace = 0;
    const char *bytes = getenv("CUDA_DOUBLE_BLAS_MEMORY");
    if (!created || (bytes && cuMemAlloc_v2(&workspace, strtoul(bytes, NULL, 10)))) {
        free(created);
        return CD_CUBLAS_ALLOC_FAILED;
    }
    pthread_mutex_lock(&lock);
    *created = (struct cublasContext){
        .magic = HANDLE_MAGIC, .alive = true, .context = context, .workspace = workspace, .next = handles};
    *handle = handles = created;
    pthread_mutex_unlock(&lock);
    return CD_CUBLAS_SUCCESS;
}

int cublasDestroy_v2(cd_cublas handle)
{
    int status = check(handle);
    if (!status && handle->workspace)
        cuMemFree_v2(handle->workspace);
    if (!status)
        handle->alive = false;
    return status;
}

int cublasSetStream_v2(cd_cublas handle, od_cu_stream stream)
{
    int status = check(handle);
    if (status)
        return status;
    od_cu_context context = handle->context;
    if (stream && cuStreamGetCtx(stream, &context))
        return CD_CUBLAS_INVALID_VALUE;
    if (context != handle->context)
        return cuda_double_misuse(CD_CUBLAS_INVALID_VALUE, "a cuBLAS handle is given a stream of another device");
    handle->stream = stream;
    return CD_CUBLAS_SUCCESS;
}

int cublasGetStream_v2(cd_cublas handle, od_cu_stream *stream)
{
    int status = check(handle);
    if (!status)
        *stream = handle->stream;
    return status;
}

/* Kept for whoever asks; operations are what they are in the default modes. */
static int set_mode(cd_cublas handle, int *mode, int value)
{
    int status = check(handle);
    if (!status && value < 0)
        return CD_CUBLAS_INVALID_VALUE;
    if (!status)
        *mode = value;
    return status;
}

int cublasSetMathMode(cd_cublas handle, int mode)
{
    return set_mode(handle, handle ? &handle->math_mode : NULL, mode);
}

int cublasGetMathMode(cd_cublas handle, int *mode)
{
    return set_mode(handle, mode, handle ? handle->math_mode : 0);
}

int cublasSetPointerMode_v2(cd_cublas handle, int mode)
{
    return set_mode(handle, handle ? &handle->pointer_mode : NULL, mode);
}

int cublasGetPointerMode_v2(cd_cublas handle, int *mode)
{
    return set_mode(handle, mode, handle ? handle->pointer_mode : 0);
}

int cublasSetAtomicsMode(cd_cublas handle, int mode)
{
    return set_mode(handle, handle ? &handle->atomics_mode : NULL, mode);
}

int cublasGetAtomicsMode(cd_cublas handle, int *mode)
{
    return set_mode(handle, mode, handle ? handle->atomics_mode : 0);
}

/* No operation needs one here. */
int cublasSetWorkspace_v2(cd_cublas handle, void *workspace, size_t bytes)
{
    int status = check(handle);
    return !status && !workspace && bytes ? CD_CUBLAS_INVALID_VALUE : status;
}

/* --- operations -------------------------------------------------------------------- */

/* Both precisions: a float's value is a double's, too. */
#define SCALARS(is_wide)                                                                                               \
    .is_double = (is_wide), .has_scalars = alpha && beta, .alpha = alpha ? (double)*alpha : 0,                         \
    .beta = beta ? (double)*beta : 0

#define GEMM_JOB(is_wide)                                                                                              \
    &(job)                                                                                                             \
    {                                                                                                                  \
        .operation = GEMM, SCALARS(is_wide), .op_a = op_a, .op_b = op_b, .m = m, .n = n, .k = k,                       \
        .a = operand(a, op_a, m, k, lda), .b = operand(b, op_b, k, n, ldb), .c = operand(c, CD_CUBLAS_N, m, n, ldc)    \
    }

int cublasSgemm_v2(cd_cublas handle, int op_a, int op_b, int m, int n, int k, const float *alpha, const float *a,
                   int lda, const float *b, int ldb, const float *beta, float *c, int ldc)
{
    return queue(handle, GEMM_JOB(false));
}

int cublasDgemm_v2(cd_cublas handle, int op_a, int op_b, int m, int n, int k, const double *alpha, const double *a,
                   int lda, const double *b, int ldb, const double *beta, double *c, int ldc)
{
    return queue(handle, GEMM_JOB(true));
}

#define SYRK_JOB(is_wide)                                                                                              \
    &(job)                                                                                                             \
    {                                                                                                                  \
        .operation = SYRK, SCALARS(is_wide), .op_a = op, .fill = fill, .m = n, .n = n, .k = k,                         \
        .a = operand(a, op, n, k, lda), .c = operand(c, CD_CUBLAS_N, n, n, ldc)                                        \
    }

int cublasSsyrk_v2(cd_cublas handle, int fill, int op, int n, int k, const float *alpha, const float *a, int lda,
                   const float *beta, float *c, int ldc)
{
    return queue(handle, SYRK_JOB(false));
}

int cublasDsyrk_v2(cd_cublas handle, int fill, int op, int n, int k, const double *alpha, const double *a, int lda,
                   const double *beta, double *c, int ldc)
{
    return queue(handle, SYRK_JOB(true));
}

#define TRSM_JOB(is_wide)                                                                                              \
    &(job)                                                                                                             \
    {                                                                                                                  \
        .operation = TRSM, .is_double = (is_wide), .has_scalars = alpha, .alpha = alpha ? (double)*alpha : 0,          \
        .op_a = op, .side = side, .fill = fill, .diag = diag, .m = m, .n = n,                                          \
        .a = operand(a, CD_CUBLAS_N, side == CD_CUBLAS_LEFT ? m : n, side == CD_CUBLAS_LEFT ? m : n, lda),             \
        .b = operand(b, CD_CUBLAS_N, m, n, ldb)                                                                        \
    }

int cublasStrsm_v2(cd_cublas handle, int side, int fill, int op, int diag, int m, int n, const float *alpha,
                   const float *a, int lda, float *b, int ldb)
{
    return queue(handle, TRSM_JOB(false));
}

int cublasDtrsm_v2(cd_cublas handle, int side, int fill, int op, int diag, int m, int n, const double *alpha,
                   const double *a, int lda, double *b, int ldb)
{
    return queue(handle, TRSM_JOB(true));
}
