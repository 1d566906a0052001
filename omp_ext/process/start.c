/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The start, at the first construct that could be scheduled: devices, memory, the engine, threads. And the start anew
 * in the child of a fork.
 */
#include "omp_ext/runtime/internal.h"

#include "omp_ext/libomp/images.h"
#include "omp_ext/libomp/ompt.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/teams/pool.h"
#include "omp_ext/libomp/teams/team.h"
#include "omp_ext/process/fatal.h"
#include "omp_ext/process/signals/interrupt.h"
#include "omp_ext/process/why.h"
#include "omp_ext/remote/remote.h"
#include "omp_ext/runtime/cpu/alone.h"
#include "omp_ext/runtime/cpu/cpu.h"
#include "omp_ext/runtime/cpu/crash.h"
#include "omp_ext/services/info.h"
#include "omp_ext/services/machine/links.h"
#include "omp_ext/services/machine/speeds.h"
#include "omp_ext/services/profile.h"
#include "omp_ext/services/services.h"
#include "omp_ext/services/tracing.h"
#include "omp_ext/split/split.h"
#include "omp_ext/tasks/job.h"
#include "util/clock.h"
#include "util/file/sibling.h"
#include "util/lock.h"
#include "util/memory.h"
#include "util/thread.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Declare target variables are on one device: the default one, about which the program may ask. */
static void keep_one_device(unsigned available)
{
    od_devices *devices = &od_runtime.devices;
    int first = devices->number[0], number = od_runtime.virtual_number;
    if (od_devices_are_one(devices) && first == number)
        return;
    if (!od_devices_are_one(devices))
        devices->count = 1;
    for (unsigned k = 0; k < devices->count && (unsigned)number < available; k++)
        devices->number[k] = number;
    od_log(OD_LOG_WARNING, "runtime", "%s, device %d", od_single_device_text, devices->number[0]);
}

/* Declare target variables are libomptarget's, here. */
static void keep_local(void)
{
    od_backend_choice *backend = &od_runtime.options.memory.backend;
    if (backend->type && backend->type->count && od_runtime.single_device) {
        od_log(OD_LOG_WARNING, "runtime", "%s, of this rank", od_single_device_text);
        *backend = (od_backend_choice){0};
    }
}

static void choose_devices(unsigned available)
{
    char error[160];
    od_devices *devices = &od_runtime.devices;
    keep_local();
    unsigned remote = od_devices_remote(&od_runtime.options);
    if (od_devices_choose(&od_runtime.options.devices, remote ? remote : available, devices, error, sizeof error))
        od_refuse(error);
    for (unsigned k = 0; remote && k < devices->count; k++)
        devices->number[k] += OD_REMOTE_FIRST;
    if (od_runtime.single_device)
        keep_one_device(available);
}

/* Where there is less memory than the device has: " (1.5 of 80 GB of device 0 are free)", else nothing. */
static void describe_memory(char *text, size_t size)
{
    const od_backend *backend = &od_runtime.backend;
    char name[OD_DEVICE_NAME];
    size_t least = SIZE_MAX, free_bytes, total;
    *text = '\0';
    for (unsigned k = 0; backend->ops->memory && k < od_runtime.devices.count; k++)
        if (!backend->ops->memory(backend->state, k, &free_bytes, &total) && free_bytes < least &&
            free_bytes < total / 2) {
            least = free_bytes;
            snprintf(text, size, " (%.4g of %.4g GB of %s are free)", (double)free_bytes * 1e-9, (double)total * 1e-9,
                     od_devices_name(&od_runtime.devices, k, name));
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

static const size_t worth_sending = 64 << 10; /* bytes: smaller results go to the host together, at the end */

static od_status start_engine(void)
{
    od_sched_options *options = &od_runtime.options.sched;
    const od_policy_ops *policy = options->sched.policy.ops;
    unsigned n = od_runtime.backend.ndevices;
    bool asynchronous = od_runtime.backend.ops->start != NULL;
    od_runtime_driver_ops.event = od_tracing_wanted(od_runtime.options.trace) ? od_tracing_event : NULL;
    od_runtime_driver_ops.cpus = od_runtime.options.cpu.automatic ? od_cpu_allowed : NULL;
    if (strcmp(options->evict, "auto") == 0)
        snprintf(options->evict, sizeof options->evict, "%s", policy->default_evict);
    if (od_runtime.options.debug.check) /* contents that have come home early would hide a missing synchronisation */
        options->write_back = OD_WRITE_BACK_LATE;
    od_topology *links = od_links_find(&od_runtime.backend, od_runtime.options.cache && !od_cpu_are_alone());
    if (!links)
        return OD_ENOMEM;
    od_runtime.links = links;
    od_kernel_speeds_start(&od_runtime.backend, &links->slowness);
    od_engine_config config = {
        .ndevices = n,
        .memory = od_runtime.backend.pool_bytes[0],
        .buffer = options->buffer,
        .ahead = options->sched.policy.ahead,
        .early = options->write_back == OD_WRITE_BACK_EARLY ? worth_sending : 0,
        .cpus = od_cpu_workers(),
        .slots = asynchronous ? 2 : 1, /* one runs, the next is queued behind it */
        .in_turn = true,
        .singly = true,
        .processors = od_thread_processors(),
        .peer = od_runtime.backend.ops->peer,
        .pins = od_runtime.backend.ops->release_host != NULL,
        .in_process = od_runtime.backend.in_process,
        .commits = od_runtime.backend.ops->commit && od_runtime.backend.windows && od_runtime.backend.windows->share,
        .granule = od_backend_granule(&od_runtime.backend),
        .spill = od_runtime.options.memory.spill,
        .spill_limit = od_runtime.options.memory.spill ? od_runtime.options.memory.spill_limit : 0,
        .host_link = od_topology_link(links, OD_HOST, 0, n),
        .peer_link = n > 1 ? od_topology_link(links, 0, 1, n) : od_topology_link(links, OD_HOST, 0, n),
        .topology = links,
        .ranks = od_runtime.devices.rank,
        .policy = policy,
        .active = od_runtime.options.devices.active,
        .policy_values = options->sched.policy.values,
        .evict = od_evict_find(options->evict),
        .guard = options->guard,
        .recompute = options->recompute,
        .seed = options->seed,
        .driver_ops = &od_runtime_driver_ops,
    };
    od_status status = od_engine_create(&config, &od_runtime.engine);
    if (!status)
        od_directory_keep_alignment(od_engine_directory(od_runtime.engine));
    if (!status && od_cpu_are_alone())
        od_engine_device_lost(od_runtime.engine, 0);
    return status;
}

/* Under the lock. */
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
    bool holds_back = od_runtime.options.sched.guard || od_runtime.options.memory.spill_limit;
    return !holds_back || od_runtime_start_retries();
}

/* One program of a script after the other writes to the same file. */
static void warn_of_overwriting(void)
{
    const od_options *o = &od_runtime.options;
    const struct {
        const char *variable, *path;
    } files[] = {{OD_OPTION_PREFIX "STATS", o->stats.file},
                 {OD_OPTION_PREFIX "TRACE", o->trace},
                 {OD_OPTION_PREFIX "RECORD", o->record}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (*files[i].path && od_file_is_of_sibling(files[i].path, files[i].variable))
            od_log(OD_LOG_WARNING, "runtime",
                   "%s (%s) is another program's of the same script, and is overwritten: %%p in its name keeps both",
                   files[i].path, files[i].variable);
}

static void start_services(void)
{
    const od_options *options = &od_runtime.options;
    od_run run = od_runtime_run();
    bool reports =
        options->stats.summary || options->stats.file[0] || options->record[0] || od_tracing_wanted(options->trace);
    warn_of_overwriting();
    od_services_start(&run);
    od_interrupt_start(reports ? od_runtime_report_interrupted : NULL, od_runtime_show_state);
}

/* " of 64 MB each", or nothing where the user has not said so. */
static const char *of_limit(char *text, size_t size)
{
    size_t limit = od_runtime.options.memory.limit;
    snprintf(text, size, limit ? " of %.10g MB each" : "", (double)limit * 1e-6);
    return text;
}

/* What our threads and the memory of our devices take the program lacks, and libraries do not survive that. */
static bool has_space(void)
{
    const size_t least = (size_t)512 << 20;
    size_t left = od_space_left();
    if (left >= least)
        return true;
    od_log(OD_LOG_WARNING, "runtime", "the limit of the address space (ulimit -v) leaves %zu MB: nothing is scheduled",
           left >> 20);
    return false;
}

/* Workers and threads of kernels count where the user limits the threads of the process: regions of the program, and
 * leagues of kernels, would have fewer. */
static bool has_threads(void)
{
    enum { PLENTY = 4 };
    const char *text = od_environment("KMP_DEVICE_THREAD_LIMIT");
    text = text ? text : od_environment("KMP_ALL_THREADS");
    int limit = text ? atoi(text) : 0; /* or a word: none */
    if (limit <= 0 || limit >= PLENTY * (REAL(omp_get_max_threads)() + (int)od_runtime.devices.count))
        return true;
    od_log(OD_LOG_WARNING, "runtime", "KMP_DEVICE_THREAD_LIMIT leaves no threads for devices: nothing is scheduled");
    return false;
}

/* malloc() reserves addresses for each thread that calls it, unless told not to. */
static void keep_arenas_together(void)
{
    const size_t arena = (size_t)64 << 20;
    if (!od_space_admits(4 * od_runtime.devices.count * arena)) /* a worker and three threads that copy for each */
        mallopt(M_ARENA_MAX, 1);
}

/* Now, while the thread cannot be cancelled in it, and before the pools take the memory. At the first operation
 * libomptarget also shows whether it reports to a tool. */
static void open_devices(void)
{
    od_info_silence(true);
    od_ompt_silence(true);
    od_devices_load(&od_runtime.devices);
    od_ompt_silence(false);
    od_info_silence(false);
}

/* False: there is not enough memory. Wrong options end the program instead. */
static bool open_backend(void)
{
    char message[400], text[48], memory[96];
    open_devices();
    if (od_devices_open(&od_runtime.devices, &od_runtime.options, od_remote_knows, &od_runtime.backend, message,
                        sizeof message))
        od_refuse(message);
    if (od_runtime.backend.ops->launch)
        od_remote_begin();
    describe_memory(memory, sizeof memory);
    if (take_pools()) {
        od_log(OD_LOG_WARNING, "runtime",
               "there is not enough memory for %u devices%s, nothing is scheduled; set OMPDARTS_MEM to less%s",
               od_runtime.devices.count, of_limit(text, sizeof text), memory);
        return false;
    }
    if (*memory && !od_runtime.options.memory.limit)
        od_log(OD_LOG_WARNING, "runtime", "others use much of the memory: data get %.4g GB of each device%s",
               (double)od_runtime.backend.pool_bytes[0] * 1e-9, memory);
    return true;
}

/* Kernels on host devices, and host versions, may run on any thread of libomp's in other programs, or on the main one.
 * The system gives a new thread what that one may have, but only 2 MB where it may have any number. */
static void choose_stacks(void)
{
    const size_t plenty = (size_t)64 << 20;
    struct rlimit main_one;
    bool is_known = !getrlimit(RLIMIT_STACK, &main_one);
    size_t here = !is_known ? 0 : main_one.rlim_cur == RLIM_INFINITY ? plenty : main_one.rlim_cur;
    size_t libomps = REAL(kmp_get_stacksize_s)(), bytes = here > libomps ? here : libomps;
    if (od_space_admits(od_runtime.devices.count * bytes))
        od_thread_set_program_stack(bytes);
}

/* False: there is not enough memory, or there are not enough threads. */
static bool start_all(void)
{
    if (!has_space() || !has_threads())
        return false;
    keep_arenas_together();
    choose_stacks();
    if (od_cpu_are_alone())
        od_cpu_alone_open(&od_runtime.backend);
    else if (!open_backend())
        return false;
    od_lock_take(&od_runtime.lock);
    bool started = !start_engine() && start_threads();
    od_lock_give(&od_runtime.lock);
    if (!started) {
        od_log(OD_LOG_WARNING, "runtime", "out of memory or threads, nothing is scheduled");
        od_backend_release(&od_runtime.backend);
        return false;
    }
    return true;
}

enum { STACK = 8 << 20 }; /* bytes: of a thread of a kernel's */

/* The processors are there for all workers together; a program that wants fewer threads gets fewer. */
static int share_processors(void)
{
    int threads = REAL(omp_get_num_procs)(), wanted = REAL(omp_get_max_threads)();
    unsigned n = od_runtime.backend.ops->start ? 1 : od_runtime.backend.ndevices;
    threads = (wanted < threads ? wanted : threads) / (int)n;
    return threads > 0 && od_space_admits((size_t)threads * n * STACK) ? threads : 1;
}

/* libomptarget goes on all the same, and ends the program at its first kernel. */
static void warn_of_driver(void)
{
    char why[128];
    od_why_not_loaded(why, sizeof why);
    if (*why)
        od_log(OD_LOG_WARNING, "runtime",
               "the driver may not load this program's device code (%s): take a newer driver, or an older CUDA", why);
}

/* Threads that wait already do so as libomp lets them. */
static void stay_off(void)
{
    atomic_store(&od_process_self.activity, OD_OFF);
    od_team_let_all_go();
}

/* There is no device. False: then nothing is scheduled. */
static bool go_without_devices(void)
{
    char why[192];
    unsigned workers = od_runtime.options.cpu.workers;
    od_why_no_device(why, sizeof why);
    if (!*why)
        snprintf(why, sizeof why, "`ompdarts info` lists the devices");
    if (!workers || od_runtime.mandatory) {
        od_log(OD_LOG_WARNING, "runtime",
               "no device for this program's device code: its target regions run on the host, nothing is scheduled "
               "(%s)",
               why);
        return false;
    }
    od_log(OD_LOG_WARNING, "runtime",
           "no device for this program's device code: its target tasks run on %u CPU worker%s (%s)", workers,
           workers == 1 ? "" : "s", why);
    od_cpu_be_alone();
    return true;
}

static void warn_of_oversize(void)
{
    bool can = od_runtime.backend.windows && od_runtime_forgives_parts();
    if (od_runtime.options.oversize != OD_OVERSIZE_PAGE || can)
        return;
    od_log(OD_LOG_WARNING, "runtime", "%sOVERSIZE=page needs %s: without, it is as host", OD_OPTION_PREFIX,
           od_runtime.backend.in_process ? "page faults, which " OD_OPTION_PREFIX "COHERENCE=depend does without"
                                         : "LLVM's host devices, or " OD_OPTION_PREFIX "BACKEND=cuda:managed");
}

/* A rule that cannot be had splits nothing. */
static void start_splitting(void)
{
    char error[OD_OPTION_ERROR];
    if (od_split_start(error, sizeof error))
        od_log(OD_LOG_WARNING, "runtime", OD_OPTION_PREFIX "SPLIT: %s: no task is split", error);
}

void od_runtime_start(void)
{
    int available = REAL(omp_get_num_devices)();
    if (available <= 0 && !od_cpu_are_alone() && !go_without_devices()) {
        stay_off();
        return;
    }
    if (!od_cpu_are_alone())
        warn_of_driver();
    od_runtime.jobs = &od_jobs;
    od_runtime.copies = &od_runtime_copy_ops;
    od_runtime.jobs_done_end = &od_runtime.jobs_done;
    od_list_init(&od_runtime.live);
    od_list_init(&od_runtime.offered);
    if (od_runtime.options.cache)
        od_profile_start(od_runtime.options.cpu.workers ? od_runtime.options.cpu.cores : 0);
    if (!od_cpu_are_alone())
        choose_devices((unsigned)available);
    if (!start_all()) {
        stay_off();
        return;
    }
    od_runtime.kernel_threads = share_processors();
    od_runtime.start_ns = od_clock_ns();
    start_services();
    od_images_hold();
    od_cpu_check_names();
    start_splitting();
    warn_of_oversize();
    if (od_runtime.options.cpu.workers)
        od_crash_start();
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
        od_fatal("this process was forked while target tasks were under way and data regions were open, and now "
                 "it offloads");
    od_log(OD_LOG_WARNING, "runtime",
           "this process was forked while target tasks were under way: what it offloads is not scheduled");
    atomic_store(&od_process_self.activity, OD_OFF);
}

/* What is in windows is the parent's and this process's together. */
static void give_up_parts(void)
{
    if (od_directory_has_regions(od_engine_directory(od_runtime.engine)))
        od_fatal("this process was forked while an array of which devices hold parts was in a data region, and now it "
                 "offloads");
    od_log(OD_LOG_WARNING, "runtime",
           "this process was forked by one whose devices hold parts of arrays: what it offloads is not scheduled");
    atomic_store(&od_process_self.activity, OD_OFF);
}

/* A GPU's driver does not follow into a child. */
static void give_up_gpus(void)
{
    od_log(OD_LOG_WARNING, "runtime", "this process was forked by one that uses %s: nothing is scheduled",
           od_remote_is_on() ? "devices of other ranks" : "GPUs, which the CUDA driver does not support");
    atomic_store(&od_process_self.activity, OD_OFF);
}

static void go_on(void)
{
    od_run run = od_runtime_run();
    if (!start_threads())
        od_fatal("the threads of the scheduler could not be started after a fork");
    od_services_revive(&run);
    od_interrupt_start(NULL, od_runtime_show_state); /* the parent gives the figures */
    atomic_store_explicit(&od_process_self.activity, OD_ON, memory_order_release);
}

/* A child of a process that forked while nothing was under way goes on with a copy of the engine, of the data and of
 * the regions, as it does with libomptarget's. */
void od_runtime_revive(void)
{
    od_lock_take(&od_runtime.lock);
    if (atomic_load(&od_process_self.activity) == OD_FORKED) {
        od_workers_abandon(od_runtime.workers);
        od_runtime.workers = NULL;
        od_planner_abandon(od_runtime.planner);
        od_engine_abandon_background(od_runtime.engine);
        od_transfer_queues_abandon(od_runtime.transfers);
        od_host_copies_abandon(od_runtime.host_copies);
        od_runtime.changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
        od_runtime.onlookers = 0;
        od_runtime.reclaiming = 0;
        atomic_store(&od_runtime.reporting, 0);
        atomic_store(&od_process_self.inside, od_own_inside);
        od_runtime.deferred = false;
        od_runtime.inherited = true;
        if (od_runtime.backend.ops->start)
            give_up_gpus();
        else if (!od_engine_is_idle(od_runtime.engine) || od_runtime.busy || od_own_jobs)
            give_up_inherited();
        else if (od_runtime.divided)
            give_up_parts();
        else
            go_on();
    }
    od_lock_give(&od_runtime.lock);
}
