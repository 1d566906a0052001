/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Entries of a map list as arguments of a kernel.
 *
 * An argument is *simple* when its pointer can be replaced by a literal device pointer: a
 * whole range or a section, mapped without members, mappers or attached pointers; structs.h makes simple ones of
 * structs. A construct with any other kind of argument passes through to libomptarget, after the data that it touches
 * outside of regions have been written back; those of regions are lent (omp_ext/hooks/lend.h).
 */
#ifndef OD_OMP_EXT_ARGS_H
#define OD_OMP_EXT_ARGS_H

#include "omp_ext/maps/refer.h"

typedef enum od_arg_class {
    OD_ARG_VALUE,   /* a literal, or nothing that is in memory: stays as it is */
    OD_ARG_PRIVATE, /* a private copy that libomptarget makes */
    OD_ARG_DATUM,   /* ours */
    OD_ARG_UNUSED,  /* mapped, but not passed to the kernel */
    OD_ARG_ODD,     /* needs libomptarget's own logic */
} od_arg_class;

enum { OD_LONG_LIST = 16 }; /* in shorter ones each entry is compared with each other one */

od_arg_class od_arg_classify(const od_map_args *args, int32_t i);
/* map(always) in this direction, OD_MAP_TO or OD_MAP_FROM (or any of both). */
bool od_arg_is_always(const od_map_args *args, int32_t i, int64_t direction);
/* Not locked. */
bool od_range_is_in_region(uintptr_t begin, size_t size);
/* How the datum is used to which an argument refers. Locked. */
od_mode od_reference_mode(od_engine *engine, const od_map_args *args, const od_reference *reference,
                          const od_depend *depends, int32_t ndepends);
/* How the argument's datum is used, narrowed by the depend items. Locked. */
od_mode od_arg_mode(od_engine *engine, const od_map_args *args, int32_t i, const od_depend *depends, int32_t ndepends);

/* True where every argument is simple and none lies in memory that libomptarget manages. */
bool od_args_are_simple(const od_map_args *args);
/* The construct's list with every range as a kernel argument, so that all of them count as its data.
 * Its types are malloc'ed. */
od_map_args od_args_as_parameters(const od_map_args *args);
/* Bytes that libomptarget takes on OpenMP's device for what of the list is not there yet; little counts as none. */
size_t od_args_absent_bytes(const od_map_args *args, int device);
/* The OpenMP device on which an odd construct must run, by its expanded list. */
int od_args_device(const od_map_args *args);

#endif
