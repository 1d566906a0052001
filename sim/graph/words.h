/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading recorded runs word by word. Functions that return false have written one line about it. */
#ifndef OD_SIM_GRAPH_WORDS_H
#define OD_SIM_GRAPH_WORDS_H

#include "sim/graph/graph_file.h"

typedef struct sim_reader {
    sim_graph *graph;
    sim_recording *r;
    char *rest;     /* of the line */
    uint64_t lines; /* so far */
    bool ended;     /* the line `end` has been read */
    char *error;
    size_t size;
} sim_reader;

bool sim_refuse(sim_reader *in, const char *what);
/* The next word, or NULL: the line ends. */
char *sim_word(sim_reader *in);
bool sim_to_number(const char *text, uint64_t most, uint64_t *value); /* writes nothing */
bool sim_number(sim_reader *in, uint64_t most, uint64_t *value);
bool sim_index(sim_reader *in, uint32_t below, uint32_t *value);
bool sim_count(sim_reader *in, uint32_t *value);
bool sim_seconds(sim_reader *in, double *value);
bool sim_mode(const char *text, od_mode *mode); /* likewise */
bool sim_place(sim_reader *in, int *value);

#endif
