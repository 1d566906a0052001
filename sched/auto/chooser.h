/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * When settings are tried, and which are adopted.
 *
 * When clearly more is known than the last time, what is known (sched/engine/copy.h) is played forward by the oracle
 * (sched/oracle/play.h) under each of some dozen settings (trial.h): policy, eviction rule, lookahead, active devices.
 * Those with which all would be done first are adopted, if they are better than the present ones by more than a change
 * is worth; tasks that wait change hands, nothing else moves. It happens in the background, while devices go on. Where
 * half of it took clearly longer or shorter than predicted, or a device is lost, what is left is played again.
 *
 * All of it, the copy of what is known included, takes at most a hundredth of the time of the run's processors
 * (od_engine_config.processors): of what has passed, and of half of what will pass until what is known is done. Where
 * the driver has no clock for it (od_driver_ops.processor_ns) nothing is limited.
 */
#ifndef OD_SCHED_AUTO_CHOOSER_H
#define OD_SCHED_AUTO_CHOOSER_H

#include "sched/policy.h"

extern const od_chooser_ops od_auto_chooser;

#endif
