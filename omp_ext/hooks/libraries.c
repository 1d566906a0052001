/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Libraries that bring device code, at the start or when they are opened later, and take it away. */
#include "omp_ext/libomp/images.h"
#include "omp_ext/libomp/league.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/maps/device_memory.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/runtime/runtime.h"
#include "omp_ext/slices/early.h"
#include "omp_ext/slices/slices.h"
#include "omp_ext/tasks/entry.h"

/* A declare target variable lives on every device, with contents that we cannot see. One device is used, and constructs
 * on the variable itself are libomptarget's. */
static void note_entity(const od_image_entity *e)
{
    if (e->flags == OD_OFFLOAD_REQUIRES && (e->data & OD_REQUIRES_UNIFIED_SHARED_MEMORY))
        od_runtime_switch_off("the program requires unified shared memory: there is nothing to copy");
    if (e->size)
        od_expect_memory(od_foreign_add((uintptr_t)e->address, e->size, OD_FIRST_DEVICE));
}

void __tgt_register_lib(od_bin_desc *desc)
{
    od_image_entity e;
    od_runtime_load();
    for (size_t i = 0; od_image_get(desc, i, &e); i++)
        note_entity(&e);
    od_images_add(desc);
    if (od_images_have_variables())
        od_runtime_single_device();
    od_runtime_has_images();
    REAL(__tgt_register_lib)(od_slices_are_on() ? od_league_add(desc) : desc);
}

static bool is_of(const od_job *job, const void *desc)
{
    const char *name;
    return job->kind == OD_JOB_KERNEL && od_image_names_kernel(desc, job->launch.call.kernel, &name);
}

/* A library is being closed, or the program ends. What comes to lie at its addresses afterwards is something else. */
void __tgt_unregister_lib(od_bin_desc *desc)
{
    od_image_entity e;
    if (od_images_are_only(desc))
        od_runtime_last_image();
    od_early_settle();
    od_runtime_await_jobs(is_of, desc);
    od_entry_forget_library(desc);
    for (size_t i = 0; od_image_get(desc, i, &e); i++)
        if (e.size)
            od_foreign_remove((uintptr_t)e.address);
    od_images_remove(desc);
    if (od_runtime_was_left_inside()) /* it could wait for ever; nothing of such a child's is worth giving back */
        return;
    od_bin_desc *given = od_league_remove(desc);
    REAL(__tgt_unregister_lib)(given);
    od_league_free(given, desc);
}
