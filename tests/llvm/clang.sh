#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: tests/llvm/clang.sh CLANG ARGUMENT...
#
# The compiler, as the tests of LLVM call it. What one call has made is kept in $LLVM_TESTS_CACHE for the same call under
# other settings. A program NAME becomes NAME.program and a script NAME that runs it by launch.sh, however a test starts it.
here=$(dirname "$0")
output= makes_program=1 cached=1
previous=
for argument in "$@"; do
    [[ $previous != -o ]] || output=$argument
    case $argument in
        -c | -shared | -S) makes_program= ;;
        -E | -fsyntax-only | -emit-llvm | -dM | --version | -###) makes_program= cached= ;;
    esac
    previous=$argument
done
[[ $output && $cached ]] || exec "$@"

objects() # that are made by earlier commands of the test
{
    for argument in "${arguments[@]}"; do
        [[ $argument == *.o || $argument == *.a ]] && [[ -e $argument ]] && cat "$argument"
    done
}
arguments=("$@")
key=$({ pwd; printf '%s\n' "$@"; objects; } | sha256sum | cut -c1-40)
kept=$LLVM_TESTS_CACHE/$key
if [[ ! -e $kept ]]; then
    rm -f "$output" # a script of ours must not be written through
    "$@" || exit $?
    mkdir -p "$LLVM_TESTS_CACHE"
    cp "$output" "$kept.$$" && mv "$kept.$$" "$kept"
fi
rm -f "$output" "$output.program"
if [[ $makes_program ]]; then
    cp "$kept" "$output.program"
    printf '#!/bin/bash\nexec %q %q "$@"\n' "$here/launch.sh" "$output.program" >"$output"
    chmod +x "$output"
else
    cp "$kept" "$output"
fi
