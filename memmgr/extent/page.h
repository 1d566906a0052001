/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pages of host memory. */
#ifndef OD_MEMMGR_EXTENT_PAGE_H
#define OD_MEMMGR_EXTENT_PAGE_H

#include <stddef.h>
#include <stdint.h>

size_t od_window_page(void);
uintptr_t od_window_page_begin(uintptr_t address); /* of the page around it */
uintptr_t od_window_page_end(uintptr_t address);   /* of the pages that [.., address) touches */
/* Which page of an array an address in it is in, counted from the one in which the array begins. */
uint32_t od_page_of(uintptr_t base, uintptr_t address);
/* What the pages that the host range touches occupy. */
size_t od_window_span(uintptr_t base, size_t size);

#endif
