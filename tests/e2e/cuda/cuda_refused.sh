#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The CUDA back-end where it cannot be: asked for, the program is refused before it has done anything, with one line that says
# why; left to the library, the other back-end is taken without a word.
. "$(dirname "$0")/../common.sh"
double=$E2E_CUDA_DOUBLE
without=${LD_LIBRARY_PATH#"$double"}
program=("$E2E_BENCH/cholesky" 4 32)
unset OMPDARTS_BACKEND

# refused TEXT [VAR=VALUE…] : before anything has been printed, in one line that has TEXT
refused() {
    local text=$1
    shift
    under 2 "$@" "${program[@]}"
    says "ompdarts: "
    says "$text"
    [ "$(wc -l <"$work/err")" -eq 1 ] && [ ! -s "$work/out" ] || fail "$ran: $(cat "$work/out" "$work/err")"
}

# other [VAR=VALUE…] : right, on the back-end omptarget, silently
other() {
    under 0 "$@" "${program[@]}"
    same_checksum
    [ ! -s "$work/err" ] || fail "$ran: $(cat "$work/err")"
    under 0 OMPDARTS_LOG=info "$@" "${program[@]}"
    says "back-end omptarget, policy"
}

plain 0 "${program[@]}"
refused "'loads=0' is not a valid part" OMPDARTS_BACKEND=cuda:loads=0
refused "'link=10G' is not a valid part; allowed: auto, cuda, cuda:pin=SIZE,loads=N,keep,managed, mpi, mpi:silence=SECONDS, omptarget, omptarget:link=RATE" OMPDARTS_BACKEND=cuda:link=10G
refused "OMPDARTS_BACKEND=cuda (--backend): cuInit failed: CUDA_ERROR_NO_DEVICE" OMPDARTS_BACKEND=cuda CUDA_DOUBLE_DEVICES=0
refused "CUDA_ERROR_" OMPDARTS_BACKEND=cuda CUDA_DOUBLE_FAIL=cuInit:1+:100
refused "OMPDARTS_BACKEND=opencl" OMPDARTS_BACKEND=opencl
other OMPDARTS_BACKEND=omptarget
other OMPDARTS_BACKEND=omptarget:link=10G
if LD_LIBRARY_PATH=$without python3 -c 'import ctypes; ctypes.CDLL("libcuda.so.1")' 2>"$work/err"; then
    echo "there is an NVIDIA driver: not tried without"
else
    refused "OMPDARTS_BACKEND=cuda (--backend): libcuda.so.1: cannot open" LD_LIBRARY_PATH="$without" OMPDARTS_BACKEND=cuda
    other LD_LIBRARY_PATH="$without"
    other LD_LIBRARY_PATH="$without" OMPDARTS_BACKEND=auto
fi
# A driver that is in the process, as where libomptarget has found a GPU; but these devices are none of its.
other OMPDARTS_BACKEND=auto
under 0 OMPDARTS_BACKEND=cuda OMPDARTS_LOG=info "${program[@]}"
same_checksum
says "back-end cuda, policy"
finish
