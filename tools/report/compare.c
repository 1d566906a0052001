/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See compare.h. */
#include "tools/report/compare.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS = 6, LONGEST_NAME = 60 };

static const struct {
    const char *title;
    int digits;
} columns[COLUMNS] = {{"time s", 3}, {"MB loaded", 1}, {"MB out", 1}, {"loads", 0}, {"reloads", 0}, {"evictions", 0}};

static void sum_up(const report_run *r, double values[COLUMNS])
{
    memset(values, 0, COLUMNS * sizeof *values);
    values[0] = r->figures.makespan_us * 1e-6;
    for (unsigned k = 0; k < r->trace.ndevices; k++) {
        const run_device *d = &r->figures.device[k];
        values[1] += (double)(d->in_bytes + d->peer_bytes) * 1e-6;
        values[2] += (double)d->out_bytes * 1e-6;
        values[3] += (double)d->loads;
        values[4] += (double)d->reloads;
        values[5] += (double)d->evictions;
    }
}

static void print_change(double own, double first)
{
    char text[32] = "";
    if (own != first && first > 0)
        snprintf(text, sizeof text, "%+.0f%%", 100 * (own / first - 1));
    printf(" %6s", text);
}

static int widest_name(const report_run *runs, size_t n)
{
    size_t widest = 0;
    for (size_t i = 0; i < n; i++)
        widest = strlen(runs[i].trace.path) > widest ? strlen(runs[i].trace.path) : widest;
    return (int)(widest < LONGEST_NAME ? widest : LONGEST_NAME);
}

/* Of a long path the end. */
static const char *name_of(const report_run *r)
{
    size_t length = strlen(r->trace.path);
    return r->trace.path + (length > LONGEST_NAME ? length - LONGEST_NAME : 0);
}

static bool is_same_work(const report_run *a, const report_run *b)
{
    return strcmp(a->trace.program, b->trace.program) == 0 && a->figures.tasks == b->figures.tasks;
}

static void print_winner(const report_run *runs, size_t n, size_t fastest, size_t slowest)
{
    double best = runs[fastest].figures.makespan_us, worst = runs[slowest].figures.makespan_us;
    bool same = true;
    for (size_t i = 1; i < n; i++)
        same &= is_same_work(&runs[0], &runs[i]);
    if (!same)
        printf("- these are not runs of the same work: programs or numbers of tasks differ\n");
    else if (best > 0 && best < worst)
        printf("- %s is the fastest: %.2f times as fast as %s\n", name_of(&runs[fastest]), worst / best,
               name_of(&runs[slowest]));
}

void report_compare(const report_run *runs, size_t n)
{
    double first[COLUMNS], values[COLUMNS];
    size_t fastest = 0, slowest = 0;
    int width = widest_name(runs, n);

    for (size_t i = 1; i < n; i++) {
        fastest = runs[i].figures.makespan_us < runs[fastest].figures.makespan_us ? i : fastest;
        slowest = runs[i].figures.makespan_us > runs[slowest].figures.makespan_us ? i : slowest;
    }
    printf("%-*s", width + 2, "comparison");
    for (unsigned c = 0; c < COLUMNS; c++)
        printf(" %9s %6s", columns[c].title, "change");
    putchar('\n');
    sum_up(&runs[0], first);
    for (size_t i = 0; i < n; i++) {
        sum_up(&runs[i], values);
        printf("%c %-*s", i == fastest ? '*' : ' ', width, name_of(&runs[i]));
        for (unsigned c = 0; c < COLUMNS; c++) {
            printf(" %9.*f", columns[c].digits, values[c]);
            print_change(values[c], first[c]);
        }
        putchar('\n');
    }
    print_winner(runs, n, fastest, slowest);
}
