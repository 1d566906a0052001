/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Treap (Seidel and Aragon, "Randomized search trees", 1996): a search tree by
 * key that is at the same time a heap by rank. With ranks that look random its
 * expected depth is logarithmic; a node goes in by splitting one subtree and comes out
 * by merging two, without any rebalancing cases.
 */
#include "util/container/tree.h"

#include <assert.h>

static bool key_less(od_tree_key a, od_tree_key b)
{
    return a.major < b.major || (a.major == b.major && a.minor < b.minor);
}

/* The finaliser of splitmix64: neighbouring keys get unrelated ranks. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Cuts a subtree into the keys below `key` and the others. */
static void split(od_tree_node *subtree, od_tree_key key, od_tree_node **below, od_tree_node **others)
{
    while (subtree) {
        if (key_less(subtree->key, key)) {
            *below = subtree;
            below = &subtree->right;
            subtree = subtree->right;
        } else {
            *others = subtree;
            others = &subtree->left;
            subtree = subtree->left;
        }
    }
    *below = NULL;
    *others = NULL;
}

/* Joins two subtrees, all keys of the first below those of the second, at `link`. */
static void merge(od_tree_node **link, od_tree_node *first, od_tree_node *second)
{
    while (first && second) {
        if (first->rank >= second->rank) {
            *link = first;
            link = &first->right;
            first = first->right;
        } else {
            *link = second;
            link = &second->left;
            second = second->left;
        }
    }
    *link = first ? first : second;
}

void od_tree_insert(od_tree *tree, od_tree_node *node, od_tree_key key)
{
    node->key = key;
    node->rank = mix(key.major + mix(key.minor + UINT64_C(0x9e3779b97f4a7c15)));

    od_tree_node **link = &tree->root;
    while (*link && (*link)->rank >= node->rank) {
        assert(key_less((*link)->key, key) || key_less(key, (*link)->key));
        link = key_less((*link)->key, key) ? &(*link)->right : &(*link)->left;
    }
    split(*link, key, &node->left, &node->right);
    *link = node;
    tree->count++;
}

void od_tree_remove(od_tree *tree, od_tree_node *node)
{
    od_tree_node **link = &tree->root;
    while (*link && *link != node)
        link = key_less((*link)->key, node->key) ? &(*link)->right : &(*link)->left;
    assert(*link == node);
    merge(link, node->left, node->right);
    tree->count--;
}

od_tree_node *od_tree_floor(const od_tree *tree, od_tree_key key)
{
    od_tree_node *best = NULL;
    for (od_tree_node *node = tree->root; node;) {
        if (key_less(key, node->key)) {
            node = node->left;
        } else {
            best = node;
            node = node->right;
        }
    }
    return best;
}

od_tree_node *od_tree_ceiling(const od_tree *tree, od_tree_key key)
{
    od_tree_node *best = NULL;
    for (od_tree_node *node = tree->root; node;) {
        if (key_less(node->key, key)) {
            node = node->right;
        } else {
            best = node;
            node = node->left;
        }
    }
    return best;
}

od_tree_node *od_tree_find(const od_tree *tree, od_tree_key key)
{
    od_tree_node *node = od_tree_floor(tree, key);
    return node && !key_less(node->key, key) ? node : NULL;
}

od_tree_node *od_tree_last(const od_tree *tree)
{
    od_tree_node *node = tree->root;
    while (node && node->right)
        node = node->right;
    return node;
}

/* Checks a subtree whose keys must lie strictly between two others (NULL: no
 * bound), and counts its nodes. */
static bool subtree_is_valid(const od_tree_node *node, const od_tree_key *above, const od_tree_key *below,
                             size_t *count)
{
    if (!node)
        return true;
    if ((above && !key_less(*above, node->key)) || (below && !key_less(node->key, *below)))
        return false;
    if ((node->left && node->left->rank > node->rank) || (node->right && node->right->rank > node->rank))
        return false;
    (*count)++;
    return subtree_is_valid(node->left, above, &node->key, count) &&
           subtree_is_valid(node->right, &node->key, below, count);
}

bool od_tree_is_valid(const od_tree *tree)
{
    size_t count = 0;
    return subtree_is_valid(tree->root, NULL, NULL, &count) && count == tree->count;
}
