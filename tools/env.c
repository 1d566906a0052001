/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * `ompdarts env`: the option table with current values, as the markdown of docs/options.md, or for ompdarts(7).
 */
#include "omp_ext/options.h"
#include "tools/tools.h"

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

static void print_markdown(void)
{
    const od_option_spec *row;

    fputs(markdown_head, stdout);
    for (size_t i = 0; (row = od_option_row(od_all_options, i)); i++) {
        const char *value = strcmp(row->type, "flag") == 0 ? "[=0\\|1]" : "";
        printf("| `%s` | `--%s%s` |", row->name, row->long_option, value);
        print_cell(row->type);
        printf(" `%s` |", row->default_value);
        print_cell(row->unit);
        print_cell(row->allowed);
        print_cell(row->help);
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

static void print_man(void)
{
    const od_option_spec *row;

    for (size_t i = 0; (row = od_option_row(od_all_options, i)); i++) {
        bool is_flag = strcmp(row->type, "flag") == 0;
        fputs(".TP\n\\fB", stdout);
        print_roff(row->name);
        fputs("\\fR, \\fB\\-\\-", stdout);
        print_roff(row->long_option);
        fputs(is_flag ? "\\fR[=0|1]\n" : "\\fR=\\fIVALUE\\fR\n", stdout);
        print_roff(row->help);
        fputs("\n.br\nAllowed: ", stdout);
        print_roff(row->allowed);
        if (*row->unit) {
            fputs("; in ", stdout);
            print_roff(row->unit);
        }
        fputs(" (default ", stdout);
        print_roff(row->default_value);
        fputs(")\n", stdout);
    }
}

static void print_values(void)
{
    const od_option_spec *row;

    printf("%-24s %-16s %-9s %-8s %s\n", "variable", "value", "default", "unit", "allowed");
    for (size_t i = 0; (row = od_option_row(od_all_options, i)); i++) {
        const char *value = od_environment(row->name);
        bool is_set = value && *value;
        printf("%-24s %-16s %-9s %-8s %s\n", row->name, is_set ? value : row->default_value,
               row->default_value, row->unit, row->allowed);
        printf("    %s\n", row->help);
    }
}

int od_tool_env(int argc, char **argv)
{
    static const char *const known[] = {"--markdown", "--man", "--help", NULL};

    if (argc == 1) {
        print_values();
        fflush(stdout);
        return od_tool_accept_options(NULL) ? 0 : OD_EXIT_REFUSED;
    }
    if (argc == 2 && strcmp(argv[1], "--markdown") == 0) {
        print_markdown();
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--man") == 0) {
        print_man();
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    od_tool_bad_argument(argv, known);
    return OD_EXIT_REFUSED;
}
