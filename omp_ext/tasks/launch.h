/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Launches: the map list of a construct turned into data, and a kernel started on the
 * device where those data are.
 *
 * An argument is *simple* when its pointer can be replaced by a literal device pointer: a
 * whole range or a section, mapped without members, mappers or attached pointers; structs.h makes simple ones of structs.
 * A construct with any other kind of argument passes through to libomptarget, after the data that it touches outside of
 * regions have been brought home; those of regions are lent (lend.h).
 */
#ifndef OD_OMP_EXT_LAUNCH_H
#define OD_OMP_EXT_LAUNCH_H

#include "omp_ext/maps/refer.h"
#include "omp_ext/libomp/thread.h"

typedef enum od_arg_class {
    OD_ARG_VALUE,   /* a literal, or nothing that is in memory: stays as it is */
    OD_ARG_PRIVATE, /* a private copy that libomptarget makes */
    OD_ARG_DATUM,   /* ours */
    OD_ARG_UNUSED,  /* mapped, but not passed to the kernel */
    OD_ARG_ODD,     /* needs libomptarget's own logic */
} od_arg_class;

/* The distinct data of a construct, growing. */
typedef struct od_uses {
    od_access *access; /* malloc'ed */
    uint32_t count, capacity;
} od_uses;

od_arg_class od_arg_classify(const od_map_args *args, int32_t i);
/* How the argument's datum is used, narrowed by the depend items. Locked. */
od_mode od_arg_mode(od_engine *engine, const od_map_args *args, int32_t i, const od_depend *depends, int32_t ndepends);

od_map_args od_kernel_map_args(const od_kernel_args *args);

/* True where every argument is simple and none lies in memory that libomptarget manages. */
bool od_args_are_simple(const od_map_args *args);
/* The OpenMP device on which an odd construct must run. */
int od_args_device(const od_map_args *args);
/* Before a construct passes through: brings home, and forgets, what it touches outside of regions. In regions the
 * program's own memory is none of ours, or the data are lent (lend.h). Blocks. */
void od_args_bring_home(const od_map_args *args);
/* Likewise what marked entries name: libomptarget may copy it. */
void od_args_bring_foreign_home(const od_map_args *args);

/* Resolves all data arguments: each use's datum comes held. access_of[i] (may be NULL) gets the index per argument.
 * Blocks where ranges overlap in another way than before. Not locked. */
od_status od_args_resolve(const od_map_args *args, const od_depend *depends, int32_t ndepends, od_uses *uses,
                          int32_t *access_of);
/* The range of argument i overlaps data in use in another way than before: once they are home and idle they make place.
 * Blocks for a while; ask again. */
void od_args_wait_for_overlap(const od_map_args *args, int32_t i, unsigned tries);
/* map(always, to: x) of data in a region: the host's section is pushed before the kernel. Blocks. */
void od_args_push_always(const od_map_args *args);
/* map(always, from: x) of data in a region that the caller's job still has: fetched after the kernel. Blocks. */
void od_args_fetch_always(const od_map_args *args);
/* map(always, from: x) of data in a region: the request that fetches the sections after the kernel; NULL: none. Locked. */
od_request *od_args_pull_always(const od_map_args *args, const od_uses *uses, const int32_t *access_of);
/* Of data on whose device copy the task writes what nobody is to see, the contents go home first. Blocks. Not locked. */
void od_uses_save(const od_uses *uses, const od_depend *depends, int32_t ndepends);
/* OMPDARTS_COHERENCE: says for each datum whether copies may be kept. `synchronous`: the program's thread
 * goes on right after the construct. Locked. */
void od_uses_trust(od_uses *uses, const od_depend *depends, int32_t ndepends, bool synchronous);
void od_uses_release(od_uses *uses);

/* Copies a call with everything that its arrays point to; takes its structs. */
od_status od_launch_copy(od_launch *launch, const od_kernel_call *call);
void od_launch_free(od_launch *launch);
/* Starts the kernel on device k and waits for its end. 0: done. */
int od_launch_run(const od_launch *launch, const od_access *access, unsigned k, void **handle);

/* The device of an argument that is no datum of ours, else the only one in use, as our index, or OD_NOWHERE. */
int od_launch_bound(const od_launch *launch);

/* Carries out a launch whose data are on no device on OpenMP's device: libomptarget copies, data of regions from and to where
 * they are spilled. */
int od_launch_as_written(const od_launch *launch, const od_access *access, int64_t device);
/* Likewise on copies of the data that are on OpenMP's device already, copy[i] of access[i]. */
int od_launch_run_copies(const od_launch *launch, const od_access *access, void *const *copy, int device);
/* Where the contents of a datum are while it is on no device. Locked. */
char *od_launch_host_contents(const od_datum *d);
/* The program's memory gets what is spilled of a launch's data: its host version will run. */
void od_launch_unspill(const od_access *access, uint32_t naccess);
/* Passes a call through to libomptarget as written. */
int od_launch_pass_through(const od_kernel_call *call, int64_t device);

#endif
