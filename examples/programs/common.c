/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The example programs' common part, see common.h. */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "common.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void example_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, args);
    fputs(" (see --help)\n", stderr);
    va_end(args);
    exit(EXAMPLE_EXIT_USAGE);
}

static void print_help(const char *summary, const example_option *options)
{
    printf("Usage: %s [--OPTION VALUE]...\n%s\n\n", program_invocation_short_name, summary);
    for (const example_option *option = options; option->name != NULL; option++) {
        printf("  --%-10s %s (", option->name, option->help);
        if (option->words == NULL) {
            printf("%zu)\n", *option->value);
            continue;
        }
        for (size_t i = 0; option->words[i] != NULL; i++) {
            printf("%s%s%s", i > 0 ? " | " : "", option->words[i], i == *option->value ? "*" : "");
        }
        printf(")\n");
    }
    printf("\nIn brackets: the default (*). Exit code: 0 right, 1 wrong result, 2 bad command line.\n");
}

static size_t parse_number(const example_option *option, const char *text)
{
    char *end = NULL;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    /* strtoull takes signs and blanks; a count has neither. */
    const bool is_number = text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
    if (!is_number || value < option->low || value > option->high) {
        example_fail("--%s must be a whole number from %zu to %zu, not '%s'", option->name, option->low, option->high,
                     text);
    }
    return (size_t)value;
}

static size_t parse_word(const example_option *option, const char *text)
{
    for (size_t i = 0; option->words[i] != NULL; i++) {
        if (strcmp(text, option->words[i]) == 0) {
            return i;
        }
    }
    example_fail("--%s: unknown word '%s'", option->name, text);
}

static const example_option *find_option(const example_option *options, const char *text)
{
    for (const example_option *option = options; option->name != NULL; option++) {
        if (strncmp(text, "--", 2) == 0 && strcmp(text + 2, option->name) == 0) {
            return option;
        }
    }
    example_fail("unknown option '%s'", text);
}

void example_parse(int argc, char **argv, const char *summary, const example_option *options)
{
    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], "--help") == 0) {
            print_help(summary, options);
            exit(EXIT_SUCCESS);
        }
        const example_option *option = find_option(options, argv[i]);
        if (i + 1 == argc) {
            example_fail("--%s needs a value", option->name);
        }
        *option->value = option->words == NULL ? parse_number(option, argv[i + 1]) : parse_word(option, argv[i + 1]);
    }
}

double *example_doubles(size_t count)
{
    const size_t alignment = 64;
    double *memory = NULL;
    if (count < SIZE_MAX / sizeof *memory - alignment) {
        memory = aligned_alloc(alignment, (count * sizeof *memory + alignment - 1) / alignment * alignment);
    }
    if (memory == NULL) {
        example_fail("no memory for %.1f MB", (double)count * sizeof *memory / 1e6);
    }
    for (size_t i = 0; i < count; i++) {
        memory[i] = 0.0;
    }
    return memory;
}

/* SplitMix64 (Steele, Lea, Flood 2014). */
double example_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* 64-bit FNV-1a. */
static uint64_t checksum(const double *data, size_t count)
{
    const unsigned char *bytes = (const unsigned char *)data;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < count * sizeof *data; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

int example_verdict(const double *result, size_t count, double error, double allowed)
{
    const bool right = error <= allowed; /* false for a NaN */
    printf("checksum %016" PRIx64 "\n", checksum(result, count));
    printf("error %.3g, allowed %.3g: %s\n", error, allowed, right ? "right" : "WRONG");
    return right ? EXIT_SUCCESS : EXAMPLE_EXIT_WRONG;
}
