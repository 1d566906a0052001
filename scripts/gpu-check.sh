#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: gpu-check.sh [--quick] [--limit SECONDS] [FOLDER]
#
# Everything that is to be known of a machine with an NVIDIA GPU, in one command, without network: what it is (facts),
# whether results are right (smoke), whether device memory is lost (leak), what NVIDIA's compute-sanitizer says, where it
# is installed (sanitizer), and how fast it is (figures). Each part takes at most SECONDS (default: 600). Runs in the
# unpacked folder of bench/gpu/pack.sh, where this file lies. Results go to FOLDER (default: gpu-check-HOST), one file
# per part, and summary.txt. --quick: figures of small matrices only, to see that all of it works.
#
# exit code: 0 all parts are right, or were skipped for a reason that is told; 1 one is not; 2 bad command line; 77 no
# GPU
set -u
here=$(cd "$(dirname "$0")" && pwd)
parts=(facts smoke leak sanitizer figures)
skipped=77

# gpu [VAR=VALUE…] PROGRAM ARGUMENT… : one of the packed programs
gpu() {
    python3 "$here/libraries.py" "$@"
}

# under [VAR=VALUE…] PROGRAM ARGUMENT… : with the library; fails unless it says that it is right
under() {
    local out
    echo "== $*"
    out=$(gpu LD_PRELOAD="$here/bin/libompdarts.so" OMPDARTS_CACHE=0 OMPDARTS_STATS=summary \
        LIBOMP_NUM_HIDDEN_HELPER_THREADS=0 "$@" 2>&1)
    local status=$?
    echo "$out"
    [ $status -eq 0 ] && grep -q '^right\| ok$' <<<"$out" && return
    echo "WRONG: exit code $status: $*"
    wrong=1
}

facts() {
    cat "$here/VERSION" 2>/dev/null
    uname -a
    grep -m 1 'model name' /proc/cpuinfo
    grep -E '^(MemTotal|MemAvailable)' /proc/meminfo
    echo "processors $(nproc), memory that may be locked: $(ulimit -l) KiB"
    echo "CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES-(not set)}"
    if command -v nvidia-smi >/dev/null; then
        nvidia-smi
        nvidia-smi --format=csv \
            --query-gpu=name,compute_cap,compute_mode,mig.mode.current,memory.total,memory.used,pcie.link.gen.max
        nvidia-smi topo -m
    fi
    gpu ompdarts info
}

smoke() {
    local sched
    for sched in eager darts dmdar stationary; do
        under OMPDARTS_SCHED=$sched tiles 24 6
        under OMPDARTS_SCHED=$sched OMPDARTS_MEM=256Ki tiles 24 6
    done
    under OMPDARTS_COHERENCE=strict tiles 24 6
    under 'OMPDARTS_DEVICES=0*4' tiles 24 6
    under peers
    if [ -x "$here/bin/cholesky" ]; then
        for style in task region blas; do
            under cholesky --style $style 8 256
            under gemm3d --style $style 4 256
        done
    fi
}

leak() {
    under reductions 2000
}

sanitizer() {
    local tool
    tool=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | tail -n 1)
    [ -n "$tool" ] || { echo "no compute-sanitizer here"; return $skipped; }
    "$tool" --target-processes all --error-exitcode 9 \
        python3 "$here/libraries.py" LD_PRELOAD="$here/bin/libompdarts.so" OMPDARTS_MEM=256Ki tiles 8 2 || wrong=1
}

figures() {
    [ -x "$here/bin/gemm3d" ] || { echo "the pack has no benchmarks"; return $skipped; }
    local precision seconds=$((limit * 4 / 10)) more=() size=()
    [ -z "$quick" ] || size=(--quick --tile 256)
    for precision in float tf32 double; do
        python3 "$here/run.py" --precision $precision --time $seconds "${size[@]}" "${more[@]}" \
            --output "$folder/ompdarts-gpu-$precision.json" || wrong=1
        [ ! -e "$folder/ompdarts-gpu-$precision.json" ] ||
            python3 "$here/report.py" "$folder/ompdarts-gpu-$precision.json" --markdown
        seconds=$((limit * 15 / 100)) more=(--no-correctness)
    done
}

# The named part, in a process of its own.
run_part() {
    wrong=0
    "$1"
    local status=$?
    [ $status -ne $skipped ] || exit $skipped
    exit $wrong
}

limit=600 quick=
[ "${1-}" != --quick ] || { quick=--quick; shift; }
[ "${1-}" != --limit ] || { limit=${2-}; shift 2; }
usage() {
    sed -n '4,13s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
[[ $limit =~ ^[1-9][0-9]*$ ]] || usage
if [ "${1-}" = --part ]; then
    folder=$3
    run_part "$2"
fi
[[ ${1-} != -* ]] && (($# <= 1)) || usage
folder=${1:-gpu-check-$(hostname)}
mkdir -p "$folder" || exit 2
folder=$(cd "$folder" && pwd)
: >"$folder/summary.txt"
failed=0
for part in "${parts[@]}"; do
    start=$SECONDS
    timeout -k 10 "$limit" bash "$here/gpu-check.sh" $quick --limit "$limit" --part "$part" "$folder" \
        >"$folder/$part.txt" 2>&1
    status=$?
    case $status in
    0) result=right ;;
    "$skipped") result="skipped: $(tail -n 1 "$folder/$part.txt")" ;;
    124 | 137) result="no end after $limit s" failed=1 ;;
    *) result="WRONG, see $part.txt" failed=1 ;;
    esac
    printf '%-10s %5d s  %s\n' "$part" $((SECONDS - start)) "$result" | tee -a "$folder/summary.txt"
    if [ "$part" = facts ] && ! gpu has-gpu; then
        echo "no NVIDIA GPU that the driver shows" | tee -a "$folder/summary.txt"
        exit $skipped
    fi
done
exit $failed
