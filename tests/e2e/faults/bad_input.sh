#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A bad value in the environment (not only on the command line) stops the program before it has done anything: exit code 2,
# one line that names the variable, the value and what is allowed. A name that does not exist is only warned about.
. "$(dirname "$0")/../common.sh"
cpu= # what is said without CPU workers
program=("$E2E_BENCH/cholesky" 4 32)

# refused VAR=VALUE TEXT… : each TEXT stands in the one line on standard error
refused() {
    local setting=$1 text
    shift
    under 2 "$setting" "${program[@]}"
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "$setting: not one line: $(cat "$work/err")"
    [ ! -s "$work/out" ] || fail "$setting: the program printed: $(cat "$work/out")"
    [ ! -e "$work/stats" ] || fail "$setting: statistics were written"
    for text in "ompdarts: " "${setting%%=*}=" allowed "$@"; do
        says "$text"
    done
}

refused OMPDARTS_SCHED=dart "ap, auto, darts, " "did you mean darts?"
refused OMPDARTS_SCHED=fifo "ap, auto, darts, "
refused OMPDARTS_SCHED=darts:fast "'fast' is no option; allowed: alg9 "
refused OMPDARTS_SCHED=darts:threshold=many "'threshold=many' is no whole number"
refused OMPDARTS_EVICT=mru "lru, luf"
refused OMPDARTS_MEM=5X 5X
refused OMPDARTS_MEM=-1 -1
refused OMPDARTS_MEM=0
refused OMPDARTS_MEM=1.5.2M
refused OMPDARTS_DEVICES=0
refused OMPDARTS_DEVICES=99 4
refused OMPDARTS_DEVICES=two
refused OMPDARTS_BUFFER=0
refused OMPDARTS_COHERENCE=loose "auto|strict|depend"
refused OMPDARTS_STATS=/nonexistent/folder/s.json "No such file or directory"
refused OMPDARTS_STATS="$work" "directory"
refused OMPDARTS_LOG=loud
refused OMPDARTS_DEBUG=jitter=1e-3

for style in region blas; do
    program=("$E2E_BENCH/cholesky" --style $style 4 32)
    refused OMPDARTS_DEVICES=99
done
program=("$E2E_BENCH/sync" 512)
refused OMPDARTS_DEVICES=99

# A limit that not even one tile (of 4096 bytes) fits is a poor choice, not a bad value.
for limit in 4095 1; do
    for style in task region blas; do
        plain 0 "$E2E_BENCH/cholesky" --style $style 4 32
        under 0 OMPDARTS_MEM=$limit "$E2E_BENCH/cholesky" --style $style 4 32
        same_checksum
        says "run on the host"
    done
    plain 0 "$E2E_BENCH/sync" 512
    under 0 OMPDARTS_MEM=$limit "$E2E_BENCH/sync" 512
    same_checksum
done

plain 0 "$E2E_BENCH/cholesky" 4 32
under 0 OMPDARTS_SHED=eager "$E2E_BENCH/cholesky" 4 32
same_checksum
says "OMPDARTS_SHED is ignored (did you mean OMPDARTS_SCHED?)"
# Values that mean off, or the default.
under 0 OMPDARTS_BACKEND=omptarget:link=0 OMPDARTS_LOG=0 OMPDARTS_SCHED= "$E2E_BENCH/cholesky" 4 32
same_checksum
under 0 OMPDARTS_DISABLE=1 "$E2E_BENCH/cholesky" 4 32
same_checksum
[ ! -e "$work/stats" ] || fail "statistics of a run with OMPDARTS_DISABLE=1"
finish
