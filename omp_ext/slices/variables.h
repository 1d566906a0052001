/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Variables that are private to a target region and shared by its teams: constants, parameters in arrays and structs.
 *
 * They lie in the stack frame of the region's function, of which each slice has one. Teams may write to them, by atomic
 * operations. So all slices use one copy of the frame's variables, that of the slice that begins its league first:
 * values at that point are the same in all, as all have the launch's arguments, but for pointers to its data, which
 * each slice has on its device. What a copy cannot be is an object that points to itself, and one that is changed by
 * teams cannot be destroyed by its slice: kernels whose frame holds its own addresses, or whose variables teams change
 * while they are watched, stay whole.
 */
#ifndef OD_OMP_EXT_VARIABLES_H
#define OD_OMP_EXT_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

/* Of one launch in slices, or of one league that is watched; {0} at first. */
typedef struct od_variables {
    bool known;           /* the others are */
    void *memory;         /* of the copy; malloc'ed; NULL: there are no variables, or they cannot be copied */
    unsigned char *frame; /* what it is a copy of, from the lowest variable to the frame's end */
    unsigned char *copy;  /* in `memory`, as aligned as `frame` */
    size_t bytes;
    size_t arguments;
    size_t *offset; /* of each argument's variable in the copy; OD_NO_VARIABLE: it is none. malloc'ed */
} od_variables;

#define OD_NO_VARIABLE ((size_t)-1)

/* A thread that runs a kernel is about to begin its league, with these arguments for all teams; those that are shared
 * variables become those of the copy. The code that begins it goes on at `from`. */
void od_variables_share(od_variables *own, void **args, size_t count, const void *from);
/* The league that began with `own` has ended. */
void od_variables_give_back(od_variables *own);
void od_variables_free(od_variables *v);

#endif
