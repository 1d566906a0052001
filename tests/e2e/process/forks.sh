#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: forks.sh WHEN [SHIM]      SHIM: libfaulty_target.so
#
# fork(), system() and popen() in a program that offloads. Children end, with their exit code, whatever they do; one that offloads
# gets right results, with the regions that were open when it was made; statistics and summary come once, from the parent.
# (Without the library some of these crash or hang in libomp 19, so the results are those that the program itself expects.)
. "$(dirname "$0")/../common.sh"
program=$E2E_PROGRAMS/forks

# right SUMMARIES VAR=VALUE… -- WHEN ACT : how often "darts+…" or "eager+…" stands on standard error
right() {
    local summaries=$1
    shift
    under 0 OMPDARTS_STATS=summary "${@:1:$#-2}" "$program" "${@: -2}"
    grep -qx right "$work/out" || fail "$ran: $(cat "$work/out")"
    [ "$(grep -c ', seed ' "$work/err")" -eq "$summaries" ] || fail "$ran: not $summaries summaries: $(cat "$work/err")"
    stats "stats.tasks >= 32" "stats.host_tasks == 0"
}

ulimit -c 0
# In the child of a fork LeakSanitizer waits for threads that only the parent has, and ThreadSanitizer wants no new ones. A child
# that is stopped must end by its signal.
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0:handle_abort=0 TSAN_OPTIONS=${TSAN_OPTIONS-}:die_after_fork=0:handle_abort=0
export UBSAN_OPTIONS=${UBSAN_OPTIONS-}:handle_abort=0
repeats=5
[ -z "$sanitizer" ] || repeats=1
for ((i = 0; i < repeats; i++)); do
    case $1 in
        first) # both start a scheduler of their own
            right 1 first exit
            right 1 first _exit
            right 1 first exec
            right 2 first offload
            right 2 OMPDARTS_TRACE="$work/trace" first offload # one after the other: the last one's stays
            python3 "$sources/checks/check_trace.py" "$work/trace" || fail "$ran: the trace is wrong"
            ;;
        after)
            for act in exit _exit exec offload write; do
                right 1 after $act
            done
            right 1 OMPDARTS_COHERENCE=strict OMPDARTS_SCHED=eager after offload
            right 1 OMPDARTS_DEBUG=check after offload
            right 1 OMPDARTS_TRACE="$work/trace" after offload
            python3 "$sources/checks/check_trace.py" "$work/trace" || fail "$ran: the trace is wrong"
            right 1 OMPDARTS_DEBUG=check after write
            right 1 OMPDARTS_MEM=24Ki after offload
            ;;
        inside)
            for act in exit exec region; do
                right 1 inside $act
            done
            right 1 OMPDARTS_MEM=80Ki inside region
            right 1 OMPDARTS_COHERENCE=strict inside region
            ;;
        while)
            for act in exit _exit exec write; do
                right 1 OMPDARTS_SEED=$i OMPDARTS_DEBUG=jitter=0.001 between $act
            done
            # What a thread holds in libomptarget when the child is made stays locked in the child.
            [ -n "$sanitizer" ] || right 1 FAULTY_LOCK_US=500 LD_PRELOAD="$E2E_LIBRARY:$2" OMPDARTS_SEED=$i between exit
            # With ThreadSanitizer libomp's allocator fails assertions in such programs, without the library and forks, too.
            [[ $sanitizer != *tsan* ]] || continue
            for act in exit _exit exec write; do
                right 1 OMPDARTS_DEBUG=check beside $act
            done
            right 1 OMPDARTS_DEBUG=jitter=0.01 beside offload
            says "what it offloads is not scheduled"
            right 1 OMPDARTS_DEBUG=jitter=0.01 inside_beside region
            says "forked while target tasks were under way and data regions were open"
            ;;
        commands)
            right 1 commands -
            grep -qx "from a shell" "$work/out" && grep -qx "from a pipe" "$work/out" || fail "$ran: $(cat "$work/out")"
            plain 0 "$program" commands -
            same_output
            ;;
    esac
done
finish
