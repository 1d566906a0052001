#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: slices.sh KIND
#
# Kernels of GPUs in slices (OMPDARTS_SLICE), with the device runtime of patches/, whose code says which team is which: KIND is
# one of the functions below.
. "$(dirname "$0")/common.sh"
export CUDA_DOUBLE_DEVICES=4 OMP_NUM_THREADS=1 # teams of one thread: a league has hundreds
here=$(dirname "$0")

# whole REASON: some kernel was, to the end.
whole() {
    stats "any('$1' in getattr(k, 'reason', '') and k.sliced == 0 for k in stats.kernels)"
}

# programs/slices.c: the same as without the library, on 2 and 4 GPUs.
programs() {
    local variant variants=(stencil histogram whole)
    [ -z "${E2E_THOROUGH-}" ] || variants+=(rows cells lookup lastprivate reductions counters nested interleaved between)
    with_leagues
    build program "$sources/programs/slices.c"
    echo right >"$work/plain"
    for variant in "${variants[@]}"; do
        right OMPDARTS_SLICE=4 "$work/program" $variant
        case $variant in
        reductions) whole "reduction across the teams" ;;
        between) whole "one team" ;;
        histogram) whole "same words"; whole "critical sections" ;;
        whole) whole "one team"; whole "none that are known" ;;
        nested) ;;
        *) stats "all(k.sliced >= 7 and k.slices == 4 for k in stats.kernels)" ;;
        esac
        [ -z "${E2E_THOROUGH-}" ] || right OMPDARTS_SLICE=auto CUDA_DOUBLE_DEVICES=2 OMP_NUM_THREADS=2 "$work/program" $variant
    done
    right OMPDARTS_SLICE=auto CUDA_DOUBLE_DEVICES=2 OMP_NUM_THREADS=2 "$work/program" stencil
    right OMPDARTS_SLICE=4 OMPDARTS_COHERENCE=depend OMPDARTS_SCHED=eager OMPDARTS_MEM=8Mi "$work/program" stencil
    right OMPDARTS_SLICE=64 CUDA_DOUBLE_DEVICES=3 CUDA_DOUBLE_JITTER=0.001 "$work/program" lookup
    stats "all(k.slices == 3 for k in stats.kernels)"
    right OMPDARTS_SLICE=off "$work/program" rows
    stats "not hasattr(stats, 'kernels')"
}

# slices.c: what may be in slices and what may not.
kinds() {
    local kind
    with_leagues
    build program "$here/slices.c"
    echo right >"$work/plain"
    for kind in plain numbers few racy critical pointers waiting beside threads; do
        right OMPDARTS_SLICE=4 CUDA_DOUBLE_KERNEL_TIME=0.001 "$work/program" $kind
        case $kind in
        plain | numbers | few) stats "all(k.sliced == 3 and k.whole == 3 for k in stats.kernels)" ;;
        racy) whole "something else" ;;
        critical) whole "critical sections" ;;
        pointers) whole "device addresses" ;;
        waiting) whole "none that are known" ;;
        esac
    done
    right OMPDARTS_SLICE=4 OMP_NUM_TEAMS=5 "$work/program" plain # libomptarget's limit for each launch
    stats "all(k.sliced == 3 for k in stats.kernels)"
    right OMPDARTS_SLICE=4 CUDA_DOUBLE_DEVICES=2 OMPDARTS_DEVICES='0*2,1' "$work/program" plain # two have one GPU
    stats "all(k.sliced == 3 and k.slices == 3 for k in stats.kernels)"
    right OMPDARTS_SLICE=4 OMPDARTS_RECOMPUTE=always "$work/program" plain
    build prints "$here/slices.c" -DPRINTS
    under 0 OMPDARTS_SLICE=4 "$work/prints" print
    [ "$(wc -l <"$work/out")" -eq 7 ] || fail "$ran: $(cat "$work/out")"
    whole "kernels print"
}

# AMD's GPUs: teams have the numbers that the device runtime for these gives, and memory and launches are libomptarget's alone.
# LLVM 19's image for them (22's needs a linker of its own) has the variable where libomptarget looks for it.
amd() {
    local kind
    with_leagues "$E2E_AMD_RUNTIME"
    export CUDA_DOUBLE_STREAM_CONTEXT=0 # is nothing that libomptarget's CUDA plug-in cares for
    build program "$here/slices.c"
    build programs "$sources/programs/slices.c"
    echo right >"$work/plain"
    for kind in plain numbers few critical threads; do
        right OMPDARTS_SLICE=4 OMPDARTS_BACKEND=omptarget "$work/program" $kind
        case $kind in
        plain | numbers | few) stats "all(k.sliced == 3 and k.whole == 3 for k in stats.kernels)" ;;
        critical) whole "critical sections" ;;
        esac
    done
    right OMPDARTS_SLICE=4 OMPDARTS_BACKEND=omptarget "$work/programs" stencil
    stats "all(k.sliced >= 7 and k.slices == 4 for k in stats.kernels)"
    [ -x "${E2E_NVPTX_CLANG%/*}/ld.lld" ] || return 0
    (cd "$work" && "$E2E_NVPTX_CLANG" "${flags[@]}" --offload-arch=gfx90a -nogpulib "$here/slices.c" -o amd \
        "-L${E2E_AMD_RUNTIME%/*}" "${folders[@]}" -lomptarget.devicertl -Wl,--save-temps) || exit 1
    "${E2E_NVPTX_CLANG%/*}/llvm-readelf" --dyn-syms "$work"/amd.amdgcn.gfx90a.img >"$work/symbols"
    grep -q " 12 OBJECT .* PROTECTED .* __omp_rtl_league_slice" "$work/symbols" || fail "$(cat "$work/symbols")"
}

# Programs that compute for long on few data, and one of each kind else with E2E_THOROUGH: each checks itself.
examples() {
    local name names=(transport tracking) folder=$sources/../../examples/programs
    [ -z "${E2E_THOROUGH-}" ] || names+=(lattice water poisson)
    with_leagues
    for name in "${names[@]}"; do
        build $name "$folder/$name.c" "$folder/common.c" "-I$folder" "-I$folder/../.."
        case $name in
        transport) set -- --particles 20000 --batches 4 ;;
        tracking) set -- --size 2048 --exchanged 1024 --steps 6 ;;
        *) set -- ;;
        esac
        under 0 OMPDARTS_SLICE=4 "$work/$name" "$@"
        driver "misuses == 0"
        stats "any(k.sliced > 0 for k in stats.kernels)"
    done
}

# Without that runtime nothing is in slices, and the summary says why.
stock() {
    build program "$here/slices.c"
    echo right >"$work/plain"
    right OMPDARTS_SLICE=4 OMPDARTS_STATS=summary "$work/program" plain
    whole "without a device runtime for slices"
    says "ompdarts: kernels plain:22, plain:25: 12 whole; each has been compiled without"
    [ "$(grep -c "scripts/build-device-runtime.sh" "$work/err")" -eq 1 ] || fail "$ran: $(cat "$work/err")"
}

# Neither memory for copies nor a device: the kernel runs all the same, where libomptarget does not end the process.
failures() {
    local n survived=0 status
    with_leagues
    build program "$here/slices.c"
    echo right >"$work/plain"
    under 0 OMPDARTS_SLICE=4 CUDA_DOUBLE_FAIL=cuMemAlloc:20+:2 "$work/program" plain
    same_output
    whole "more memory for copies"
    export "${own_crashes[@]}"
    ulimit -c 0
    for n in 1:1 2:2 3:2 2:3 0:4; do
        "$patient" $limit_s env LD_PRELOAD="$preload" OMPDARTS_DEBUG=watchdog=10 OMPDARTS_SLICE=4 CUDA_DOUBLE_LOST_KERNEL=$n \
            "$work/program" plain >"$work/out" 2>"$work/err"
        status=$?
        ran="kernel of device $n"
        case $status in
        0) grep -qx right "$work/out" && survived=$((survived + 1)) || fail "$ran: $(cat "$work/out")" ;;
        134)
            grep -q "with it the only copy\|while offloading is mandatory\|Failed to deallocate" "$work/err" &&
                ! grep -q "watchdog\|invariant\|misuse" "$work/err" || fail "$ran: $(head -n 5 "$work/err")"
            ;;
        *) fail "$ran: exit code $status: $(head -n 5 "$work/err")" ;;
        esac
    done 2>/dev/null
    echo "$survived of 5 survived"
    [ $survived -gt 0 ] || fail "none has survived"
}

# 4 times a device's memory: the host version runs, and no allocation is tried that must fail. As much as a device has, but not
# twice: kernels run there whole. By page faults, too, where the driver brings data. libomptarget alone does not say what is
# free.
large() {
    with_leagues
    build program "$here/slices.c"
    echo right >"$work/plain"
    export CUDA_DOUBLE_DEVICES=2
    right OMPDARTS_SLICE=2 CUDA_DOUBLE_MEMORY=16Mi OMPDARTS_STATS=summary "$work/program" large
    says ": 12 whole; each runs on the host, as no device has room for its data, or none is left"
    ! grep -q "CUDA error" "$work/err" || fail "$ran: $(cat "$work/err")"
    right OMPDARTS_SLICE=2 CUDA_DOUBLE_MEMORY=112Mi "$work/program" large
    stats "all(k.sliced == 0 and 'memory for copies' in k.reason for k in stats.kernels)" "stats.host_tasks == 0"
    ! grep -q "CUDA error" "$work/err" || fail "$ran: $(cat "$work/err")"
    right OMPDARTS_SLICE=2 CUDA_DOUBLE_MEMORY=16Mi OMPDARTS_BACKEND=cuda:managed OMPDARTS_OVERSIZE=page "$work/program" large
    export CUDA_DOUBLE_STREAM_CONTEXT=0
    right OMPDARTS_SLICE=2 CUDA_DOUBLE_MEMORY=16Mi OMPDARTS_MEM=12Mi OMPDARTS_BACKEND=omptarget "$work/program" large
    stats "all(k.sliced == 0 and 'on the host' in k.reason for k in stats.kernels)"
}

# What cannot be in slices is not tried again in the next run, until it is compiled anew.
history() {
    with_leagues
    build program "$here/slices.c"
    echo right >"$work/plain"
    export XDG_CACHE_HOME=$work
    right OMPDARTS_SLICE=4 OMPDARTS_CACHE=1 "$work/program" racy
    whole "something else"
    right OMPDARTS_SLICE=4 OMPDARTS_CACHE=1 "$work/program" racy
    whole "in an earlier run"
}

$1
finish
