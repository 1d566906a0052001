/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which devices of libomptarget are ours, and which back-end moves bytes to them.
 *
 * Each of our devices is one of libomptarget's, or a share of one (a logical device): then several have the same
 * number.
 */
#ifndef OD_OMP_EXT_DEVICES_H
#define OD_OMP_EXT_DEVICES_H

#include "memmgr/device/backends.h"
#include "omp_ext/options.h"

enum { OD_DEVICE_NAME = 32, OD_HOST_NAME = 64 };

typedef struct od_devices {
    unsigned count;
    int number[OD_MAX_DEVICES]; /* OpenMP's, or one of omp_ext/remote/remote.h */
    char name[OD_MAX_DEVICES][OD_DEVICE_NAME]; /* the back-end's, or empty */
    unsigned rank[OD_MAX_DEVICES];             /* of the job, whose device it is; 0: the process's own */
    char host[OD_MAX_DEVICES][OD_HOST_NAME];   /* of that rank, or empty */
} od_devices;

/* The devices that the user has chosen among those `available`. OD_EINVAL: `error` says what is wrong. */
od_status od_devices_choose(const od_device_choice *choice, unsigned available, od_devices *devices, char *error,
                            size_t error_size);
/* True where all are shares of one of libomptarget's. */
bool od_devices_are_one(const od_devices *devices);
/* What the user knows device k by: "device 1", or "device 1.0" where it is one of several shares of that device. */
const char *od_devices_name(const od_devices *devices, unsigned k, char name[OD_DEVICE_NAME]);

/* LLVM's host devices: their memory and their processors are the process's own. Not where they are another rank's. */
bool od_devices_are_in_process(void);
/* Where the back-end's devices are not libomptarget's: how many there are. 0: all are libomptarget's. Ends the program
 * where the back-end has none. */
unsigned od_devices_remote(const od_options *options);

/* libomptarget opens a device, and loads the program's code and variables, at its first construct: now. Those of other
 * ranks are not its own. */
void od_devices_load(const od_devices *devices);

/* Opens the back-end that the options ask for; `devices` must outlive it. OD_EINVAL: not possible, `error` says why. */
od_status od_devices_open(od_devices *devices, const od_options *options, od_knows_kernel *knows, od_backend *backend,
                          char *error, size_t error_size);

/* Bytes per device when the user sets no limit: most of what is free. */
size_t od_devices_memory(const od_devices *devices, const od_backend *backend);

#endif
