/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The start, at the first construct that could be scheduled: devices, memory, the engine, threads. And the start anew
 * in the child of a fork.
 */
#include "omp_ext/runtime/internal.h"

#include "omp_ext/libomp/images.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/process/fatal.h"
#include "omp_ext/process/interrupt.h"
#include "omp_ext/process/why.h"
#include "omp_ext/services/profile.h"
#include "omp_ext/services/services.h"
#include "omp_ext/services/tracing.h"
#include "omp_ext/tasks/job.h"
#include "util/clock.h"
#include "util/lock.h"
#include "util/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void choose_devices(unsigned available)
{
    char error[160];
    if (od_devices_choose(&od_runtime.options.devices, available, &od_runtime.devices, error, sizeof error))
        od_refuse(error);
    if (od_runtime.single_device && !od_devices_are_one(&od_runtime.devices)) {
        od_log(OD_LOG_WARNING, "runtime", "%s", od_single_device_text);
        od_runtime.devices.count = 1;
    }
}

static od_status take_pools(void)
{
    unsigned n = od_runtime.devices.count;
    size_t limit = od_runtime.options.memory.limit;
    size_t bytes = limit ? limit : od_devices_memory(&od_runtime.devices, &od_runtime.backend);
    od_status status = od_backend_take_pools(&od_runtime.backend, n, bytes);
    /* The default is a guess: take less where it does not fit. */
    for (int i = 0; status && !limit && i < 8; i++) {
        bytes = bytes / 4 * 3;
        status = od_backend_take_pools(&od_runtime.backend, n, bytes);
    }
    return status;
}

/* What is not measured is taken for a PCIe link. A slowed one is shared by all devices. */
static void find_links(void)
{
    unsigned n = od_runtime.backend.ndevices;
    double link = od_runtime.options.memory.backend.link;
    od_runtime.links = od_calloc((n + 1) * (n + 1), sizeof *od_runtime.links);
    for (unsigned i = 0; od_runtime.links && i < (n + 1) * (n + 1); i++)
        od_runtime.links[i] = (od_link){link > 0 ? link / n : 12e9, 1e-6};
    if (od_runtime.links && link <= 0 && od_runtime.options.cache)
        od_profile_links(&od_runtime.backend, od_runtime.links);
}

static od_status start_engine(void)
{
    od_sched_options *options = &od_runtime.options.sched;
    const od_policy_ops *policy = options->sched.policy.ops;
    unsigned n = od_runtime.backend.ndevices;
    bool asynchronous = od_runtime.backend.ops->start != NULL;
    od_runtime_driver_ops.event = od_tracing_wanted(od_runtime.options.trace) ? od_tracing_event : NULL;
    if (strcmp(options->evict, "auto") == 0)
        snprintf(options->evict, sizeof options->evict, "%s", policy->default_evict);
    find_links();
    if (!od_runtime.links)
        return OD_ENOMEM;
    od_engine_config config = {
        .ndevices = n,
        .memory = od_runtime.backend.pool_bytes[0],
        .buffer = options->buffer,
        .lookahead = options->lookahead_s,
        .slots = asynchronous ? 2 : 1, /* one runs, the next is queued behind it */
        .peer = od_runtime.backend.ops->peer,
        .pins = od_runtime.backend.ops->release_host != NULL,
        .spill = od_runtime.options.memory.spill,
        .host_link = od_runtime_link(NULL, OD_HOST, 0),
        .peer_link = n > 1 ? od_runtime_link(NULL, 0, 1) : od_runtime_link(NULL, OD_HOST, 0),
        .policy = policy,
        .active = od_runtime.options.devices.active,
        .policy_values = options->sched.policy.values,
        .evict = od_evict_find(options->evict),
        .seed = options->seed,
        .driver_ops = &od_runtime_driver_ops,
    };
    return od_engine_create(&config, &od_runtime.engine);
}

static bool start_threads(void)
{
    od_transfer_config transfers = {.backend = &od_runtime.backend,
                                    .seed = od_runtime.options.sched.seed,
                                    .jitter_s = od_runtime.options.debug.jitter_s,
                                    .done = od_runtime_transfer_done};
    od_runtime.process = getpid();
    od_runtime.workers = od_workers_create(&od_runtime.lock, od_runtime.backend.ndevices + 1, &od_runtime_workers_ops);
    od_runtime.planner = od_planner_create(&od_runtime.lock, od_runtime_background_done);
    od_runtime.host_copies = od_host_copies_create(od_runtime_transfer_done, NULL);
    if (!od_runtime.workers || !od_runtime.planner || !od_runtime.host_copies ||
        od_transfer_queues_create(&transfers, &od_runtime.transfers))
        return false;
    return true;
}

static void start_services(void)
{
    const od_options *options = &od_runtime.options;
    od_run run = od_runtime_run();
    bool reports =
        options->stats.summary || options->stats.file[0] || options->record[0] || od_tracing_wanted(options->trace);
    od_services_start(&run);
    od_interrupt_start(reports ? od_runtime_report_interrupted : NULL, od_runtime_show_state);
}

static void start_or_refuse(void)
{
    char message[400];
    if (od_devices_open(&od_runtime.devices, &od_runtime.options, &od_runtime.backend, message, sizeof message))
        od_refuse(message);
    if (take_pools()) {
        snprintf(message, sizeof message, "the memory of %u devices could not be taken; set OMPDARTS_MEM to less",
                 od_runtime.devices.count);
        od_refuse(message);
    }
    if (start_engine() || !start_threads())
        od_refuse("the scheduler could not be started: out of memory or threads");
}

/* The processors are there for all workers together; a program that wants fewer threads gets fewer. */
static int share_processors(void)
{
    int threads = REAL(omp_get_num_procs)(), wanted = REAL(omp_get_max_threads)();
    unsigned n = od_runtime.backend.ops->start ? 1 : od_runtime.backend.ndevices;
    threads = (wanted < threads ? wanted : threads) / (int)n;
    return threads > 0 ? threads : 1;
}

void od_runtime_start(void)
{
    int available = REAL(omp_get_num_devices)();
    if (available <= 0) {
        char why[192];
        od_why_no_device(why, sizeof why);
        od_log(OD_LOG_WARNING, "runtime",
               "no device for this program's device code: its target regions run on the host, nothing is scheduled "
               "(%s)",
               *why ? why : "`ompdarts info` lists the devices");
        atomic_store(&od_process_self.activity, OD_OFF);
        return;
    }
    od_runtime.jobs = &od_jobs;
    od_runtime.jobs_done_end = &od_runtime.jobs_done;
    od_list_init(&od_runtime.live);
    od_list_init(&od_runtime.offered);
    /* libomp looks only at the first task of each queue for one that a waiting thread may run. Detached tasks complete
     * in any order, and then that need not be one: threads would wait for each other for ever. */
    REAL(kmp_set_defaults)("KMP_TASK_STEALING_CONSTRAINT=0");
    if (od_runtime.options.cache)
        od_profile_start();
    choose_devices((unsigned)available);
    start_or_refuse();
    od_runtime.kernel_threads = share_processors();
    od_runtime.start_ns = od_clock_ns();
    start_services();
    od_images_hold();
    on_exit(od_runtime_begin_to_end, NULL);
    od_log(OD_LOG_INFO, "runtime", "%u devices of %zu bytes, back-end %s, policy %s, eviction %s",
           od_runtime.backend.ndevices, od_runtime.backend.pool_bytes[0], od_runtime.backend.ops->name,
           od_runtime.options.sched.sched.text, od_runtime.options.sched.evict);
    atomic_store_explicit(&od_process_self.activity, OD_ON, memory_order_release);
}

/* --- after a fork ---------------------------------------------------------- */

/* Tasks that were under way in the parent will never end here. */
static void give_up_inherited(void)
{
    if (od_directory_has_regions(od_engine_directory(od_runtime.engine)))
        od_fatal(
            "this process was forked while target tasks were under way and data regions were open, and now "
            "it offloads");
    od_log(OD_LOG_WARNING, "runtime",
           "this process was forked while target tasks were under way: what it offloads is not scheduled");
    atomic_store(&od_process_self.activity, OD_OFF);
}

/* A GPU's driver does not follow into a child. */
static void give_up_gpus(void)
{
    od_log(
        OD_LOG_WARNING, "runtime",
        "this process was forked by one that uses GPUs, which the CUDA driver does not support: nothing is scheduled");
    atomic_store(&od_process_self.activity, OD_OFF);
}

static void go_on(void)
{
    od_run run = od_runtime_run();
    if (!start_threads())
        od_fatal("the threads of the scheduler could not be started after a fork");
    od_services_revive(&run);
    atomic_store_explicit(&od_process_self.activity, OD_ON, memory_order_release);
}

/* A child of a process that forked while nothing was under way goes on with a copy of the engine, of the data and of
 * the regions, as it does with libomptarget's. */
void od_runtime_revive(void)
{
    od_lock_take(&od_runtime.lock);
    if (atomic_load(&od_process_self.activity) == OD_FORKED) {
        od_workers_abandon(od_runtime.workers);
        od_planner_abandon(od_runtime.planner);
        od_engine_abandon_background(od_runtime.engine);
        od_transfer_queues_abandon(od_runtime.transfers);
        od_host_copies_abandon(od_runtime.host_copies);
        od_runtime.changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
        od_runtime.onlookers = 0;
        atomic_store(&od_runtime.reporting, 0);
        atomic_store(&od_process_self.inside, od_own_inside);
        od_runtime.deferred = false;
        od_runtime.inherited = true;
        if (od_runtime.backend.ops->start)
            give_up_gpus();
        else if (!od_engine_is_idle(od_runtime.engine) || od_runtime.busy || od_own_jobs)
            give_up_inherited();
        else
            go_on();
    }
    od_lock_give(&od_runtime.lock);
}
