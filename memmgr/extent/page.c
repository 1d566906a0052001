/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See page.h. */
#define _DEFAULT_SOURCE
#include "memmgr/extent/page.h"

#include <unistd.h>

size_t od_window_page(void)
{
    static size_t page; /* the same whoever asks first */
    if (!page)
        page = (size_t)sysconf(_SC_PAGESIZE);
    return page;
}

uintptr_t od_window_page_begin(uintptr_t address)
{
    return address & ~(uintptr_t)(od_window_page() - 1);
}

uintptr_t od_window_page_end(uintptr_t address)
{
    return od_window_page_begin(address + od_window_page() - 1);
}

size_t od_window_span(uintptr_t base, size_t size)
{
    return od_window_page_end(base + size) - od_window_page_begin(base);
}

uint32_t od_page_of(uintptr_t base, uintptr_t address)
{
    return (uint32_t)((address - od_window_page_begin(base)) / od_window_page());
}
