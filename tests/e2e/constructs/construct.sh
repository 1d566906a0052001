#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: construct.sh PROGRAM [ARGUMENT]
#
# Runs one of programs/*, or of fortran/*, without and with the library, in several configurations; both succeed with the
# same output. The program's first comment says what else is expected (programs/check.h).
. "$(dirname "$0")/../common.sh"
source_file=$sources/fortran/$1.f90
if [ ! -e "$source_file" ]; then
    source_file=$(echo "$sources/programs/$1".c*)
elif [ -n "${E2E_NO_FLANG-}" ]; then
    echo "skipped: $E2E_NO_FLANG"
    exit 77
fi
program=$E2E_PROGRAMS/$1
shift

directive() { sed -nE "s/^( \*|!) $1: //p" "$source_file"; }

memory=$(directive memory)
[ -z "$(directive cpu)" ] || cpu=
mapfile -t conditions < <(directive stats)
mapfile -t more < <(directive run)
mapfile -t texts < <(directive says)
for setting in $(directive environment); do
    export "$setting"
done

# both [VAR=VALUE…] : under the library as without it
both() {
    under 0 "$@" "$program" "${arguments[@]}"
    same_output
}

# reference [VAR=VALUE…] : what the program prints without the library, unless LLVM fails with it
reference() {
    if [ -n "$(directive without)" ]; then
        echo right >"$work/plain"
    else
        plain 0 "$@" "$program" "${arguments[@]}"
    fi
}

arguments=("$@")
reference
grep -qx right "$work/plain" || fail "wrong without the library"

both
[ ${#conditions[@]} -eq 0 ] || stats "${conditions[@]}"
seeds=(1) tight_seeds=(4)
[ -z "$thorough" ] || [ -n "$sanitizer" ] || seeds=(1 2 3) tight_seeds=(4 5) # sanitizers take long, and look at each access
if [ -z "$again" ]; then
    both OMPDARTS_SCHED=eager OMPDARTS_EVICT=lru
    both OMPDARTS_COHERENCE=strict
    both OMPDARTS_DEVICES=1 OMP_NUM_THREADS=1
    both OMP_NUM_THREADS=8
fi
both OMPDARTS_DEBUG=check OMP_NUM_THREADS=4
for seed in "${seeds[@]}"; do
    both OMPDARTS_SEED=$seed OMPDARTS_DEBUG=jitter=0.002
done
if [ -n "$memory" ]; then
    both OMPDARTS_MEM="$memory" OMPDARTS_SCHED=eager OMPDARTS_EVICT=lru
    if [ -z "$again" ]; then
        both OMPDARTS_MEM="$memory"
        both OMPDARTS_MEM="$memory" OMPDARTS_SCHED=mhfp OMPDARTS_EVICT=belady
        both OMPDARTS_MEM="$memory" OMPDARTS_DEVICES=2 OMPDARTS_BUFFER=1 OMPDARTS_EVICT=lru
    fi
    for seed in "${tight_seeds[@]}"; do
        both OMPDARTS_MEM="$memory" OMPDARTS_SEED=$seed OMPDARTS_DEBUG=jitter=0.002
    done
fi
if [ ${#texts[@]} -gt 0 ]; then
    both OMPDARTS_LOG=info
    for text in "${texts[@]}"; do
        says "$text"
    done
fi
for settings in "${more[@]}"; do
    reference $settings
    both $settings
done
finish
