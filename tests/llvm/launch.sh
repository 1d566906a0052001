#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: tests/llvm/launch.sh PROGRAM ARGUMENT...
#
# Runs a program of LLVM's tests, preloading $LLVM_TESTS_LIBRARY if that is set, and adds its standard output and its
# exit code to a file in $LLVM_TESTS_RECORD. A signal that ends it ends this script.
program=$1
shift
record=$LLVM_TESTS_RECORD/${program//\//_}
preload=${LD_PRELOAD-}${LLVM_TESTS_LIBRARY:+${LD_PRELOAD:+:}$LLVM_TESTS_LIBRARY}
unset LD_PRELOAD
timeout --foreground -k 10 "$LLVM_TESTS_TIMEOUT" env ${preload:+LD_PRELOAD="$preload"} "$program" "$@" | tee -a "$record"
code=${PIPESTATUS[0]}
printf '\nexit code %d\n' "$code" >>"$record" # which of several threads prints the last line, perhaps an open one, is open
((code <= 128 || code > 192)) || { ulimit -c 0; kill -$((code - 128)) $$; }
exit "$code"
