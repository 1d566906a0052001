#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: program.sh PROGRAM [ARGUMENT]
#
# One of programs/*, built for NVIDIA's GPUs, on 1, 2 and 4 of them: right, with the output that it has without the
# library.
. "$(dirname "$0")/common.sh"
source_file=$(echo "$sources/programs/$1".c*)
memory=$(sed -nE "s/^ \* memory: //p" "$source_file")
for setting in $(sed -nE "s/^ \* environment: //p" "$source_file"); do
    export "$setting"
done
more=()
[[ $source_file != *.cpp ]] || more=(-std=c++17 -lstdc++)
build program "$source_file" "${more[@]}"
shift

# Some programs want several devices. Some are wrong without the library, because LLVM asks streams without a current
# context, runs a task's code and destructors while its kernel runs, or fails in libomp.
is_right_without() {
    "$patient" 10 env CUDA_DOUBLE_STREAM_CONTEXT=0 "$work/program" "$@" >"$work/plain" 2>"$work/err" && return
    echo "without the library on $devices GPUs: $(cat "$work/plain" "$work/err" | head -n 1)"
    [ $devices -eq 4 ] && echo right >"$work/plain"
}

for devices in 1 2 4; do
    export CUDA_DOUBLE_DEVICES=$devices
    is_right_without "$@" || continue
    right "$work/program" "$@"
    right OMPDARTS_SCHED=eager OMPDARTS_COHERENCE=strict CUDA_DOUBLE_KERNEL_TIME=0.0005 "$work/program" "$@"
    [ -z "$memory" ] || right OMPDARTS_MEM="$memory" OMPDARTS_SEED=$devices "$work/program" "$@"
done
finish
