/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sets of places as text. */
#include "memmgr/data/placeset.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *od_placeset_write(od_placeset set, char text[OD_PLACESET_TEXT])
{
    unsigned w = OD_PLACE_WORDS - 1;
    while (w > 0 && !set.word[w])
        w--;
    int length = snprintf(text, OD_PLACESET_TEXT, "%" PRIx64, set.word[w]);
    while (w-- > 0)
        length += snprintf(text + length, OD_PLACESET_TEXT - (size_t)length, "%016" PRIx64, set.word[w]);
    return text;
}

static int digit_of(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

bool od_placeset_read(const char *text, od_placeset *set)
{
    size_t length = strlen(text);
    *set = OD_NO_PLACES;
    if (length == 0 || length >= OD_PLACESET_TEXT)
        return false;
    for (size_t i = 0; i < length; i++) {
        int digit = digit_of(text[length - 1 - i]);
        if (digit < 0)
            return false;
        set->word[i / 16] |= (uint64_t)digit << 4 * (i % 16);
    }
    return true;
}
