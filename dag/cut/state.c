/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "dag/cut/state.h"

#include <stdlib.h>

static bool has_freed(od_dag_model model, od_dag_phase phase)
{
    return phase == OD_DAG_ENDED || (phase == OD_DAG_RUNNING && model == OD_DAG_REPLACE);
}

static bool is_alive(const od_dag *dag, od_dag_model model, const od_dag_phase *phase, const od_dag_datum *datum)
{
    const uint32_t *readers = dag->readers + datum->first_reader;
    bool born = datum->producer != OD_DAG_NONE ? phase[datum->producer] != OD_DAG_WAITING : !datum->lazy;
    bool needed = datum->nreaders == 0;
    for (uint32_t i = 0; i < datum->nreaders; i++) {
        born |= datum->lazy && phase[readers[i]] != OD_DAG_WAITING;
        needed |= !has_freed(model, phase[readers[i]]);
    }
    return born && needed;
}

int64_t od_dag_state_bytes(const od_dag *dag, od_dag_model model, const od_dag_phase *phase)
{
    int64_t bytes = 0;
    for (uint32_t d = 0; d < dag->ndata; d++)
        bytes += is_alive(dag, model, phase, &dag->data[d]) ? dag->data[d].bytes : 0;
    for (uint32_t t = 0; t < dag->ntasks; t++)
        bytes += phase[t] == OD_DAG_RUNNING ? dag->tasks[t].bytes : 0;
    return bytes;
}

/* Stamps the readers that precede another reader directly (`next`: lists of what comes after), or come after one. */
static void mark_inner(const od_dag_lists *next, const uint32_t *readers, uint32_t count, uint32_t *is_reader,
                       uint32_t *inner, uint32_t stamp)
{
    for (uint32_t i = 0; i < count; i++)
        is_reader[readers[i]] = stamp;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = next->first[readers[i]]; k < next->first[readers[i] + 1]; k++)
            if (is_reader[next->items[k]] == stamp)
                inner[readers[i]] = stamp;
}

static od_status outer_readers(const od_dag *dag, const od_dag_lists *next, od_dag_reader_function each, void *arg)
{
    uint32_t *is_reader = calloc((size_t)dag->ntasks + 1, sizeof *is_reader);
    uint32_t *inner = calloc((size_t)dag->ntasks + 1, sizeof *inner);
    for (uint32_t d = 0; is_reader && inner && d < dag->ndata; d++) {
        const uint32_t *readers = dag->readers + dag->data[d].first_reader;
        uint32_t count = dag->data[d].nreaders;
        if (count > 1)
            mark_inner(next, readers, count, is_reader, inner, d + 1);
        for (uint32_t i = 0; i < count; i++)
            if (inner[readers[i]] != d + 1) {
                inner[readers[i]] = d + 1; /* one that is named twice counts once */
                each(arg, d, readers[i]);
            }
    }
    od_status status = is_reader && inner ? OD_OK : OD_ENOMEM;
    free(is_reader);
    free(inner);
    return status;
}

od_status od_dag_last_readers(const od_dag *dag, od_dag_reader_function each, void *arg)
{
    return outer_readers(dag, &dag->after, each, arg);
}

od_status od_dag_first_readers(const od_dag *dag, od_dag_reader_function each, void *arg)
{
    return outer_readers(dag, &dag->before, each, arg);
}
