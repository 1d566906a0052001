/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "dag/write.h"

#include <inttypes.h>

static void write_readers(const od_dag *dag, const od_dag_datum *datum, FILE *out)
{
    for (uint32_t i = 0; i < datum->nreaders; i++)
        fprintf(out, " %s", od_dag_name(dag, dag->readers[datum->first_reader + i]));
    fputc('\n', out);
}

void od_dag_write_text(const od_dag *dag, FILE *out)
{
    fputs("ompdarts-dag 1\n", out);
    for (uint32_t t = 0; t < dag->ntasks; t++) {
        fprintf(out, "task %s %.15g", od_dag_name(dag, t), dag->tasks[t].seconds);
        if (dag->tasks[t].bytes)
            fprintf(out, " %" PRId64, dag->tasks[t].bytes);
        fputc('\n', out);
    }
    for (uint32_t d = 0; d < dag->ndata; d++) {
        const od_dag_datum *datum = &dag->data[d];
        const char *producer = datum->producer == OD_DAG_NONE ? "-" : od_dag_name(dag, datum->producer);
        if (datum->lazy)
            fprintf(out, "lazy %" PRId64, datum->bytes);
        else
            fprintf(out, "data %" PRId64 " %s", datum->bytes, producer);
        write_readers(dag, datum, out);
    }
    for (uint32_t i = 0; i < dag->norders; i++)
        fprintf(out, "order %s %s\n", od_dag_name(dag, dag->orders[i].before), od_dag_name(dag, dag->orders[i].after));
}

void od_dag_write_dot(const od_dag *dag, uint32_t added, FILE *out)
{
    fputs("digraph tasks {\n", out);
    for (uint32_t t = 0; t < dag->ntasks; t++)
        fprintf(out, "    \"%s\" [seconds=%.15g, bytes=%" PRId64 "];\n", od_dag_name(dag, t), dag->tasks[t].seconds,
                dag->tasks[t].bytes);
    for (uint32_t d = 0; d < dag->ndata; d++) {
        const od_dag_datum *datum = &dag->data[d];
        for (uint32_t i = 0; i < datum->nreaders && datum->producer != OD_DAG_NONE; i++)
            fprintf(out, "    \"%s\" -> \"%s\" [bytes=%" PRId64 "%s];\n", od_dag_name(dag, datum->producer),
                    od_dag_name(dag, dag->readers[datum->first_reader + i]), datum->bytes, i ? ", data=again" : "");
    }
    for (uint32_t i = 0; i < dag->norders; i++)
        fprintf(out, "    \"%s\" -> \"%s\"%s;\n", od_dag_name(dag, dag->orders[i].before),
                od_dag_name(dag, dag->orders[i].after), i + added >= dag->norders ? " [style=dashed]" : "");
    fputs("}\n", out);
}
