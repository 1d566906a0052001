/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Intrusive doubly linked list: a head, and a node inside each element.
 *
 * No allocation, O(1) insertion and removal. A node that is in no list has
 * NULL links, which od_list_contains() tests; removing it is a bug.
 */
#ifndef OD_UTIL_CONTAINER_LIST_H
#define OD_UTIL_CONTAINER_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct od_node {
    struct od_node *prev, *next;
} od_node;

typedef struct od_list {
    od_node root; /* root.next is the first element, root.prev the last */
    size_t count;
} od_list;

/* The structure of `type` whose member `member` is at `node`. */
#define od_container_of(node, type, member) ((type *)(void *)((char *)(node) - offsetof(type, member)))

/* Visits the nodes of a list; the body may remove the visited node only. */
#define od_list_each(it, list)                                                                                         \
    for (od_node *it = (list)->root.next, *it##_next = it->next; it != &(list)->root;                                  \
         it = it##_next, it##_next = it->next)

static inline void od_list_init(od_list *list)
{
    list->root.prev = list->root.next = &list->root;
    list->count = 0;
}

static inline bool od_list_contains(const od_node *node)
{
    return node->next != NULL;
}

static inline void od_list_insert_before(od_list *list, od_node *where, od_node *node)
{
    node->prev = where->prev;
    node->next = where;
    where->prev->next = node;
    where->prev = node;
    list->count++;
}

static inline void od_list_push_back(od_list *list, od_node *node)
{
    od_list_insert_before(list, &list->root, node);
}

static inline void od_list_push_front(od_list *list, od_node *node)
{
    od_list_insert_before(list, list->root.next, node);
}

static inline void od_list_remove(od_list *list, od_node *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    node->prev = node->next = NULL;
    list->count--;
}

static inline od_node *od_list_first(const od_list *list)
{
    return list->count ? list->root.next : NULL;
}

static inline od_node *od_list_pop_front(od_list *list)
{
    od_node *node = od_list_first(list);
    if (node)
        od_list_remove(list, node);
    return node;
}

#endif
