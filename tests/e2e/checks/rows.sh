#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: rows.sh CTEST BUILD_FOLDER LEAST FILE
#
# Every row of the tables in FILE, at least LEAST, names tests that exist, in its last column, with commas: their names, or
# the parts that the names of their variants share.
set -u
tests=$("$1" --test-dir "$2" -N | sed -n 's/^ *Test *#[0-9]*: //p')
rows=0 failures=0

while IFS= read -r row; do
    case $row in "| construct |"* | "| programs |"* | "|---"*) continue ;; esac
    rows=$((rows + 1))
    one='`\(e2e\|cuda\|nvptx19\|unit\|sim\)\.[a-z0-9_.]*`'
    names=$(sed -n "s/.*| \($one\(, $one\)*\) |\$/\1/p" <<<"$row" | tr -d '`,')
    [ -n "$names" ] || { echo "FAILED: no test is named for: $row"; failures=$((failures + 1)); }
    for name in $names; do
        grep -qE "^${name//./\\.}(\..*)?$" <<<"$tests" && continue
        echo "FAILED: no test '$name' for: $row"
        failures=$((failures + 1))
    done
done < <(grep '^|' "$4")
[ $rows -ge "$3" ] || { echo "FAILED: only $rows rows found in $4"; failures=1; }
[ $failures -eq 0 ] && echo "$rows rows: all right"
exit $((failures > 0))
