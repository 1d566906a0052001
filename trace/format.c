/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What all formats need: times, tracks, lanes. */
#include "trace/format.h"

#include "memmgr/data/transfer.h"

uint64_t od_trace_time(const od_trace_run *run, uint64_t ns)
{
    return ns > run->start_ns ? ns - run->start_ns : 0;
}

const char *od_track_name(od_track track)
{
    static const char *const names[OD_TRACKS] = {"tasks", "in", "out", "peer in", "stalls", "faults", "evictions",
                                                   "decisions", "constructs"};
    return names[track];
}

od_track od_track_of(const od_transfer *x)
{
    return x->to >= OD_SPILL ? OD_STORES : x->from >= OD_SPILL ? OD_LOADS : OD_PEER;
}

int od_track_place(const od_transfer *x)
{
    return x->to < OD_SPILL ? x->to : x->from;
}

const char *od_transfer_name(const od_transfer *x)
{
    static const char *const kinds[] = {"load", "write back", "evict", "update"};
    return kinds[x->kind];
}

unsigned od_lane_take(od_lanes *lanes, uint64_t *from_ns, uint64_t *to_ns)
{
    unsigned lane = 0;
    if (*to_ns < *from_ns)
        *to_ns = *from_ns;
    while (lane < OD_LANES - 1 && lanes->end[lane] > *from_ns)
        lane++;
    if (lanes->end[lane] > *from_ns)
        *from_ns = lanes->end[lane] < *to_ns ? lanes->end[lane] : *to_ns;
    /* What takes no time is alone at its moment: viewers would draw it inside of what begins then. */
    uint64_t end = *to_ns > *from_ns ? *to_ns : *from_ns + 1;
    if (end > lanes->end[lane])
        lanes->end[lane] = end;
    return lane;
}
