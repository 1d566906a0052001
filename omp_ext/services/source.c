/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See source.h. */
#define _GNU_SOURCE
#include "omp_ext/services/source.h"

#include "omp_ext/libomp/images.h"
#include "util/memory.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool od_source_region(const char *kernel, od_region_name *region)
{
    static const char prefix[] = "__omp_offloading_";
    if (!kernel || strncmp(kernel, prefix, sizeof prefix - 1) != 0)
        return false;
    const char *function = kernel + sizeof prefix - 1;
    for (int ids = 0; ids < 2 && function; ids++) {
        function = strchr(function, '_');
        function += function != NULL;
    }
    const char *line = function ? strrchr(function, 'l') : NULL;
    if (!line || line == function)
        return false;
    *region = (od_region_name){function, (int)(line - 1 - function), atoi(line + 1)};
    return true;
}

/* The first field of ";one;two;", not terminated. 0: it is not known. */
static int first_field(const char *text, const char **field)
{
    *field = text && *text == ';' ? text + 1 : "";
    int length = (int)strcspn(*field, ";");
    return strncmp(*field, "unknown", (size_t)length) == 0 ? 0 : length;
}

int od_source_file(const od_ident *ident, const char **file)
{
    return first_field(ident ? ident->source : NULL, file);
}

const char *od_source_variable(const char *map_name, size_t *length)
{
    const char *variable;
    *length = (size_t)first_field(map_name, &variable);
    return *length ? variable : NULL;
}

/* The third field. */
static int source_line(const od_ident *ident)
{
    const char *at = ident->source;
    for (int fields = 0; at && fields < 3; fields++) {
        at = strchr(at, ';');
        at += at != NULL;
    }
    return at ? atoi(at) : 0;
}

bool od_source_place(const od_ident *ident, char *text, size_t size)
{
    const char *file;
    int length = od_source_file(ident, &file);
    if (length)
        snprintf(text, size, "%.*s:%d", length, file, source_line(ident));
    return length > 0;
}

/* Where the program has a C++ runtime, which libomptarget brings. */
static char *demangle(const char *symbol)
{
    char *(*function)(const char *name, char *buffer, size_t *length, int *status) = NULL;
    int status;
    *(void **)&function = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    return function && strncmp(symbol, "_Z", 2) == 0 ? function(symbol, NULL, NULL, &status) : NULL;
}

static void set_name(od_source *s, const char *symbol, int line)
{
    char *readable = demangle(symbol);
    const char *shown = readable ? readable : symbol;
    if (line)
        snprintf(s->name, sizeof s->name, "%.*s:%d", (int)sizeof s->name - 16, shown, line);
    else
        snprintf(s->name, sizeof s->name, "%.*s", (int)sizeof s->name - 1, shown);
    free(readable);
}

static void name_kernel(od_source *s, const od_region_name *region)
{
    char function[512];
    snprintf(function, sizeof function, "%.*s", region->length, region->function);
    set_name(s, function, region->line);
}

static void name_code(od_source *s, const void *code)
{
    Dl_info info;
    bool known = dladdr(code, &info) && info.dli_sname;
    set_name(s, known ? info.dli_sname : "task", 0);
}

const od_source *od_source_of(od_entry *entry)
{
    od_region_name region;
    if (entry->text)
        return entry->text;
    od_source *s = od_calloc(1, sizeof *s);
    if (!s)
        return NULL;
    if (od_source_region(od_images_kernel_name(entry->code), &region))
        name_kernel(s, &region);
    else
        name_code(s, entry->code);
    od_source_place(entry->source, s->source, sizeof s->source);
    entry->text = s;
    return s;
}
