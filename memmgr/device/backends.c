/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See backends.h. */
#include "memmgr/device/backends.h"

#include "util/nearest.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

extern const od_backend_type *const __start_od_backends[] __attribute__((visibility("hidden")));
extern const od_backend_type *const __stop_od_backends[] __attribute__((visibility("hidden")));

static od_registry registry = {.kind = "back-end"};

static void add_all(void)
{
    for (const od_backend_type *const *type = __start_od_backends; type < __stop_od_backends; type++)
        od_registry_add(&registry, (*type)->name, *type, (*type)->interface_version, OD_BACKEND_INTERFACE);
}

static od_registry *backends(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, add_all);
    return &registry;
}

const char *const *od_backend_names(void)
{
    return backends()->names;
}

const od_backend_type *od_backend_find(const char *name)
{
    return od_registry_find(backends(), name);
}

/* --- choice ----------------------------------------------------------------- */

/* "auto, cuda, cuda:pin=SIZE, omptarget; SIZE: …" */
static void list_allowed(char *text, size_t size)
{
    size_t length = (size_t)snprintf(text, size, "auto");
    for (const char *const *name = od_backend_names(); *name && length < size; name++) {
        const char *usage = od_backend_find(*name)->usage;
        length += (size_t)snprintf(text + length, size - length, ", %s", *name);
        if (usage && length < size)
            length += (size_t)snprintf(text + length, size - length, ", %s:%.*s", *name, (int)strcspn(usage, ";"),
                                       usage);
    }
    for (const char *const *name = od_backend_names(); *name && length < size; name++) {
        const char *usage = od_backend_find(*name)->usage;
        if (usage)
            length += (size_t)snprintf(text + length, size - length, "%s", usage + strcspn(usage, ";"));
    }
}

static od_status take_words(const od_option_spec *spec, const char *words, od_backend_choice *choice, char *cause,
                            size_t size)
{
    static const od_option_word none[] = {{0}};
    char allowed[OD_OPTION_ERROR];
    od_option_spec listed = *spec;
    list_allowed(allowed, sizeof allowed);
    listed.allowed = allowed;
    const od_option_word *known = choice->type && choice->type->words ? choice->type->words : none;
    return od_option_words(&listed, words, known, choice->settings, cause, size);
}

od_status od_backend_choose(const od_option_spec *spec, const char *text, od_backend_choice *choice, char *cause,
                            size_t size)
{
    char name[OD_OPTION_PATH], allowed[OD_OPTION_ERROR];
    size_t length = strcspn(text, ":");
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    *choice = (od_backend_choice){.type = od_backend_find(name)};
    if (!choice->type && strcmp(name, "auto") != 0) {
        const char *meant = od_nearest_name(name, od_backend_names());
        list_allowed(allowed, sizeof allowed);
        snprintf(cause, size, "not a valid value; allowed: %s%s%s%s", allowed, meant ? "; did you mean " : "",
                 meant ? meant : "", meant ? "?" : "");
        return OD_EINVAL;
    }
    if (choice->type && choice->type->defaults)
        choice->type->defaults(choice->settings);
    return text[length] ? take_words(spec, text + length + 1, choice, cause, size) : OD_OK;
}

/* --- opening ---------------------------------------------------------------- */

static bool is_present(const od_backend_type *type)
{
    return !type->is_present || type->is_present();
}

/* The one of the highest rank below `rank`, or NULL. */
static const od_backend_type *next_automatic(unsigned rank)
{
    const od_backend_type *best = NULL;
    for (const char *const *name = od_backend_names(); *name; name++) {
        const od_backend_type *type = od_backend_find(*name);
        if (type->rank < rank && type->rank > (best ? best->rank : 0) && is_present(type))
            best = type;
    }
    return best;
}

static od_status open_automatic(od_backend *backend, od_backend_request *request, char *error, size_t size)
{
    _Alignas(max_align_t) char settings[OD_BACKEND_SETTINGS];
    unsigned rank = UINT_MAX;
    for (const od_backend_type *type; (type = next_automatic(rank)); rank = type->rank) {
        memset(settings, 0, sizeof settings);
        if (type->defaults)
            type->defaults(settings);
        request->settings = settings;
        if (!type->open(backend, request, error, size))
            return OD_OK;
        od_log(OD_LOG_INFO, "backend", "%s is not used: %s", type->name, error);
    }
    return OD_EINVAL;
}

od_status od_backend_open(od_backend *backend, const od_backend_choice *choice, od_backend_request *request,
                          char *error, size_t size)
{
    char why[256] = "there is none for these devices";
    *backend = (od_backend){0};
    request->is_automatic = !choice->type;
    request->settings = choice->settings;
    od_status status = choice->type ? choice->type->open(backend, request, why, sizeof why)
                                    : open_automatic(backend, request, why, sizeof why);
    if (!status)
        return OD_OK;
    snprintf(error, size, "OMPDARTS_BACKEND=%s (--backend): %s", choice->type ? choice->type->name : "auto", why);
    return OD_EINVAL;
}
