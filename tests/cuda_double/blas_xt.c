/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A test double of cublasXt, on top of those of the driver and of cuBLAS: blocks of C are dealt to the devices by turns.
 * A device brings a block of C, adds the products of the blocks of A and B to it, and takes it back; three blocks is
 * what it needs of the device's memory. Like the original it leaves some context current.
 */
#include "double.h"

#include <stdlib.h>

enum { XT_MAGIC = 0xc0de0006, FIRST_BLOCK = 2048 };

#define CD_DECLARE(member, name, arguments) CD_EXPORT int name arguments;
CD_CUBLAS_FUNCTIONS(CD_DECLARE)
CD_CUBLAS_XT_FUNCTIONS(CD_DECLARE)
#undef CD_DECLARE

struct cublasXtContext {
    unsigned magic;
    unsigned ndevices; /* 0: not selected yet */
    int devices[CD_MOST_DEVICES];
    size_t block;
    int pinning;
};

/* A product, with the matrices of the host. */
typedef struct product {
    size_t element; /* bytes */
    bool is_double;
    int op_a, op_b;
    size_t m, n, k, lda, ldb, ldc, block;
    const void *alpha, *beta; /* of that type */
    const char *a, *b;
    char *c;
} product;

typedef struct lane {
    od_cu_context context;
    od_cu_stream stream;
    cd_cublas handle;
    od_cu_address a, b, c;
} lane;

static size_t part(size_t whole, size_t begin, size_t block)
{
    return whole - begin < block ? whole - begin : block;
}

/* --- devices ----------------------------------------------------------------------- */

static int open_lane(lane *l, int device, const product *p)
{
    size_t bytes = p->block * p->block * p->element;
    *l = (lane){0};
    if (cuDevicePrimaryCtxRetain(&l->context, device) || cuCtxSetCurrent(l->context) ||
        cuStreamCreate(&l->stream, OD_CU_STREAM_NON_BLOCKING))
        return CD_CUBLAS_EXECUTION_FAILED;
    int status = cublasCreate_v2(&l->handle);
    if (!status)
        status = cublasSetStream_v2(l->handle, l->stream);
    if (!status && (cuMemAlloc_v2(&l->a, bytes) || cuMemAlloc_v2(&l->b, bytes) || cuMemAlloc_v2(&l->c, bytes)))
        status = CD_CUBLAS_ALLOC_FAILED;
    return status;
}

/* What there is of it. */
static void close_lane(const lane *l, int device)
{
    if (!l->context)
        return;
    cuCtxSetCurrent(l->context);
    const od_cu_address memory[] = {l->a, l->b, l->c};
    for (int i = 0; i < 3; i++)
        if (memory[i])
            cuMemFree_v2(memory[i]);
    if (l->handle)
        cublasDestroy_v2(l->handle);
    if (l->stream)
        cuStreamDestroy_v2(l->stream);
    cuDevicePrimaryCtxRelease_v2(device);
}

/* --- products ------------------------------------------------------------------------- */

/* A block of the host's matrix, at row i and column j, and its place on the device, without gaps. */
typedef struct piece {
    const char *matrix;
    size_t i, j, rows, columns, ld, element;
    od_cu_address device;
} piece;

static od_cu_result copy(const piece *p, bool to_device, od_cu_stream stream)
{
    cd_copy_2d c = {.from_type = OD_CU_MEMORYTYPE_HOST,
                    .to_type = OD_CU_MEMORYTYPE_DEVICE,
                    .from_x = p->i * p->element,
                    .from_y = p->j,
                    .from_host = p->matrix,
                    .from_pitch = p->ld * p->element,
                    .to_device = p->device,
                    .to_pitch = p->rows * p->element,
                    .width = p->rows * p->element,
                    .height = p->columns};
    if (!to_device)
        c = (cd_copy_2d){.from_type = c.to_type,
                         .to_type = c.from_type,
                         .from_device = c.to_device,
                         .from_pitch = c.to_pitch,
                         .to_x = c.from_x,
                         .to_y = c.from_y,
                         .to_host = (void *)(uintptr_t)p->matrix,
                         .to_pitch = c.from_pitch,
                         .width = c.width,
                         .height = c.height};
    return cuMemcpy2DAsync_v2(&c, stream);
}

/* The block of op(X) at row i and column j. */
static piece operand(const product *p, bool is_a, size_t i, size_t j, size_t rows, size_t columns, const lane *l)
{
    int op = is_a ? p->op_a : p->op_b;
    piece x = {.matrix = is_a ? p->a : p->b, .i = i, .j = j, .rows = rows, .columns = columns,
               .ld = is_a ? p->lda : p->ldb, .element = p->element, .device = is_a ? l->a : l->b};
    if (op != CD_CUBLAS_N) {
        x.i = j, x.j = i;
        x.rows = columns, x.columns = rows;
    }
    return x;
}

static int multiply(const product *p, const lane *l, const piece *a, const piece *b, const piece *c, size_t depth,
                    bool is_first)
{
    static const float one_float = 1;
    static const double one_double = 1;
    int m = (int)c->rows, n = (int)c->columns, k = (int)depth;
    void *on_a = (void *)(uintptr_t)l->a, *on_b = (void *)(uintptr_t)l->b, *on_c = (void *)(uintptr_t)l->c;
    if (p->is_double)
        return cublasDgemm_v2(l->handle, p->op_a, p->op_b, m, n, k, p->alpha, on_a, (int)a->rows, on_b, (int)b->rows,
                              is_first ? p->beta : &one_double, on_c, m);
    return cublasSgemm_v2(l->handle, p->op_a, p->op_b, m, n, k, p->alpha, on_a, (int)a->rows, on_b, (int)b->rows,
                          is_first ? p->beta : &one_float, on_c, m);
}

/* Queues one block of C. */
static int queue_block(const product *p, size_t i, size_t j, const lane *l)
{
    size_t rows = part(p->m, i, p->block), columns = part(p->n, j, p->block);
    piece c = {p->c, i, j, rows, columns, p->ldc, p->element, l->c};
    int status = copy(&c, true, l->stream) ? CD_CUBLAS_EXECUTION_FAILED : CD_CUBLAS_SUCCESS;
    for (size_t depth, at = 0; at < p->k && !status; at += depth) {
        depth = part(p->k, at, p->block);
        piece a = operand(p, true, i, at, rows, depth, l), b = operand(p, false, at, j, depth, columns, l);
        if (copy(&a, true, l->stream) || copy(&b, true, l->stream))
            return CD_CUBLAS_EXECUTION_FAILED;
        status = multiply(p, l, &a, &b, &c, depth, at == 0);
    }
    return !status && copy(&c, false, l->stream) ? CD_CUBLAS_EXECUTION_FAILED : status;
}

static int queue_all(const product *p, const lane *lanes, unsigned count)
{
    unsigned turn = 0;
    int status = CD_CUBLAS_SUCCESS;
    for (size_t j = 0; j < p->n && !status; j += p->block)
        for (size_t i = 0; i < p->m && !status; i += p->block) {
            const lane *l = &lanes[turn++ % count];
            cuCtxSetCurrent(l->context);
            status = queue_block(p, i, j, l);
        }
    return status;
}

static int product_of(cd_cublas_xt handle, product *p)
{
    lane lanes[CD_MOST_DEVICES] = {{0}};
    if (!handle || handle->magic != XT_MAGIC || !handle->ndevices)
        return CD_CUBLAS_NOT_INITIALIZED;
    if (!p->alpha || !p->beta || !p->a || !p->b || !p->c)
        return CD_CUBLAS_INVALID_VALUE;
    int status = CD_CUBLAS_SUCCESS;
    p->block = handle->block;
    for (unsigned d = 0; d < handle->ndevices && !status; d++)
        status = open_lane(&lanes[d], handle->devices[d], p);
    if (!status)
        status = queue_all(p, lanes, handle->ndevices);
    for (unsigned d = 0; d < handle->ndevices; d++)
        if (lanes[d].stream && cuStreamSynchronize(lanes[d].stream) && !status)
            status = CD_CUBLAS_EXECUTION_FAILED;
    for (unsigned d = 0; d < handle->ndevices; d++)
        close_lane(&lanes[d], handle->devices[d]);
    return status;
}

#define PRODUCT(REAL)                                                                                                  \
    &(product)                                                                                                         \
    {                                                                                                                  \
        .element = sizeof(REAL), .is_double = sizeof(REAL) == sizeof(double), .op_a = op_a, .op_b = op_b, .m = m,      \
        .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc, .alpha = alpha, .beta = beta, .a = (const char *)a,        \
        .b = (const char *)b, .c = (char *)c                                                                           \
    }

int cublasXtSgemm CD_XT_GEMM_ARGUMENTS(float)
{
    return product_of(handle, PRODUCT(float));
}

int cublasXtDgemm CD_XT_GEMM_ARGUMENTS(double)
{
    return product_of(handle, PRODUCT(double));
}

/* --- handles ----------------------------------------------------------------------------- */

int cublasXtCreate(cd_cublas_xt *handle)
{
    if (cuInit(0))
        return CD_CUBLAS_NOT_INITIALIZED;
    *handle = calloc(1, sizeof **handle);
    if (!*handle)
        return CD_CUBLAS_ALLOC_FAILED;
    **handle = (struct cublasXtContext){.magic = XT_MAGIC, .block = FIRST_BLOCK};
    return CD_CUBLAS_SUCCESS;
}

int cublasXtDestroy(cd_cublas_xt handle)
{
    if (!handle || handle->magic != XT_MAGIC)
        return cuda_double_misuse(CD_CUBLAS_NOT_INITIALIZED, "%p is no handle of cublasXt", (void *)handle);
    free(handle);
    return CD_CUBLAS_SUCCESS;
}

int cublasXtDeviceSelect(cd_cublas_xt handle, int count, int *devices)
{
    int present = 0;
    cuDeviceGetCount(&present);
    if (count < 1 || count > CD_MOST_DEVICES)
        return CD_CUBLAS_INVALID_VALUE;
    for (int i = 0; i < count; i++) {
        if (devices[i] < 0 || devices[i] >= present)
            return CD_CUBLAS_INVALID_VALUE;
        handle->devices[i] = devices[i];
    }
    handle->ndevices = (unsigned)count;
    return CD_CUBLAS_SUCCESS;
}

int cublasXtSetBlockDim(cd_cublas_xt handle, int block)
{
    if (block < 1)
        return CD_CUBLAS_INVALID_VALUE;
    handle->block = (size_t)block;
    return CD_CUBLAS_SUCCESS;
}

/* The matrices' memory is taken as it is; the mode is kept. */
int cublasXtSetPinningMemMode(cd_cublas_xt handle, int mode)
{
    if (mode != 0 && mode != 1)
        return CD_CUBLAS_INVALID_VALUE;
    handle->pinning = mode;
    return CD_CUBLAS_SUCCESS;
}
