/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A test double of NVIDIA's driver library: what memmgr/device/cuda/driver.h declares, and what LLVM's CUDA plug-ins
 * call, on ordinary host memory.
 *
 * Its purpose is to catch our back-end, and our use of the plug-ins, when they misuse the API, and to let them meet
 * errors that a healthy GPU does not give. So work is done late and by other threads, as on a device, and what CUDA
 * leaves undefined ends the process.
 *
 *   device      a number of bytes and a way in and out; CUDA_DOUBLE_DEVICES of them
 *   context     a device's primary one, counted; each thread has a stack of current ones
 *   stream      a queue of operations and, from the first one on, a thread that executes them in order
 *   event       how many times it was recorded, and the last of these that a stream has come to
 *   allocation  device memory; the addresses can be dereferenced, and behind each lies a page that cannot
 *   pinned      a range of host memory that was registered or allocated
 *   module      an image for NVIDIA's devices: its symbols. Kernels compute when the same regions, compiled for LLVM's
 *               host devices, are found in a shared object, of which each module has a copy with its own variables
 *
 * Handles are never freed, so that the use of a destroyed one is recognised; all are reachable from `cd`. One lock
 * protects everything but what is being copied.
 *
 * From the environment:
 *   CUDA_DOUBLE_DEVICES=4, CUDA_DOUBLE_MEMORY=64Mi (bytes of each), CUDA_DOUBLE_PEER=1 (0: no peer access)
 *   CUDA_DOUBLE_MANAGED=1     0: the host must not use managed memory while kernels run
 *   CUDA_DOUBLE_GRANULARITY=2Mi  bytes, of which memory that is mapped has a multiple; 0: none can be mapped
 *   CUDA_DOUBLE_BLAS_MEMORY=0 bytes of device memory that a handle of cuBLAS takes
 *   CUDA_DOUBLE_BANDWIDTH=0   bytes/s of each device and direction; 0: what memcpy gives
 *   CUDA_DOUBLE_PIN_BANDWIDTH=0  bytes/s at which host memory is registered, and its registration undone; 0: at once
 *   CUDA_DOUBLE_JITTER=0      most seconds that an operation is delayed, at random, seeded by CUDA_DOUBLE_SEED
 *   CUDA_DOUBLE_PIN_LIMIT=0   bytes of host memory that can be pinned; 0: all
 *   CUDA_DOUBLE_WATCH_PINS=1  a copy of memory that has been mapped anew since it was registered is misuse (slow)
 *   CUDA_DOUBLE_STREAM_CONTEXT=1  launches and calls for streams or events fail without the current context that
 *                             CUDA's manual asks for; 0: only those that copy or create something
 *   CUDA_DOUBLE_MISUSE=warn   misuse is reported but not fatal: the call fails
 *   CUDA_DOUBLE_FAIL=name:n:code[,...]   the n-th call of a function fails (n+: all from there on)
 *   CUDA_DOUBLE_LOST=device:n            the n-th copy on the device's streams is its end: error 700 from then on
 *   CUDA_DOUBLE_LOST_KERNEL=device:n     the same with the n-th kernel
 *   CUDA_DOUBLE_ARCH=90       compute capability
 *   CUDA_DOUBLE_KERNELS=FILE  that shared object; default: the program's own path with .kernels behind it
 *   CUDA_DOUBLE_KERNEL_TIME=0 seconds that each kernel keeps its device at least; what has no code takes only time
 *   CUDA_DOUBLE_LAUNCH_WAITS=0  kernels, the first ones, that have ended when their launches come back
 *   CUDA_DOUBLE_OTHERS=0      bytes of each device that other processes use
 *   CUDA_DOUBLE_COMPUTE_MODE=0  2: prohibited, 3: exclusive, and another process has the devices
 *   CUDA_DOUBLE_NAME="CUDA double"  of the devices, before their numbers
 *   CUDA_VISIBLE_DEVICES      the devices up to the first number that there is not; none if it is empty
 *   CUDA_DOUBLE_VERSION=13000 of the driver, as cuDriverGetVersion says; images of a later CUDA's first number are refused
 *   CUDA_DOUBLE_STATS=FILE    one line of JSON at exit, where cuInit was called
 */
#ifndef CUDA_DOUBLE_H
#define CUDA_DOUBLE_H

#include "functions.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum { CD_MOST_DEVICES = 16, CD_MOST_RULES = 32, CD_PAGE = 4096, CD_NLIMITS = 8, CD_MOST_ARGUMENTS = 64 };

enum { /* results that driver.h has no use for */
       CD_NOT_INITIALIZED = 3,
       CD_DEVICE_UNAVAILABLE = 46,
       CD_INVALID_IMAGE = 200,
       CD_UNSUPPORTED_PTX_VERSION = 222,
       CD_NO_BINARY_FOR_GPU = 209,
       CD_PEER_ACCESS_UNSUPPORTED = 217,
       CD_NOT_FOUND = 500,
       CD_CONTEXT_IS_DESTROYED = 709,
       CD_NOT_PERMITTED = 800,
       CD_NOT_SUPPORTED = 801,
};

#define CD_ALL_FUNCTIONS(FUNCTION) OD_CU_FUNCTIONS(FUNCTION) CD_MORE_CU_FUNCTIONS(FUNCTION)

/* One for each function: CD_cuInit, ... */
typedef enum cd_call {
#define CD_CALL(member, name, arguments) CD_##name,
    CD_ALL_FUNCTIONS(CD_CALL)
#undef CD_CALL
        CD_NCALLS
} cd_call;

#define CD_DECLARE(member, name, arguments) CD_EXPORT od_cu_result name arguments;
CD_ALL_FUNCTIONS(CD_DECLARE)
#undef CD_DECLARE

typedef enum cd_direction { CD_H2D, CD_D2H, CD_D2D, CD_PEER, CD_NDIRECTIONS } cd_direction;

typedef struct od_cu_context_st cd_context;
typedef struct od_cu_stream_st cd_stream;
typedef struct od_cu_event_st cd_event;

typedef struct cd_device {
    unsigned ordinal;
    cd_context *context;  /* NULL: none is retained */
    size_t used;          /* bytes */
    unsigned long copies; /* submitted to its streams */
    unsigned long kernels;
    unsigned flags; /* of its primary context */
    bool lost;
    uint64_t free_ns[2];    /* when the way in [0] and out [1] is free again */
    uint64_t kernel_end_ns; /* when its last kernel has had its time */
} cd_device;

struct od_cu_context_st {
    unsigned magic;
    cd_device *device;
    unsigned references; /* 0: destroyed */
    unsigned peers;      /* a bit for each device whose memory may be accessed */
    size_t limits[CD_NLIMITS];
    unsigned kernels; /* submitted, not over */
    cd_stream *null_stream;
    cd_context *next;
};

typedef struct cd_allocation {
    cd_context *context;
    uintptr_t address;
    size_t bytes;
    void *mapping; /* NULL: the memory is a variable of a module's */
    size_t mapped;
    bool of_module;
    bool managed;     /* every device's, and the host's */
    bool reserved;    /* `mapped` addresses alone, with memory behind some of them (virtual.c) */
    unsigned pending; /* operations that read or write it */
    struct cd_allocation *next;
} cd_allocation;

typedef struct cd_pinned {
    uintptr_t address;
    size_t bytes;
    unsigned ordinal; /* of the device that was current */
    bool allocated;   /* by cuMemHostAlloc */
    unsigned pending;
    struct cd_pinned *next;
} cd_pinned;

typedef struct cd_symbol {
    char *name;
    cd_allocation *variable; /* NULL: a kernel */
    size_t parameter_bytes;
    struct od_cu_function_st *function;
    struct cd_symbol *next;
} cd_symbol;

struct od_cu_module_st {
    unsigned magic;
    cd_context *context;
    bool alive;
    void *code; /* the kernels' shared object; NULL: there is none */
    cd_symbol *symbols;
    struct od_cu_module_st *next;
};

struct od_cu_function_st {
    unsigned magic;
    struct od_cu_module_st *module;
    const char *name;
    size_t parameter_bytes;
    void *code; /* NULL: takes only time */
    struct od_cu_function_st *next;
};

typedef enum cd_op_kind { CD_OP_COPY, CD_OP_FILL, CD_OP_RECORD, CD_OP_WAIT, CD_OP_CALL, CD_OP_KERNEL } cd_op_kind;

typedef struct cd_op {
    cd_op_kind kind;
    cd_direction direction; /* of a copy, with the next ten */
    void *to;
    const void *from;
    size_t bytes; /* of all rows */
    size_t rows, pitch_to, pitch_from;      /* rows 0: all bytes are one; else bytes from one to the next */
    cd_allocation *device_to, *device_from; /* NULL: host memory */
    cd_pinned *pinned;                      /* the host's end; NULL: pageable, or none */
    void *captured;                         /* what a pageable source held, a kernel's arguments; freed with it */
    bool loses_device;
    unsigned value, width; /* of a fill: `bytes` are `width` bytes of it, over and over */
    const struct od_cu_function_st *kernel;
    unsigned blocks; /* of its launch */
    cd_event *event; /* of a record or a wait, with its number */
    uint64_t record;
    void (*function)(void *);
    void *data;
    uint64_t submitted_ns;
    struct cd_op *next;
} cd_op;

struct od_cu_stream_st {
    unsigned magic;
    cd_context *context;
    bool alive, has_worker;
    bool was_busy; /* when it was last asked */
    cd_op *first, *last; /* the first one is being executed */
    uint64_t submitted, finished;
    uint64_t end_ns;        /* of the operations so far, as a device would have had them */
    pthread_cond_t changed; /* an operation has come, or the end */
    uint64_t random;
    cd_stream *next;
};

struct od_cu_event_st {
    unsigned magic;
    cd_context *context;
    bool alive;
    uint64_t recorded, completed;
    uint64_t end_ns; /* of what the completed record followed */
    cd_event *next;
};

typedef struct cd_rule {
    cd_call call;
    unsigned long n;
    bool onwards;
    od_cu_result result;
} cd_rule;

typedef struct cd_settings {
    bool is_read, peer, managed, warn, watch_pins, stream_context;
    unsigned ndevices;
    size_t memory, pin_limit; /* bytes */
    double bandwidth;         /* bytes/s; 0: no limit */
    double pin_bandwidth;     /* likewise */
    double jitter_s;
    uint64_t seed;
    unsigned nrules;
    cd_rule rules[CD_MOST_RULES];
    int lost_device; /* -1: none */
    unsigned long lost_copy;
    int lost_kernel_device;
    unsigned long lost_kernel;
    unsigned arch;
    double kernel_s;
    unsigned long launch_waits;
    size_t others, granularity; /* bytes */
    int version, compute_mode;
    const char *name;
    const char *kernels_file; /* NULL: beside the program */
    const char *stats_file;
} cd_settings;

typedef struct cd_stats {
    unsigned long calls[CD_NCALLS];
    unsigned long copies[CD_NDIRECTIONS], pageable_copies, staged_peer_copies;
    unsigned long kernels, empty_kernels;     /* executed; those of them that took only time */
    unsigned long launches, main_launches;    /* of kernels; those of them by the process's first thread */
    unsigned long main_ends;                  /* of streams' work, seen by that thread, which had asked before */
    unsigned long without_context[CD_NCALLS]; /* refused because no context was current, or another one */
    atomic_ulong misuses;                     /* cuBLAS's double counts without the lock */
    unsigned long long bytes[CD_NDIRECTIONS]; /* copied */
    unsigned in_flight, most_in_flight;       /* submitted, not finished */
    unsigned running, most_running;           /* taken from their streams, not finished */
    /* What a context took along when it was destroyed. */
    unsigned long leaked_allocations, leaked_streams, leaked_events;
} cd_stats;

typedef struct cd_state {
    pthread_mutex_t lock;    /* protects all of this and all that hangs on it */
    pthread_cond_t progress; /* an operation is over */
    atomic_int process;      /* that called cuInit; 0: none */
    cd_settings settings;
    cd_device devices[CD_MOST_DEVICES];
    cd_context *contexts;
    cd_stream *streams;
    cd_event *events;
    cd_allocation *allocations;
    struct cd_memory *memories; /* virtual.c, like the next */
    struct cd_mapping *mappings;
    cd_pinned *pinned;
    struct od_cu_module_st *modules;
    struct od_cu_function_st *functions;
    size_t pinned_bytes;
    cd_stats stats;
} cd_state;

extern cd_state cd;
extern _Thread_local bool cd_in_callback; /* a host function runs: CUDA forbids it to call CUDA */

/* --- calls ----------------------------------------------------------------- */

typedef enum cd_needs {
    CD_NOTHING,
    CD_INITIALIZED,
    CD_CONTEXT,         /* a current one, of a device that is not lost */
    CD_CONTEXT_OR_LOST, /* for what releases something */
    CD_STREAMS_CONTEXT, /* any, though a stream or an event knows its own; CUDA_DOUBLE_STREAM_CONTEXT=0: none */
} cd_needs;

/* Begins a call: counts it and takes the lock. A result other than 0 is the call's, and the lock is not held. */
od_cu_result cd_enter(cd_call call, cd_needs needs);

/* Ends it. */
od_cu_result cd_leave(od_cu_result result);

/* Reads the environment, the first time. */
void cd_settings_read(cd_settings *settings);

/* The name without its version. */
const char *cd_call_name(cd_call call);

void cd_stats_print(FILE *out);

/* --- what one part has for the others; the lock is held ---------------------- */

#define cd_misuse cuda_double_misuse

/* The current context; NULL: none. */
cd_context *cd_current(void);

/* Result 201, which is counted: what belongs to this context is used without it. */
od_cu_result cd_wrong_context(cd_call call);

/* 0 for a live context. */
od_cu_result cd_context_check(const cd_context *context);

/* 0, or 700 when the context's device is lost. */
od_cu_result cd_context_health(const cd_context *context);

/* The stream of a handle; NULL is the current context's own. */
od_cu_result cd_stream_find(od_cu_stream handle, cd_stream **stream);

/* Appends a copy of the operation. CD_OP_COPY: what it touches stays in use until it is over. */
od_cu_result cd_stream_submit(cd_stream *stream, const cd_op *op);

od_cu_result cd_event_check(cd_event *event);

/* Returns when all that has been submitted is over. */
void cd_stream_drain(cd_stream *stream);
/* Returns when the context has no kernel that was submitted and is not over. */
void cd_kernels_drain(const cd_context *context);

/* NULL: there is no memory. */
od_cu_function cd_function_create(od_cu_module module, const cd_symbol *symbol);

/* Executes a kernel; entered and left with the lock, which is dropped while it computes. */
void cd_kernel_execute(cd_stream *stream, const cd_op *op);

/* The stream's next operation takes so long on what else it needs, each free from the time on that is noted there (NULL:
 * nothing). Returns its end. */
uint64_t cd_stream_take_time(cd_stream *stream, const cd_op *op, double seconds, uint64_t *one, uint64_t *other);

/* How an operation sleeps. */
uint64_t cd_now_ns(void);
void cd_sleep_until(uint64_t end_ns);

/* Allocations: found by an address inside; checked as cuda_double_check_range does. */
cd_allocation *cd_allocation_find(uintptr_t address);
od_cu_result cd_allocation_check(const char *what, uintptr_t address, size_t bytes, const cd_device *device,
                                 cd_allocation **allocation);

/* Bytes of memory, up to about so many, behind the addresses of a reservation from this one on. */
size_t cd_reserved_run(cd_allocation *allocation, uintptr_t address, size_t most);

/* Memory of a module's: new, or that of a variable which is there already. NULL: there is none. */
cd_allocation *cd_allocation_create(cd_context *context, size_t bytes, void *variable);
void cd_allocation_drop(cd_allocation *allocation);

/* 0 and the range that holds all these bytes, or NULL when none of them is pinned; 1 when it is neither. */
od_cu_result cd_pinned_find(uintptr_t address, size_t bytes, cd_pinned **pinned);

/* The end of a context: what it still holds is leaked. */
void cd_allocations_drop(const cd_context *context);
void cd_streams_drop(const cd_context *context);
void cd_events_drop(const cd_context *context);
void cd_modules_drop(const cd_context *context);

#endif
