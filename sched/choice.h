/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a chooser (sched/policy.h) has chosen, for reports. */
#ifndef OD_SCHED_CHOICE_H
#define OD_SCHED_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

enum { OD_CHOICE_NAME = 96 };

/* Settings by name, and the seconds predicted until all that was known is done. */
typedef struct od_outlook {
    char name[OD_CHOICE_NAME]; /* empty: none */
    double seconds;
    bool at_least; /* that is a lower bound: it was given up, since others were better */
} od_outlook;

typedef struct od_choice {
    uint64_t ns;                       /* when it was made, by the driver's clock */
    bool adopted;                      /* `best` has counted since then; else `present` went on */
    uint64_t tasks;                    /* that were known */
    unsigned tried;                    /* settings */
    od_outlook present, best, second;  /* `second`: the best of the others */
    double half_predicted, half_taken; /* seconds until half of the tasks were done; 0: not known (yet) */
} od_choice;

/* Of those of a run the first few and the last one are kept. */
enum { OD_CHOICES_KEPT = 8 };

typedef struct od_choices {
    uint64_t count;
    uint64_t processor_ns; /* that they have taken */
    od_choice kept[OD_CHOICES_KEPT];
} od_choices;

static inline unsigned od_choices_kept(const od_choices *choices)
{
    return choices->count < OD_CHOICES_KEPT ? (unsigned)choices->count : OD_CHOICES_KEPT;
}

/* There must be one. */
static inline od_choice *od_choices_last(od_choices *choices)
{
    return &choices->kept[od_choices_kept(choices) - 1];
}

#endif
