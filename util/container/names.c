/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "util/container/names.h"

#include "util/container/array.h"
#include "util/container/hash.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash_of(const char *word)
{
    uint64_t hash = od_hash(OD_HASH_START, word, strlen(word));
    return (uint32_t)(hash ^ (hash >> 32));
}

static bool make_room(od_names *names)
{
    uint32_t room = names->room, like_room = room;
    return od_array_reserve(&names->like, &like_room, (uint64_t)names->count + 1, sizeof *names->like) &&
           od_array_reserve(&names->text, &names->room, (uint64_t)names->count + 1, sizeof *names->text);
}

/* Behind `first`, the word with the same hash that was there before all others. */
static uint32_t append(od_names *names, const char *word, uint32_t hash, uint32_t first)
{
    char *copy = strdup(word);
    if (!copy || !make_room(names) ||
        (first == OD_NO_POSITION && od_index_add(&names->by_hash, hash, names->count) != OD_OK)) {
        free(copy);
        return OD_NO_POSITION;
    }
    names->text[names->count] = copy;
    names->like[names->count] = first == OD_NO_POSITION ? OD_NO_POSITION : names->like[first];
    if (first != OD_NO_POSITION)
        names->like[first] = names->count;
    return names->count++;
}

static uint32_t find(const od_names *names, const char *word, uint32_t first)
{
    uint32_t i = first;
    while (i != OD_NO_POSITION && strcmp(names->text[i], word) != 0)
        i = names->like[i];
    return i;
}

uint32_t od_names_find(const od_names *names, const char *word)
{
    return find(names, word, od_index_find(&names->by_hash, hash_of(word)));
}

uint32_t od_names_number(od_names *names, const char *word)
{
    uint32_t hash = hash_of(word), first = od_index_find(&names->by_hash, hash), known = find(names, word, first);
    return known != OD_NO_POSITION ? known : append(names, word, hash, first);
}

void od_names_free(od_names *names)
{
    for (uint32_t i = 0; i < names->count; i++)
        free(names->text[i]);
    free(names->text);
    free(names->like);
    od_index_free(&names->by_hash);
    *names = (od_names){0};
}
