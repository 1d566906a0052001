/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* `ompdarts history`: what is remembered between runs (OMPDARTS_CACHE), to be looked at and forgotten. */
#include "tools/info/machine.h"
#include "tools/tools.h"
#include "util/file/history.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "Usage: ompdarts history [show | clear] [TEXT]\n"
    "\n"
    "Shows or clears what earlier runs on this machine have measured, and later ones use: links, kernel times,\n"
    "devices that are slow at a kernel, kernels that are better off in one piece than in slices (OMPDARTS_SLICE), and\n"
    "with which settings graphs of tasks took how long (OMPDARTS_SCHED=auto).\n"
    "TEXT: only those with it in their name.\n"
    "\n"
    "  -h, --help  this text\n"
    "\n"
    "Exit status: 0 success; 1 the file could not be changed; 2 the command line was refused.\n";

static const char *kind_of_device(const char *name)
{
    const char *machine = strstr(name, " machine ");
    int number = machine ? atoi(machine + strlen(" machine ")) : EM_NONE;
    return number == EM_X86_64 ? "host" : number == EM_CUDA ? "NVIDIA" : "-";
}

/* "main, line 12" of clang's "kernel __omp_offloading_<ids>_main_l12 on machine 62", "program+0x12" of "code
 * program+0x12 of <its date> on machine 62"; of a link what it connects. */
static void readable(const char *name, char *text, size_t size)
{
    int at = 0;
    const char *line = strrchr(name, '_'), *begin = strchr(name, ' ') ? strchr(name, ' ') + 1 : name, *end;
    if (sscanf(name, "kernel __omp_offloading_%*x_%*x_%n", &at) == 0 && at && line >= name + at && line[1] == 'l') {
        snprintf(text, size, "%.*s, line %d", (int)(line - name) - at, name + at, atoi(line + 2));
        return;
    }
    end = strstr(begin, " of ") ? strstr(begin, " of ") : strstr(begin, " on machine ");
    snprintf(text, size, "%.*s", end ? (int)(end - begin) : (int)strlen(begin), begin);
}

static void put_time(double seconds)
{
    static const char *const units[] = {"s", "ms", "us", "ns"};
    unsigned unit = 0;
    for (; seconds < 1 && unit < 3; unit++)
        seconds *= 1e3;
    printf(" %7.1f %-2s", seconds, units[unit]);
}

typedef enum kind { LINKS, KERNELS, SLOWNESS, SLICES, GRAPHS, KINDS } kind;

typedef struct listing {
    const char *text; /* to be in the names */
    kind kind;
    unsigned shown;
} listing;

static const char slowness_of[] = "slowness of ", slices_of[] = "slices of ", graph[] = "graph ";

static kind kind_of(const od_history_row *row)
{
    if (strncmp(row->name, "link ", 5) == 0)
        return LINKS;
    if (strncmp(row->name, graph, strlen(graph)) == 0)
        return GRAPHS;
    if (strncmp(row->name, slowness_of, strlen(slowness_of)) == 0)
        return SLOWNESS;
    return strncmp(row->name, slices_of, strlen(slices_of)) == 0 ? SLICES : KERNELS;
}

static void show_link(const od_history_row *row, const char *name)
{
    char rate[32];
    if (row->size) {
        printf(" %10s", info_rate(row->mean, rate));
    } else {
        put_time(row->mean);
    }
    printf("  %-8s %s%s\n", kind_of_device(row->name), name, row->size ? "" : ", latency");
}

static void show_code(const od_history_row *row, const char *name)
{
    char bytes[32];
    printf(" %8" PRIu64, row->count);
    put_time(row->mean);
    put_time(row->deviation);
    printf(" %11s  %-8s %s\n", info_bytes(row->size, bytes), kind_of_device(row->name), name);
}

/* And which device. */
static void show_slowness(const od_history_row *row, const char *name)
{
    const char *device = strstr(row->name, ": device ");
    printf(" %8.1f  %-8s %s%s\n", row->mean, kind_of_device(row->name), name, device ? device : "");
}

/* Why the kernel stays whole. */
static void show_slices(const od_history_row *row, const char *name)
{
    const char *why = strstr(row->name, ": it ");
    printf(" %8" PRIu64 "  %-8s %s%s\n", row->count, kind_of_device(row->name), name, why ? why : "");
}

/* "graph first 0123 of a.out 1700000000 on machine 62 with 4 devices of 256: SETTINGS": program, and settings. */
static void show_graph(const od_history_row *row, const char *name)
{
    const char *of = strstr(row->name, " of "), *settings = strstr(row->name, ": ");
    int length = of ? (int)strcspn(of + 4, " ") : 0;
    (void)name;
    printf(" %8" PRIu64, row->count);
    put_time(row->mean);
    printf(" %11" PRIu64 "  %-8s %.*s%s, %s\n", row->size, kind_of_device(row->name), length, of ? of + 4 : "",
           strncmp(row->name + strlen(graph), "first ", 6) == 0 ? ", once" : "", settings ? settings + 2 : "");
}

/* How many settings have been played: nothing to look at. */
static bool is_position(const od_history_row *row)
{
    const char *settings = strstr(row->name, ": ");
    return settings && strcmp(settings + 2, "played") == 0;
}

static void show_row(const od_history_row *row, void *arg)
{
    static const char *const titles[KINDS] = {
        [LINKS] = "last        measured  devices  link",
        [KERNELS] = "last           runs       mean  deviation        data  devices  code",
        [SLOWNESS] =
            "last          times  devices  code, and the device that takes so many times as long as the fastest",
        [SLICES] = "last       launches  devices  kernels that are not to run in slices",
        [GRAPHS] = "last           runs       time       tasks  devices  program, settings of auto"};
    static void (*const show_one[KINDS])(const od_history_row *, const char *) = {[LINKS] = show_link,
                                                                                  [KERNELS] = show_code,
                                                                                  [SLOWNESS] = show_slowness,
                                                                                  [SLICES] = show_slices,
                                                                                  [GRAPHS] = show_graph};
    listing *l = arg;
    char name[200], date[16];
    time_t when = (time_t)row->date;
    struct tm day;
    bool is_over = (kind_of(row) == SLICES && !row->count) || (kind_of(row) == GRAPHS && is_position(row));
    size_t before = kind_of(row) == SLICES ? strlen(slices_of) : kind_of(row) == SLOWNESS ? strlen(slowness_of) : 0;
    readable(row->name + before, name, sizeof name);
    if (l->kind != kind_of(row) || is_over || (!strstr(row->name, l->text) && !strstr(name, l->text)))
        return;
    if (!l->shown++)
        puts(titles[l->kind]);
    strftime(date, sizeof date, "%Y-%m-%d", localtime_r(&when, &day));
    printf("%-10s", date);
    show_one[l->kind](row, name);
}

static int show(const od_history *history, const char *path, const char *text)
{
    unsigned shown = 0;
    printf("%s\n", path);
    for (kind k = LINKS; k < KINDS; k++) {
        listing l = {.text = text, .kind = k};
        od_history_visit(history, show_row, &l);
        shown += l.shown;
    }
    if (!shown)
        printf("nothing%s%s\n", *text ? " with " : " yet", text);
    return 0;
}

static int forget(od_history *history, const char *text)
{
    size_t removed;
    if (od_history_remove(history, text, &removed))
        return OD_EXIT_FAILURE;
    printf("%zu measurements cleared\n", removed);
    return 0;
}

int od_tool_history(int argc, char **argv)
{
    static const char *const known[] = {"show", "clear", "--help", NULL};
    const char *act = argc > 1 ? argv[1] : "show", *text = argc > 2 ? argv[2] : "";
    char path[PATH_MAX];
    if (strcmp(act, "--help") == 0 || strcmp(act, "-h") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    bool clears = strcmp(act, "clear") == 0;
    if ((!clears && strcmp(act, "show") != 0) || argc > 3) {
        od_tool_unknown("argument", argc > 3 ? argv[3] : act, known);
        return OD_EXIT_REFUSED;
    }
    if (od_history_path(path, sizeof path)) {
        od_tool_error("history: no folder for measurements: XDG_CACHE_HOME and HOME are unset or not writable");
        return OD_EXIT_FAILURE;
    }
    od_history *history = od_history_open(path);
    int status = !history ? OD_EXIT_FAILURE : clears ? forget(history, text) : show(history, path, text);
    od_history_close(history);
    return status;
}
