#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: gpu.sh KIND
#
# What a GPU does that host devices do not, with LLVM's CUDA plug-in: KIND is one of the functions below.
. "$(dirname "$0")/common.sh"
export "${own_crashes[@]}"
ulimit -c 0

# The memory that a launch with a reduction takes is given back: it would be two allocations of each of 200 tasks.
reductions() {
    build program "$(dirname "$0")/reductions.c"
    echo right >"$work/plain"
    right "$work/program" 200
    driver "kernels == 200" "calls['cuMemAlloc'] < 60"
    right CUDA_DOUBLE_KERNEL_TIME=0.001 "$work/program" 200
    driver "calls['cuMemAlloc'] < 60"
}

# Where a task is ready and its device free, the thread that has begun it launches its kernel, and wakes nobody for that.
launching() {
    build program "$(dirname "$0")/tiles.c"
    echo right >"$work/plain"
    right CUDA_DOUBLE_KERNEL_TIME=0.002 "$work/program" 1 30
    driver "kernels == 30" "main_launches > 0"
    right CUDA_DOUBLE_KERNEL_TIME=0.002 CUDA_DOUBLE_LAUNCH_WAITS=1000 "$work/program" 1 30
    driver "kernels == 30" "main_launches == 0" # libomptarget waits here, as on host devices
}

# A thread that waits sees the ends of kernels itself, and goes on with what they release. While it runs a task of the
# program's, others see them.
asking() {
    local n
    build program "$(dirname "$0")/tiles.c"
    build away "$(dirname "$0")/away.c"
    echo right >"$work/plain"
    right CUDA_DOUBLE_DEVICES=1 CUDA_DOUBLE_KERNEL_TIME=0.001 "$work/program" 1 100
    driver "kernels == 100" "main_ends > 0"
    for n in 1 2 3; do
        right OMP_NUM_THREADS=2 CUDA_DOUBLE_DEVICES=1 CUDA_DOUBLE_KERNEL_TIME=0.002 "$work/away" 20
    done
}

# One kernel that has ended when its launch comes back says nothing about others: no second thread launches them.
short_first() {
    build program "$(dirname "$0")/short_first.c"
    echo "1 launching thread" >"$work/plain"
    right CUDA_DOUBLE_DEVICES=1 CUDA_DOUBLE_LAUNCH_WAITS=2 CUDA_DOUBLE_KERNEL_TIME=0.002 "$work/program"
}

# An array larger than the devices' memory, of which each holds the parts that its tasks name. Pages of GPUs are of 2 MiB.
windows() {
    local settings
    build program "$(dirname "$0")/windows.c"
    echo right >"$work/plain"
    for settings in OMPDARTS_SCHED=darts OMPDARTS_SCHED=eager "OMPDARTS_SCHED=stationary OMPDARTS_SEED=2"; do
        # shellcheck disable=SC2086 # several settings
        right CUDA_DOUBLE_DEVICES=4 CUDA_DOUBLE_KERNEL_TIME=0.001 OMPDARTS_COHERENCE=depend OMPDARTS_MEM=12Mi $settings \
            "$work/program" 16 4
        stats "stats.host_tasks == 0" "totals.evictions > 0" "totals.limit_bytes == 12 << 20" \
            "sum(d.tasks > 0 for d in devices) > 1"
    done
    right CUDA_DOUBLE_DEVICES=1 OMPDARTS_COHERENCE=depend OMPDARTS_MEM=12Mi "$work/program" 8 2
    stats "stats.host_tasks == 0"
    right CUDA_DOUBLE_DEVICES=4 CUDA_DOUBLE_KERNEL_TIME=0.001 OMPDARTS_BACKEND=cuda:managed OMPDARTS_MEM=12Mi "$work/program" 16 4
    stats "stats.host_tasks == 0" "totals.evictions > 0" "sum(d.tasks > 0 for d in devices) > 1"
    driver "calls['cuMemPrefetchAsync'] > 0"
}

# libomptarget's copies between devices go from one to the other, as without the library.
peers() {
    build program "$(dirname "$0")/peers.c"
    echo right >"$work/plain"
    right CUDA_DOUBLE_DEVICES=3 "$work/program"
    driver "copies['peer'] >= 6" "staged_peer_copies == 0"
    [ ! -s "$work/err" ] || fail "$ran: $(head -n 3 "$work/err")"
}

# A kernel that breaks its device: its tasks go elsewhere, or the program ends because the only copy of a datum is gone.
# libomptarget ends it, too, where a kernel fails between our question and its own, or while it launches the next.
faults() {
    local n survived=0 status
    build program "$(dirname "$0")/tiles.c"
    for n in 1 1 1 1 2 5 9; do
        "$patient" $limit_s env LD_PRELOAD="$preload" OMPDARTS_DEBUG=watchdog=10 CUDA_DOUBLE_KERNEL_TIME=0.002 \
            CUDA_DOUBLE_LOST_KERNEL=1:$n "$work/program" 24 1 >"$work/out" 2>"$work/err"
        status=$?
        ran="kernel $n of device 1"
        case $status in
        0) grep -qx right "$work/out" && survived=$((survived + 1)) || fail "$ran: $(cat "$work/out")" ;;
        134)
            grep -q "device 1 is lost, and with it the only copy\|Error while querying the async queue\|while offloading is mandatory" \
                "$work/err" && ! grep -q "watchdog\|invariant\|misuse" "$work/err" || fail "$ran: $(head -n 5 "$work/err")"
            ;;
        *) fail "$ran: exit code $status" ;;
        esac
    done 2>/dev/null
    echo "$survived of 7 survived"
    [ $survived -gt 0 ] || fail "none has survived"
}

# The program ends while kernels run: those under way are given two seconds, then it ends all the same.
leaving() {
    local seconds
    build program "$(dirname "$0")/tiles.c"
    for seconds in 0.0005 0.05 1; do
        under 0 CUDA_DOUBLE_KERNEL_TIME=$seconds CUDA_DOUBLE_JITTER=0.001 "$work/program" 16 4 leave
        [ ! -s "$work/out" ] || fail "$ran: $(cat "$work/out")"
    done
}

# on_host TEXT [VAR=VALUE…] PROGRAM : no device is found, which one line says with its reason, beside LLVM's own; all runs on the host
on_host() {
    local text=$1
    shift
    under 0 "$@" 8 2
    grep -qx right "$work/out" || fail "$ran: $(cat "$work/out")"
    says "nothing is scheduled ($text"
    [ "$(grep -Evc "^CUDA error: |^\"PluginInterface\" error: " "$work/err")" -eq 1 ] ||
        fail "$ran: more than one line: $(cat "$work/err")"
}

# A driver that is older than the program's images: libomptarget ends the program at the first kernel, as it does without us, and one
# line before says why. One of the same first number reads them.
older_driver() {
    OMPDARTS_TOOLKIT_VERSION=124 build newer "$(dirname "$0")/tiles.c"
    CUDA_DOUBLE_VERSION=11080 "$work/newer" 8 2 >"$work/out" 2>"$work/plain.err"
    local plain=$?
    [ $plain -ne 0 ] || fail "without the library: exit code 0"
    under $plain CUDA_DOUBLE_VERSION=11080 "$work/newer" 8 2
    says "the driver may not load this program's device code (it is of CUDA 12, the NVIDIA driver of CUDA 11.8)"
    [ "$(grep -c "^ompdarts: " "$work/err")" -eq 1 ] || fail "$ran: more than one line: $(cat "$work/err")"
    under 0 CUDA_DOUBLE_VERSION=12020 "$work/newer" 8 2
    [ ! -s "$work/err" ] || fail "$ran: $(cat "$work/err")"
}

# Programs and drivers that do not fit each other.
no_device() {
    build program "$(dirname "$0")/tiles.c"
    on_host "the NVIDIA driver shows no GPU" CUDA_DOUBLE_DEVICES=0 "$work/program"
    on_host "the NVIDIA driver shows no GPU: CUDA_VISIBLE_DEVICES=9" CUDA_VISIBLE_DEVICES=9 "$work/program"
    on_host "the NVIDIA driver shows no GPU: CUDA_VISIBLE_DEVICES=" CUDA_VISIBLE_DEVICES= "$work/program"
    on_host "the NVIDIA driver shows no GPU: CUDA_VISIBLE_DEVICES=MIG-none" CUDA_VISIBLE_DEVICES=MIG-none "$work/program"
    on_host "the GPU's compute mode is \`exclusive\`, and another process has it" CUDA_DOUBLE_COMPUTE_MODE=3 "$work/program"
    on_host "the GPU's compute mode is \`prohibited\`" CUDA_DOUBLE_COMPUTE_MODE=2 "$work/program"
    on_host "the NVIDIA driver does not start (error 803)" CUDA_DOUBLE_FAIL=cuInit:1+:803 "$work/program"
    on_host "it is for sm_90, the GPU is sm_80" CUDA_DOUBLE_ARCH=80 "$work/program"
    mkdir "$work/driver.d"
    cp -L "$E2E_CUDA_DOUBLE/libcuda.so.1" "$work/driver.d/"
    on_host "LLVM opens libcuda.so, and here is only libcuda.so.1: make a link of that name" LD_LIBRARY_PATH="$work/driver.d" \
        "$work/program"
    on_host "there is no NVIDIA driver" LD_LIBRARY_PATH=/nonexistent "$work/program"
    older_driver
    OMPDARTS_TOOLKIT_ABI=8 build program "$(dirname "$0")/tiles.c"
    case $E2E_NVPTX_CLANG in
    *llvm-22*) under 0 "$work/program" 8 2 && driver "kernels == 16" ;;
    *) on_host "ptxas of CUDA 13 has made it, which this LLVM does not read" "$work/program" ;;
    esac
}

# Less memory than the device has, and a share of a GPU (MIG), which is a small one.
others() {
    build program "$(dirname "$0")/tiles.c"
    echo right >"$work/plain"
    right CUDA_DOUBLE_MEMORY=64Mi CUDA_DOUBLE_OTHERS=60Mi "$work/program" 8 2
    driver "kernels == 16"
    says "others use much of the memory: data get 0.00"
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "$ran: more than one line: $(cat "$work/err")"
    under 0 CUDA_DOUBLE_MEMORY=64Mi CUDA_DOUBLE_OTHERS=60Mi CUDA_DOUBLE_STREAM_CONTEXT=0 OMPDARTS_MEM=32Mi "$work/program" 8 2
    same_output
    says "nothing is scheduled; set OMPDARTS_MEM to less (0.00"
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "$ran: more than one line: $(cat "$work/err")"
    right CUDA_DOUBLE_DEVICES=1 CUDA_DOUBLE_MEMORY=16Mi CUDA_DOUBLE_NAME="NVIDIA H100 MIG 1g.10gb" OMPDARTS_LOG=info \
        "$work/program" 8 2
    driver "kernels == 16"
    says "GPU 0, NVIDIA H100 MIG 1g.10gb 0"
}

# Others need memory that data have: these make room, and the results stay right. The device has 64 MiB, data 40.
spare() {
    local how
    build program "$(dirname "$0")/spare.c" -ldl
    echo right >"$work/plain"
    export CUDA_DOUBLE_DEVICES=1 CUDA_DOUBLE_MEMORY=64Mi OMPDARTS_MEM=40Mi OMPDARTS_DEVICE_CLAUSE=pin
    for how in "alloc 30000000" "map 30000000" "library 26000000"; do
        right OMPDARTS_LOG=info "$work/program" $how
        says " bytes of its memory, data keep "
    done
    right CUDA_DOUBLE_DEVICES=2 OMPDARTS_DEVICES='0*2' OMPDARTS_MEM=20Mi "$work/program" alloc 30000000
    right CUDA_DOUBLE_DEVICES=2 OMPDARTS_MEM=20Mi "$work/program" alloc 60000000
    echo "there is no memory" >"$work/plain"
    right OMPDARTS_LOG=info "$work/program" alloc 70000000
    ! grep "data keep" "$work/err" || fail "$ran: data have given memory away for nothing"
    right CUDA_DOUBLE_GRANULARITY=0 "$work/program" alloc 30000000 # the driver cannot map memory
}

# With MPI, what data lie in can be opened by other processes: memory of the ordinary kind, as without the library.
ranks() {
    build program "$(dirname "$0")/tiles.c"
    build rank "$(dirname "$0")/tiles.c" "$(dirname "$0")/mpi.c" -rdynamic
    echo right >"$work/plain"
    right "$work/program" 8 2
    driver "kernels == 16" "calls['cuMemCreate'] > 0"
    right "$work/rank" 8 2
    driver "kernels == 16" "calls['cuMemCreate'] == 0"
}

# The program's own variables are on the device before the pools take the rest.
globals() {
    build program "$(dirname "$0")/globals.c"
    echo right >"$work/plain"
    right CUDA_DOUBLE_DEVICES=2 CUDA_DOUBLE_MEMORY=64Mi "$work/program"
    driver "kernels == 34"
}

# Links are measured with memory that the driver copies at once, not through buffers.
links() {
    build program "$(dirname "$0")/tiles.c"
    echo right >"$work/plain"
    right OMPDARTS_CACHE=1 XDG_CACHE_HOME="$work" OMPDARTS_LOG=info CUDA_DOUBLE_BANDWIDTH=4Gi "$work/program" 1 1
    says " between host and 1: latency "
    driver "bytes['host_to_device'] > 100e6" "calls['cuMemHostRegister'] == 0" "calls['cuMemcpyHtoDAsync'] < 200"
}

# What is pinned is not any more when the program goes on, whoever has ended its last copy, and however long that takes.
let_go() {
    local setting
    build program "$(dirname "$0")/let_go.c"
    echo right >"$work/plain"
    for setting in eager darts eager darts eager darts; do
        right OMPDARTS_BACKEND=cuda:loads=2 OMPDARTS_WRITE_BACK=late OMPDARTS_SCHED=$setting OMPDARTS_MEM=2500000 \
            CUDA_DOUBLE_DEVICES=1 CUDA_DOUBLE_PIN_BANDWIDTH=40Mi CUDA_DOUBLE_BANDWIDTH=200Mi "$work/program"
        driver "calls['cuMemHostRegister'] > 0"
    done
}

# A loop with a taskwait pins each of its three arrays once, where the system lets them be watched; memory that is freed
# and allocated anew is not taken for what was pinned there.
kept() {
    local sched
    build program "$(dirname "$0")/kept.c"
    echo right >"$work/plain"
    export CUDA_DOUBLE_DEVICES=1 CUDA_DOUBLE_WATCH_PINS=1
    right OMPDARTS_BACKEND=cuda:loads=2,keep "$work/program"
    if grep -q "the system has no userfaultfd" "$work/err"; then
        echo "skipped: the system allows no userfaultfd"
        exit 77
    fi
    driver "calls['cuMemHostRegister'] == 3"
    for sched in eager darts; do
        right OMPDARTS_BACKEND=cuda:loads=1,keep OMPDARTS_SCHED=$sched "$work/program" anew
        right OMPDARTS_BACKEND=cuda:loads=2,keep OMPDARTS_SCHED=$sched MALLOC_MMAP_THRESHOLD_=1000000000 MALLOC_TRIM_THRESHOLD_=4096 "$work/program" anew
    done
}

# The shares of a run in which a GPU computes, for small sizes.
timeline() {
    "$sources/../../bench/gpu/timeline.py" --build "$(dirname "$E2E_LIBRARY")" --llvm "$(dirname "$E2E_NVPTX_LIBDIR")" \
        --libomp "$E2E_LIBOMP_DIR" --ordinary --n 4 --parts 1,4 --scheds darts --trace "$work/traces" >"$work/out" 2>"$work/err"
    expect_exit 0 $? timeline.py
    [ "$(grep -cE '^\| [0-9.]+ ms, `darts` \| [01]\.[0-9]{3} \| [01]\.[0-9]{3} \|$' "$work/out")" -eq 2 ] ||
        fail "timeline.py: $(cat "$work/out" "$work/err")"
    [ "$(ls "$work/traces")" = "$(printf 'darts-%s.json\n' 0.31-1 0.31-4 1-1 1-4)" ] || fail "traces: $(ls "$work/traces")"
}

# The programs that are sent to a machine with a GPU, where bench/gpu/pack.sh looks for them.
packed_programs() {
    local name bench=$sources/../../bench
    local common=("$bench"/kernels/{program,gpu_blas}.c "$bench"/common/{check,command,memory,random}.c "$bench"/gpu/{cuda,device}.c)
    mkdir -p "$work/build/bench"
    for name in tiles reductions peers; do
        build $name-nvptx "$(dirname "$0")/$name.c"
    done
    for name in gemm3d cholesky; do
        build $name-nvptx "$bench/kernels/$name.c" "${common[@]}" -DBENCH_GPU "-I$bench/.." "-I$bench/../omp_ext/hooks"
    done
    mv "$work"/*-nvptx "$work/build/bench/"
    ln -s "$E2E_BENCH/gpu_peers" "$work/build/bench/"
    ln -s "$E2E_COMMAND" "$(dirname "$E2E_LIBRARY")/libompdarts-cuda.so" "$work/build/"
    ln -s "$E2E_LIBRARY" "$work/build/libompdarts.so"
}

# What is sent to a machine with a GPU: packed, unpacked, all its parts from the first to the last, and the folder that they
# leave; the benchmarks with one LLVM, since they are NVIDIA's libraries' work and not the plug-in's. GPU_CHECK=FOLDER: not
# the quick figures, and the folder is kept.
check() {
    local name parts=(facts smoke leak figures) rows=(in-core streams cublasxt managed ompdarts) how=(--quick --limit 3600) results=$work/results # on a busy machine, too
    [ -z "${GPU_CHECK-}" ] || { how=(); results=$(realpath -m "$GPU_CHECK"); }
    packed_programs
    "$sources/../../bench/gpu/pack.sh" "$work/build" "$work/pack.tar" >"$work/out" 2>"$work/err"
    expect_exit 0 $? pack.sh
    [ $failures -eq 0 ] || return
    tar -C "$work" -xf "$work/pack.tar" && rm -r "$work/pack.tar" && mv "$work/ompdarts-gpu" "$work/pack"
    for name in "$work"/*-nvptx.kernels; do
        mv "$name" "$work/pack/bin/$(basename "$name" -nvptx.kernels).kernels"
    done
    if [[ $E2E_NVPTX_CLANG == *llvm-22* && -z "${GPU_CHECK-}" ]]; then
        rm "$work"/pack/bin/{gemm3d,cholesky}
        parts=(facts smoke leak) rows=()
    fi
    unset OMPDARTS_BACKEND
    (cd "$work" && "$patient" 3600 pack/gpu-check.sh "${how[@]}" "$results") >"$work/out" 2>&1
    expect_exit 0 $? gpu-check.sh
    for name in "${parts[@]}"; do
        grep -q "^$name .* right$" "$results/summary.txt" || fail "$name: $(grep -vE "^\|.*\| ok \|$" "$results/$name.txt" | head -c 4000)"
    done
    for name in "${rows[@]}"; do
        [ "$(grep -c "^| $name " "$results/figures.txt")" -ge 3 ] || fail "no rows of $name: $(cat "$results/figures.txt")"
    done
    rm -f "$work"/pack/bin/{gemm3d,cholesky}
    (cd "$work" && CUDA_DOUBLE_LOST_KERNEL=0:1 pack/gpu-check.sh --limit 60 broken) >"$work/out" 2>&1
    expect_exit 1 $? "gpu-check.sh on a broken GPU"
    grep -q "^smoke .* WRONG, see smoke.txt" "$work/broken/summary.txt" || fail "$(cat "$work/broken/summary.txt")"
    (cd "$work" && CUDA_DOUBLE_DEVICES=0 pack/gpu-check.sh none) >"$work/out" 2>&1
    expect_exit 77 $? "gpu-check.sh without a GPU"
    "$work/pack/gpu-check.sh" --unknown >"$work/out" 2>"$work/err"
    expect_exit 2 $? "gpu-check.sh --unknown"
}

$1
finish
