/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See column.h. */
#include "tools/report/page/column.h"

void column_begin(column *c, FILE *out, bool differences)
{
    *c = (column){.out = out, .differences = differences};
    fputs(differences ? "\"~" : "\"", out);
}

static void put_digit(const column *c, uint32_t bits)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    fputc(digits[bits & 63], c->out);
}

static void put_byte(column *c, unsigned byte)
{
    c->bits = c->bits << 8 | byte;
    for (c->nbits += 8; c->nbits >= 6; c->nbits -= 6)
        put_digit(c, c->bits >> (c->nbits - 6));
}

static void put_number(column *c, uint64_t number)
{
    for (; number > 127; number >>= 7)
        put_byte(c, (number & 127) | 128);
    put_byte(c, (unsigned)number);
}

static void put_zeros(column *c)
{
    if (!c->zeros)
        return;
    put_number(c, 0);
    put_number(c, c->zeros - 1);
    c->zeros = 0;
}

void column_put(column *c, int64_t value)
{
    uint64_t number = (uint64_t)value - (c->differences ? (uint64_t)c->last : 0);
    c->last = value;
    if (!number) {
        c->zeros++;
        return;
    }
    put_zeros(c);
    put_number(c, number << 1 ^ (number >> 63 ? UINT64_MAX : 0));
}

void column_end(column *c)
{
    put_zeros(c);
    unsigned filled = c->nbits;
    if (filled)
        put_digit(c, c->bits << (6 - filled));
    fputs(filled == 4 ? "=\"" : filled == 2 ? "==\"" : "\"", c->out);
}
