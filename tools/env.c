/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * `ompdarts env`: the option table with current values, as the markdown of docs/options.md, or for ompdarts(7).
 */
#include "sched/evict.h"
#include "sched/policy.h"
#include "tools/tools.h"
#include "util/options.h"

#include <stdio.h>
#include <string.h>

static const char usage[] = "Usage: ompdarts env [--markdown | --man]\n"
                            "\n"
                            "Lists the options: environment variable, current value, default, what is allowed.\n"
                            "\n"
                            "  --markdown  the table of docs/options.md, without current values\n"
                            "  --man       the same as a part of the manual page ompdarts(7)\n"
                            "  -h, --help  this text\n"
                            "\n"
                            "Exit status: 0; 2 when a variable has a value that is not allowed.\n";

static const char markdown_head[] =
    "# Options\n"
    "\n"
    "Made by `ompdarts env --markdown`; do not edit. Each option is an environment variable and a long option of\n"
    "`ompdarts run`. An empty variable counts as unset; `0` switches off what can be off. In sizes K, M, G and T are\n"
    "powers of ten, Ki, Mi, Gi and Ti powers of two; fractions (`1.5G`) and a trailing `B` are allowed. A value that "
    "is\n"
    "not allowed stops the program before it starts working.\n"
    "\n"
    "| variable | `ompdarts run` | type | default | unit | allowed | meaning |\n"
    "|---|---|---|---|---|---|---|\n";

/* A bar would end the cell. */
static void print_cell(const char *text)
{
    printf(" ");
    for (; *text; text++) {
        if (*text == '|')
            putchar('\\');
        putchar(*text);
    }
    printf(" |");
}

static void print_markdown(const od_option_spec *table, size_t count)
{
    fputs(markdown_head, stdout);
    for (size_t i = 0; i < count; i++) {
        const char *value = strcmp(table[i].type, "flag") == 0 ? "[=0\\|1]" : "";
        printf("| `%s` | `--%s%s` |", table[i].name, table[i].long_option, value);
        print_cell(table[i].type);
        printf(" `%s` |", table[i].default_value);
        print_cell(table[i].unit);
        print_cell(table[i].allowed);
        print_cell(table[i].help);
        printf("\n");
    }
}

/* In a manual page a backslash escapes, a hyphen is typographic, and a dot or an apostrophe begins a request. */
static void print_roff(const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text; text++)
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else
            putchar(*text);
}

static void print_man(const od_option_spec *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool is_flag = strcmp(table[i].type, "flag") == 0;
        fputs(".TP\n\\fB", stdout);
        print_roff(table[i].name);
        fputs("\\fR, \\fB\\-\\-", stdout);
        print_roff(table[i].long_option);
        fputs(is_flag ? "\\fR[=0|1]\n" : "\\fR=\\fIVALUE\\fR\n", stdout);
        print_roff(table[i].help);
        fputs("\n.br\nAllowed: ", stdout);
        print_roff(table[i].allowed);
        if (*table[i].unit) {
            fputs("; in ", stdout);
            print_roff(table[i].unit);
        }
        fputs(" (default ", stdout);
        print_roff(table[i].default_value);
        fputs(")\n", stdout);
    }
}

static void print_values(const od_option_spec *table, size_t count)
{
    printf("%-24s %-16s %-9s %-8s %s\n", "variable", "value", "default", "unit", "allowed");
    for (size_t i = 0; i < count; i++) {
        const char *value = od_environment(table[i].name);
        bool is_set = value && *value;
        printf("%-24s %-16s %-9s %-8s %s\n", table[i].name, is_set ? value : table[i].default_value,
               table[i].default_value, table[i].unit, table[i].allowed);
        printf("    %s\n", table[i].help);
    }
}

static int check_values(void)
{
    od_options options;
    od_policy_choice policy;
    char error[1024];

    if (od_options_parse(&options, od_policy_names(), od_evict_names(), error, sizeof error) == OD_OK &&
        od_policy_choose(options.sched, &policy, error, sizeof error) == OD_OK)
        return 0;
    fflush(stdout);
    od_tool_error("%s", error);
    return OD_EXIT_REFUSED;
}

int od_tool_env(int argc, char **argv)
{
    static const char *const known[] = {"--markdown", "--man", "--help", NULL};
    size_t count;
    const od_option_spec *table = od_option_table(&count);

    if (argc == 1) {
        print_values(table, count);
        return check_values();
    }
    if (argc == 2 && strcmp(argv[1], "--markdown") == 0) {
        print_markdown(table, count);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--man") == 0) {
        print_man(table, count);
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    od_tool_bad_argument(argv, known);
    return OD_EXIT_REFUSED;
}
