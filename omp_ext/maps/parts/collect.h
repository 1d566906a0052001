/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The parts of an array that a task uses, as they are found; what is said of them; and when there may be any. */
#ifndef OD_OMP_EXT_COLLECT_H
#define OD_OMP_EXT_COLLECT_H

#include "omp_ext/maps/args.h"
#include "omp_ext/runtime/work.h"

typedef struct od_part {
    uintptr_t base; /* host range */
    size_t size;
    od_mode mode;
    od_pieces *pieces; /* of which it consists, or NULL; malloc'ed */
} od_part;

typedef struct od_parts {
    od_part *at; /* malloc'ed */
    uint32_t count, capacity;
} od_parts;

/* What a slice of a kernel is taken to use of arrays; page faults correct it. */
typedef struct od_parts_slice {
    unsigned index, count;
    const struct od_footprint *footprint; /* omp_ext/slices/footprint.h */
    bool learns; /* it gets all of them */
} od_parts_slice;

/* What a task says. */
typedef struct od_parts_named {
    const od_depend *depends;
    int32_t count;
    od_launch *launch;
    const void *user; /* the thread, where that is alone in its team and waits for the kernel; else NULL */
    bool all; /* what depend items name beside a section that is mapped, too; else page faults bring it */
    bool at_once; /* parts are joined beside tasks that have not begun */
    int32_t argument;
    const od_parts_slice *slice; /* nothing but this; NULL: it is no slice */
} od_parts_named;

/* Nothing but a plain argument: moves of sections, and pointers inside of the array, are for data in one piece. */
bool od_parts_are_possible(const od_map_args *args, const od_region *region);
/* The argument is all of its region. */
bool od_parts_are_of_all(const od_reference *reference);
bool od_parts_lie_in(const od_region *region, const od_depend *item);

od_status od_parts_add(od_parts *parts, uintptr_t base, size_t size, od_mode mode);
/* In pieces, where there are several spans. */
od_status od_parts_add_spans(od_parts *parts, const od_span *spans, uint32_t count, od_mode mode);
/* What the datum is. */
od_status od_parts_add_known(od_parts *parts, const od_datum *datum, od_mode mode);
od_shape od_part_shape(const od_part *part);
/* Bytes of a device's memory, in the window that it is to lie in. */
size_t od_part_occupies(const od_part *part, const od_window *window);
void od_parts_free(od_parts *parts);

#endif
