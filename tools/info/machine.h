/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What `ompdarts info` finds on this machine, and shows as text or as a picture. */
#ifndef OD_TOOLS_INFO_MACHINE_H
#define OD_TOOLS_INFO_MACHINE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INFO_MOST_GPUS = 32 };

typedef struct info_gpu {
    char name[128];
    uint64_t bytes;
    uint64_t free_bytes; /* 0: not known */
} info_gpu;

/* The LLVM runtimes and the devices, as far as they show without a program. */
typedef struct info_devices {
    char libomp[PATH_MAX], libomptarget[PATH_MAX]; /* empty: not found */
    char disabled[32];                             /* OMP_TARGET_OFFLOAD, where it switches all devices off */
    char architecture[65];                         /* of this machine */
    int host_devices;                              /* LLVM's; negative: not known */
    bool driver;                                   /* NVIDIA's is there */
    int gpus;                                      /* NVIDIA's */
    info_gpu gpu[INFO_MOST_GPUS];
    bool crashed; /* the libraries ended the process that asked them: what follows is missing */
} info_devices;

void info_find_devices(info_devices *found);
void info_print_devices(const info_devices *found);

typedef struct info_machine {
    int packages, nodes, cores, threads; /* 0: not known */
    uint64_t memory, available;          /* bytes */
} info_machine;

void info_find_machine(info_machine *found);
/* hwloc's view, and the limits. */
void info_print_topology(void);

/* Measured by earlier runs. */
typedef enum info_kind { INFO_HOST_DEVICES, INFO_GPUS, INFO_KINDS } info_kind; /* of devices */

typedef struct info_links {
    unsigned devices;                                        /* 0: nothing is known */
    double rate[INFO_MOST_GPUS + 1][INFO_MOST_GPUS + 1]; /* bytes/s, from, to; the last is the host; 0: not known */
    double at_once[INFO_MOST_GPUS][INFO_MOST_GPUS]; /* loads of two from the host, or load and store of one; likewise */
} info_links;

/* Links between the host and the first so many devices, and between these. */
void info_find_links(info_kind kind, int devices, info_links *found);
void info_print_links(const info_devices *devices);

/* The machine, its devices and their links, as SVG on standard output. */
void info_print_picture(const info_devices *devices);

/* "1.5 GiB" */
const char *info_bytes(uint64_t bytes, char text[32]);
/* "1.5 GB/s" */
const char *info_rate(double rate, char text[32]);

#endif
