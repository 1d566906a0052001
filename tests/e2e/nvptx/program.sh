#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: program.sh PROGRAM [ARGUMENT]
#
# One of programs/*, built for NVIDIA's GPUs, on 1, 2 and 4 of them: the output is that without the library.
. "$(dirname "$0")/common.sh"
source_file=$(echo "$sources/programs/$1".c*)
memory=$(sed -nE "s/^ \* memory: //p" "$source_file")
more=()
[[ $source_file != *.cpp ]] || more=(-std=c++17 -lstdc++)
build program "$source_file" "${more[@]}"
shift
for devices in 1 2 4; do
    export CUDA_DOUBLE_DEVICES=$devices
    plain 0 "$work/program" "$@"
    right "$work/program" "$@"
    right OMPDARTS_SCHED=eager OMPDARTS_COHERENCE=strict CUDA_DOUBLE_KERNEL_TIME=0.0005 "$work/program" "$@"
    [ -z "$memory" ] || right OMPDARTS_MEM="$memory" OMPDARTS_SEED=$devices "$work/program" "$@"
done
finish
