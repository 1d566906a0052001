/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Members of JSON objects, written behind each other: each function returns the end of the text. */
#ifndef OD_TRACE_JSON_TEXT_H
#define OD_TRACE_JSON_TEXT_H

#include "trace/text.h"
#include "trace/trace.h"

enum { OD_JSON_MOST_NAME = 120, OD_JSON_MOST_VARIABLE = 32, OD_JSON_MOST_RANGES = OD_TRACE_MOST_MAPS };

static inline char *od_json_member(char *at, const char *name)
{
    *at++ = ',';
    *at++ = '"';
    at = od_put(at, name);
    *at++ = '"';
    *at++ = ':';
    return at;
}

static inline char *od_json_number(char *at, const char *name, uint64_t value)
{
    return od_put_u64(od_json_member(at, name), value);
}

static inline char *od_json_string(char *at, const char *name, const char *value)
{
    return od_put_string(od_json_member(at, name), value, OD_JSON_MOST_NAME);
}

/* ,"args":{"first":... : further members follow with a comma, which the caller's own first one must not have. */
static inline char *od_json_args(char *at, const char *first)
{
    at = od_put(at, ",\"args\":{\"");
    at = od_put(at, first);
    return od_put(at, "\":");
}

/* Those of the event from the one with this number on. */
static inline char *od_json_scores(char *at, const od_event *event, unsigned first)
{
    for (unsigned i = first; i < event->nscores; i++)
        at = od_put_number(od_json_member(at, event->scores[i].name), event->scores[i].value);
    return at;
}

/* The first arguments. */
static inline char *od_json_datum(char *at, const od_datum *datum)
{
    at = od_put_address(od_json_args(at, "datum"), datum->base);
    return od_json_number(at, "size", datum->size);
}

static inline char *od_json_place(char *at, const char *name, int place)
{
    at = od_json_member(at, name);
    if (place == OD_HOST || place == OD_SPILL)
        return od_put(at, place == OD_HOST ? "\"host\"" : "\"spill\"");
    return od_put_u64(at, (uint64_t)place);
}

/* An element of a list: ["0x12",4096,"rw"], or with the name of the variable. */
static inline char *od_json_range(char *at, bool first, const od_trace_map *range)
{
    size_t most = range->variable_length < OD_JSON_MOST_VARIABLE ? range->variable_length : OD_JSON_MOST_VARIABLE;
    at = od_put_address(od_put(at, first ? "[" : ",["), range->address);
    *at++ = ',';
    at = od_put_u64(at, range->size);
    at = od_put(at, ",\"");
    at = od_put(at, range->type);
    *at++ = '"';
    if (range->variable && most) {
        *at++ = ',';
        at = od_put_string(at, range->variable, most);
    }
    *at++ = ']';
    return at;
}

#endif
