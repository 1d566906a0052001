/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See kernels.h. */
#include "omp_ext/slices/kernels.h"

#include "omp_ext/slices/slice.h"

#include <stdlib.h>

enum { WATCHED = 2, TRIAL = 3, FIRST_PAUSE = 16, MOST_PAUSE = 4096 }; /* launches */
static const double shortest_s = 100e-6;

/* Trials take at most a fiftieth of the time that whole launches have taken, as far as the last trial tells. The first
 * one moves arrays to several devices and back, and shows page by page what slices use. As measured, that takes so
 * long, and as many whole launches. */
static const double share = 0.02, first_cost_s = 0.1, first_cost = 20;

const char *od_whole_text(od_whole reason)
{
    static const char *const texts[OD_WHOLE_REASONS] = {
        [OD_WHOLE_WATCHED] = "has run once",
        [OD_WHOLE_NO_LOOP] = "is not just one distribute loop",
        [OD_WHOLE_CHUNKS] = "has a dist_schedule with chunks",
        [OD_WHOLE_LIBRARY] = "is in a program with atomic operations that processors do not have",
        [OD_WHOLE_TASKS] = "creates tasks",
        [OD_WHOLE_PRIVATE] = "has teams that share a variable that is private to the target region",
        [OD_WHOLE_REDUCES] = "has a reduction across the teams of a GPU",
        [OD_WHOLE_PRINTS] = "is in a program whose kernels print",
        [OD_WHOLE_ONE_EACH] = "has a thread of a GPU for each iteration",
        [OD_WHOLE_EXCLUDES] = "has teams that exclude each other by critical sections or locks",
        [OD_WHOLE_DIFFERS] = "does something else in slices",
        [OD_WHOLE_WORDS] = "writes to the same words in several slices",
        [OD_WHOLE_REFUSED] = "could not be in slices in an earlier run",
        [OD_WHOLE_CLASHES] = "writes to the same pages in all slices",
        [OD_WHOLE_CLASHED] = "wrote to the same pages in all slices of an earlier run",
        [OD_WHOLE_ONE_DEVICE] = "has one device to run on",
        [OD_WHOLE_FEW] = "has fewer iterations than slices, or none that are known before it runs",
        [OD_WHOLE_FEW_TEAMS] = "has fewer teams than slices",
        [OD_WHOLE_TEAMS] =
            "has one team: it has no teams construct, a num_teams clause, or asks for the numbers of threads",
        [OD_WHOLE_NO_WINDOWS] = "runs on devices where page faults are not seen",
        [OD_WHOLE_NO_REGION] = "uses data outside of data regions",
        [OD_WHOLE_SECTION] = "maps sections of what is entered, or with always",
        [OD_WHOLE_POINTERS] = "uses structs with pointers, or device addresses",
        [OD_WHOLE_SHARED] = "uses arrays that others use in one piece, or is launched by several threads",
        [OD_WHOLE_LARGE] = "needs more than a device's memory, in its slices or to find out what these use",
        [OD_WHOLE_NO_COPIES] = "needs more memory for copies of its data than devices have",
        [OD_WHOLE_NO_RUNTIME] = "has been compiled without a device runtime for slices "
                                "(scripts/build-device-runtime.sh --help)",
        [OD_WHOLE_TRIED] = "has been compared with its slices",
        [OD_WHOLE_FAILED] = "could not run on one of the devices",
        [OD_WHOLE_ON_HOST] = "runs on the host, as no device has room for its data, or none is left",
        [OD_WHOLE_ON_RANKS] = "runs on devices of other ranks",
        [OD_WHOLE_SHORT] = "takes less than 100 microseconds",
        [OD_WHOLE_EARLY] = "has not run for long enough to try slices, which a number in OMPDARTS_SLICE does at once",
        [OD_WHOLE_SLOWER] = "was not faster in slices",
        [OD_WHOLE_WAS_SLOWER] = "was not faster in slices in an earlier run",
        [OD_WHOLE_OTHERS] = "was faster in slices, but others on its arrays were slower by more",
    };
    return texts[reason] ? texts[reason] : "";
}

const char *od_slices_verdict_text(od_slices_verdict verdict)
{
    static const char *const texts[OD_SLICES_VERDICTS] = {[OD_SLICES_UNKNOWN] = "",
                                                          [OD_SLICES_CLASH] = "writes to the same pages in all slices",
                                                          [OD_SLICES_SLOWER] = "was not faster in slices",
                                                          [OD_SLICES_FASTER] = "was faster in slices"};
    return texts[verdict];
}

static bool is_for_good(od_whole reason)
{
    return reason >= OD_WHOLE_NO_LOOP && reason <= OD_WHOLE_CLASHED;
}

static od_whole judge(unsigned seen)
{
    if (seen & OD_SEEN_LIBRARY)
        return OD_WHOLE_LIBRARY;
    if (seen & OD_SEEN_CHUNKS)
        return OD_WHOLE_CHUNKS;
    if (seen & OD_SEEN_TASKS)
        return OD_WHOLE_TASKS;
    if (seen & OD_SEEN_PRIVATE)
        return OD_WHOLE_PRIVATE;
    return (seen & ~(unsigned)OD_SEEN_NUMBERS) == OD_SEEN_LOOP ? OD_WHOLE_NOT : OD_WHOLE_NO_LOOP;
}

bool od_slicing_has_numbers(const od_slicing *s)
{
    return atomic_load_explicit(&s->seen, memory_order_relaxed) & OD_SEEN_NUMBERS;
}

static void shorten(double *shortest, double seconds)
{
    if (*shortest <= 0 || seconds < *shortest)
        *shortest = seconds;
}

static double alone_s(const od_slicing *s)
{
    return s->alone ? s->alone_s / (double)s->alone : 0;
}

static void note_whole(od_slicing *s, double seconds)
{
    shorten(&s->whole_s, seconds);
    s->whole_total_s += seconds;
    if (s->balance && s->balance->disturbed) {
        od_balance_note_whole(s->balance, alone_s(s), seconds);
        return;
    }
    s->alone_s += seconds;
    s->alone++;
}

void od_slicing_note_whole(od_slicing *s, double seconds)
{
    if (s->watched && seconds > 0) /* the first one brings the data */
        note_whole(s, seconds);
    s->watched = true;
    s->whole_launches++;
}

void od_slicing_note_host(od_slicing *s)
{
    if (!is_for_good(s->reason))
        s->reason = OD_WHOLE_ON_HOST;
    s->whole_launches++;
}

void od_slicing_note_sliced(od_slicing *s, unsigned slices, double seconds, bool learns)
{
    s->reason = s->footprint && od_footprint_clashes(s->footprint) ? OD_WHOLE_CLASHES : OD_WHOLE_NOT;
    s->slices = slices;
    s->sliced_launches++;
    if (seconds > s->whole_s)
        s->trial_s += seconds - s->whole_s;
    if (s->balance)
        od_balance_note_sliced(s->balance, !learns && s->trial >= TRIAL && s->alone, alone_s(s), seconds);
    if (learns)
        return;
    s->trial++;
    shorten(&s->sliced_s, seconds);
}

void od_slicing_note_surprises(od_slicing *s, bool any)
{
    s->surprises += any && od_slicing_is_steady(s);
    s->steady = any ? 0 : s->steady + 1;
}

bool od_slicing_is_steady(const od_slicing *s)
{
    static const unsigned least = 8, most_doubled = 10;
    unsigned doubled = s->surprises < most_doubled ? s->surprises : most_doubled;
    return s->steady >= least << doubled;
}

bool od_slicing_should_compare(const od_slicing *s)
{
    return s->sliced_launches >= s->compare_at;
}

void od_slicing_note_compared(od_slicing *s, unsigned slices)
{
    s->slices = slices;
    s->compare_at = s->sliced_launches + (UINT64_C(1) << (s->compared < 32 ? s->compared : 32));
    s->compared++;
}

bool od_slicing_note_touched(od_slicing *s, unsigned slice, const od_touched *touched)
{
    return s->footprint && s->footprint->slices == touched->slices && od_footprint_add(s->footprint, slice, touched);
}

void od_slicing_align(od_slicing *s, uint64_t trip_count)
{
    od_grain grain;
    if (s->grain.every || !od_footprint_grain(s->footprint, trip_count, &grain))
        return;
    od_footprint *again = od_footprint_create(s->footprint->arguments, s->footprint->slices);
    if (!again)
        return;
    od_footprint_destroy(s->footprint);
    s->footprint = again;
    s->steady = 0;
    s->grain = grain;
    s->learnt = false;
}

bool od_slicing_plan(od_slicing *s, unsigned arguments, unsigned slices)
{
    bool together = od_slicing_has_numbers(s);
    if (s->footprint && s->footprint->slices == slices && s->together == together)
        return true;
    s->together = together;
    s->grain = (od_grain){0};
    od_footprint_destroy(s->footprint);
    s->footprint = od_footprint_create(arguments, slices);
    s->steady = 0;
    s->learnt = false;
    return s->footprint;
}

void od_slicing_destroy(od_slicing *s)
{
    if (s)
        od_footprint_destroy(s->footprint);
    free(s);
}

/* The last trial did not pay: whole again, for longer each time. */
static od_whole pause_trials(od_slicing *s, unsigned *pause, od_whole why)
{
    *pause = *pause ? 2 * *pause : FIRST_PAUSE;
    *pause = *pause < MOST_PAUSE ? *pause : MOST_PAUSE;
    s->wait = *pause;
    s->why = why;
    s->trial = 0;
    s->lost_s += s->trial_s;
    s->cost_s = s->trial_s;
    s->whole_s = s->sliced_s = s->trial_s = 0;
    return why;
}

static bool can_afford_trial(const od_slicing *s)
{
    if (s->promises && s->lost_s <= 0)
        return true;
    double expected_s = first_cost_s + first_cost * s->whole_s, cost_s = s->cost_s > 0 ? s->cost_s : expected_s;
    return s->lost_s + cost_s <= share * s->whole_total_s;
}

/* Nothing is learnt from more launches. The first one moves the arrays to where its slices use them. */
static bool is_hopeless(const od_slicing *s)
{
    return s->trial > 1 && s->sliced_s > 2 * s->whole_s;
}

static od_whole decide_by_time(od_slicing *s)
{
    if (s->wait) {
        s->wait--;
        return s->why;
    }
    if (s->whole_launches < WATCHED || s->whole_s <= 0)
        return OD_WHOLE_WATCHED;
    if (s->whole_s < shortest_s)
        return OD_WHOLE_SHORT;
    if (s->trial < TRIAL && !is_hopeless(s)) {
        bool goes_on = s->trial || s->trial_s > 0;
        s->losses = s->balance ? s->balance->losses : 0;
        return goes_on || can_afford_trial(s) ? OD_WHOLE_NOT : OD_WHOLE_EARLY;
    }
    if (s->sliced_s >= s->whole_s)
        return pause_trials(s, &s->pause, OD_WHOLE_SLOWER);
    s->pause = 0;
    if (!s->balance || s->losses == s->balance->losses)
        return OD_WHOLE_NOT;
    s->trial_s += s->balance->lost_s;
    return pause_trials(s, &s->others_pause, OD_WHOLE_OTHERS);
}

od_slices_verdict od_slicing_verdict(const od_slicing *s)
{
    if (s->reason >= OD_WHOLE_EXCLUDES && s->reason <= OD_WHOLE_CLASHED)
        return OD_SLICES_CLASH;
    if (s->pause || s->wait)
        return OD_SLICES_SLOWER;
    return s->trial >= TRIAL && s->sliced_s < s->whole_s ? OD_SLICES_FASTER : OD_SLICES_UNKNOWN;
}

void od_slicing_recall(od_slicing *s, od_slices_verdict verdict)
{
    if (verdict == OD_SLICES_CLASH)
        s->reason = OD_WHOLE_CLASHED;
    else if (verdict == OD_SLICES_SLOWER)
        pause_trials(s, &s->pause, OD_WHOLE_WAS_SLOWER);
    s->promises |= verdict == OD_SLICES_FASTER;
}

od_whole od_slicing_decide(od_slicing *s, bool try)
{
    if (is_for_good(s->reason))
        return s->reason;
    if (!s->watched)
        return OD_WHOLE_WATCHED;
    od_whole reason = s->by_teams ? OD_WHOLE_NOT : judge(atomic_load_explicit(&s->seen, memory_order_relaxed));
    return reason || !try ? reason : decide_by_time(s);
}
