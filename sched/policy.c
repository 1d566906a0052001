/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The registered scheduling policies, those of shared objects, and their options. */
#include "sched/policy.h"

#include "util/container/registry.h"
#include "util/nearest.h"
#include "util/plugin.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLUGIN "plugin"

enum { MAX_TEXT = 1024 };

extern const od_policy_ops *const __start_od_policies[] __attribute__((visibility("hidden")));
extern const od_policy_ops *const __stop_od_policies[] __attribute__((visibility("hidden")));

static od_registry registry = {.kind = "policy"};

static void add(const od_policy_ops *ops)
{
    od_registry_add(&registry, ops->name, ops, ops->interface_version, OD_POLICY_INTERFACE);
}

static void add_own(void)
{
    for (const od_policy_ops *const *ops = __start_od_policies; ops < __stop_od_policies; ops++)
        add(*ops);
}

static od_registry *policies(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, add_own);
    return &registry;
}

void od_policy_register(const od_policy_ops *ops)
{
    policies();
    add(ops);
}

const od_policy_ops *od_policy_find(const char *name)
{
    return od_registry_find(policies(), name);
}

const char *const *od_policy_names(void)
{
    return policies()->names;
}

/* --- options ---------------------------------------------------------------- */

const od_policy_option od_policy_ahead = {.name = "ahead",
                                          .help = "a device that loads nothing takes tasks beyond its buffer, up to N "
                                                  "mean durations of a task, while the program waits",
                                          .number = true,
                                          .bare = 12};

/* The values of options that are not named. */
static void omitted_values(const od_policy_ops *ops, uint64_t values[OD_POLICY_OPTIONS_MAX])
{
    size_t count = 0;
    for (const od_policy_option *option = ops->options; option && option->name; option++)
        values[count++] = option->omitted;
}

/* The option that a word was probably meant to be, or NULL. */
static const char *meant(const od_policy_ops *ops, const char *word)
{
    static const char *const others[][2] = {{"first", "alg9"}, {"3inputs", "alg11"}, {"published", "alg12"}};
    const char *names[OD_POLICY_OPTIONS_MAX + 2] = {od_policy_ahead.name};
    for (size_t i = 0; ops->options && ops->options[i].name && i < OD_POLICY_OPTIONS_MAX; i++) {
        names[i + 1] = ops->options[i].name;
        for (size_t j = 0; j < sizeof others / sizeof *others; j++)
            if (strcmp(word, others[j][0]) == 0 && strcmp(names[i + 1], others[j][1]) == 0)
                return names[i + 1];
    }
    return od_nearest_name(word, names);
}

static od_status refuse_word(const od_policy_ops *ops, const char *word, const char *why, char *error, size_t size)
{
    size_t length = (size_t)snprintf(error, size, "'%s' %s; allowed:", word, why);
    for (const od_policy_option *option = ops->options; option && option->name && length < size; option++)
        length += (size_t)snprintf(error + length, size - length, " %s%s", option->name, option->number ? "[=N]" : "");
    if (length < size)
        snprintf(error + length, size - length, " %s[=N]", od_policy_ahead.name);
    return OD_EINVAL;
}

static bool parse_number(const char *text, uint64_t *number)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return !errno && !*end;
}

/* The option of that name, and where its value goes; NULL: there is none. */
static const od_policy_option *find_option(od_policy_choice *choice, const char *name, uint64_t **value)
{
    const od_policy_option *option = choice->ops->options;
    for (size_t i = 0; option && option[i].name; i++)
        if (strcmp(option[i].name, name) == 0) {
            *value = &choice->values[i];
            return &option[i];
        }
    *value = &choice->ahead;
    return strcmp(name, od_policy_ahead.name) == 0 ? &od_policy_ahead : NULL;
}

/* One word of the options, cut off from the others. */
static od_status parse_word(od_policy_choice *choice, char *word, char *error, size_t size)
{
    char *number = strchr(word, '='), name[64];
    uint64_t *value;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    const od_policy_option *option = find_option(choice, name, &value);
    if (!option) {
        char why[64] = "is no option";
        const char *instead = meant(choice->ops, name);
        if (instead)
            snprintf(why, sizeof why, "is no option, did you mean '%s'?", instead);
        return refuse_word(choice->ops, word, why, error, size);
    }
    *value = option->bare;
    if (number && !(option->number && parse_number(number + 1, value)))
        return refuse_word(choice->ops, word, option->number ? "is no whole number" : "takes no number", error, size);
    return OD_OK;
}

static od_status parse_options(od_policy_choice *choice, char *words, char *error, size_t size)
{
    char *rest = words;
    for (char *word; (word = strsep(&rest, ","));) {
        od_status status = parse_word(choice, word, error, size);
        if (status)
            return status;
    }
    return OD_OK;
}

/* --- choice ----------------------------------------------------------------- */

static const od_policy_ops *load_plugin(const char *file, char *error, size_t size)
{
    if (!*file) {
        snprintf(error, size, "no file's name; allowed: " PLUGIN ":FILE");
        return NULL;
    }
    const od_policy_ops *ops = od_plugin_symbol(file, "ompdarts_policy", error, size);
    if (!ops || ops->interface_version == OD_POLICY_INTERFACE)
        return ops;
    snprintf(error, size,
             "built for version %u of the policy interface, this is version %d; allowed: what was compiled with the "
             "headers of "
             "ompdarts " OMPDARTS_VERSION,
             ops->interface_version, OD_POLICY_INTERFACE);
    return NULL;
}

static const od_policy_ops *find_known(const char *name, char *error, size_t size)
{
    const od_policy_ops *ops = od_policy_find(name);
    const char *type = strrchr(name, '.');
    if (!ops && type && strcmp(type, ".so") == 0)
        snprintf(error, size, "unknown name; a policy in a file is " PLUGIN ":%s", name);
    else if (!ops)
        od_nearest_explain(name, NULL, od_policy_names(), error, size);
    return ops;
}

static od_status choose(char *words, od_policy_choice *choice, char *error, size_t size)
{
    const char *name = strsep(&words, ":");
    bool is_plugin = words && strcmp(name, PLUGIN) == 0;
    choice->ops = is_plugin ? load_plugin(strsep(&words, ":"), error, size) : find_known(name, error, size);
    if (!choice->ops)
        return OD_EINVAL;
    omitted_values(choice->ops, choice->values);
    choice->ahead = choice->ops->ahead;
    return words ? parse_options(choice, words, error, size) : OD_OK;
}

od_status od_policy_choose(const char *text, od_policy_choice *choice, char *error, size_t size)
{
    char words[MAX_TEXT];
    if (snprintf(words, sizeof words, "%s", text) >= MAX_TEXT) {
        snprintf(error, size, "more than %d characters", MAX_TEXT - 1);
        return OD_EINVAL;
    }
    od_status status = choose(words, choice, error, size);
    for (char *c = error; status && *c; c++) {
        if (iscntrl((unsigned char)*c))
            *c = '?';
    }
    return status;
}

od_status od_policy_create(const od_policy_ops *ops, const od_policy_env *env, void **state)
{
    uint64_t values[OD_POLICY_OPTIONS_MAX];
    od_policy_env complete = *env;
    if (!env->values) {
        omitted_values(ops, values);
        complete.values = values;
    }
    return ops->create(&complete, state);
}
