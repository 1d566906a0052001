/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * usage: patient SECONDS COMMAND [ARGUMENT…]
 *
 * Like timeout(1), but the seconds are the command's own, with all that it starts (util/fair.h): on a machine with a
 * load of 100 nothing is ended that only waits its turn. What hangs is killed, exit code 124. Else the command's exit
 * code, or 128 and the signal that ended it.
 */
#include "util/fair.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t child;

static void pass_on(int number)
{
    if (child > 0)
        kill((pid_t)child, number);
}

/* Looks every second; a SIGCHLD ends the nap. */
static int wait_for(pid_t process, double seconds, const sigset_t *ended)
{
    od_fair fair;
    uint64_t left_ns = (uint64_t)(seconds * 1e9);
    int status;
    od_fair_begin(&fair, process, true);
    while (waitpid(process, &status, WNOHANG) == 0) {
        if (!left_ns) {
            kill(-process, SIGKILL);
            waitpid(process, &status, 0);
            return 124;
        }
        if (sigtimedwait(ended, NULL, &(struct timespec){.tv_sec = 1}) >= 0 || errno == EINTR)
            continue;
        uint64_t lap_ns = od_fair_lap(&fair);
        left_ns -= lap_ns < left_ns ? lap_ns : left_ns;
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    double seconds = argc > 2 ? strtod(argv[1], NULL) : 0;
    if (seconds <= 0) {
        fprintf(stderr, "usage: patient SECONDS COMMAND [ARGUMENT…]\n");
        return 125;
    }
    sigset_t ended, before;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ended, &before);
    pid_t process = fork();
    if (process == 0) {
        setpgid(0, 0); /* so that all of it can be killed */
        sigprocmask(SIG_SETMASK, &before, NULL);
        execvp(argv[2], argv + 2);
        perror(argv[2]);
        _exit(127);
    }
    if (process < 0) {
        perror("patient: fork");
        return 125;
    }
    child = process;
    for (int i = 0; i < 3; i++)
        signal((int[]){SIGINT, SIGTERM, SIGHUP}[i], pass_on);
    return wait_for(process, seconds, &ended);
}
