/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The runtime: the real driver of the engine.
 *
 * One lock protects the engine and everything beside it; it is never held
 * while a kernel runs, while bytes are copied, or while libomp or libomptarget is called. Commands that
 * call out (a task or request is complete) are noted under the lock and carried out by
 * od_runtime_unlock(). Which lock is taken before which: util/lock.h.
 *
 * work.h has the nouns; internal.h lists the files from the bottom up. What starts and stops it is omp_ext/process.
 */
#ifndef OD_OMP_EXT_RUNTIME_H
#define OD_OMP_EXT_RUNTIME_H

#include "memmgr/device/transfer_queues.h"
#include "omp_ext/options.h"
#include "omp_ext/process/activity.h"
#include "omp_ext/runtime/work.h"
#include "sched/report/report.h"

#include <pthread.h>
#include <stdatomic.h>

/* Parses the options and resolves the entry points: once, when the library is loaded, or before, when a constructor of
 * another library brings device code; where there was no offload runtime then, when the program has opened a library
 * that brings one. A bad option ends the process before any work starts, with exit code 2. */
void od_runtime_load(void);
/* The last of the program's device images is about to be unloaded: all ends, if the process does. */
void od_runtime_last_image(void);
const od_options *od_runtime_options(void);

od_engine *od_runtime_lock(void);
/* Like it, but kernels that the engine starts before the unlock are run by the calling thread at the unlock if they are
 * short, or launched if they then go on by themselves, and small copies are made there: to wake another thread would
 * take longer. */
od_engine *od_runtime_lock_inline(void);
/* The kernel that the calling thread runs, if any, comes to a scheduling point of tasks, or creates one. On a thread of
 * the program libomp might run a task there that waits for the kernel's device: from now on workers run all kernels.
 * One that runs there for a claimed task gets a task of its own. Without the lock. */
void od_runtime_kernel_schedules(void);
/* Like od_runtime_lock(), for a thread that then waits, alone, for the flag (od_runtime_wait): it makes small copies
 * itself. */
od_engine *od_runtime_lock_to_wait(const bool *flag);
void od_runtime_unlock(void);
/* Whether the program has entered any region; one that another thread enters or ends just now may be seen or not. Not
 * locked. */
bool od_runtime_has_regions(void);
/* Waits under the lock until *flag is set. */
void od_runtime_wait(const bool *flag);

/* Sets it for whoever waits. Under the lock. */
void od_runtime_set_flag(bool *flag);

/* Submits a request and waits; NULL: nothing to do. Takes the request. */
void od_runtime_request(od_request *request);
/* Likewise under the lock, which is gone at the end. Whether there was something to wait for. */
bool od_runtime_request_and_unlock(od_engine *engine, od_request *request);
/* Likewise all of them (NULL ones are skipped), which are waited for together. */
bool od_runtime_requests_and_unlock(od_engine *engine, od_request *const *requests, size_t n);
/* Requests that complete a task together, if any, when all are complete: begin, add each one (NULL: nothing; locked),
 * end. */
typedef struct od_request_group od_request_group;
od_request_group *od_request_group_begin(void);
void od_request_group_add(od_request_group *group, od_engine *engine, od_request *request);
void od_request_group_end(od_request_group *group, od_detached task);
/* The kernel that the calling thread waits for, and runs itself, waits for tasks of the program, or does not any more.
 * It keeps no device from running these. */
void od_runtime_block_kernel(bool waits);
/* The calling thread begins to wait, or has waited, for tasks of the program: what it has submitted so far is all for
 * now (od_engine_await). */
void od_runtime_await(bool begins);
/* Writes back the data outside regions: what a taskwait, taskgroup, barrier or join promises. */
void od_runtime_synchronise(void);
/* Makes host memory current for [base, base+size) and forgets device copies, or only reads. Blocks. */
void od_runtime_host_range(uintptr_t base, size_t size, od_request_kind kind);

unsigned od_runtime_ndevices(void);
od_backend *od_runtime_backend(void);
/* A job with an event is about to be given to the engine. Under the lock. */
void od_runtime_note_job(od_job *job);
/* The gate before a host task: each holder releases it. */
od_gate *od_gate_create(struct od_record *record);
void od_gate_release(od_gate *gate);
/* The body of a host task begins. Returns where its data are; OD_NOWHERE: no reservation was granted, or it has been
 * revoked. It stays on offer. */
int od_runtime_begin_reservation(struct od_gate *gate);
/* A construct of the body begins to use the reservation, which is not revoked before it is offered again. NULL: it has
 * been. */
od_job *od_runtime_use_reservation(struct od_gate *gate);
/* `shown`: the body holds device addresses or a queue, and the reservation with them. */
void od_runtime_offer_reservation(struct od_gate *gate, bool shown);
/* It keeps no other task from running until it is used again. */
void od_runtime_block_reservation(struct od_gate *gate);
/* The body goes on without what it has. */
void od_runtime_give_up_reservation(struct od_gate *gate);
/* A thread of the program is about to wait for this SYNC job, and may be the one that would begin tasks whose
 * reservations hold its data, or goes on with them: these are revoked. Under the lock. */
void od_runtime_revoke_for(const od_job *waiting);
/* Likewise where the thread waits for any data to be idle. */
void od_runtime_revoke_all(void);
/* The body has ended, which uses the reservation. */
void od_runtime_end_reservation(struct od_gate *gate);
/* Likewise, and the device is at work on what it has queued there (od_job.ticket). */
void od_runtime_watch_reservation(struct od_gate *gate);
/* A thread is about to be shown device addresses (use_device_ptr); it is not, or not any more. */
void od_rivals_begin(void);
void od_rivals_end(void);
/* Whether threads other than the job's own are. */
bool od_job_has_rivals(const od_job *job);
/* Something has failed at a place: a device that does not answer any more is taken out of service. Without the lock. */
void od_runtime_probe(int place);
/* libomptarget's memory on OpenMP's device, also where data have to make room for it. NULL: there is none. */
void *od_runtime_target_alloc(size_t size, int device);
/* libomptarget is about to take so many bytes of our device k, or little (0), and ends the program where there are
 * none: data make room. Without the lock. */
void od_runtime_make_room(unsigned k, size_t bytes);
/* Somebody has got no memory of our device k, who does not say how much it was: there is some more. False: there is
 * not. Without the lock. */
bool od_runtime_give_room(unsigned k);
int od_runtime_device_number(unsigned k); /* OpenMP's number of our device k */
/* Our device with OpenMP's number n, or OD_NOWHERE. */
int od_runtime_device_index(int n);
/* OpenMP's number of the virtual device: the default device's, as long as the program sets no other. */
int od_runtime_virtual_number(void);
/* Our device of that number, or the first one where it is libomptarget's alone; or OD_NOWHERE. */
int od_runtime_default_device(void);
/* A construct has named the default device, and is scheduled like all others (OMPDARTS_DEVICE_CLAUSE=auto). */
void od_runtime_note_habit(void);
/* How many threads a region gets that begins on a worker, in a kernel on a host device or in a host version. */
int od_runtime_kernel_threads(void);
/* Our device whose pool contains the address, or OD_NOWHERE. */
int od_runtime_pool_of(uintptr_t address);
void *od_runtime_address(const od_datum *datum, unsigned k); /* device address of a replica */
/* Data of the region are parts from now on (memmgr/window/window.h). OD_EDEVICE: not with these devices, or not any
 * more; OD_EFULL: settle the region and retry. Under the lock. */
od_status od_runtime_divide(od_engine *engine, od_region *region);
bool od_runtime_runs_in(const od_window *window); /* a kernel does. Under the lock */
/* Whether that may be tried. Under the lock. */
bool od_runtime_may_divide(const od_region *region);
/* What a kernel touches is looked at, and not only what its task names (parts/pages.c): parts end where pages do. */
bool od_runtime_guards_parts(void);
/* Kernels may touch more of arrays in parts than their tasks name. */
bool od_runtime_forgives_parts(void);
/* Whether the kernel has so far touched about as much of an argument as its tasks have named; it has not written to it
 * without having said so. Under the lock. */
bool od_runtime_names_its_parts(const void *kernel, int32_t argument);
bool od_runtime_may_only_read(const void *kernel, int32_t argument);
/* The task of the launch names what its kernel uses of an argument, in the window, by this address: what is known of
 * that, count 0: nothing yet. What its kernel touches will be learnt. Under the lock. */
od_strides od_runtime_strides(od_launch *launch, od_window *window, int32_t argument, uintptr_t name);
void od_runtime_free_names(od_names *names); /* may be NULL */
/* Calls note() for each argument (from 0 on) of a kernel around whose names something was to be learnt. Under the
 * lock. */
typedef void od_note_footprint(const void *kernel, unsigned argument, od_footprint_state state, void *arg);
void od_runtime_visit_footprints(od_note_footprint *note, void *arg);
/* A kernel that uses parts is about to run on device k; it has ended, or has `failed` to be launched. */
void od_runtime_open_parts(od_task *task, unsigned k);
void od_runtime_close_parts(const od_task *task, unsigned k, bool failed);
/* Kernels that no device has room for run in memory that no limit counts, as if on one more device. Its number: */
unsigned od_runtime_outside(void);
/* Likewise of a task on the host, whose kernel runs there, or on device k and within its limit. It has parts of
 * nothing: page faults bring all that it touches, and where memory is used up the oldest of these pages leave.
 * OD_EDEVICE: no addresses are left for it. What it writes is where the parts' contents are when it has been closed. */
od_status od_runtime_open_pages(od_task *task, unsigned k);
void od_runtime_close_pages(const od_task *task, unsigned k);
/* The device where fewest kernels with parts run. */
unsigned od_runtime_least_busy(void);
/* The program has device globals: only device 0 is used from now on. */
void od_runtime_single_device(void);
/* The one device that new tasks may use, or OD_NOWHERE: any. */
int od_runtime_required_device(void);
/* Waits, for two seconds at most, until no job is under way for which `is` holds. */
void od_runtime_await_jobs(bool (*is)(const od_job *job, const void *arg), const void *arg);

#endif
