/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Intrusive ordered tree: a treap whose ranks are hashes of the keys.
 *
 * No allocation; insertion, removal and lookups take O(log n) expected. The shape
 * depends on the keys alone, so that runs repeat exactly. Keys are pairs compared
 * major first, and unique within a tree. A zeroed od_tree is empty.
 */
#ifndef OD_UTIL_CONTAINER_TREE_H
#define OD_UTIL_CONTAINER_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct od_tree_key {
    uintptr_t major, minor;
} od_tree_key;

typedef struct od_tree_node {
    struct od_tree_node *left, *right;
    od_tree_key key;
    uint64_t rank; /* no child's is higher */
} od_tree_node;

typedef struct od_tree {
    od_tree_node *root;
    size_t count;
} od_tree;

void od_tree_insert(od_tree *tree, od_tree_node *node, od_tree_key key);
void od_tree_remove(od_tree *tree, od_tree_node *node);

/* Highest key at most `key`, lowest key at least `key`, that very key, highest key of all; or NULL. */
od_tree_node *od_tree_floor(const od_tree *tree, od_tree_key key);
od_tree_node *od_tree_ceiling(const od_tree *tree, od_tree_key key);
od_tree_node *od_tree_find(const od_tree *tree, od_tree_key key);
od_tree_node *od_tree_last(const od_tree *tree);

bool od_tree_is_valid(const od_tree *tree);

#endif
