/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The program's device code: what __tgt_register_lib() brings, at the start or when a library is opened later, and what
 * __tgt_unregister_lib() takes away.
 */
#ifndef OD_OMP_EXT_IMAGES_H
#define OD_OMP_EXT_IMAGES_H

#include "omp_ext/libomp/abi.h"

#include "util/lock.h"
#include <stdbool.h>

/* What a library brings: a target region or a device variable. */
typedef struct od_image_entity {
    const void *address;
    const char *name;
    size_t size; /* 0: a target region */
    uint32_t flags;
    uint64_t data;
} od_image_entity;

/* Entry i of a library's table. False: there is none. */
bool od_image_get(const od_bin_desc *desc, size_t i, od_image_entity *e);
bool od_image_names_kernel(const od_bin_desc *desc, const void *kernel, const char **name);

void od_images_add(od_bin_desc *desc);
void od_images_remove(const od_bin_desc *desc);
/* True where it is the only one. */
bool od_images_are_only(const od_bin_desc *desc);

/* The name that clang has given to a target region: __omp_offloading_<ids>_<function>_l<line>. NULL: not known. May be
 * called from a signal handler that interrupts the program's own code. */
const char *od_images_kernel_name(const void *kernel);

/* Tells the device code that has the kernel from what it was before it was compiled anew. 0: there is none. */
uint64_t od_images_kernel_build(const void *kernel);

/* Calls visit with the name of every target region. */
void od_images_visit_kernels(void (*visit)(const char *name, void *arg), void *arg);

/* Likewise with the host address of each. Nobody may bring or take libraries meanwhile. */
void od_images_visit_addresses(void (*visit)(const void *kernel, void *arg), void *arg);

/* Whether a GPU's kernel is given memory to reduce in with each launch: its teams have a reduction. */
bool od_images_kernel_reduces(const void *kernel);

/* Whether all threads of a GPU's teams begin its kernel together: each has iterations of the distribute loop. */
bool od_images_kernel_is_spmd(const void *kernel);

/* Whether each of these threads has one iteration at most, so that a launch needs as many as there are (LLVM 22). */
bool od_images_kernel_has_no_loop(const void *kernel);

/* Whether a symbol of an image that has the kernel begins like this. */
bool od_images_kernel_names(const void *kernel, const char *prefix);

/* True where device code has variables of its own, which no map list names: declare target ones, or static ones that
 * only its images show. */
bool od_images_have_variables(void);

/* Calls visit with each declare target variable of which every device has a copy, and its size in bytes. */
void od_images_visit_variables(void (*visit)(const void *host, size_t size, void *arg), void *arg);

/* True while the program has device code. */
bool od_images_exist(void);

/* The ELF machine of the first device image: what kind of device it is for. 0: not known. */
unsigned od_images_machine(void);

/* Of the first device image, where it is for NVIDIA's GPUs. */
typedef struct od_cuda_image {
    unsigned abi;  /* of the ELF file: 7, or 8 as since CUDA 13 */
    unsigned arch; /* 90: sm_90 */
    unsigned cuda; /* first number of the CUDA that has made it; 0: not known */
} od_cuda_image;

/* False: it is for others. */
bool od_images_cuda(od_cuda_image *image);

/* Keeps libomptarget's devices until the process ends, also when the last library with device code has been closed. */
void od_images_hold(void);
void od_images_free(void);

/* For a fork. */
void od_images_locks(void (*visit)(od_lock *lock));

#endif
