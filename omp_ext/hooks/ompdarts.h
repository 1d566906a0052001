/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ompdarts: what a program may ask the scheduler under it. Optional: an OpenMP program needs none of this.
 *
 * A program that includes this header links and runs without the library, too: every function then answers as if
 * nothing were scheduled. Functions may be called from any thread, inside or outside of tasks. C and C++.
 */
#ifndef OMPDARTS_H
#define OMPDARTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OMPDARTS_INTERFACE 1

/* Counters of one device since the start of the program. Bytes and counts are exact. */
typedef struct ompdarts_device_stats {
    uint64_t tasks;      /* run on this device */
    uint64_t host_tasks; /* given to it, run on the host in the end */
    uint64_t h2d_bytes;  /* host to this device */
    uint64_t d2h_bytes;  /* this device to the host */
    uint64_t d2d_bytes;  /* other devices to this one */
    uint64_t loads;      /* of whole data */
    uint64_t reloads;    /* of these, of data that had been here before */
    uint64_t evictions;
    uint64_t peak_bytes;  /* most memory in use so far */
    uint64_t limit_bytes; /* memory that it may use */
} ompdarts_device_stats;

/* The library's side; NULL without it. Call the functions below instead. */
extern int ompdarts_v1_ndevices(void) __attribute__((weak));
extern int ompdarts_v1_current_device(void) __attribute__((weak));
extern int ompdarts_v1_device_stats(int device, ompdarts_device_stats *stats) __attribute__((weak));

extern void ompdarts_v1_name_task(const char *name) __attribute__((weak));

extern int ompdarts_v1_split(int level, const void *const *data, int ndata) __attribute__((weak));

extern void *ompdarts_v1_stream(void) __attribute__((weak));
extern void *ompdarts_v1_cublas_handle(void) __attribute__((weak));

/* How many devices are scheduled; 0 without the library, or before the first construct that it has scheduled. */
static inline int ompdarts_ndevices(void)
{
    return ompdarts_v1_ndevices ? ompdarts_v1_ndevices() : 0;
}

/* OpenMP's number of the device that the calling task was given, or -1 outside of scheduled tasks. */
static inline int ompdarts_current_device(void)
{
    return ompdarts_v1_current_device ? ompdarts_v1_current_device() : -1;
}

/* Fills *stats for the device-th scheduled device (0 .. ompdarts_ndevices()-1). 0: done; -1: there is no such
 * device. */
static inline int ompdarts_get_device_stats(int device, ompdarts_device_stats *stats)
{
    return ompdarts_v1_device_stats ? ompdarts_v1_device_stats(device, stats) : -1;
}

/* In traces, reports and profilers the next scheduled task that the calling thread creates has this name instead of its
 * code's: what kind of task it is, such as "gemm". There should be few names; each is kept until the program ends.
 * NULL: as without. */
static inline void ompdarts_name_task(const char *name)
{
    if (ompdarts_v1_name_task)
        ompdarts_v1_name_task(name);
}

/* For algorithms that are recursive over blocks: whether what is to be done with these tiles, of a level (0: the
 * largest tiles, 7 at most), is to become tasks over their blocks (1) instead of one target task (0). To be asked in
 * front of each such task, by the thread that creates it then, also on the last level, where the answer is not used;
 * the calls in a program's text are the kinds of its tasks. Depend clauses must name all blocks of the last level that
 * a task uses, so that tasks of all levels are ordered. 0 without the library, and unless OMPDARTS_SPLIT says
 * otherwise. */
__attribute__((always_inline)) static inline int ompdarts_split(int level, const void *const *data, int ndata)
{
    return ompdarts_v1_split ? ompdarts_v1_split(level, data, ndata) : 0;
}

/* For tasks that call CUDA's libraries between `use_device_ptr` and the end of its construct. A CUstream (cudaStream_t)
 * of the device that the addresses belong to, which is current on the calling thread, too; or NULL: outside of such
 * code, without the library, or where devices are not NVIDIA's. Work that is queued on it need not be waited for: a
 * scheduled task completes when all of it has ended, and every further construct of the code waits for it. */
static inline void *ompdarts_stream(void)
{
    return ompdarts_v1_stream ? ompdarts_v1_stream() : 0;
}

/* A cublasHandle_t that is set to that stream, ready to be used, or NULL. It belongs to the library. */
static inline void *ompdarts_cublas_handle(void)
{
    return ompdarts_v1_cublas_handle ? ompdarts_v1_cublas_handle() : 0;
}

#ifdef __cplusplus
}
#endif

#endif
