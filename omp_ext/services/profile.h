/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What earlier runs have measured on this machine (OMPDARTS_CACHE): costs of code, which kernels are better off in one
 * piece, the links to the devices, and with which settings of `auto` graphs have taken how long.
 *
 * Kernels are known by the name that clang gives to their region, other code by its file, offset and date. All
 * functions are called under the runtime's lock, or before the runtime has started.
 */
#ifndef OD_OMP_EXT_RECALL_H
#define OD_OMP_EXT_RECALL_H

#include "omp_ext/tasks/entry.h"
#include "omp_ext/services/service.h"

#include <stdbool.h>

void od_profile_start(unsigned cores_per_worker);

/* The cost of an entry that has not run yet, if an earlier run has measured it. Cheap after the first call. */
void od_profile_cost(od_entry *entry);

/* What earlier runs have found of a kernel in slices: its entry's slicing is told, before its first launch. */
void od_profile_slices(const od_entry *entry);

/* Measurements of links (omp_ext/services/machine/links.h). Only where they are kept: */
bool od_profile_is_on(void);
/* What is kept of a link, by rows of its name: seconds, and bytes/s. */
typedef enum od_link_row { OD_LINK_LATENCY, OD_LINK_BANDWIDTH } od_link_row;
/* 0: not known. */
double od_profile_find_link(const char *link, od_link_row row);
void od_profile_put_link(const char *link, od_link_row row, double value);

/* How many times slower than the fastest of these devices device k is at the code; NULL: at all code together. 0: not
 * known. `which` names the devices. */
double od_profile_find_slowness(const od_entry *code, const char *which, unsigned k);
void od_profile_put_slowness(const od_entry *code, const char *which, unsigned k, double times);

/* Of a graph of this program on so many devices of so many bytes: as od_driver_ops.recall and .keep. */
void od_profile_recall(const od_recalled_graph *graph, unsigned ndevices, size_t memory, od_recall_found *found,
                       void *arg);
void od_profile_keep(const od_recalled_graph *graph, unsigned ndevices, size_t memory, const od_recalled_row *row);

/* Saves what this run has measured, as the service does at the end. */
void od_profile_save(void);

extern const od_service od_profile_service;

#endif
