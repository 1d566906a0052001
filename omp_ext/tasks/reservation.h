/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reservations: a device and data for a host task that offloads from inside, before its body runs.
 *
 * The body is the program's own code: it runs on a thread of its team, as the explicit task that libomp made of it. The
 * scheduler only decides when it may start, and on which device its constructs find their data. For that a task of
 * ours, the gate, goes before it in libomp's order, with the same dependences (host_tasks.c). When the gate is ready,
 * those of the task's data that lie in data regions, as its depend items and earlier instances predict them, go to the
 * engine as a task. When that is started they are on a device, and the gate completes. Constructs of the body whose
 * data are reserved use them there at once. Any other construct, and any wait, first gives the reservation up. So a
 * prediction costs time, never correctness.
 *
 * Data outside of regions are never reserved: the host may use them at any moment of the body, and must find them
 * current.
 *
 * A reservation that waits for a thread of the team holds data that others may need, and so does one whose body is at
 * something else, which may be a wait for those others (a critical section, a lock, a flag). So a body has its
 * reservation for sure only while one of its constructs uses it; otherwise it is on offer: revoked when a thread of the
 * program has to wait meanwhile, or after a second. While addresses of its data are shown it cannot be; then it at
 * least keeps no other task from running beside it.
 */
#ifndef OD_OMP_EXT_RESERVATION_H
#define OD_OMP_EXT_RESERVATION_H

#include "omp_ext/tasks/launch/launch.h"
#include "omp_ext/tasks/task_table.h"

/* What the task is expected to use goes to the engine; the gate's completion has been asked for (detached). False:
 * nothing can be predicted, the gate is complete as soon as the caller says so. */
bool od_reservation_predict(const od_record *record, od_uses *uses);
void od_reservation_submit(od_gate *gate, od_uses *uses);

/* Around the body, on its thread; the end is given the task's completion, for what the body has queued on the device.
 * True: the task completes later, with that. */
void od_reservation_begin(od_gate *gate);
bool od_reservation_end(int32_t gtid, od_record *record);

/* The body needs other data, or waits for other tasks: it goes on without its reservation. Nothing where it has none,
 * or while addresses of its data are shown. */
void od_reservation_give_up(void);
/* Likewise while addresses are shown, too: their data stay bound to the device, where others may use them. */
void od_reservation_leave(void);
/* The body begins to wait for other tasks: it holds no data that they may need, except those whose addresses are shown,
 * and keeps no device from running them. */
void od_reservation_before_wait(void);

/* A construct of the body uses the reservation from here to the end of the block; where it has been revoked, the mode
 * is PLAIN afterwards. May be nested. */
#define OD_RESERVATION_USED                                                                                            \
    __attribute__((cleanup(od_reservation_offer), unused)) const bool od_reservation_used = od_reservation_use()
bool od_reservation_use(void);
void od_reservation_offer(const bool *began);
/* The engine's task of the reservation that a construct uses; NULL: none. */
od_task *od_reservation_task(void);

/* --- constructs of the body (inside.c) --- */

/* A launch inside a host task that has a reservation: on its data, else as a separate task. */
int od_job_launch_inside(const od_kernel_call *call);

/* True where the data of a construct are reserved for the host task that runs on the calling thread. */
bool od_job_owns(const od_map_args *args);

/* Remembers which depend items of a host task name data of which size. Locked. */
void od_reservation_learn(od_entry *entry, const od_depend *depends, int32_t ndepends, const od_map_args *args);

#endif
