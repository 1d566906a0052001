/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is known of a kernel that may run in slices: a record of its od_entry, on plain numbers. */
#ifndef OD_OMP_EXT_SLICES_KERNELS_H
#define OD_OMP_EXT_SLICES_KERNELS_H

#include "omp_ext/slices/balance.h"
#include "omp_ext/slices/footprint.h"

#include <stdatomic.h>

/* Why a kernel's last launch was whole. */
typedef enum od_whole {
    OD_WHOLE_NOT, /* it was not */
    OD_WHOLE_WATCHED,
    OD_WHOLE_NO_LOOP, /* the first of those that are for good */
    OD_WHOLE_CHUNKS,
    OD_WHOLE_LIBRARY,
    OD_WHOLE_TASKS,
    OD_WHOLE_PRIVATE,
    OD_WHOLE_REDUCES,
    OD_WHOLE_PRINTS,
    OD_WHOLE_ONE_EACH,
    OD_WHOLE_EXCLUDES,
    OD_WHOLE_DIFFERS,
    OD_WHOLE_WORDS,
    OD_WHOLE_REFUSED, /* in an earlier run, for one of the last three */
    OD_WHOLE_CLASHES,
    OD_WHOLE_CLASHED, /* in an earlier run; the last of them */
    OD_WHOLE_ONE_DEVICE,
    OD_WHOLE_FEW,
    OD_WHOLE_FEW_TEAMS,
    OD_WHOLE_TEAMS,
    OD_WHOLE_NO_WINDOWS,
    OD_WHOLE_NO_REGION,
    OD_WHOLE_SECTION,
    OD_WHOLE_POINTERS,
    OD_WHOLE_SHARED,
    OD_WHOLE_LARGE,
    OD_WHOLE_NO_COPIES,
    OD_WHOLE_NO_RUNTIME,
    OD_WHOLE_TRIED,
    OD_WHOLE_FAILED,
    OD_WHOLE_ON_HOST,
    OD_WHOLE_ON_RANKS,
    OD_WHOLE_SHORT,
    OD_WHOLE_EARLY,
    OD_WHOLE_SLOWER,
    OD_WHOLE_WAS_SLOWER, /* in an earlier run */
    OD_WHOLE_OTHERS,
    OD_WHOLE_REASONS
} od_whole;

/* For people. */
const char *od_whole_text(od_whole reason);

/* What runs of the program need not find out again. */
typedef enum od_slices_verdict {
    OD_SLICES_UNKNOWN,
    OD_SLICES_CLASH,
    OD_SLICES_SLOWER,
    OD_SLICES_FASTER,
    OD_SLICES_VERDICTS
} od_slices_verdict;

const char *od_slices_verdict_text(od_slices_verdict verdict);

typedef struct od_slicing {
    atomic_uint seen;  /* od_seen; compiled code's threads add to it */
    atomic_uint teams; /* of the last whole launch */
    bool watched;      /* it has run whole, and has been */
    bool by_teams;     /* it is a GPU's, in slices of its teams: what it asks for does not matter */
    atomic_flag busy;  /* a thread launches it */
    od_whole reason;   /* why the last launch was whole; those for good stay */
    od_footprint *footprint; /* malloc'ed, of so many slices as were planned last; or NULL */
    bool learnt;             /* there has been a launch to find it */
    bool together;           /* teams are in one of these slices each */
    od_grain grain;          /* of these slices */
    uint64_t whole_launches, sliced_launches;
    uint64_t early_launches; /* of these, those of which slices began before the launch before had ended */
    unsigned steady;         /* launches in slices since the last one that showed anything new of what these use */
    unsigned surprises;      /* how often one did that was not expected to (od_slicing_is_steady) */
    unsigned slices;   /* of the last launch in slices */
    double whole_s;    /* the shortest launches of the last trial, seconds; 0: none */
    double sliced_s;
    unsigned trial;    /* launches in slices of this trial, but for those that show what slices use */
    double trial_s;    /* that all launches of it in slices have taken longer than whole ones */
    double cost_s;     /* likewise, those of the last trial that did not pay */
    double lost_s;     /* and of all such trials */
    double whole_total_s; /* what whole launches have taken, but for the first */
    double alone_s;       /* what whole launches have taken while no kernel's slices left arrays in parts */
    uint64_t alone;       /* and how many there were */
    bool promises;        /* slices were faster in an earlier run */
    od_balance *balance;  /* of all kernels, or NULL: each is looked at by itself */
    uint64_t losses;      /* the balance's, when the last trial began */
    uint64_t compared, compare_at; /* launches that have shown slices to do the same; sliced ones before the next */
    unsigned pause, wait;          /* launches that are whole before the next trial; how many are left */
    unsigned others_pause;         /* likewise, where slices were faster, but others slower */
    od_whole why;                  /* there is a pause */
    unsigned copies_pause, copies_wait; /* of a GPU's kernel likewise, where there was no memory for copies */
} od_slicing;

/* The launch was whole, has been watched to its end, and has taken so long; 0: others would not have. */
void od_slicing_note_whole(od_slicing *s, double seconds);
/* The launch has failed, and the program runs the region's host version. */
void od_slicing_note_host(od_slicing *s);
/* It was in slices, and has taken so long. `learns`: it was to show what slices use, and others take another time. */
void od_slicing_note_sliced(od_slicing *s, unsigned slices, double seconds, bool learns);
/* Of a GPU's kernel: whether a launch in slices is to be compared with a whole one, which is so for the first one and
 * then after 1, 2, 4, ... others; it has been, and slices do the same. */
bool od_slicing_should_compare(const od_slicing *s);
void od_slicing_note_compared(od_slicing *s, unsigned slices);
/* Whether slices of a launch have shown anything new of what they use. */
void od_slicing_note_surprises(od_slicing *s, bool any);
/* What its slices use has been known for some launches, more of them where that has been wrong before. */
bool od_slicing_is_steady(const od_slicing *s);
/* One of these slices has touched this. True: that it does was not known. */
bool od_slicing_note_touched(od_slicing *s, unsigned slice, const od_touched *touched);
/* The next launch is to be in so many slices. False: out of memory. */
bool od_slicing_plan(od_slicing *s, unsigned arguments, unsigned slices);
/* A launch of so many iterations has shown the footprint, one slice after the other: slices are made to begin where the
 * pages do that they write, once. Their footprint is unknown then, and the next launch is to show it. */
void od_slicing_align(od_slicing *s, uint64_t trip_count);
od_slices_verdict od_slicing_verdict(const od_slicing *s);
/* An earlier run has come to this one. Before the first launch. */
void od_slicing_recall(od_slicing *s, od_slices_verdict verdict);
/* Its code is there no more. */
void od_slicing_destroy(od_slicing *s); /* may be NULL */
/* It asks for numbers of teams or threads. */
bool od_slicing_has_numbers(const od_slicing *s);
/* Whether the next launch should be in slices, as far as the kernel's code is concerned, and what trials have shown
 * where it is to pay (`try`). OD_WHOLE_NOT: it should. */
od_whole od_slicing_decide(od_slicing *s, bool try);

#endif
