/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * LLVM's OpenMP ABI as far as ompdarts needs it: what compiled programs pass to
 * libomp and libomptarget (checked on LLVM 19.1 and 22.1, x86-64).
 */
#ifndef OD_OMP_EXT_ABI_H
#define OD_OMP_EXT_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef struct od_ident { /* ident_t: source location */
    int32_t reserved[4];
    const char *source; /* ";file;function;line;column;;", with `unknown` and 0 where compiled without -g */
} od_ident;

/* kmp_task_t: the part that compiled code and libomp share. */
typedef struct od_kmp_task {
    void *shareds;
    int32_t (*entry)(int32_t gtid, void *task);
    int32_t part_id;
    void *destructor;
    union {
        int32_t priority;
        void *pointer;
    } data;
} od_kmp_task;

typedef int32_t (*od_task_entry)(int32_t gtid, void *task);
enum { OD_CANCEL_PARALLEL = 1 }; /* kmp_cancel_kind_t */
enum { OD_COMBINES = 1 };        /* __kmpc_reduce(): the calling thread, for all of its team */

typedef void (*od_reduction)(void *into, void *from);
typedef void (*od_copyprivate)(void *to, void *from);

enum { /* kmp_tasking_flags, third argument of the allocation calls */
       OD_TASK_TIED = 0x1,
       OD_TASK_FINAL = 0x2,
       OD_TASK_MERGED_IF0 = 0x4,
       OD_TASK_DESTRUCTORS = 0x8,
       OD_TASK_PROXY = 0x10,
       OD_TASK_PRIORITY = 0x20,
       OD_TASK_DETACHABLE = 0x40,
       OD_TASK_HIDDEN_HELPER = 0x80,
};

typedef struct od_depend { /* kmp_depend_info: 24 bytes */
    uintptr_t base;
    size_t length;
    uint8_t flags;
} od_depend;

enum {
    OD_DEPEND_IN = 1,
    OD_DEPEND_OUT = 2,
    OD_DEPEND_INOUT = 3,
    OD_DEPEND_MUTEXINOUTSET = 4,
    OD_DEPEND_INOUTSET = 8,
    OD_DEPEND_ALL_MEMORY = 0x80
};

typedef struct od_kernel_args { /* KernelArgsTy, version 3: 104 bytes */
    uint32_t version;
    uint32_t count;
    void **bases;
    void **begins;
    int64_t *sizes;
    int64_t *types;
    void **names;
    void **mappers;
    uint64_t trip_count;
    uint64_t flags;
    uint32_t teams[3];
    uint32_t threads[3];
    uint32_t dynamic_memory;
} od_kernel_args;

_Static_assert(sizeof(od_kernel_args) == 104, "KernelArgsTy version 3");
_Static_assert(sizeof(od_depend) == 24, "kmp_depend_info");

enum { OD_KERNEL_ARGS_VERSION_MIN = 2, OD_KERNEL_ARGS_VERSION_MAX = 3, OD_KERNEL_NOWAIT = 1 };

#define OD_MAP_TO INT64_C(0x1)
#define OD_MAP_FROM INT64_C(0x2)
#define OD_MAP_ALWAYS INT64_C(0x4)
#define OD_MAP_DELETE INT64_C(0x8)
#define OD_MAP_PTR_AND_OBJ INT64_C(0x10)
#define OD_MAP_PARAM INT64_C(0x20)
#define OD_MAP_RETURN INT64_C(0x40)
#define OD_MAP_PRIVATE INT64_C(0x80)
#define OD_MAP_LITERAL INT64_C(0x100)
#define OD_MAP_IMPLICIT INT64_C(0x200)
#define OD_MAP_CLOSE INT64_C(0x400)
#define OD_MAP_PRESENT INT64_C(0x1000)
#define OD_MAP_HOLD INT64_C(0x2000)
#define OD_MAP_ATTACH INT64_C(0x4000) /* LLVM 22: the base is a pointer's address, to be made to lead to the begin */
#define OD_MAP_NON_CONTIG (INT64_C(1) << 44)
/* Our own marks, in lists that libomptarget does not get: a member, of which its struct counts the references; a struct
 * that the kernel only reads; what has a mapper, of which only the components that stand behind it are mapped. */
#define OD_MAP_PART (INT64_C(1) << 45)
#define OD_MAP_READS (INT64_C(1) << 46)
#define OD_MAP_STANDS (INT64_C(1) << 47)
#define OD_MAP_WHOLE (INT64_C(1) << 42)   /* the region around it: the kernel reaches other sections from its base */
#define OD_MAP_FOREIGN (INT64_C(1) << 43) /* libomptarget's own (omp_ext/maps/foreign.h) */
#define OD_MAP_MEMBER_OF ((int64_t)UINT64_C(0xffff000000000000))
#define OD_MAP_MEMBER_OF_ENTRY(i) ((int64_t)((uint64_t)(i) + 1) << 48)

/* Entries with one of these map no range of the host's memory. */
#define OD_MAP_NO_RANGE (OD_MAP_LITERAL | OD_MAP_PRIVATE | OD_MAP_ATTACH | OD_MAP_FOREIGN)

enum { OD_DEVICE_DEFAULT = -1 };

typedef struct od_offload_entry { /* __tgt_offload_entry of LLVM 19 */
    void *address;
    char *name;
    size_t size; /* 0: a kernel; else a declare target variable */
    int32_t flags;
    int32_t data;
} od_offload_entry;

typedef struct od_new_offload_entry { /* of LLVM 22 */
    uint64_t reserved;
    uint16_t version, kind; /* kind 1: OpenMP */
    uint32_t flags;
    void *address;
    char *name;
    uint64_t size, data;
    void *auxiliary;
} od_new_offload_entry;

enum {
    OD_OFFLOAD_KIND_OPENMP = 1,
    OD_OFFLOAD_REQUIRES = 0x10, /* flags: no entity, `data` are the program's requires clauses */
    OD_REQUIRES_UNIFIED_SHARED_MEMORY = 0x8,
};

typedef struct od_device_image {
    void *image_start, *image_end;
    od_offload_entry *entries_begin, *entries_end;
} od_device_image;

typedef struct od_bin_desc { /* __tgt_bin_desc */
    int32_t count;
    od_device_image *images;
    od_offload_entry *entries_begin, *entries_end;
} od_bin_desc;

/* ompx_scheduler_t, version 1 (patches/llvm-19, ompx-scheduler.h): who runs target tasks. */
typedef struct od_scheduler {
    unsigned version;
    void *(*claim)(const void *asked);
    int (*ready)(void *task, void *own);
    void (*discard)(void *task, void *own);
} od_scheduler;

/* ompx_offload_scheduler_t, version 1 (patches/llvm-19, ompx-offload-scheduler.h): who launches kernels, and where
 * their data are. */
typedef struct od_offload_maps {
    int32_t count;
    void **bases, **begins;
    int64_t *sizes, *types;
    void **names, **mappers;
} od_offload_maps;

typedef struct od_offload_launch {
    od_ident *ident;
    int64_t device;
    int32_t teams, threads;
    void *region; /* host entry */
    od_kernel_args *args;
    size_t args_size; /* bytes */
    od_offload_maps maps;
} od_offload_launch;

/* What a call of __tgt_target_kernel() says. */
static inline od_offload_launch od_offload_launch_of(od_ident *ident, int64_t device, int32_t teams, int32_t threads,
                                                     void *region, od_kernel_args *args)
{
    return (od_offload_launch){ident, device, teams, threads, region, args, sizeof *args,
                               {(int32_t)args->count, args->bases, args->begins, args->sizes, args->types, args->names,
                                args->mappers}};
}

typedef enum od_offload_answer { OD_AS_EVER, OD_ADDRESSES, OD_TAKEN, OD_ON_HOST } od_offload_answer;
typedef enum od_offload_kind { OD_ENTER_DATA = 1, OD_EXIT_DATA, OD_UPDATE_DATA } od_offload_kind;

typedef struct od_offload_construct {
    od_offload_kind kind;
    od_ident *ident;
    int64_t device;
    od_offload_maps maps;
} od_offload_construct;

typedef struct od_offload_scheduler {
    unsigned version;
    od_offload_answer (*launch)(od_offload_launch *launch, void **addresses);
    int (*data)(od_offload_construct *construct, int before);
    void (*copy)(const void *copy, int before);
} od_offload_scheduler;

/* A construct's map list: the argument arrays that compiled code passes. */
typedef struct od_map_args {
    int32_t count;
    void **bases;
    void **begins;
    int64_t *sizes;
    int64_t *types;
    void **names;
    void **mappers;
    int64_t any; /* the map types together: a bit that is not there is in none of them */
} od_map_args;

#endif
