/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What is left under a rule, played as a bag: the tasks of the view, of which none waits for another, are decided on
 * one after the other, and each runs where it ends first. Of many tasks of a kind and level some stand for all.
 */
#ifndef OD_SCHED_SPLIT_BAG_H
#define OD_SCHED_SPLIT_BAG_H

#include "sched/split/split.h"

typedef struct od_split_bag od_split_bag;

/* Plays a rule, which is made for it. NULL: out of memory, or it cannot be made. */
od_split_bag *od_split_bag_create(const od_split_view *view, const od_split_choice *rule);
void od_split_bag_destroy(od_split_bag *bag);

/* Seconds until all devices and CPU workers have ended; 0: durations are not known. */
double od_split_bag_play(od_split_bag *bag, const od_split_view *view);

#endif
