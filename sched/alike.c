/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices that are alike by their links; see alike.h. */
#include "sched/alike.h"

struct matrix {
    const od_link *links;
    unsigned n;
};

static const od_link *link_of(const struct matrix *m, unsigned from, unsigned to)
{
    return &m->links[(size_t)from * (m->n + 1) + to];
}

static bool is_same(const od_link *a, const od_link *b)
{
    return a->bandwidth >= b->bandwidth && a->bandwidth <= b->bandwidth && a->latency >= b->latency &&
           a->latency <= b->latency;
}

static bool are_alike(const struct matrix *m, unsigned j, unsigned k)
{
    bool alike = is_same(link_of(m, j, k), link_of(m, k, j));
    for (unsigned from = m->n + 1; alike && from-- > 0;)
        alike = from == j || from == k || is_same(link_of(m, from, j), link_of(m, from, k));
    return alike;
}

/* Those of the groups of j and k are, to all others. */
static bool are_of_one_sort(const struct matrix *m, const od_alike *alike, unsigned j, unsigned k)
{
    bool one = true;
    for (unsigned from = m->n + 1; one && from-- > 0;) {
        bool inside = from < m->n && (alike->group[from] == alike->group[j] || alike->group[from] == alike->group[k]);
        one = inside || is_same(link_of(m, from, j), link_of(m, from, k));
    }
    return one;
}

void od_alike_find(od_alike *alike, const od_link *links, unsigned n)
{
    struct matrix m = {links, n};
    unsigned first[OD_MAX_DEVICES], group_of_sort[OD_MAX_DEVICES]; /* the first device of a group, group of a sort */
    alike->ngroups = alike->nsorts = 0;
    for (unsigned k = 0; k < n; k++) {
        unsigned g = alike->ngroups; /* neighbours are often alike */
        while (g > 0 && !are_alike(&m, first[g - 1], k))
            g--;
        if (g == 0) {
            first[alike->ngroups] = k;
            g = ++alike->ngroups;
        }
        alike->group[k] = g - 1;
    }
    for (unsigned g = 0; g < alike->ngroups; g++) {
        unsigned s = 0;
        while (s < alike->nsorts && !are_of_one_sort(&m, alike, first[group_of_sort[s]], first[g]))
            s++;
        if (s == alike->nsorts)
            group_of_sort[alike->nsorts++] = g;
        alike->sort[g] = s;
    }
}
