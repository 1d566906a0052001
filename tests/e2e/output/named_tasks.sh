#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: named_tasks.sh
#
# The names that programs/named_tasks.c gives its tasks are in the trace, and the report knows them.
. "$(dirname "$0")/../common.sh"

plain 0 "$E2E_PROGRAMS/named_tasks"
under 0 "$E2E_PROGRAMS/named_tasks" # nobody is told
same_output
under 0 OMPDARTS_TRACE="$work/trace.json" "$E2E_PROGRAMS/named_tasks"
same_output
python3 "$sources/checks/check_trace.py" "$work/trace.json" "$work/stats" "len([t for t in tasks if t['name'] == 'even tile']) == 9" \
    "len([t for t in tasks if t['name'].startswith('main:')]) >= 10" "len([t for t in tasks if t['name'] == 'synchronous']) == 1" \
    "len([t for t in tasks if t['name'] == 'a \"host\" task']) >= 1" "not any(t['name'] == 'nothing' for t in tasks)" ||
    fail "$ran: the trace is wrong: $(grep -o '"name":"[^,]*,"cat":"task"' "$work/trace.json" | sort | uniq -c)"
"$E2E_COMMAND" report "$work/trace.json" -o "$work/report.html" 2>"$work/err" || fail "report: $(cat "$work/err")"
grep -q '"even tile"' "$work/report.html" || fail "the report does not know the name"
finish
