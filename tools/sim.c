/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * `ompdarts sim`: runs the simulator, a separate program because it needs SimGrid.
 */
#include "tools/tools.h"

#include <limits.h>
#include <unistd.h>

int od_tool_sim(int argc, char **argv)
{
    char path[PATH_MAX];
    (void)argc;
    if (od_tool_find_helper("ompdarts-sim", path, sizeof path))
        execv(path, argv);
    od_tool_error(
        "sim: the simulator is not part of this build: install SimGrid (Debian: apt-get install libsimgrid-dev) "
        "and build ompdarts again");
    return OD_EXIT_FAILURE;
}
