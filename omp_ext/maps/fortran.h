/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sections of Fortran arrays in kernels' map lists.
 *
 * Of a section that is not contiguous flang 22 maps only as many bytes as it has elements, beginning, where a subscript
 * but the last is a single one, at a wrong place; and of an array that a descriptor describes with gaps as many as it
 * has elements. With the whole array present libomptarget does not mind: the device's copy is all there. Our data are
 * what the list names, so there such an entry stands for the whole array. What is written in the source is in the
 * entry's name, as `;file;a(2:3,k);line;column;;`.
 */
#ifndef OD_OMP_EXT_FORTRAN_H
#define OD_OMP_EXT_FORTRAN_H

#include "omp_ext/libomp/abi.h"

#include <stdbool.h>

/* Makes entries that may be too small the regions that they lie in. Returns what then holds arrays of *args, to be
 * given to free() after their use; NULL: all are as they were. */
void *od_fortran_widen(od_map_args *args);

/* The range is the descriptor of an array: kernels do not change it. */
bool od_fortran_is_descriptor(uintptr_t base, size_t size);

#endif
