/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the plain policies share; see reference.h. */
#include "reference.h"

#include <stdlib.h>
#include <string.h>

const od_policy_ops *od_reference_find(const char *policy)
{
    static const od_policy_ops *const all[] = {&od_reference_eager, &od_reference_ap,    &od_reference_dmda,
                                               &od_reference_dmdar, &od_reference_dmdas, &od_reference_lws,
                                               &od_reference_darts};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(all[i]->name, policy) == 0)
            return all[i];
    }
    return NULL;
}

od_status reference_add(reference_tasks *tasks, od_task *task)
{
    if (tasks->count == tasks->capacity) {
        size_t wanted = tasks->capacity ? 2 * tasks->capacity : 64;
        od_task **grown = realloc(tasks->task, wanted * sizeof *grown);
        if (!grown)
            return OD_ENOMEM;
        tasks->task = grown;
        tasks->capacity = wanted;
    }
    tasks->task[tasks->count++] = task;
    return OD_OK;
}

void reference_remove(reference_tasks *tasks, const od_task *task)
{
    size_t i = 0;
    while (tasks->task[i] != task)
        i++;
    tasks->count--;
    memmove(&tasks->task[i], &tasks->task[i + 1], (tasks->count - i) * sizeof *tasks->task);
}
