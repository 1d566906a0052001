#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: gpu_none.sh PYTHON BENCH/GPU BUILD/BENCH
#
# Without NVIDIA's driver, or without cuBLAS, the programs and the script that runs them say so and exit with code 77; the
# other styles of the programs need neither.
set -u
python=$1 scripts=$2 build=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# expect CODE PATTERN COMMAND…
expect()
{
    local code=$1 pattern=$2
    shift 2
    "$@" >"$work/out" 2>&1
    local got=$?
    if [[ $got != "$code" ]] || ! grep -q -- "$pattern" "$work/out"; then
        echo "exit code $got, expected $code and '$pattern': $*"
        cat "$work/out"
        failures=$((failures + 1))
    fi
}

mkdir -p "$work/pack/bin"
cp "$scripts"/{run,report,libraries}.py "$work/pack/"
ln -s "$build/gpu_peers" "$work/pack/bin/gpu_peers"

export BENCH_CUDA=$work/missing.so BENCH_CUBLAS=$work/missing.so
expect 77 '^skipped: .*libcuda' "$build/gemm3d-cublas" --style blas 2 32
expect 77 '^skipped: .*libcuda' "$build/cholesky-cublas" --pinned 2 32
expect 0 ' ok$' "$build/gemm3d-cublas" --style task 2 32
expect 77 '^skipped: .*libcuda' "$build/gpu_peers" probe
expect 0 '^Usage: ' "$build/gpu_peers" --help
expect 2 'expected probe' "$build/gpu_peers" gemm
expect 2 'from 1 to' "$build/gpu_peers" gemm 0
expect 77 '^skipped: .*libcuda' "$python" "$work/pack/run.py" --output "$work/results.json"
expect 0 '^usage: ' "$python" "$work/pack/run.py" --help
expect 2 'usage: ' "$python" "$work/pack/run.py" --unknown
rm "$work/pack/bin/gpu_peers"
expect 2 'do not start' "$python" "$work/pack/run.py"
expect 2 'usage: bench/gpu/pack.sh' "$scripts/pack.sh"
expect 2 'is not there' "$scripts/pack.sh" "$work"
[[ $failures == 0 ]]
