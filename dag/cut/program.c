/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "dag/cut/program.h"

#include "dag/cut/state.h"

#include <inttypes.h>

typedef struct program {
    const od_dag *dag;
    od_dag_model model;
    FILE *out;
    bool differences; /* else the objective is written */
} program;

/* Events: sT starts task T, eT ends it; "one" and "zero" are the source and the target. */
static void write_datum(const program *p, uint32_t d, const char *reader_event, uint32_t reader)
{
    const od_dag_datum *datum = &p->dag->data[d];
    uint32_t birth = datum->lazy && datum->nreaders == 1 ? reader : datum->producer;
    bool made = birth != OD_DAG_NONE;
    if (!p->differences) {
        fprintf(p->out, " + %" PRId64 " d%" PRIu32 "_%" PRIu32 "\n", datum->bytes, d, reader);
        return;
    }
    fprintf(p->out, " d%" PRIu32 "_%" PRIu32 " - %s", d, reader, made ? "s" : "one");
    if (made)
        fprintf(p->out, "%" PRIu32, birth);
    fprintf(p->out, " + %s", reader_event);
    if (*reader_event != 'z')
        fprintf(p->out, "%" PRIu32, reader);
    fputs(" = 0\n", p->out);
}

static void write_reader(void *arg, uint32_t d, uint32_t reader)
{
    const program *p = arg;
    write_datum(p, d, p->model == OD_DAG_RESIDENT ? "e" : "s", reader);
}

static od_status write_data(program *p)
{
    for (uint32_t d = 0; d < p->dag->ndata; d++)
        if (!p->dag->data[d].nreaders && !p->dag->data[d].lazy)
            write_datum(p, d, "zero", 0);
    for (uint32_t t = 0; t < p->dag->ntasks; t++)
        if (!p->differences)
            fprintf(p->out, " + %" PRId64 " r%" PRIu32 "\n", p->dag->tasks[t].bytes, t);
        else
            fprintf(p->out, " r%" PRIu32 " - s%" PRIu32 " + e%" PRIu32 " = 0\n", t, t, t);
    return od_dag_last_readers(p->dag, write_reader, p);
}

od_status od_dag_write_program(const od_dag *dag, od_dag_model model, FILE *out)
{
    program p = {.dag = dag, .model = model, .out = out};
    fputs("Maximize\n memory: 0 one\n", out);
    od_status status = write_data(&p);
    fputs("Subject To\n", out);
    p.differences = true;
    if (!status)
        status = write_data(&p);
    for (uint32_t t = 0; t < dag->ntasks; t++)
        for (uint32_t i = dag->after.first[t]; i < dag->after.first[t + 1]; i++)
            fprintf(out, " e%" PRIu32 " - s%" PRIu32 " >= 0\n", t, dag->after.items[i]);
    fputs("Bounds\n one = 1\n zero = 0\n", out);
    for (uint32_t t = 0; t < dag->ntasks; t++)
        fprintf(out, " s%" PRIu32 " <= 1\n e%" PRIu32 " <= 1\n", t, t);
    fputs("End\n", out);
    return status;
}
