/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Text, byte by byte: an event of a trace should cost a fraction of a microsecond, which printf does not allow. Each
 * function writes at `at` and returns the end. */
#ifndef OD_TRACE_TEXT_H
#define OD_TRACE_TEXT_H

#include "util/file/plain_numbers.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static inline char *od_put(char *at, const char *text)
{
    size_t n = strlen(text);
    memcpy(at, text, n);
    return at + n;
}

static inline char *od_put_u64(char *at, uint64_t number)
{
    char digits[20];
    unsigned n = 0;
    do
        digits[n++] = (char)('0' + number % 10);
    while (number /= 10);
    while (n)
        *at++ = digits[--n];
    return at;
}

/* "0x1f00", in quotes: no reader of JSON loses bits of it. */
static inline char *od_put_address(char *at, uintptr_t address)
{
    char digits[16];
    unsigned n = 0;
    do
        digits[n++] = "0123456789abcdef"[address & 15];
    while (address >>= 4);
    at = od_put(at, "\"0x");
    while (n)
        *at++ = digits[--n];
    *at++ = '"';
    return at;
}

/* Nanoseconds as microseconds with three decimals. */
static inline char *od_put_us(char *at, uint64_t ns)
{
    unsigned rest = (unsigned)(ns % 1000);
    at = od_put_u64(at, ns / 1000);
    *at++ = '.';
    *at++ = (char)('0' + rest / 100);
    *at++ = (char)('0' + rest / 10 % 10);
    *at++ = (char)('0' + rest % 10);
    return at;
}

/* A finite number. */
static inline char *od_put_number(char *at, double number)
{
    if (number >= 0 && number < 1e15 && number == (double)(uint64_t)number)
        return od_put_u64(at, (uint64_t)number);
    locale_t programs = od_plain_numbers_begin();
    at += sprintf(at, "%.9g", number);
    od_plain_numbers_end(programs);
    return at;
}

/* At most `most` bytes of it, as a JSON string with its quotes: six times as many at worst. */
static inline char *od_put_string(char *at, const char *text, size_t most)
{
    *at++ = '"';
    for (; *text && most; text++, most--) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            *at++ = '\\';
        if (c < 0x20)
            at += sprintf(at, "\\u%04x", c);
        else
            *at++ = (char)c;
    }
    *at++ = '"';
    return at;
}

#endif
