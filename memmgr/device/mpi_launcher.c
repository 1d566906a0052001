/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The launcher of an MPI job and a process that is to be a rank, before MPI begins. Open MPI's launcher ends the job
 * where such a process fails. MPICH's takes it for one without MPI and lets the others wait for it, unless it is asked
 * to by PMI-1: a line of text on a socket that the process has inherited.
 */
#define _GNU_SOURCE
#include "memmgr/device/mpi/module.h"
#include "util/options.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* What it has not read of our messages when it is asked to end the job is lost. */
static void await_reader(int file)
{
    const struct timespec ms = {.tv_nsec = 1000 * 1000};
    int unread;
    for (int i = 0; i < 1000 && !ioctl(file, FIONREAD, &unread) && unread > 0; i++)
        nanosleep(&ms, NULL);
}

void od_mpi_end_job(int exit_code)
{
    const char *number = od_environment("PMI_FD");
    uint32_t launcher;
    char line[48];
    if (!number || od_parse_count(number, INT32_MAX, &launcher))
        return;
    fflush(NULL);
    await_reader(STDOUT_FILENO);
    await_reader(STDERR_FILENO);
    snprintf(line, sizeof line, "cmd=abort exitcode=%d\n", exit_code);
    send((int)launcher, line, strlen(line), MSG_NOSIGNAL); /* not to a file that has this number by now */
}
