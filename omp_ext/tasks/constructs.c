/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Asynchronous data constructs before they run. See constructs.h. All is under the runtime's lock. */
#include "omp_ext/tasks/constructs.h"

#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/maps/list.h"
#include "omp_ext/runtime/runtime.h"

static od_list pending = {.root = {&pending.root, &pending.root}}; /* od_record.pending: submitted, not running */

typedef struct od_inspection {
    od_engine *engine;
    od_banker_step construct;
} od_inspection;

/* Looks at the list of a construct that has not run. */
static void inspect(od_engine *engine, const od_record *record)
{
    od_thread saved = od_self;
    const od_inspection inspection = {engine, record->construct};
    od_self = (od_thread){.mode = OD_INSPECT, .inspection = &inspection};
    record->entry(REAL(__kmpc_global_thread_num)(NULL), (void *)(uintptr_t)record->task);
    od_self = saved;
}

void od_construct_submit(od_engine *engine, od_record *record)
{
    const od_options *options = od_runtime_options();
    if (!options->sched.guard && !options->memory.spill_limit)
        return;
    record->construct = od_engine_construct(engine);
    record->announced = true;
    od_list_push_back(&pending, &record->pending);
    if (record->code->is_data_construct)
        inspect(engine, record);
}

void od_construct_begin(od_record *record)
{
    if (!record->announced)
        return;
    (void)od_runtime_lock();
    if (od_list_contains(&record->pending))
        od_list_remove(&pending, &record->pending);
    od_runtime_unlock();
}

void od_construct_end(od_record *record)
{
    if (!record->announced)
        return;
    record->announced = false;
    od_engine_construct_done(od_runtime_lock(), record->construct);
    od_runtime_unlock();
}

void od_construct_learn(od_record *record)
{
    if (!record->announced)
        return;
    od_engine *engine = od_runtime_lock();
    bool news = !record->code->is_data_construct;
    record->code->is_data_construct = true;
    for (od_node *it = pending.root.next; news && it != &pending.root; it = it->next) {
        const od_record *other = od_container_of(it, od_record, pending);
        if (other->code == record->code)
            inspect(engine, other);
    }
    od_runtime_unlock();
}

static bool is_plain(const od_map_args *args, int32_t i)
{
    const int64_t special = OD_MAP_NO_RANGE | OD_MAP_PTR_AND_OBJ | OD_MAP_MEMBER_OF | OD_MAP_NON_CONTIG;
    return !(args->types[i] & special) && args->sizes[i] > 0 && !(args->mappers && args->mappers[i]);
}

void od_construct_show(const od_map_args *args, bool enters)
{
    const od_inspection *inspection = od_self.inspection;
    for (int32_t i = 0; i < args->count; i++) {
        if (!is_plain(args, i))
            continue;
        if (!enters)
            od_engine_construct_closes(inspection->engine, inspection->construct, od_entry_begin(args, i));
        else if (!(args->types[i] & OD_MAP_TO))
            od_engine_construct_opens(inspection->engine, od_entry_begin(args, i), (size_t)args->sizes[i]);
    }
}
