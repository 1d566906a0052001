/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Copies that a thread makes itself. See own_copies.h. */
#include "omp_ext/runtime/own_copies.h"

static _Thread_local struct {
    bool open;
    size_t bytes, most_bytes;
    od_own_copies copies;
} own __attribute__((tls_model("initial-exec")));

void od_own_copies_open(size_t most_bytes)
{
    if (!own.open || own.most_bytes < most_bytes)
        own.most_bytes = most_bytes;
    own.open = true;
}

void od_own_copies_close(void)
{
    own.open = false;
}

bool od_own_copies_add(const od_transfer_queues *queues, od_transfer *transfer)
{
    if (!own.open || own.copies.count == OD_OWN_COPIES || own.bytes + transfer->bytes > own.most_bytes ||
        !od_transfer_queues_may_lend(queues))
        return false;
    own.copies.transfer[own.copies.count++] = transfer;
    own.bytes += transfer->bytes;
    return true;
}

bool od_own_copies_are_left(void)
{
    return own.copies.count > 0;
}

od_own_copies od_own_copies_take(void)
{
    od_own_copies taken;
    taken.count = own.copies.count;
    for (unsigned i = 0; i < taken.count; i++)
        taken.transfer[i] = own.copies.transfer[i];
    od_own_copies_close();
    own.copies.count = 0;
    own.bytes = 0;
    return taken;
}

void od_own_copies_make(od_transfer_queues *queues, od_own_copies *copies)
{
    for (unsigned i = 0; i < copies->count; i++)
        copies->status[i] = od_transfer_make(queues, copies->transfer[i]);
}
