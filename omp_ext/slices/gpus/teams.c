/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See teams.h. */
#include "omp_ext/slices/gpus/teams.h"

#include "omp_ext/libomp/images.h"
#include "omp_ext/maps/args.h"
#include "omp_ext/remote/remote.h"
#include "omp_ext/slices/gpus/copies.h"
#include "omp_ext/slices/whole.h"
#include "omp_ext/tasks/job.h"
#include "util/clock.h"
#include "util/options.h"

#include <elf.h>
#include <stdlib.h>

enum {
    THREADS = 128, /* of a team, where no clause says how many, as libomptarget has it */
    AMD_THREADS = 256,
    MOST_THREADS = 1024,
    MOST_TEAMS = 65535, /* of a launch, by libomptarget's limit */
    MOST_PAUSE = 4096,  /* launches */
};

/* --- whether ------------------------------------------------------------------- */

static od_whole judge_data(const od_kernel_call *call)
{
    const od_map_args *args = &call->map;
    if (call->structs || od_self.holds || od_launch_bound(&(od_launch){.call = *call}) != OD_NOWHERE)
        return OD_WHOLE_POINTERS;
    for (int32_t i = 0; i < args->count; i++) {
        if (args->types[i] & OD_MAP_ALWAYS)
            return OD_WHOLE_SECTION;
        if (od_arg_classify(args, i) == OD_ARG_ODD)
            return OD_WHOLE_POINTERS;
    }
    return OD_WHOLE_NOT;
}

/* There was none the last time: libomptarget would write three lines with each launch. */
static bool waits_for_memory(od_slicing *s)
{
    bool waits = s->copies_wait > 0;
    s->copies_wait -= waits;
    return waits;
}

static void note_memory(od_slicing *s, bool is_enough)
{
    unsigned longer = s->copies_pause ? 2 * s->copies_pause : 1;
    s->copies_pause = is_enough ? 0 : longer < MOST_PAUSE ? longer : MOST_PAUSE;
    s->copies_wait = s->copies_pause;
}

static od_whole judge(const od_kernel_call *call, od_slicing *s)
{
    if (waits_for_memory(s))
        return OD_WHOLE_NO_COPIES;
    od_runtime_lock();
    od_whole reason = od_slicing_decide(s, od_runtime_options()->slice.count == OD_SLICE_AUTO);
    od_runtime_unlock();
    if (reason == OD_WHOLE_CLASHED)
        reason = OD_WHOLE_REFUSED;
    if (!reason && od_images_kernel_reduces(call->kernel))
        reason = OD_WHOLE_REDUCES;
    if (!reason && od_images_kernel_names(call->kernel, "vprintf"))
        reason = OD_WHOLE_PRINTS;
    if (!reason && od_images_kernel_has_no_loop(call->kernel)) /* which it would lose where teams have fewer */
        reason = OD_WHOLE_ONE_EACH;
    return reason ? reason : judge_data(call);
}

/* libomptarget launches no more than these, whatever it is asked for. 0: no limit is set. */
static unsigned set_limit(void)
{
    const char *text = od_environment("OMP_NUM_TEAMS");
    long limit = text ? strtol(text, NULL, 10) : 0;
    return limit > 0 && limit < MOST_TEAMS ? (unsigned)limit : 0;
}

/* Of its num_teams clause, or 1 where it has no league; 0: there is no clause. */
static unsigned teams_asked_for(const od_kernel_call *call)
{
    int32_t teams = (int32_t)call->args.teams[0] ? (int32_t)call->args.teams[0] : call->teams;
    unsigned limit = set_limit(), most = limit ? limit : MOST_TEAMS;
    if (teams < 0)
        return 1;
    return (unsigned)teams < most ? (unsigned)teams : most;
}

static unsigned threads_asked_for(const od_kernel_call *call)
{
    unsigned threads = call->args.threads[0];
    if (!threads && call->threads > 0)
        threads = (unsigned)call->threads;
    return threads < MOST_THREADS ? threads : MOST_THREADS;
}

static unsigned usual_threads(void)
{
    return od_images_machine() == EM_AMDGPU ? AMD_THREADS : THREADS;
}

/* Of the whole league: what libomptarget takes where devices are not to be used twice by long loops, so that each team
 * has one chunk and each slice consecutive ones. Of short loops that its threads divide a team has fewer threads than
 * usual, *threads; 0: the usual number. Returns 0 where it is not known. */
static unsigned count_teams(const od_kernel_call *call, unsigned slices, unsigned *threads)
{
    unsigned asked = teams_asked_for(call), asked_threads = threads_asked_for(call);
    uint64_t trip_count = call->args.trip_count;
    if (asked || !trip_count)
        return asked;
    bool is_divided = od_images_kernel_is_spmd(call->kernel);
    uint64_t each = !is_divided ? 1 : asked_threads ? asked_threads : usual_threads();
    if (is_divided && !asked_threads && trip_count <= each * (slices - 1))
        *threads = (unsigned)(each = (trip_count + slices - 1) / slices);
    uint64_t teams = (trip_count + each - 1) / each;
    uint64_t most = set_limit() ? set_limit() : (uint64_t)MOST_TEAMS * slices;
    return (unsigned)(teams < most ? teams : most);
}

static unsigned count_devices(void)
{
    unsigned count = 0;
    for (unsigned k = 0; k < od_runtime_ndevices(); k++)
        count += od_copies_may_be_on(k);
    return count;
}

/* How many slices, of copies->teams teams; 0: *reason says why the launch is whole. */
static unsigned plan(const od_kernel_call *call, od_copies *copies, od_whole *reason)
{
    int wanted = od_runtime_options()->slice.count;
    unsigned ndevices = count_devices(), slices = wanted > 0 ? (unsigned)wanted : ndevices;
    slices = slices < ndevices ? slices : ndevices;
    copies->teams = count_teams(call, slices, &copies->threads);
    /* Without a loop there is no trip count: its teams may wait for what others write, which copies do not show. */
    bool is_long = call->args.trip_count && (wanted <= 0 || call->args.trip_count >= (unsigned)wanted);
    bool is_bare = call->args.teams[1] > 1 || call->args.teams[2] > 1; /* blocks of several dimensions */
    if (teams_asked_for(call) == 1 || is_bare) /* the program may count on the order of the iterations of one team */
        *reason = OD_WHOLE_TEAMS;
    else if (slices < 2)
        *reason = OD_WHOLE_ONE_DEVICE;
    else if (od_remote_is_on()) /* no messages are for the variable and for copies */
        *reason = OD_WHOLE_ON_RANKS;
    else if (!copies->teams || !is_long)
        *reason = OD_WHOLE_FEW;
    else if (copies->teams < slices)
        *reason = OD_WHOLE_FEW_TEAMS;
    return *reason ? 0 : slices;
}

/* --- launches ------------------------------------------------------------------- */

static od_whole reason_of(od_merged merged)
{
    static const od_whole reasons[] = {
        [OD_MERGED] = OD_WHOLE_NOT,
        [OD_MERGED_TRIAL] = OD_WHOLE_TRIED,
        [OD_MERGED_DIFFERS] = OD_WHOLE_DIFFERS,
        [OD_MERGED_CLASHES] = OD_WHOLE_WORDS,
        [OD_MERGED_EXCLUDES] = OD_WHOLE_EXCLUDES,
        [OD_MERGED_BUSY] = OD_WHOLE_SHARED,
        [OD_MERGED_LARGE] = OD_WHOLE_NO_COPIES,
        [OD_MERGED_POINTERS] = OD_WHOLE_POINTERS,
        [OD_MERGED_NOT] = OD_WHOLE_FAILED,
    };
    return reasons[merged];
}

static void note(od_slicing *s, const od_copies *copies, double seconds)
{
    od_whole reason = copies->ran ? reason_of(copies->merged) : OD_WHOLE_NO_COPIES; /* it ran outside of the pools */
    note_memory(s, reason != OD_WHOLE_NO_COPIES);
    if (!reason) {
        od_slicing_note_sliced(s, copies->slices, seconds, false);
        return;
    }
    od_slicing_note_whole(s, 0);
    s->reason = reason;
    if (copies->merged == OD_MERGED_TRIAL)
        od_slicing_note_compared(s, copies->slices);
}

static int launch_slices(const od_kernel_call *call, od_slicing *s, od_copies *copies)
{
    od_kernel_call sliced = *call;
    uint64_t start_ns = od_clock_ns();
    copies->runner.run = od_copies_run;
    copies->trial = od_slicing_should_compare(s);
    sliced.runner = &copies->runner;
    int failed = od_job_launch_sync(&sliced, NULL);
    od_runtime_lock();
    if (failed)
        od_slicing_note_host(s);
    else
        note(s, copies, (double)(od_clock_ns() - start_ns) * 1e-9);
    od_runtime_unlock();
    return failed;
}

int od_teams_launch(const od_kernel_call *call, od_slicing *s)
{
    od_copies copies = {.slices = 0};
    s->by_teams = true;
    od_whole reason = judge(call, s);
    if (!reason)
        copies.slices = plan(call, &copies, &reason);
    return reason ? od_whole_launch(call, s, reason) : launch_slices(call, s, &copies);
}
