/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Numbers in files look alike whatever locale the program has set: its decimal comma would make them unreadable to
 * others. Between the two calls the thread formats and reads numbers as in the locale "C".
 */
#ifndef OD_UTIL_FILE_PLAIN_NUMBERS_H
#define OD_UTIL_FILE_PLAIN_NUMBERS_H

#include <locale.h>

/* What to give back. The locale "C" as a whole is a constant of libc's: nothing is allocated. */
static inline locale_t od_plain_numbers_begin(void)
{
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

static inline void od_plain_numbers_end(locale_t programs)
{
    uselocale(programs);
}

#endif
