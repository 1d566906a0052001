/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * `ompdarts info`: what is there to work with. Nothing is changed, no program is run.
 */
#include "sched/evict.h"
#include "sched/policy.h"
#include "tools/info/machine.h"
#include "tools/tools.h"

#include "memmgr/options.h"
#include "util/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "Usage: ompdarts info [--policies | --rules | --svg [FILE]]\n"
    "\n"
    "Shows the library, its back-ends, the scheduling policies and eviction rules, the LLVM runtimes and devices\n"
    "found with their memory, the bandwidth of their links if earlier runs have measured it, the machine and\n"
    "its memory limits.\n"
    "\n"
    "  --policies    only the names of the policies, one per line\n"
    "  --rules       only the names of the eviction rules, one per line\n"
    "  --svg [FILE]  the machine, its devices and their links as a picture, in FILE or on standard output\n"
    "  -h, --help    this text\n"
    "\n"
    "Exit status: 0, also when something was not found; 1 when FILE could not be written; 2 when the command line was\n"
    "refused.\n";

static void print_names(const char *const *name)
{
    for (; *name; name++)
        puts(*name);
}

static void print_policy(const od_policy_ops *policy)
{
    printf("  %-12s %s\n", policy->name, policy->description);
    for (const od_policy_option *option = policy->options; option && option->name; option++)
        printf("    :%-9s  %s\n", option->name, option->help);
}

/* A back-end's module lies beside the library. */
static bool has_module(const char *library, const char *module)
{
    char path[2 * PATH_MAX];
    const char *slash = library ? strrchr(library, '/') : NULL;
    snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash - library) + 1 : 0, library ? library : "", module);
    return library && access(path, R_OK) == 0;
}

static void print_backends(const char *library)
{
    printf("back-ends (OMPDARTS_BACKEND)\n");
    printf("  %-12s %s\n", "auto", "cuda where all devices are NVIDIA's, else omptarget");
    for (const char *const *name = od_backend_names(); *name; name++) {
        const od_backend_type *type = od_backend_find(*name);
        printf("  %-12s %s", *name, type->description);
        if (type->module && !has_module(library, type->module))
            printf("; %s not found", type->module);
        printf("\n");
        if (type->usage)
            printf("    :%s\n", type->usage);
    }
}

static void print_policies(void)
{
    printf("policies (OMPDARTS_SCHED)\n");
    for (const char *const *name = od_policy_names(); *name; name++)
        print_policy(od_policy_find(*name));
    printf("  %-12s %s\n", "plugin:FILE", "the policy in a shared object of yours (docs/policies.md)");
    printf("  %-12s %s\n", "NAME:ahead=N", od_policy_ahead.help);
    printf("eviction rules (OMPDARTS_EVICT)\n");
    for (const char *const *name = od_evict_names(); *name; name++)
        printf("  %-12s %s\n", *name, od_evict_find(*name)->description);
}

/* `--svg`, `--svg FILE` or `--svg=FILE`; `*file` is NULL without one. */
static bool wants_picture(int argc, char **argv, const char **file)
{
    static const char option[] = "--svg";
    const size_t length = sizeof option - 1;
    if (argc < 2 || strncmp(argv[1], option, length) != 0)
        return false;
    bool joined = argv[1][length] == '=';
    *file = joined ? argv[1] + length + 1 : argv[2];
    return argc <= 3 - joined && (joined || !argv[1][length]);
}

/* In `file`, or on standard output (NULL). */
static int print_picture(const char *file)
{
    info_devices devices;
    bool failed = file && !freopen(file, "we", stdout);
    if (!failed) {
        info_find_devices(&devices);
        info_print_picture(&devices);
        failed = file && (fflush(stdout) || ferror(stdout));
    }
    if (failed)
        od_tool_error("info: %s: %s", file, strerror(errno));
    return failed ? OD_EXIT_FAILURE : 0;
}

int od_tool_info(int argc, char **argv)
{
    static const char *const known[] = {"--policies", "--rules", "--svg", "--help", NULL};
    char library[PATH_MAX];
    const char *picture;
    info_devices devices;

    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--policies") == 0) {
        print_names(od_policy_names());
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--rules") == 0) {
        print_names(od_evict_names());
        return 0;
    }
    if (wants_picture(argc, argv, &picture))
        return print_picture(picture);
    if (argc > 1) {
        od_tool_bad_argument(argv, known);
        return OD_EXIT_REFUSED;
    }
    printf("ompdarts %s\n", OMPDARTS_VERSION);
    bool found = od_tool_find_library(library, sizeof library);
    printf("  library      %s\n", found ? library : "not found");
    print_backends(found ? library : NULL);
    print_policies();
    info_find_devices(&devices);
    info_print_devices(&devices);
    info_print_links(&devices);
    info_print_topology();
    return 0;
}
