/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Opens libraries with target regions while kernels of its own have already run, closes them, and opens others in their
 * place (late_library.sh). Arguments: a library to be opened and used, `close` the one opened last, `kernels` of its
 * own. Compiled without OpenMP it has no device code itself.
 */
#include "check.h"

#include <dlfcn.h>
#include <string.h>

enum { TILES = 12, STEPS = 5 };

static double *x;

static void use_own_kernels(void)
{
#ifdef _OPENMP
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int t = 0; t < 4 * TILES; t++) {
        double *tile = x + t % TILES * TILE;
#pragma omp target nowait depend(inout : tile[0 : TILE]) map(tofrom : tile[0 : TILE])
        for (int i = 0; i < TILE; i++)
            tile[i] += 1;
    }
#endif
}

static void *use(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        printf("%s\n", dlerror());
        exit(1);
    }
    const char *name = strstr(path, "count") ? "count" : "scale";
    int (*function)(double *, int, int) = (int (*)(double *, int, int))dlsym(library, name);
    CHECK(function && function(x, TILES, STEPS));
    return library;
}

int main(int argc, char **argv)
{
    void *library = NULL;
    x = make_tiles(TILES, 0);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "kernels") == 0)
            use_own_kernels();
        else if (strcmp(argv[i], "close") == 0)
            CHECK(dlclose(library) == 0);
        else
            library = use(argv[i]);
        CHECK(all_are(x, (size_t)TILES * TILE, x[0]));
        printf("%.17g\n", x[0]);
        for (int j = 0; j < TILES * TILE; j++)
            x[j] = 1;
    }
    free(x);
    return check_result();
}
