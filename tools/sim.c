/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * `ompdarts sim`: runs the simulator, a program of its own because it needs SimGrid.
 */
#include "tools/tools.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* From the folder of the installed command to that of its helpers. */
#ifndef OMPDARTS_HELPER_SUBDIR
#define OMPDARTS_HELPER_SUBDIR "../libexec/ompdarts"
#endif

int od_tool_sim(int argc, char **argv)
{
    static const char *const folders[] = {".", OMPDARTS_HELPER_SUBDIR};
    char command[PATH_MAX], path[2 * PATH_MAX] = "";
    (void)argc;
    if (!od_tool_folder(command, sizeof command)) {
        od_tool_error("sim: cannot tell where this command is: %s", strerror(errno));
        return OD_EXIT_FAILURE;
    }
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s/ompdarts-sim", command, folders[i]);
        if (access(path, X_OK) == 0)
            execv(path, argv);
    }
    od_tool_error(
        "sim: the simulator is not part of this build: install SimGrid (Debian: apt-get install libsimgrid-dev) "
        "and build ompdarts again");
    return OD_EXIT_FAILURE;
}
