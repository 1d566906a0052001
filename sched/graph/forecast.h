/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Forecast: how many submitted tasks, not ready yet, name an address in their depend list.
 *
 * Known when a task is created, long before its map list: a hint about data that the ready tasks alone
 * do not give. It guides eviction and never decides correctness. A chained hash table by address.
 */
#ifndef OD_SCHED_GRAPH_FORECAST_H
#define OD_SCHED_GRAPH_FORECAST_H

#include "util/status.h"

#include <stdint.h>

typedef struct od_forecast od_forecast;

od_forecast *od_forecast_create(void); /* NULL: out of memory */
void od_forecast_destroy(od_forecast *forecast);

/* Adds `change` to the count of the address and returns the new count; without memory the count stays what it was. */
uint32_t od_forecast_add(od_forecast *forecast, uintptr_t address, int change);
uint32_t od_forecast_get(const od_forecast *forecast, uintptr_t address);

#endif
