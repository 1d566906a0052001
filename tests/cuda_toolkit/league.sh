#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: league.sh CLANG BITCODE FOLDER
#
# What LLVM's device runtime, as bitcode for NVIDIA's or AMD's GPUs, answers about teams, as code for this machine:
# FOLDER/league.o, for kernels on the driver's double. The registers, and what AMD's GPUs have in memory, are league.c's.
set -euo pipefail
clang=$1 bitcode=$2 folder=$3
tools=$(dirname "$clang") source=$(dirname "$0")/league.c
functions=(__kmpc_distribute_static_init_{4,4u,8,8u} omp_get_team_num omp_get_num_teams _ZN4ompx6config13noteExclusionEv)
"$tools/llvm-extract" -S --recursive "${functions[@]/#/--func=}" --glob=__omp_rtl_league_slice "$bitcode" -o "$folder/gpu.ll"
# Its other variables are zero, as in a kernel whose teams have one thread each. What the compiler knows of registers stays.
sed -E -e '/^target (datalayout|triple)/d' -e 's/"target-(cpu|features)"="[^"]*"//g' -e 's/\bfastcc //' \
    -e 's/@llvm\.nvvm\.read\.ptx\.sreg\.([a-z]+)(\.x)?\(/@cuda_double_\1(/' \
    -e 's/@llvm\.amdgcn\.workgroup\.id\.x\(/@cuda_double_ctaid(/;s/@llvm\.amdgcn\.workitem\.id\.x\(/@cuda_double_tid(/' \
    -e 's/@llvm\.amdgcn\.(dispatch|implicitarg)\.ptr\(/@cuda_double_\1(/' \
    -e 's/@llvm\.amdgcn\.wavefrontsize\(/@cuda_double_wavefront(/' -e '/^(define|declare)/s/ (hidden|internal) / /' \
    -e '/^@.* = external /{s/ = external (hidden|protected) / = internal /;s/(, align [0-9]+)$/ zeroinitializer\1/}' \
    "$folder/gpu.ll" >"$folder/league.ll"
"$clang" --target="$(uname -m)-linux-gnu" -w -fPIC -O1 -c "$folder/league.ll" -o "$folder/runtime.o"
"$clang" -w -fPIC -O1 -c "$source" -o "$folder/double.o"
"$clang" -r -nostdlib "$folder/runtime.o" "$folder/double.o" -o "$folder/league.o"
