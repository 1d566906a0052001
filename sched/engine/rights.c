/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Rights to data. Readers may be anywhere. While a task that writes a datum is committed or
 * running, all users of that datum are on one device (its home) and share the replica.
 * A task that must wait holds nothing, and later tasks that want the same datum in a
 * conflicting way queue behind it: first come, first served.
 */
#include "sched/engine/internal.h"

static uint32_t users_at(const od_datum *d, int place)
{
    return place == OD_HOST ? d->host_users : d->replica[place].users;
}

/* In a region: host tasks may share the spill area as kernels do a replica, but what one of them writes to the
 * program's memory would be lost if others went on in the spill area. */
static bool is_exclusive(const od_engine *e, const od_task *t, const od_access *a, int place)
{
    return place == OD_HOST && (a->mode & OD_WRITE) && a->datum->region && e->config.spill && !t->uses_spill;
}

static bool has_right(const od_engine *e, const od_task *t, const od_access *a, int place)
{
    const od_datum *d = a->datum;
    if (od_datum_is_held(d) || d->exclusive || (d->users && is_exclusive(e, t, a, place)))
        return false;
    bool renewable = place == OD_HOST && d->bound && !d->writers; /* that copy is loaded anew afterwards */
    if (d->home != OD_NOWHERE && d->home != place && !renewable)
        return false;
    if ((a->mode & OD_WRITE) && d->users != users_at(d, place))
        return false;
    if (a->relocations && place != OD_HOST && !od_patches_allow(d->replica[place].patches, a->relocations))
        return false;
    /* A replica that another task is just writing cannot be loaded over. */
    bool unreadable = place != OD_HOST && !od_datum_is_readable(d, (unsigned)place);
    return !((a->mode & OD_READ) && unreadable && d->writers);
}

bool od_engine_tasks_conflict(const od_task *a, const od_task *b)
{
    for (uint32_t i = 0; i < a->naccess; i++)
        for (uint32_t j = 0; j < b->naccess; j++)
            if (a->access[i].datum == b->access[j].datum &&
                (((a->access[i].mode | b->access[j].mode) & OD_WRITE) ||
                 !od_relocations_agree(a->access[i].relocations, b->access[j].relocations)))
                return true;
    return false;
}

bool od_rights_await_program(const od_task *t, unsigned k)
{
    for (uint32_t i = 0; i < t->naccess; i++)
        if (t->access[i].datum->bound && t->access[i].datum->home != (int)k)
            return true;
    return false;
}

bool od_rights_are_apart(const od_task *t)
{
    int device = t->bound;
    for (uint32_t i = 0; i < t->naccess; i++) {
        const od_datum *d = t->access[i].datum;
        if (d->bound && device != OD_NOWHERE && d->home != device)
            return true;
        if (d->bound)
            device = d->home;
    }
    return false;
}

/* First come, first served: a task that has waited longer for one of these data goes first. Not so one that the program
 * keeps waiting: this may be what the program waits for before it lets go. */
static bool overtakes(const od_engine *e, const od_task *t)
{
    for (od_placeset_walk at = od_placeset_begin(e->rights_waiters); od_placeset_next(&at);) {
        od_node *node = od_list_first(&e->device[at.place].buffer);
        const od_task *head = node ? od_container_of(node, od_task, link) : NULL;
        if (head && head != t && head->wait_seq && (!t->wait_seq || head->wait_seq < t->wait_seq) &&
            od_engine_tasks_conflict(head, t) && !od_rights_await_program(head, at.place))
            return true;
    }
    od_list_each(node, &e->host_waiting) {
        const od_task *w = od_container_of(node, od_task, link);
        if (w != t && w->wait_seq && (!t->wait_seq || w->wait_seq < t->wait_seq) && od_engine_tasks_conflict(w, t))
            return true;
    }
    return false;
}

static bool gives_way_to_requests(od_engine *e, const od_task *t)
{
    bool any = false;
    for (uint32_t i = 0; i < t->naccess && !any; i++)
        any = t->access[i].datum->items && od_request_has_turn(e, t->access[i].datum);
    if (any && !e->keeps_tasks && e->config.driver_ops->keeps_tasks)
        e->config.driver_ops->keeps_tasks(e->config.driver);
    e->keeps_tasks |= any;
    return any;
}

bool od_rights_may_use_all(od_engine *e, od_task *t, int place)
{
    if (t->outer && place == OD_HOST) /* nested in a task that holds a device: it cannot wait for that one */
        return true;
    bool ok = t->outer || t->remakes || (!overtakes(e, t) && !gives_way_to_requests(e, t));
    for (uint32_t i = 0; ok && i < t->naccess; i++)
        ok = has_right(e, t, &t->access[i], place);
    if (!ok && !t->wait_seq)
        t->wait_seq = ++e->wait_seq;
    e->stats.waited |= !ok && place != OD_HOST;
    return ok;
}

static void count_writer(od_engine *e, od_datum *d)
{
    if (++d->written <= e->stats.shared_tasks)
        return;
    e->stats.shared_tasks = d->written;
    e->stats.shared_base = d->base;
    e->stats.shared_size = d->size;
}

void od_rights_take(od_engine *e, od_task *t, int place)
{
    for (uint32_t i = 0; i < t->naccess; i++) {
        od_datum *d = t->access[i].datum;
        d->users++;
        t->access[i].commit = ++d->commits;
        if (place == OD_HOST) {
            d->host_users++;
        } else {
            if (d->window)
                od_shared_used(e, d);
            d->replica[place].users++;
            d->replica[place].pins++;
            if (t->access[i].relocations && od_patches_take(&d->replica[place].patches, t->access[i].relocations))
                e->config.driver_ops->fatal(e->config.driver, "out of host memory for a task's pointers");
        }
        if (t->access[i].mode & OD_WRITE) {
            d->writers++;
            d->exclusive |= is_exclusive(e, t, &t->access[i], place);
            if (place != OD_HOST)
                count_writer(e, d);
        }
        if (((t->access[i].mode & OD_WRITE) || (t->shows && place != OD_HOST)) && d->home == OD_NOWHERE)
            d->home = place;
        if (t->shows && place != OD_HOST) {
            d->bound++;
            d->replica[place].pins++;
        }
    }
}

void od_rights_write_too(od_engine *e, od_task *t, uint32_t i)
{
    od_datum *d = t->access[i].datum;
    t->access[i].mode |= OD_WRITE;
    d->writers++;
    d->home = t->place;
    count_writer(e, d);
}

void od_rights_leave(od_engine *e, od_task *t, int place)
{
    for (uint32_t i = 0; i < t->naccess; i++) {
        od_datum *d = t->access[i].datum;
        d->users--;
        od_request_note_left(d, t->access[i].commit);
        if (place == OD_HOST) {
            d->host_users--;
        } else {
            if (d->window)
                od_shared_used(e, d);
            d->replica[place].users--;
            d->replica[place].pins--;
            if (t->access[i].relocations)
                od_patches_leave(d->replica[place].patches, t->access[i].relocations);
        }
        if (t->access[i].mode & OD_WRITE)
            d->writers--;
        d->exclusive &= d->writers > 0;
        if (!d->writers && !d->bound)
            d->home = OD_NOWHERE;
    }
}
