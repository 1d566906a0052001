/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Launches: a kernel started on the device where its data are (uses.h). */
#ifndef OD_OMP_EXT_LAUNCH_H
#define OD_OMP_EXT_LAUNCH_H

#include "omp_ext/libomp/thread.h"
#include "omp_ext/runtime/runtime.h"
#include "omp_ext/maps/uses/uses.h"
#include "omp_ext/tasks/launch/icvs.h"

/* Copies a call with everything that its arrays point to; takes its structs. */
od_status od_launch_copy(od_launch *launch, const od_kernel_call *call);
void od_launch_free(od_launch *launch);
/* Starts the kernel on device k and waits for its end. 0: done. */
int od_launch_run(const od_launch *launch, const od_access *access, unsigned k, void **handle);

/* The device of an argument that is no datum of ours, else the only one in use, as our index, or OD_NOWHERE. */
int od_launch_bound(const od_launch *launch);
/* Likewise, where its kernel can also use its data: it reaches addresses of ours from a neighbour, but not data that
 * the program is shown elsewhere. Takes the runtime's lock. */
int od_launch_place(const od_launch *launch, const od_access *access, uint32_t naccess);

/* The device's kernels can use the datum's contents where they are in host memory: it is in a region, so nothing else
 * does, and the device's memory is the process's own. */
bool od_launch_reaches(const od_datum *d);
/* Carries out a launch whose data are on no device of ours on OpenMP's device, where at[i] is what its kernel uses as
 * access[i]; NULL: what libomptarget makes of the map list. */
int od_launch_run_at(const od_launch *launch, const od_access *access, void *const *at, int device);
/* Likewise without structs; the kernel may be left running, as of od_launch_carry_out(). */
int od_launch_start_at(const od_launch *launch, const od_access *access, void *const *at, int device, void **handle);
/* Likewise without structs: access i is moved[i] behind where it is in the program's memory. */
int od_launch_run_moved(const od_launch *launch, const uintptr_t *moved, int device);
/* Where the contents of a datum are while it is on no device. Locked. */
char *od_launch_host_contents(const od_datum *d);

/* Copies between devices, by OpenMP's numbers. */
void od_launch_copy_bytes(void *to, int to_device, const void *from, int from_device, size_t bytes);
/* What has been done to a copy goes to where it was made from, byte by byte: others may have written to the rest
 * meanwhile. `before`, `after`: host memory. */
void od_launch_merge(char *to, int device, const char *before, const char *after, size_t bytes);
/* The next bytes that differ, as offsets; empty, at the end: there are none. */
od_span od_launch_next_change(const char *before, const char *after, od_span range);

/* Around a kernel, or a host version: on a worker what it sets holds for itself alone. `thread_limit`: of the
 * construct's task, or 0. od_icvs_end() ends it. A task of its own around each would do the same, and tools would see
 * it. */
od_icvs od_launch_begin_code(int thread_limit);
/* addresses[i]: the device address of argument i, of which libomptarget then makes nothing; or NULL, or all NULL.
 * Calls libomptarget, which leaves the kernel running where it can if `handle` is not NULL. */
int od_launch_carry_out(const od_kernel_call *call, int64_t device, od_kernel_args *args, void *const *addresses,
                        void **handle);

/* Some of its data are parts of arrays. */
bool od_launch_has_parts(const od_task *task);
/* A task that fits on no device beside what is there. Its data are in host memory, and the kernel runs on a device all
 * the same: libomptarget finds memory for it outside of the pool. False: there is none, or no need; the host version
 * can run. True with job->again: nothing has been done, and the same must be submitted once more. */
bool od_launch_outside(od_job *job);

/* Uses a range as a kernel would whose only datum it is: `function` gets the datum, and the place where it lies. False:
 * the program is shown a part of it, and it has not been called. `outer`: a job that the thread is running, or NULL.
 * Blocks. */
typedef struct od_range_use {
    uintptr_t base;
    size_t size;
    od_mode mode;
} od_range_use;
typedef bool (*od_use_range)(const od_range_use *range, od_job *outer,
                             void (*function)(const od_datum *datum, int place, void *arg), void *arg);

/* A launch without structs whose data cannot be named, because the program is shown sections of them (OD_EBUSY of
 * od_launch_resolve()): on copies, merged afterwards. Blocks. */
void od_launch_beside(od_launch *launch, od_use_range use, od_job *outer);

#endif
