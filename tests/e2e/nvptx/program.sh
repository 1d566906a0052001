#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: program.sh PROGRAM [ARGUMENT]
#
# One of programs/*, built for NVIDIA's GPUs, on 1, 2 and 4 of them: right, with the output that it has without the library.
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

# Some programs want several devices. LLVM's plug-in asks streams without a current context, and at times fails by that.
is_right_without() {
    "$patient" $limit_s env CUDA_DOUBLE_STREAM_CONTEXT=0 "$work/program" "$@" >"$work/plain" 2>"$work/err" && return
    grep -q '^"PluginInterface" error' "$work/err" && echo right >"$work/plain"
}

for devices in 1 2 4; do
    export CUDA_DOUBLE_DEVICES=$devices
    if ! is_right_without "$@"; then
        [ $devices -lt 4 ] || fail "wrong without the library: $(head -n 5 "$work/plain" "$work/err")"
        continue
    fi
    right "$work/program" "$@"
    right OMPDARTS_SCHED=eager OMPDARTS_COHERENCE=strict CUDA_DOUBLE_KERNEL_TIME=0.0005 "$work/program" "$@"
    [ -z "$memory" ] || right OMPDARTS_MEM="$memory" OMPDARTS_SEED=$devices "$work/program" "$@"
done
finish
