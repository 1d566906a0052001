/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The links as earlier runs have measured them (omp_ext/services/machine/links.c names the rows). This command runs
 * nothing on the devices.
 */
#include "tools/info/machine.h"

#include "memmgr/device/measured.h"
#include "util/file/history.h"
#include "util/memory.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

static double find_rate(const od_history *history, info_kind kind, const char *link)
{
    enum { BANDWIDTH = 1 }; /* row 0 is the latency */
    char name[96];
    snprintf(name, sizeof name, "link %s of machine %d", link, kind == INFO_GPUS ? EM_CUDA : EM_X86_64);
    const od_history_row *row = od_history_find(history, name, BANDWIDTH);
    return row ? row->mean : 0;
}

/* Measured pair by pair by the CUDA back-end, once for all by the other. */
static double rate_between(const od_history *history, info_kind kind, unsigned from, unsigned to, unsigned host)
{
    char link[64];
    if (from == host)
        snprintf(link, sizeof link, "cuda between host and %u", to);
    else if (to == host)
        snprintf(link, sizeof link, "cuda from %u to host", from);
    else
        snprintf(link, sizeof link, "cuda from %u to %u", from, to);
    double rate = kind == INFO_GPUS ? find_rate(history, kind, link) : 0;
    return rate > 0
               ? rate
               : find_rate(history, kind, from == host || to == host ? "between host and device" : "between devices");
}

static double rate_at_once(const od_history *history, info_kind kind, unsigned a, unsigned b)
{
    char link[64];
    if (kind == INFO_HOST_DEVICES)
        return find_rate(history, kind, a == b ? "at once host and device both ways" : "at once host to two devices");
    if (a == b)
        snprintf(link, sizeof link, "cuda at once host and %u both ways", a);
    else
        snprintf(link, sizeof link, "cuda at once host to %u and %u", a < b ? a : b, a < b ? b : a);
    return find_rate(history, kind, link);
}

void info_find_links(info_kind kind, int devices, info_links *found)
{
    char path[PATH_MAX];
    od_history *history = od_history_path(path, sizeof path) ? NULL : od_history_open(path);
    unsigned n = devices < INFO_MOST_GPUS ? (unsigned)devices : INFO_MOST_GPUS;
    *found = (info_links){0};
    for (unsigned from = 0; history && devices > 0 && from <= n; from++)
        for (unsigned to = 0; to <= n; to++) {
            found->rate[from][to] = from == to ? 0 : rate_between(history, kind, from, to, n);
            if (found->rate[from][to] > 0)
                found->devices = n;
            if (from < n && to < n)
                found->at_once[from][to] = rate_at_once(history, kind, from, to);
        }
    od_history_close(history);
}

const char *info_rate(double rate, char text[32])
{
    snprintf(text, 32, rate < 1e9 ? "%.0f MB/s" : "%.1f GB/s", rate < 1e9 ? rate * 1e-6 : rate * 1e-9);
    return text;
}

static void print_name(unsigned k, unsigned host, bool left)
{
    if (k == host)
        printf(left ? "  %-10s" : "%10s", "host");
    else
        printf(left ? "  %-10u" : "%10u", k);
}

static void print_matrix(const char *devices, const info_links *links)
{
    unsigned n = links->devices;
    char text[32];
    printf("links of %s, as measured by an earlier run (from row to column)\n  %-10s", devices, "");
    for (unsigned to = 0; to <= n; to++)
        print_name((to + n) % (n + 1), n, false); /* the host first */
    printf("\n");
    for (unsigned row = 0; row <= n; row++) {
        unsigned from = (row + n) % (n + 1);
        print_name(from, n, true);
        for (unsigned column = 0; column <= n; column++) {
            double rate = links->rate[from][(column + n) % (n + 1)];
            printf("%10s", rate > 0 ? info_rate(rate, text) : "-");
        }
        printf("\n");
    }
}

/* Two links reach about 1, two ways over one link about half. */
static void print_at_once(const info_links *links)
{
    unsigned n = links->devices;
    if (links->at_once[0][0] <= 0)
        return;
    printf("  two at once, as a part of what both reach alone: loads from the host; on the diagonal load and store\n"
           "  %-10s",
           "");
    for (unsigned to = 0; to < n; to++)
        print_name(to, n, false);
    printf("\n");
    for (unsigned a = 0; a < n; a++) {
        print_name(a, n, true);
        for (unsigned b = 0; b < n; b++) {
            double alone = links->rate[n][a] + (a == b ? links->rate[a][n] : links->rate[n][b]);
            if (links->at_once[a][b] > 0 && alone > 0)
                printf("%10.2f", links->at_once[a][b] / alone);
            else
                printf("%10s", "-");
        }
        printf("\n");
    }
}

static const char *place(unsigned k, unsigned host, char text[16])
{
    snprintf(text, 16, k == host ? "the host" : "device %u", k);
    return text;
}

/* True: some are. */
static bool say_odd(const info_links *links, od_rates *rates)
{
    unsigned n = links->devices;
    char text[32], source[16], target[16];
    bool any = false;
    rates->ndevices = n;
    for (unsigned from = 0; from <= n; from++)
        for (unsigned to = 0; to <= n; to++)
            rates->alone[from][to].bandwidth = links->rate[from][to];
    for (unsigned from = 0; from <= n; from++)
        for (unsigned to = 0; to <= n; to++)
            if (od_rates_are_odd(rates, from, to)) {
                any = true;
                printf("  from %s to %s: %s, over 10 times slower than others of its kind\n",
                       place(from, n, source), place(to, n, target), info_rate(links->rate[from][to], text));
            }
    return any;
}

static void print_odd(const info_links *links)
{
    od_rates *rates = od_calloc(1, sizeof *rates);
    if (rates && say_odd(links, rates))
        printf("  if something disturbed the measurement, `ompdarts history clear link` has it done again\n");
    free(rates);
}

static void print_links(const char *devices, const info_links *links)
{
    if (!links->devices)
        return;
    print_matrix(devices, links);
    print_at_once(links);
    print_odd(links);
}

void info_print_links(const info_devices *devices)
{
    info_links hosts, gpus;
    info_find_links(INFO_HOST_DEVICES, devices->host_devices, &hosts);
    info_find_links(INFO_GPUS, devices->gpus, &gpus);
    print_links("host devices", &hosts);
    print_links("NVIDIA devices", &gpus);
    if (!hosts.devices && !gpus.devices)
        printf(
            "links\n  not measured yet: the first program that runs under ompdarts measures them (OMPDARTS_CACHE)\n");
}
