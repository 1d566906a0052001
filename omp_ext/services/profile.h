/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What earlier runs have measured on this machine (OMPDARTS_CACHE): costs of code, and the links to the devices.
 *
 * Kernels are known by the name that clang gives to their region, other code by its file, offset and date. All
 * functions are called under the runtime's lock, or before the runtime has started.
 */
#ifndef OD_OMP_EXT_RECALL_H
#define OD_OMP_EXT_RECALL_H

#include "memmgr/device/backend.h"
#include "omp_ext/tasks/entry.h"
#include "omp_ext/services/service.h"

void od_profile_start(void);

/* The cost of an entry that has not run yet, if an earlier run has measured it. Cheap after the first call. */
void od_profile_cost(od_entry *entry);

/* The links between places, from row to column, the host as the last one; measured, if that has not been done on this
 * machine. What is not known stays as it is. */
void od_profile_links(od_backend *backend, od_link *links);

/* Saves what this run has measured, as the service does at the end. */
void od_profile_save(void);

extern const od_service od_profile_service;

#endif
