/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Tasks that have been submitted and are not ready yet, known by their depend items. */
#include "sched/engine/internal.h"
#include "util/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void forecast(od_engine *e, uintptr_t address, int change)
{
    uint32_t count = od_forecast_add(e->forecast, address, change);
    od_datum *d = od_directory_find(e->directory, address, 0);
    if (d && d->base == address)
        d->forecast = count;
}

static void count_waiting(od_engine *e, int change)
{
    e->stats.waiting += (uint64_t)change;
    if (od_is_observed(e))
        od_emit(e, (od_event){
                       .kind = OD_EVENT_WAITING, .ns = od_engine_now(e), .place = OD_HOST, .tasks = e->stats.waiting});
}

void od_engine_expect(od_engine *e, const void *kind, double seconds)
{
    if (!e->chooser || !e->known)
        return;
    od_durations_note(&e->known->durations, kind, seconds);
    od_durations_set_guessed(&e->known->durations, kind, false);
}

void od_engine_guess(od_engine *e, const void *kind, bool is_guess)
{
    if (e->chooser && e->known)
        od_durations_set_guessed(&e->known->durations, kind, is_guess);
}

void od_engine_expect_host(od_engine *e, const void *kind, double host_seconds)
{
    if (e->known)
        od_durations_note_host(&e->known->durations, kind, host_seconds);
}

static od_submission *new_submission(od_engine *e, uint32_t nuses)
{
    od_submission *s = od_malloc(sizeof *s + nuses * sizeof s->uses[0]);
    if (!s)
        return NULL;
    *s = (od_submission){.nuses = nuses};
    od_list_push_back(&e->submissions, &s->link);
    return s;
}

static void count_submitted(od_engine *e)
{
    e->awaited = false;
    e->stats.submitted++;
    count_waiting(e, +1);
}

od_submission *od_engine_submit(od_engine *e, const void *kind, unsigned speed_class, double seconds,
                                const od_level_use *uses, uint32_t nuses)
{
    od_submission *s = new_submission(e, nuses);
    if (!s)
        return NULL;
    if (nuses)
        memcpy(s->uses, uses, nuses * sizeof *uses);
    count_submitted(e);
    for (uint32_t i = 0; i < nuses; i++)
        forecast(e, uses[i].address, +1);
    od_admit_submit(e, s, seconds);
    s->level = e->levels ? od_levels_submit(e->levels, seconds, uses, nuses) : NULL;
    s->known = od_hook_submitted(e, kind, speed_class, seconds, uses, nuses);
    return s;
}

void od_engine_submission_rank(od_submission *s, int32_t priority)
{
    if (!s || !s->known)
        return;
    s->known->priority = priority;
    s->known->ranked = true;
}

double od_engine_unsubmit(od_engine *e, od_submission **submission)
{
    od_submission *s = *submission;
    if (!s)
        return 0;
    count_waiting(e, -1);
    for (uint32_t i = 0; i < s->nuses; i++)
        forecast(e, s->uses[i].address, -1);
    double level = s->level ? od_levels_ready(e->levels, s->level) : 0;
    s->level = NULL;
    if (!e->known && !e->admission.lifetimes) {
        od_submission_free(e, s);
        *submission = NULL;
    }
    return level;
}

static void submit_known(od_engine *e, od_task *t, uint32_t nuses)
{
    od_submission *s = t->submission = new_submission(e, nuses);
    if (!s)
        return;
    s->step = OD_BANKER_NO_STEP;
    for (uint32_t i = 0; i < nuses; i++)
        s->uses[i] =
            (od_level_use){t->access[i].datum->base, t->access[i].mode & OD_WRITE, t->access[i].mode == OD_WRITE};
    s->known = od_hook_submitted(e, t->kind, t->speed_class, t->duration, s->uses, nuses);
}

void od_engine_foresee(od_engine *e, od_task *t, uint32_t nuses)
{
    assert(!e->levels && !e->admission.lifetimes && !e->config.spill_limit);
    e->events++;
    count_submitted(e);
    for (uint32_t i = 0; i < nuses; i++)
        t->access[i].datum->forecast++;
    t->submission = NULL;
    if (e->known)
        submit_known(e, t, nuses);
}

void od_engine_foreseen(od_engine *e, const od_task *t, uint32_t nuses)
{
    count_waiting(e, -1);
    for (uint32_t i = 0; i < nuses; i++)
        t->access[i].datum->forecast--;
}

void od_submission_free(od_engine *e, od_submission *submission)
{
    if (!submission)
        return;
    od_list_remove(&e->submissions, &submission->link);
    free(submission);
}

void od_submission_end_batch(od_engine *e, uint64_t batches)
{
    if (e->chooser && e->known->batches != batches)
        e->chooser_ops->end(e->chooser);
}

void od_engine_withdraw(od_engine *e, od_submission *submission)
{
    if (submission && submission->known) {
        uint64_t batches = e->known->batches;
        od_known_done(e->known, submission->known);
        od_submission_end_batch(e, batches);
    }
    od_admit_end(e, submission);
    od_submission_free(e, submission);
}
