#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The manual pages name every command, option, variable and function that there is, and man has nothing to say against
# them. Usage: test_manual.sh COMMAND SOURCE_FOLDER MANUAL_FOLDER. Exit codes: 0 right, 1 wrong.
set -u
command=$1 sources=$2 manual=$3
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

named=0
# names PAGE TEXT: the page has it, as a word
names() {
    named=$((named + 1))
    sed 's/\\f[A-Z]//g; s/\\//g' "$manual/$1" | grep -qE -- "(^|[^a-zA-Z_-])$2([^a-zA-Z_-]|\$)" || fail "$1 does not name $2"
}

for subcommand in $("$command" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    names ompdarts.1 "ompdarts $subcommand"
    [ "$subcommand" = run ] && continue # below
    for option in $("$command" "$subcommand" --help | grep -oE -- '^ +(-[a-z], )? *--[a-z-]+' | grep -oE -- '--.*'); do
        [ "$option" = --help ] || names ompdarts.1 "$option"
    done
done
for option in --no-check; do
    "$command" run --help | grep -q -- "$option" || fail "run has no $option"
    names ompdarts.1 "$option"
done
while read -r variable; do
    names ompdarts.7 "$variable"
done < <("$command" env --markdown | grep -oE 'OMPDARTS_[A-Z_]+|`--[a-z-]+`' | tr -d '`')
for function in $(grep -oE '\bompdarts_[a-z_]+\(' "$sources/omp_ext/hooks/ompdarts.h" | grep -v _v1_ | tr -d '(' | sort -u); do
    names ompdarts.h.3 "$function"
done
while read -r member; do
    names ompdarts.h.3 "$member"
done < <(sed -n '/^typedef struct/,/^}/s/.*uint64_t \([a-z0-9_]*\);.*/\1/p' "$sources/omp_ext/hooks/ompdarts.h")

for page in "$manual"/*.[1-9]; do
    ! grep -n '@[A-Za-z_]*@' "$page" || fail "$page: not all filled in"
    if command -v groff >/dev/null; then
        said=$(groff -man -Tutf8 -ww -z "$page" 2>&1)
        [ -z "$said" ] || fail "$page: $said"
    fi
done

[ "$named" -gt 60 ] || fail "only $named names were looked for"
[ $failures -eq 0 ] && echo "all right"
exit $((failures > 0))
