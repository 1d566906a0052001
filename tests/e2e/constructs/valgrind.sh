#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: valgrind.sh FOLDER PROGRAM [ARGUMENT…]
#
# A program of the build's FOLDER with the library, under valgrind's memcheck: no error and no leak outside LLVM's own
# code (tests/suppressions/valgrind.supp), and the same output. Where it has a first comment that names a tight
# memory (programs/check.h) it gets that.
. "$(dirname "$0")/../common.sh"
command -v valgrind >/dev/null || { echo "skipped: no valgrind"; exit 77; }
[ -z "$sanitizer" ] || { echo "skipped: built with a sanitizer"; exit 77; }
program=$(dirname "$E2E_LIBRARY")/$1/$2
source_file=$(echo "$sources/programs/$2".c*)
shift 2

settings=()
if [ -e "$source_file" ]; then
    memory=$(sed -n 's/^ \* memory: //p' "$source_file")
    read -ra settings <<<"$(sed -n 's/^ \* environment: //p' "$source_file")"
    [ -z "$memory" ] || settings+=("OMPDARTS_MEM=$memory")
else
    settings=(OMPDARTS_MEM=100K)
fi
limit_s=600
export OMP_NUM_THREADS=4

plain 0 "${settings[@]}" "$program" "$@"
# It runs one thread at a time, and slowly: that is no lack of progress.
under 0 "${settings[@]}" OMPDARTS_DEBUG=watchdog=120 \
    valgrind --quiet --error-exitcode=99 --num-callers=40 --fair-sched=yes --leak-check=full --show-leak-kinds=definite \
    --errors-for-leak-kinds=definite --suppressions="$sources/../suppressions/valgrind.supp" "$program" "$@"
# A BLAS takes other instructions there: its program checks its results itself.
same_output 's/(time|checksum) .*//'
[ $failures -eq 0 ] || head -n 100 "$work/err"
finish
