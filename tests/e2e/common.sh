# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What the end-to-end drivers share. From the environment (CMakeLists.txt sets them):
#   E2E_COMMAND  the `ompdarts` command        E2E_LIBRARY   libompdarts.so
#   E2E_BENCH    folder of the bench programs  E2E_PROGRAMS  folder of the small ones
#   E2E_PATIENT  timeout(1) in a program's own seconds (tests/patient.c); timeout itself where it is not built
#   E2E_SKIP     why this test cannot run here
#   E2E_AGAIN    the test has run elsewhere, too: on another back-end, or with another LLVM
#   E2E_THOROUGH nothing is left out for that
#   E2E_CPU      runs with the library have so many CPU workers where the test does not say: results are to be right, what is
#                counted differs
#   E2E_KEEP_MODULES  shims/keep_modules.c, for sanitizers
#   E2E_MPI      mpirun: the program is rank 0 of four, and has the others' devices
# Each run with the library has the watchdog on. A driver ends with `finish`; exit codes: 0 right, 1 wrong, 77 skipped.
set -u
[ -e "$E2E_LIBRARY" ] || { echo "FAILED: there is no $E2E_LIBRARY"; exit 1; } # the loader would go on without
[ -z "${E2E_SKIP-}" ] || { echo "skipped: $E2E_SKIP"; exit 77; }
sources=$(dirname "${BASH_SOURCE[0]}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
cpu=${E2E_CPU:+OMPDARTS_CPU=$E2E_CPU}
unset LD_PRELOAD OMP_TARGET_OFFLOAD OMP_DEFAULT_DEVICE "${!OMPDARTS_@}"
export OMPDARTS_CACHE=0                    # one run must not depend on another
export LIBOMP_NUM_HIDDEN_HELPER_THREADS=0 # stock libomp 19 fails with them, and no task of ours needs them
export OPENBLAS_NUM_THREADS=1             # or its results would depend on OMP_NUM_THREADS in the last bits
if [ -n "${E2E_CUDA_DOUBLE-}" ]; then # the CUDA back-end, on the driver's double
    export LD_LIBRARY_PATH=$E2E_CUDA_DOUBLE${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} OMPDARTS_BACKEND=cuda:loads=2 # memory is pinned early
    export CUDA_DOUBLE_MEMORY=4Gi CUDA_DOUBLE_JITTER=0.00005
fi

# as_rank_0 [VAR=VALUE…] PROGRAM ARGUMENTS… : four devices, two of them in one rank. One without a processor for long is not lost.
as_rank_0() {
    local settings=()
    for (( ; $#; )); do
        case $1 in
            LD_PRELOAD=*) ;;
            [A-Z]*=*) settings+=("$1") ;;
            *) break ;;
        esac
        shift
    done
    "$E2E_MPI" $mpi_options -n 1 env "${settings[@]}" "$E2E_COMMAND" run --backend=mpi:silence=100 "$@" \
        : -n 2 "$E2E_COMMAND" serve --devices=1 "$1" : -n 1 "$E2E_COMMAND" serve --devices=2 "$1"
}
export -f as_rank_0
export mpi_options= # Open MPI counts processors
hydra=              # MPICH's launcher ends a job with an exit code of its own, and says on standard output that it has
if [ -n "${E2E_MPI-}" ]; then
    version=$("$E2E_MPI" --version 2>&1)
    case $version in *OpenRTE* | *"Open MPI"*) mpi_options=--oversubscribe ;; *HYDRA*) hydra=yes ;; esac
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # where tests are root's
launch=(env)
[ -z "${E2E_MPI-}" ] || launch=(bash -c 'as_rank_0 "$@"' as_rank_0)

# A sanitizer's runtime must be loaded before all others, and makes runs slower.
sanitizer=$(ldd "$E2E_LIBRARY" | awk '/libclang_rt\./ { print $3; exit }')
preload=${sanitizer:+$sanitizer:}$E2E_LIBRARY
if [ -n "$sanitizer" ] && [ -n "${E2E_MPI-}" ]; then # in the ranks alone, not in mpirun; a symbolizer would be a rank, too
    cat "$sources"/../suppressions/leak{,_mpi}.txt >"$work/leak.txt"
    mkdir "$work/bin" # $work/ompdarts may be where measurements are kept
    cat >"$work/bin/ompdarts" <<END
#!/bin/sh
export LD_PRELOAD=$sanitizer:$E2E_KEEP_MODULES\${LD_PRELOAD:+:\$LD_PRELOAD}
export ASAN_OPTIONS=\$ASAN_OPTIONS:symbolize=0 LSAN_OPTIONS=suppressions=$work/leak.txt:print_suppressions=0
export UBSAN_OPTIONS=\$UBSAN_OPTIONS:symbolize=0 TSAN_OPTIONS=\$TSAN_OPTIONS:symbolize=0
exec "$E2E_COMMAND" "\$@"
END
    chmod +x "$work/bin/ompdarts"
    E2E_COMMAND=$work/bin/ompdarts
fi
# A program's own crashes are not for the sanitizer to report.
own_crashes=("ASAN_OPTIONS=${ASAN_OPTIONS-}:handle_segv=0:handle_abort=0" "TSAN_OPTIONS=${TSAN_OPTIONS-}:handle_segv=0:handle_abort=0"
    "UBSAN_OPTIONS=${UBSAN_OPTIONS-}:handle_segv=0:handle_abort=0")
patient=timeout
[ ! -x "${E2E_PATIENT-}" ] || patient=$E2E_PATIENT
limit_s=60
thorough=${E2E_THOROUGH:+yes}
again= # what has run elsewhere does so in fewer configurations
[ -z "${E2E_AGAIN-}" ] || [ -n "$thorough" ] || again=yes
[ -z "$sanitizer" ] || limit_s=300

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

finish() {
    [ $failures -eq 0 ] && echo "all right"
    exit $((failures > 0))
}

# exit_code STATUS: what the program meant. ThreadSanitizer objects, with 66, to an exit from inside a region that Archer makes it
# ignore, which is where a program learns that an option is refused; that is taken out of $work/err.
exit_code() {
    if [ "$1" -eq 66 ] && grep -q '^ThreadSanitizer: .*finished with ignores enabled' "$work/err" &&
        ! grep -q 'WARNING: ThreadSanitizer' "$work/err"; then
        sed -i '/^ThreadSanitizer: .*finished with ignores enabled/,$d' "$work/err"
        echo 2
    else
        echo "$1"
    fi
}

# expect_exit CODE STATUS WHAT
expect_exit() {
    [ "$2" -eq "$1" ] || [ -n "$hydra" -a "$1" -ne 0 -a "$2" -ne 0 ] && return
    fail "$3: exit code $2, not $1"
    head -n 20 "$work/out" "$work/err"
}

# Stock libomp 19 counts references to the nodes of its dependence graph wrongly at times, without the library
# (tests/e2e/programs/all_have_priorities: 1 run of 25 on one machine). Such a run says nothing of ours.
is_libomps() {
    [ "$1" -eq 134 ] && grep -q 'Assertion failure at kmp_taskdeps.h(26): n >= 0' "$work/err" && [ "$2" -lt 4 ] &&
        echo "libomp's own assertion, tried again: kmp_taskdeps.h(26)"
}

# plain CODE [VAR=VALUE…] PROGRAM ARGUMENTS… : without the library; its output goes to $work/plain. A run that goes wrong
# (LLVM 22's of fortran_tasks: 1 of 70 on a busy machine) says nothing of ours, and is tried again.
plain() {
    local code=$1 status tries=0
    shift
    while "$patient" $limit_s env "$@" >"$work/out" 2>"$work/err"; status=$?; [ $((++tries)) -lt 4 ] && [ $status -ne "$code" ]; do
        echo "without the library: exit code $status, not $code, tried again: $*"
    done
    expect_exit "$code" $status "without the library: $*"
    cp "$work/out" "$work/plain"
}

# under CODE [VAR=VALUE…] PROGRAM ARGUMENTS… : with it; output goes to $work/out and $work/err, figures to $work/stats. Parts of
# OMPDARTS_DEBUG may be given one by one.
under() {
    local code=$1 status tries=0 debug=watchdog=10 statistics=$work/stats settings=()
    shift
    ran=$*
    for (( ; $#; )); do
        case $1 in
            OMPDARTS_DEBUG=*) debug+=,${1#*=} ;;
            OMPDARTS_STATS=summary) statistics=summary,$work/stats ;;
            [A-Z]*=*) settings+=("$1") ;;
            *) break ;;
        esac
        shift
    done
    while
        rm -f "$work/stats"
        "$patient" $limit_s "${launch[@]}" ${cpu:+"$cpu"} LD_PRELOAD="$preload" OMPDARTS_DEBUG="$debug" OMPDARTS_STATS="$statistics" "${settings[@]}" "$@" \
            >"$work/out" 2>"$work/err"
        status=$(exit_code $?)
        is_libomps "$status" $((++tries))
    do :; done
    expect_exit "$code" $status "$ran"
}

# The last runs with and without the library printed the same; sed's argument, if given, hides what may differ.
same_output() {
    sed -E "${1-}" "$work/plain" >"$work/plain.shown"
    sed -E "${1-}" "$work/out" >"$work/out.shown"
    cmp -s "$work/plain.shown" "$work/out.shown" && return
    fail "$ran: the output differs from that without the library"
    diff "$work/plain.shown" "$work/out.shown" | head -n 20
}

# stop_for SECONDS DEVICES JOB: the rank in $work/pid, once the run, whose error output is $work/err, has so many devices
stop_for() {
    while ! grep -qs "^ompdarts: runtime: $2 devices" "$work/err" && kill -0 "$3" 2>/dev/null; do sleep 0.05; done
    kill -STOP "$(cat "$work/pid")"
    sleep "$1"
    kill -CONT "$(cat "$work/pid")"
}

same_checksum() {
    grep -q '^checksum ' "$work/out" && [ "$(grep '^checksum ' "$work/out")" = "$(grep '^checksum ' "$work/plain")" ] &&
        return
    fail "$ran: $(grep '^checksum ' "$work/out"), without the library $(grep '^checksum ' "$work/plain")"
}

# stats EXPRESSION… : each holds for the last run with the library.
stats() {
    [ -z "$cpu" ] || return 0
    python3 "$sources/checks/check_stats.py" ${exits:+--exits} "$work/stats" "$@" && return
    fail "$ran"
}

# value EXPRESSION : of the last run with the library
value() {
    python3 "$sources/checks/check_stats.py" --print "$work/stats" "$1"
}

says() {
    grep -qF -- "$1" "$work/err" && return
    fail "$ran: no '$1' on standard error, but: $(head -n 5 "$work/err")"
}

# driver EXPRESSION… : each holds for what the driver's double was asked to do in the last run, with CUDA_DOUBLE_STATS=$work/driver
driver() {
    python3 "$sources/checks/check_driver.py" "$work/driver" "$@" && return
    fail "$ran"
}
