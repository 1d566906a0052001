/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What is remembered between runs: measured values by name and size, in one text file that several processes share.
 *
 * Saving takes a lock (FILE.lock), reads what others have saved meanwhile, adds what was put here, and replaces the
 * file in one step. A damaged file is reported and begun anew. The format, one row a line: size, count, mean,
 * deviation, date (seconds since 1970), name, and perhaps a tab and a text; before them a line with the version, after
 * them one with the number of rows. Where texts become too long together the rows with the oldest go.
 */
#ifndef OD_UTIL_FILE_HISTORY_H
#define OD_UTIL_FILE_HISTORY_H

#include "util/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct od_history od_history;

typedef struct od_history_row {
    uint64_t size;
    uint64_t count; /* measurements */
    double mean, deviation;
    int64_t date;
    char *name; /* one line without tabs */
    char *text; /* likewise; NULL: none */
} od_history_row;

/* Reads the file; one that is not there is empty. NULL: out of memory. */
od_history *od_history_open(const char *path);
void od_history_close(od_history *history);

/* NULL: unknown. Valid until the next put or save. */
const od_history_row *od_history_find(const od_history *history, const char *name, uint64_t size);

/* Notes a value to be saved; name and text are copied, row->date set by the save. OD_EINVAL: these are none. */
od_status od_history_put(od_history *history, const od_history_row *row);

/* All that is known, by name and size. */
void od_history_visit(const od_history *history, void (*visit)(const od_history_row *row, void *arg), void *arg);

/* Forgets at once, in the file as well, the rows whose name contains the text; "" is all of them. OD_EIO, with a
 * message: it could not be written. */
od_status od_history_remove(od_history *history, const char *text, size_t *removed);

/* OD_EIO, with a message: it could not be saved. */
od_status od_history_save(od_history *history);

/* The file for this machine, "$XDG_CACHE_HOME/ompdarts/HOST" or "$HOME/.cache/ompdarts/HOST", its folder made. OD_EIO:
 * none. */
od_status od_history_path(char *path, size_t size);

#endif
