#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A signal that ends the program: nothing is computed after it, statistics and trace are whole, and the exit status is
# that of the signal.
. "$(dirname "$0")/../common.sh"
program=$E2E_PROGRAMS/interrupted

files_are_whole() {
    python3 - "$work" <<'PYTHON' || fail "$1: a file is cut"
import json, sys
for name in ("stats.json", "trace.json"):
    with open(f"{sys.argv[1]}/{name}") as file:
        json.load(file)
PYTHON
    rm -f "$work/stats.json" "$work/trace.json"
}

# What `env` is given to run the program with the library.
with=(LD_PRELOAD="$preload" OMPDARTS_STATS="$work/stats.json" OMPDARTS_TRACE="$work/trace.json")

"$patient" $limit_s env "${with[@]}" "$program" raised >"$work/out" 2>"$work/err"
[ $? -eq 143 ] || fail "raise(SIGTERM): not the signal's exit status"
[ ! -s "$work/out" ] || fail "raise(SIGTERM): the program went on"
files_are_whole "raise(SIGTERM)"

for repeat in 1 2 3; do
    env "${with[@]}" "$program" killed >"$work/out" 2>"$work/err" &
    running=$!
    until grep -qs ready "$work/out"; do sleep 0.05; done
    sleep 0.$repeat
    kill -TERM $running
    wait $running 2>/dev/null
    [ $? -eq 143 ] || fail "SIGTERM: not the signal's exit status"
    ! grep -q wrong "$work/out" || fail "SIGTERM: the program went on, on contents that are not its own"
    files_are_whole SIGTERM
done

{
    "$patient" $limit_s env "${with[@]}" "$program" pipe 2>"$work/err"
    echo $? >"$work/status"
} | head -n 3 >"$work/out"
[ "$(cat "$work/status")" = 141 ] || fail "SIGPIPE: exit status $(cat "$work/status"), not the signal's"
! grep -q "went on" "$work/err" || fail "SIGPIPE: the program went on"
files_are_whole SIGPIPE
finish
