/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* map(always): what is copied around a construct, whether present or not. See uses.h. */
#include "omp_ext/maps/uses/uses.h"

#include "omp_ext/libomp/thread.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/runtime/runtime.h"
#include "omp_ext/services/record/record.h"

static void move_always(const od_map_args *args, int64_t direction, od_request_kind kind)
{
    for (int32_t i = 0; (args->any & OD_MAP_ALWAYS) && i < args->count; i++) {
        od_request *request = NULL;
        if (!od_arg_is_always(args, i, direction))
            continue;
        od_engine *engine = od_runtime_lock();
        od_region *region =
            od_directory_find_region(od_engine_directory(engine), od_entry_begin(args, i), (size_t)args->sizes[i]);
        od_status status = OD_OK;
        if (region && direction == OD_MAP_TO)
            region->undefined = false;
        if (region) {
            od_recorder_range(od_entry_begin(args, i), (size_t)args->sizes[i], kind);
            status = od_engine_range_request(engine, od_entry_begin(args, i), (size_t)args->sizes[i], kind, &request);
        }
        od_runtime_unlock();
        od_expect_memory(!status);
        if (request)
            request->inside = od_self.mode == OD_ON_DEVICE;
        od_runtime_request(request);
    }
}

void od_args_push_always(const od_map_args *args)
{
    move_always(args, OD_MAP_TO, OD_REQUEST_PUSH);
}

void od_args_fetch_always(const od_map_args *args)
{
    move_always(args, OD_MAP_FROM, OD_REQUEST_PULL);
}

od_request *od_args_pull_always(const od_map_args *args, const od_uses *uses, const int32_t *access_of)
{
    uint32_t n = 0;
    for (int32_t i = 0; (args->any & OD_MAP_ALWAYS) && i < args->count; i++)
        n += od_arg_is_always(args, i, OD_MAP_FROM) && access_of[i] >= 0;
    od_request *request = n ? od_request_create(n) : NULL;
    od_expect_memory(!n || request);
    n = 0;
    for (int32_t i = 0; request && i < args->count; i++) {
        if (!od_arg_is_always(args, i, OD_MAP_FROM) || access_of[i] < 0)
            continue;
        od_datum *d = uses->access[access_of[i]].datum;
        d->pending++; /* the item's hold */
        od_recorder_range(od_entry_begin(args, i), (size_t)args->sizes[i], OD_REQUEST_PULL);
        request->items[n++] = (od_request_item){.kind = OD_REQUEST_PULL,
                                                .datum = d,
                                                .offset = od_entry_begin(args, i) - d->base,
                                                .bytes = (size_t)args->sizes[i]};
    }
    return request;
}
