#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: refused.sh CMAKE SOURCES TOOLKIT LLVM_ROOT [LLVM22_ROOT]
#
# A toolkit whose images LLVM 19's plug-in does not read, as CUDA 13 is one, is refused when the build is configured; with
# LLVM 22 it is accepted, and an older one with both.
set -u
cmake=$1 sources=$2 toolkit=$3 llvm=$4 llvm22=${5-}
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
failures=0

# configure ROOT TOOLKIT ABI: the messages on one line in $work/out
configure() {
    rm -rf "$work/build"
    OMPDARTS_TOOLKIT_ABI=$3 "$cmake" -S "$sources" -B "$work/build" -DOMPDARTS_LLVM_ROOT="$1" -DOMPDARTS_CUDA_PATH="$2" \
        -DOMPDARTS_NVPTX_ARCH=sm_90 2>&1 | tr -s ' \n' ' ' >"$work/out"
    return "${PIPESTATUS[0]}"
}

if configure "$llvm" "$toolkit" 8 || ! grep -qF "$toolkit writes images of ELF ABI 08, in which LLVM 19 finds no device: \
use CUDA 12 or older, or LLVM 22" "$work/out"; then
    echo "LLVM 19, ABI 8: $(tail -c 600 "$work/out")"
    failures=$((failures + 1))
fi
for root in "$llvm" $llvm22; do
    abi=7
    [ "$root" = "$llvm" ] || abi=8
    configure "$root" "$toolkit" $abi
    if grep -q "ELF ABI\|make no code" "$work/out"; then
        echo "$root, ABI $abi: $(tail -c 600 "$work/out")"
        failures=$((failures + 1))
    fi
done
exit $((failures > 0))
