/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Command lines, see command.h. */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "bench/common/command.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPTIONS = 16, MAX_NAME = 64, HELP = 0 };

static const bench_option help_option = {.name = "help", .help = "print this text"};

void bench_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(BENCH_EXIT_USAGE);
}

uint64_t bench_number(const char *what, const char *text, uint64_t low, uint64_t high)
{
    char *end = NULL;
    errno = 0;
    const uint64_t value = strtoull(text, &end, 10);
    /* strtoull takes signs and blanks; a count has neither. */
    const bool is_number = text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
    if (!is_number || value < low || value > high) {
        bench_fail("%s must be a whole number from %" PRIu64 " to %" PRIu64 ", not '%s'", what, low, high, text);
    }
    return value;
}

/* --- what options store --------------------------------------------------- */

void bench_take_yes(const bench_option *option, char *text)
{
    (void)text;
    *(bool *)option->value = true;
}

void bench_take_no(const bench_option *option, char *text)
{
    (void)text;
    *(bool *)option->value = false;
}

void bench_take_text(const bench_option *option, char *text)
{
    *(char **)option->value = text;
}

void bench_take_number(const bench_option *option, char *text)
{
    char what[MAX_NAME];
    snprintf(what, sizeof what, "--%s", option->name);
    *(uint64_t *)option->value = bench_number(what, text, option->low, option->high);
}

static _Noreturn void fail_choice(const bench_option *option, const char *text)
{
    char choices[4 * MAX_NAME] = "";
    for (size_t i = 0; option->names[i] != NULL; i++) {
        const char *between = i == 0 ? "" : option->names[i + 1] == NULL ? " or " : ", ";
        const size_t length = strlen(choices);
        snprintf(choices + length, sizeof choices - length, "%s%s", between, option->names[i]);
    }
    bench_fail("--%s must be %s, not '%s'", option->name, choices, text);
}

void bench_take_choice(const bench_option *option, char *text)
{
    for (unsigned i = 0; option->names[i] != NULL; i++) {
        if (strcmp(text, option->names[i]) == 0) {
            *(unsigned *)option->value = i;
            return;
        }
    }
    fail_choice(option, text);
}

/* --- the command line ------------------------------------------------------ */

/* "--name ARGUMENT", and how long that is. */
static int written(const bench_option *option, char text[MAX_NAME])
{
    const bool bare = option->argument == NULL;
    return snprintf(text, MAX_NAME, "--%s%s%s", option->name, bare ? "" : " ", bare ? "" : option->argument);
}

/* Further lines of the help begin below the first one. */
static void print_option(const bench_option *option, int width)
{
    char text[MAX_NAME];
    written(option, text);
    printf("  %-*s  ", width, text);
    for (const char *c = option->help; *c != '\0'; c++) {
        putchar(*c);
        if (*c == '\n') {
            printf("%*s", width + 4, "");
        }
    }
    if (option->take == bench_take_number) {
        printf(" (default %" PRIu64 ")", option->standard);
    }
    putchar('\n');
}

static void print_help(const bench_command *command)
{
    char text[MAX_NAME];
    int width = written(&help_option, text);
    for (const bench_option *option = command->options; option->name != NULL; option++) {
        const int length = written(option, text);
        width = length > width ? length : width;
    }
    printf("%s\n", command->usage);
    for (const bench_option *option = command->options; option->name != NULL; option++) {
        print_option(option, width);
    }
    print_option(&help_option, width);
    printf("\n%s", command->notes);
}

static void store_standards(const bench_option *options)
{
    for (const bench_option *option = options; option->name != NULL; option++) {
        if (option->take == bench_take_number) {
            *(uint64_t *)option->value = option->standard;
        }
    }
}

/* As getopt_long() knows them: `val` is 1 and their place in the table, of --help HELP. */
static void list_options(const bench_command *command, struct option list[MAX_OPTIONS])
{
    int count = 0;
    for (const bench_option *option = command->options; option->name != NULL; option++) {
        if (count == MAX_OPTIONS - 2) { /* --help, and the end */
            bench_fail("too many options");
        }
        list[count] = (struct option){
            .name = option->name, .has_arg = option->argument ? required_argument : no_argument, .val = count + 1};
        count++;
    }
    list[count++] = (struct option){.name = help_option.name, .val = HELP};
    list[count] = (struct option){.name = NULL};
}

int bench_parse(int argc, char **argv, const bench_command *command)
{
    struct option list[MAX_OPTIONS];
    list_options(command, list);
    store_standards(command->options);
    for (int found; (found = getopt_long(argc, argv, "", list, NULL)) != -1;) {
        if (found == HELP) {
            print_help(command);
            exit(EXIT_SUCCESS);
        }
        if (found == '?') { /* getopt has said what is wrong */
            exit(BENCH_EXIT_USAGE);
        }
        const bench_option *option = &command->options[found - 1];
        option->take(option, optarg);
    }
    const int count = argc - optind;
    if (count < command->least || count > command->most) {
        bench_fail("expected %s, but found %d (see --help)", command->expected, count);
    }
    return count;
}
