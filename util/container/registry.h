/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Registry: named tables of functions, sorted by name. Policies, eviction rules, back-ends
 * each have one. What the library itself brings is in a section that the linker collects
 * (OD_REGISTER): it is complete before the first constructor of any library runs, and a constructor may offload.
 */
#ifndef OD_UTIL_CONTAINER_REGISTRY_H
#define OD_UTIL_CONTAINER_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>

enum { OD_REGISTRY_MAX = 64 };

typedef struct od_registry {
    const char *kind; /* "policy", for messages */
    size_t count;
    const char *names[OD_REGISTRY_MAX + 1]; /* sorted, NULL-terminated */
    const void *tables[OD_REGISTRY_MAX];    /* in the order of `names` */
} od_registry;

/* A table whose `version` is not `expected`, whose name is taken or that finds no room is left out with a message. */
void od_registry_add(od_registry *registry, const char *name, const void *table, unsigned version, unsigned expected);
const void *od_registry_find(const od_registry *registry, const char *name); /* NULL: unknown */

/* Puts the address of `table`, a constant of `type`, into the section; __start_SECTION and __stop_SECTION enclose
 * them. */
#define OD_REGISTER(section_name, type, table)                                                                         \
    __attribute__((used, section(#section_name))) static const type *const od_registered_##table = &(table);

#endif
