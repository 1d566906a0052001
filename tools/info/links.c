/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The links as earlier runs have measured them (omp_ext/services/profile.c names the rows). This command runs nothing
 * on the devices.
 */
#include "tools/info/machine.h"
#include "util/file/history.h"

#include <elf.h>
#include <stdio.h>

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
    if (from == host || to == host)
        snprintf(link, sizeof link, "cuda between host and %u", from == host ? to : from);
    else
        snprintf(link, sizeof link, "cuda from %u to %u", from, to);
    double rate = kind == INFO_GPUS ? find_rate(history, kind, link) : 0;
    return rate > 0
               ? rate
               : find_rate(history, kind, from == host || to == host ? "between host and device" : "between devices");
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

void info_print_links(const info_devices *devices)
{
    info_links hosts, gpus;
    info_find_links(INFO_HOST_DEVICES, devices->host_devices, &hosts);
    info_find_links(INFO_GPUS, devices->gpus, &gpus);
    if (hosts.devices)
        print_matrix("host devices", &hosts);
    if (gpus.devices)
        print_matrix("NVIDIA devices", &gpus);
    if (!hosts.devices && !gpus.devices)
        printf(
            "links\n  not measured yet: the first program that runs under ompdarts measures them (OMPDARTS_CACHE)\n");
}
